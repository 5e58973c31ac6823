package agent

import (
	"iter"
	"slices"
	"strconv"
	"sync"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// memoryLog is the log of a child session. It ends with the session.
type memoryLog struct {
	mu      sync.Mutex // guards the fields below
	next    int
	entries []sessions.Entry
	calls   map[string]bool // the ids of all calls
}

func newMemoryLog() *memoryLog { return &memoryLog{calls: make(map[string]bool)} }

// AppendMessage implements [Log].
func (l *memoryLog) AppendMessage(m *providers.Message) (string, error) {
	return l.Append(sessions.MessageEntry{Message: *m})
}

// Append implements [Log]. It stores only entries of the conversation, because a child's settings are its parent's.
func (l *memoryLog) Append(e sessions.Entry) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	base := sessions.Base{ID: strconv.Itoa(l.next)}
	switch e := e.(type) {
	case sessions.MessageEntry:
		e.Base = base
		for _, c := range e.Message.ToolCalls() {
			l.calls[c.ID] = true
		}
		l.entries = append(l.entries, e)
	case sessions.CustomMessage:
		e.Base = base
		l.entries = append(l.entries, e)
	case sessions.Compaction:
		e.Base = base
		l.entries = append(l.entries, e)
	case sessions.BranchSummary:
		e.Base = base
		l.entries = append(l.entries, e)
	case sessions.Custom:
		e.Base = base
		l.entries = append(l.entries, e)
	default:
	}
	return base.ID, nil
}

// SetTitle implements [Log].
func (l *memoryLog) SetTitle(string, string) error { return nil }

// Rewind implements [Log].
func (l *memoryLog) Rewind(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.entries, func(e sessions.Entry) bool { return e.Ref().ID == id })
	l.entries = l.entries[:at+1]
	return nil
}

// BranchWithSummary implements [Log].
func (l *memoryLog) BranchWithSummary(id string, summary sessions.BranchSummary) (string, error) {
	if err := l.Rewind(id); err != nil {
		return "", err
	}
	return l.Append(summary)
}

// SetLabel implements [Log]. It does nothing, because a child's labels are not shown.
func (l *memoryLog) SetLabel(string, string) error { return nil }

// PathTo implements [Log].
func (l *memoryLog) PathTo(id string) ([]sessions.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.entries, func(e sessions.Entry) bool { return e.Ref().ID == id })
	if at < 0 && id != "" {
		return nil, sessions.ErrNotFound
	}
	return slices.Clone(l.entries[:at+1]), nil
}

// Leaf implements [Log].
func (l *memoryLog) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.entries); n > 0 {
		return l.entries[n-1].Ref().ID
	}
	return ""
}

// Clear implements [Log].
func (l *memoryLog) Clear() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
	return nil
}

// Walk implements [Log]. Nothing is ever cleared in a child.
func (l *memoryLog) Walk() iter.Seq2[sessions.Entry, error] {
	branch, err := l.Branch()
	return walk(branch, err)
}

// walk yields entries that are in memory, or an error.
func walk(branch []sessions.Entry, err error) iter.Seq2[sessions.Entry, error] {
	return func(yield func(sessions.Entry, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range branch {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Messages implements [Log].
func (l *memoryLog) Messages() ([]providers.Message, error) {
	branch, err := l.Branch()
	if err != nil {
		return nil, err
	}
	return sessions.MessagesOf(branch), nil
}

// Branch implements [Log].
func (l *memoryLog) Branch() ([]sessions.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries), nil
}

// HasCall implements [Log].
func (l *memoryLog) HasCall(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[id]
}

// Close implements [Log].
func (l *memoryLog) Close() error { return nil }
