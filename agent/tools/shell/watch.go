package shell

import (
	"bytes"
	"context"
	"regexp"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/toolkit"
)

// maxWatchedLine bounds the part of a line of output that is searched, in bytes.
const maxWatchedLine = 8 << 10

// watchPoll is the time between two looks at the output of a terminal of the editor, which does not send it.
const watchPoll = time.Second

// watch searches the output of a command for a line. It is safe for concurrent use.
type watch struct {
	pattern *regexp.Regexp

	mu   sync.Mutex // guards the fields below
	line []byte     // the last line, so far
	// found is the first line that matches; hit is called with it, once. Either can come first.
	found *string
	hit   func(line string)
}

// write searches more output. A line is searched again when more of it arrives, because a prompt does not end its line.
func (w *watch) write(b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(b) > 0 && w.found == nil {
		before, after, ok := bytes.Cut(b, []byte{'\n'})
		piece := b
		if ok {
			piece = before
		}
		w.line = append(w.line, piece[:min(len(piece), maxWatchedLine-len(w.line))]...)
		w.search(string(w.line))
		if !ok {
			return
		}
		w.line, b = w.line[:0], after
	}
}

// search searches one line. The caller holds mu.
func (w *watch) search(line string) {
	line = toolkit.PlainOutput(line)
	if w.found != nil || !w.pattern.MatchString(line) {
		return
	}
	w.found, w.line = &line, nil
	if w.hit != nil {
		w.hit(line)
	}
}

// begin makes hit learn of the line, at once if it has been found.
func (w *watch) begin(hit func(line string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hit = hit; w.found != nil {
		hit(*w.found)
	}
}

// done reports whether the line has been found.
func (w *watch) done() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.found != nil
}

// pollWatched searches the output of a watched command in a terminal of the editor, until stop is called.
func (r *bashRun) pollWatched(ctx context.Context) (stop func()) {
	w := r.command.watch
	if w == nil || r.exec.TerminalID() == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		tick := time.NewTicker(watchPoll)
		defer tick.Stop()
		for !w.done() {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if out, err := r.exec.Output(ctx); err == nil {
				w.write([]byte(out.Text + "\n"))
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
