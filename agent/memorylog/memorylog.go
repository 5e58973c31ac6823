// Package memorylog implements the log of a child session, which is kept in memory and ends with the session.
package memorylog

import (
	"iter"
	"slices"
	"strconv"
	"sync"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Log holds the entries of one session. It is safe for concurrent use. Its methods behave as agent.Log specifies.
type Log struct {
	mu      sync.Mutex // guards the fields below
	next    int
	entries []sessions.Entry
	calls   map[string]bool // the IDs of all calls
}

// New returns an empty log.
func New() *Log { return &Log{calls: make(map[string]bool)} }

// AppendMessage implements agent.Log.
func (l *Log) AppendMessage(m *providers.Message) (string, error) {
	return l.Append(sessions.MessageEntry{Message: *m})
}

// Append implements agent.Log. It stores only entries of the conversation, because a child's settings are its parent's.
func (l *Log) Append(e sessions.Entry) (string, error) {
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

// SetTitle implements agent.Log.
func (l *Log) SetTitle(string, string) error { return nil }

// Rewind implements agent.Log.
func (l *Log) Rewind(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.entries, func(e sessions.Entry) bool { return e.Ref().ID == id })
	l.entries = l.entries[:at+1]
	return nil
}

// BranchWithSummary implements agent.Log.
func (l *Log) BranchWithSummary(id string, summary sessions.BranchSummary) (string, error) {
	if err := l.Rewind(id); err != nil {
		return "", err
	}
	return l.Append(summary)
}

// SetLabel implements agent.Log. It does nothing, because a child's labels are not shown.
func (l *Log) SetLabel(string, string) error { return nil }

// PathTo implements agent.Log.
func (l *Log) PathTo(id string) ([]sessions.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.entries, func(e sessions.Entry) bool { return e.Ref().ID == id })
	if at < 0 && id != "" {
		return nil, sessions.ErrNotFound
	}
	return slices.Clone(l.entries[:at+1]), nil
}

// Leaf implements agent.Log.
func (l *Log) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.entries); n > 0 {
		return l.entries[n-1].Ref().ID
	}
	return ""
}

// Clear implements agent.Log.
func (l *Log) Clear() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
	return nil
}

// Walk implements agent.Log. Nothing is ever cleared in a child.
func (l *Log) Walk() iter.Seq2[sessions.Entry, error] {
	return func(yield func(sessions.Entry, error) bool) {
		branch, _ := l.Branch() // it never fails
		for _, e := range branch {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Messages implements agent.Log.
func (l *Log) Messages() ([]providers.Message, error) {
	branch, err := l.Branch()
	if err != nil {
		return nil, err
	}
	return sessions.MessagesOf(branch), nil
}

// Branch implements agent.Log.
func (l *Log) Branch() ([]sessions.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries), nil
}

// HasCall implements agent.Log.
func (l *Log) HasCall(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[id]
}

// Close implements agent.Log.
func (l *Log) Close() error { return nil }
