package dap

import (
	"context"
	"strings"
)

const (
	// maxOutput is how much of the output is kept, in bytes.
	maxOutput = 128 << 10
	// maxSnapshotOutput is how much of it a snapshot tells.
	maxSnapshotOutput = 4 << 10
)

// output keeps the end of what was printed.
type output struct {
	buf   []byte // at most twice maxOutput, so that the copying pays
	total int64  // bytes printed in all
	told  int64  // how far snapshots have told it
	// terminal is what was printed in an editor's terminal.
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

// kept is the end of the output, and how much there was before it.
func (o *output) kept() (text string, dropped int64) {
	buf := o.buf[max(0, len(o.buf)-maxOutput):]
	return valid(string(buf)), o.total - int64(len(buf))
}

// since is what was printed behind a number of bytes, as far as it is kept.
func (o *output) since(from int64) string {
	n := min(o.total-from, int64(len(o.buf)))
	return valid(string(o.buf[int64(len(o.buf))-n:]))
}

// take is the end of what no snapshot has told yet, and how much before it was left out.
func (o *output) take() (text string, dropped int64) {
	fresh := o.total - o.told
	n := min(fresh, int64(len(o.buf)), maxSnapshotOutput)
	text = string(o.buf[int64(len(o.buf))-n:])
	o.told = o.total
	if n < fresh { // from the start of a line
		if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
			text = rest
		}
	}
	return valid(text), fresh - int64(len(text))
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// noise reports whether a text is what dlv tells everybody, and nobody needs.
func noise(text string) bool {
	return strings.HasPrefix(text, "DAP server listening at:") || text == "Type 'dlv help' for list of commands.\n"
}

// print takes what the program or the adapter has printed.
func (l *life) print(category, text string) {
	if text == "" || category == "telemetry" || noise(text) {
		return
	}
	t := l.session.tree
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

// replaceTerminal takes what an editor's terminal has by now.
func (t *tree) replaceTerminal(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.takeTerminalLocked(text)
}

// takeTerminalLocked adds what has come since the terminal was read last. tree.mu is held.
func (t *tree) takeTerminalLocked(text string) {
	rest, ok := strings.CutPrefix(text, t.output.terminal)
	if !ok { // its start was cut off meanwhile
		rest = text
		if tail := t.output.terminal[max(0, len(t.output.terminal)-256):]; tail != "" {
			if i := strings.LastIndex(text, tail); i >= 0 {
				rest = text[i+len(tail):]
			}
		}
	}
	t.output.terminal = text
	t.output.add(rest)
}

// readTerminals takes what the program has printed in terminals that show their output themselves.
func (s *Session) readTerminals(ctx context.Context) {
	s.tree.mu.Lock()
	var terminals []Terminal
	for _, f := range s.tree.root.familyLocked() {
		if f.life != nil {
			terminals = append(terminals, f.life.terminals...)
		}
	}
	s.tree.mu.Unlock()
	for _, term := range terminals {
		if text, err := term.Output(ctx); err == nil && text != "" {
			s.tree.replaceTerminal(text)
		}
	}
}

// Output returns what was printed and is still kept, the last 128 KiB; dropped is how many bytes there were before.
func (s *Session) Output(ctx context.Context) (text string, dropped int64) {
	defer s.use()()
	s.readTerminals(ctx)
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.tree.output.told = s.tree.output.total
	return s.tree.output.kept()
}
