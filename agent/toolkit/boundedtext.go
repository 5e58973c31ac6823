package toolkit

import (
	"context"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
)

// BoundedText returns text, cut to the model's limits, followed by notes. If text does not fit, all of it is stored as an artifact
// of the tool.
func BoundedText(ctx context.Context, call *agent.Call, tool, text string, notes []string) string {
	text = strings.TrimRight(text, "\n")
	if lines := strings.Count(text, "\n") + 1; len(text) > MaxText || lines > MaxLines {
		full := text
		text = CutBytes(text, MaxText)
		for at, n := range lineStarts(text) {
			if n == MaxLines {
				text = text[:at]
				break
			}
		}
		if i := strings.LastIndexByte(text, '\n'); i > 0 {
			text = text[:i]
		}
		note := fmt.Sprintf("%s left out.", Size(int64(len(full)-len(text))))
		if call.Artifacts != nil {
			if url, err := call.Artifacts.Put(ctx, tool, []byte(CutBytes(full, MaxArtifact))); err == nil {
				note += " The full text is in " + url + "; use read with line ranges of it."
			}
		}
		notes = append([]string{note}, notes...)
	}
	return JoinNotes(text, notes)
}

// lineStarts yields the offset of each line and its number from 0.
func lineStarts(text string) func(yield func(at, n int) bool) {
	return func(yield func(at, n int) bool) {
		at, n := 0, 0
		for line := range strings.Lines(text) {
			if !yield(at, n) {
				return
			}
			at += len(line)
			n++
		}
	}
}
