package toolkit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/text"
)

// Limits of a command's output.
const (
	// headKept is the length of the start of a long output that the model receives, in bytes. It receives MaxText bytes of the end.
	headKept = 20 << 10
	// MaxArtifact bounds the size of a stored output, in bytes.
	MaxArtifact = 10 << 20
	// LiveEvery is the shortest time between two reports of new output.
	LiveEvery = 100 * time.Millisecond
	// maxLive is the length of the output that is reported in pieces, in bytes. After that, only its end is reported.
	maxLive = 64 << 10
	// liveTail is the length of that end, in bytes.
	liveTail = 8 << 10
)

// LiveOutput collects a local command's output for the result and reports it while it arrives, at most once every LiveEvery. Close stops
// its one timer.
type LiveOutput struct {
	update func(agent.Progress)
	shown  []agent.Content

	mu       sync.Mutex // guards the fields below
	full     []byte     // up to maxArtifact
	total    int64
	pending  []byte
	reported int
	last     time.Time
	timer    *time.Timer
	closed   bool
	detached bool
}

// NewLiveOutput returns an output that is reported to update, each time after the content shown. The caller must close it.
func NewLiveOutput(update func(agent.Progress), shown []agent.Content) *LiveOutput {
	return &LiveOutput{update: update, shown: shown}
}

func (l *LiveOutput) Write(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.total += int64(len(b))
	l.full = append(l.full, b[:min(len(b), MaxArtifact-len(l.full))]...)
	if l.detached {
		return
	}
	l.pending = append(l.pending, b...)
	if len(l.pending) > maxLive {
		l.reported = maxLive // too much output to show all of it
	}
	if over := len(l.pending) - liveTail; l.reported >= maxLive && over > 0 {
		l.pending = append(l.pending[:0], l.pending[over:]...)
	}
	switch wait := LiveEvery - time.Since(l.last); {
	case wait <= 0:
		l.report()
	case l.timer == nil:
		l.timer = time.AfterFunc(wait, l.tick)
	}
}

func (l *LiveOutput) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if !l.closed && !l.detached {
		l.report()
	}
}

// report reports the pending output. The caller holds mu.
func (l *LiveOutput) report() {
	if len(l.pending) == 0 {
		return
	}
	whole := len(l.pending) - BrokenRune(l.pending)
	raw := strings.ToValidUTF8(string(l.pending[:whole]), "\uFFFD")
	text := PlainOutput(raw)
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

// BrokenRune returns the number of bytes at the end of b that start an incomplete character.
func BrokenRune(b []byte) int {
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

// Detach stops the reports. Later output is only collected.
func (l *LiveOutput) Detach() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report()
	l.detached = true
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// Close reports the pending output, and stops the reports. An editor may show the pieces and not the result.
func (l *LiveOutput) Close() {
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

// Bounded joins the start of an output and its end, tail. If that is not all of it, it stores the output as an artifact.
func (l *LiveOutput) Bounded(ctx context.Context, call *agent.Call, tool, tail string) BashOutput {
	l.mu.Lock()
	total, full := l.total, l.full
	l.mu.Unlock()
	if total <= headKept+MaxText && total == int64(len(full)) {
		return BashOutput{Text: TidyOutput(string(full))}
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
	b := BashOutput{Truncated: true}
	elided := Size(left)
	if int64(len(full)) == total {
		gone := full[len(head) : len(full)-len(end)]
		elided = fmt.Sprintf("%s (%s)", text.Count(strings.Count(string(gone), "\n"), "line"), Size(left))
	}
	b.Text = TidyOutput(head) + fmt.Sprintf("\n… %s left out …\n\n", elided) + TidyOutput(end)
	if call.Artifacts == nil {
		return b
	}
	// The result is useful without the artifact.
	if url, err := call.Artifacts.Put(ctx, tool, []byte(PlainOutput(strings.ToValidUTF8(string(full), "\uFFFD")))); err == nil {
		what := "The full output is"
		if int64(len(full)) < total {
			what = "The first " + Size(MaxArtifact) + " of the output are"
		}
		b.Notes = append(b.Notes, what+" in "+url+"; use read with line ranges of it.")
	}
	return b
}

// TidyOutput returns a command's output without control characters and with lines cut to MaxColumns.
func TidyOutput(text string) string {
	text = PlainOutput(strings.ToValidUTF8(text, "\uFFFD"))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = CutLine(line, MaxColumns)
	}
	return strings.Join(lines, "\n")
}

// BashOutput holds a command's output for the model.
type BashOutput struct {
	Text      string
	Truncated bool
	Notes     []string
}
