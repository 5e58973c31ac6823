package dap

import (
	"context"
	"strings"
)

const (
	// maxOutput bounds the output that is kept, in bytes.
	maxOutput = 128 << 10
	// maxSnapshotOutput bounds the output in a snapshot, in bytes.
	maxSnapshotOutput = 4 << 10
)

// output keeps the end of what was printed. tree.mu guards it.
type output struct {
	buf      []byte // up to twice maxOutput, so that it is seldom copied
	total    int64  // the number of bytes printed so far
	reported int64  // the number of bytes that snapshots have returned
	// terminal holds what was printed in an editor's terminal.
	terminal string
}

func (o *output) add(text string) {
	if len(text) > maxOutput {
		o.total += int64(len(text) - maxOutput)
		text = text[len(text)-maxOutput:]
		o.buf = o.buf[:0]
	}
	if len(o.buf)+len(text) > 2*maxOutput {
		o.buf = append(o.buf[:0], o.buf[len(o.buf)-(maxOutput-min(maxOutput, len(text))):]...)
	}
	o.buf = append(o.buf, text...)
	o.total += int64(len(text))
}

// addTerminal adds what was printed since the last call; text is all that the terminal has.
func (o *output) addTerminal(text string) {
	rest, ok := strings.CutPrefix(text, o.terminal)
	if !ok { // the terminal has dropped its oldest output
		rest = text
		if tail := o.terminal[max(0, len(o.terminal)-256):]; tail != "" {
			if i := strings.LastIndex(text, tail); i >= 0 {
				rest = text[i+len(tail):]
			}
		}
	}
	o.terminal = text
	o.add(rest)
}

// tail returns the end of the output, and the number of bytes before it. Snapshots do not return it again.
func (o *output) tail() (text string, dropped int64) {
	o.reported = o.total
	buf := o.buf[max(0, len(o.buf)-maxOutput):]
	return valid(string(buf)), o.total - int64(len(buf))
}

// since returns the output after the first n bytes, if it is still kept.
func (o *output) since(n int64) string {
	n = min(o.total-n, int64(len(o.buf)))
	return valid(string(o.buf[int64(len(o.buf))-n:]))
}

// unreported returns the end of the output that no snapshot has returned yet, and the number of omitted bytes before it.
func (o *output) unreported() (text string, dropped int64) {
	fresh := o.total - o.reported
	n := min(fresh, int64(len(o.buf)), maxSnapshotOutput)
	text = string(o.buf[int64(len(o.buf))-n:])
	o.reported = o.total
	if n < fresh { // begin with a whole line
		if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
			text = rest
		}
	}
	return valid(text), fresh - int64(len(text))
}

// valid replaces invalid UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// isNoise reports whether text is a message that dlv prints in every session.
func isNoise(text string) bool {
	return strings.HasPrefix(text, "DAP server listening at:") || text == "Type 'dlv help' for list of commands.\n"
}

// print adds what the program or the adapter has printed to the output and passes it to the observers.
func (a *adapter) print(category, text string) {
	if text == "" || category == "telemetry" || isNoise(text) {
		return
	}
	t := a.debuggee.tree
	t.mu.Lock()
	t.output.add(text)
	observers := t.observers
	t.mu.Unlock()
	for _, o := range observers {
		if o.Output != nil {
			o.Output(category, text)
		}
	}
}

// addTerminalOutput adds the new output of an editor's terminal; text is all that the terminal has.
func (t *tree) addTerminalOutput(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.output.addTerminal(text)
}

// readTerminals adds the output of the terminals that do not send it.
func (t *tree) readTerminals(ctx context.Context) {
	t.mu.Lock()
	terminals := t.terminalsLocked()
	t.mu.Unlock()
	for _, term := range terminals {
		if text, err := term.Output(ctx); err == nil && text != "" {
			t.addTerminalOutput(text)
		}
	}
}

// Output returns the last 128 KiB that were printed, and the number of bytes before them.
func (s *Session) Output(ctx context.Context) (text string, dropped int64) {
	defer s.tree.use()()
	s.tree.readTerminals(ctx)
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.tree.output.tail()
}
