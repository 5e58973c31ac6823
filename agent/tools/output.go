package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
)

// Limits of a command's output.
const (
	// headKept is how much of the start the model gets of an output that is too long, in bytes. The end is maxText.
	headKept = 20 << 10
	// maxArtifact bounds what is kept of one output for later, in bytes.
	maxArtifact = 10 << 20
	// liveEvery is the shortest time between two reports of new output.
	liveEvery = 100 * time.Millisecond
	// maxLive is how much output is reported piece by piece, in bytes; from then on only the end is.
	maxLive = 64 << 10
	// liveTail is how much of the end is reported then.
	liveTail = 8 << 10
)

// liveOutput takes a local command's output as it comes, keeps what the result will need, and reports it at most every
// liveEvery. Its one timer is stopped by close.
type liveOutput struct {
	update func(agent.Progress)
	shown  []agent.Content

	mu       sync.Mutex // guards what follows
	full     []byte     // up to maxArtifact
	total    int64
	pending  []byte
	reported int
	last     time.Time
	timer    *time.Timer
	closed   bool
	detached bool
}

func newLiveOutput(update func(agent.Progress), shown []agent.Content) *liveOutput {
	return &liveOutput{update: update, shown: shown}
}

func (l *liveOutput) write(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.total += int64(len(b))
	l.full = append(l.full, b[:min(len(b), maxArtifact-len(l.full))]...)
	if l.detached {
		return
	}
	l.pending = append(l.pending, b...)
	if len(l.pending) > maxLive {
		l.reported = maxLive // too fast to show it all
	}
	if over := len(l.pending) - liveTail; l.reported >= maxLive && over > 0 {
		l.pending = append(l.pending[:0], l.pending[over:]...)
	}
	switch wait := liveEvery - time.Since(l.last); {
	case wait <= 0:
		l.report()
	case l.timer == nil:
		l.timer = time.AfterFunc(wait, l.tick)
	}
}

func (l *liveOutput) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if !l.closed && !l.detached {
		l.report()
	}
}

// report tells of what is pending. It is called with mu held.
func (l *liveOutput) report() {
	if len(l.pending) == 0 {
		return
	}
	whole := len(l.pending) - brokenRune(l.pending)
	raw := strings.ToValidUTF8(string(l.pending[:whole]), "\uFFFD")
	text := plainOutput(raw)
	l.last = time.Now()
	if l.reported < maxLive {
		l.reported += whole
		l.pending = append(l.pending[:0], l.pending[whole:]...)
		if text != "" {
			l.update(agent.Progress{Text: text, Raw: raw})
		}
		return
	}
	content := append([]agent.Content(nil), l.shown...)
	l.update(agent.Progress{Content: append(content, agent.TextContent{Text: "…" + text})})
}

// brokenRune is how many bytes at the end of b are the start of a character whose rest has yet to come.
func brokenRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n]; utf8.RuneStart(last) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// detach stops the reports; what comes from here on is kept only.
func (l *liveOutput) detach() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report()
	l.detached = true
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// close reports what was not reported yet, and nothing more: the editor may show the pieces and not the result.
func (l *liveOutput) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if !l.detached {
		l.report()
	}
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
}

// bounded joins the start and the end, which is tail, of an output. All of it goes into an artifact where that is too long.
func (l *liveOutput) bounded(ctx context.Context, call *agent.Call, tool, tail string) bashOutput {
	l.mu.Lock()
	total, full := l.total, l.full
	l.mu.Unlock()
	if total <= headKept+maxText && total == int64(len(full)) {
		return bashOutput{text: tidyOutput(string(full))}
	}
	head := string(full[:min(len(full), headKept)])
	if i := strings.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1]
	}
	end := tail
	if i := strings.IndexByte(end, '\n'); i >= 0 && i < len(end)-1 {
		end = end[i+1:]
	}
	left := total - int64(len(head)) - int64(len(end))
	b := bashOutput{truncated: true}
	elided := size(left)
	if int64(len(full)) == total {
		gone := full[len(head) : len(full)-len(end)]
		elided = fmt.Sprintf("%s (%s)", count(strings.Count(string(gone), "\n"), "line"), size(left))
	}
	b.text = tidyOutput(head) + fmt.Sprintf("\n… %s left out …\n\n", elided) + tidyOutput(end)
	if call.Artifacts == nil {
		return b
	}
	// The result is good without the artifact.
	if url, err := call.Artifacts.Put(ctx, tool, []byte(plainOutput(strings.ToValidUTF8(string(full), "\uFFFD")))); err == nil {
		what := "The full output is"
		if int64(len(full)) < total {
			what = "The first " + size(maxArtifact) + " of the output are"
		}
		b.notes = append(b.notes, what+" in "+url+"; read takes line ranges of it.")
	}
	return b
}

// tidyOutput makes a command's output readable for the model.
func tidyOutput(text string) string {
	text = plainOutput(strings.ToValidUTF8(text, "\uFFFD"))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = cutLine(line, maxColumns)
	}
	return strings.Join(lines, "\n")
}

// bashOutput is a command's output for the model.
type bashOutput struct {
	text      string
	truncated bool
	notes     []string
}
