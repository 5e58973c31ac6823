package agent

import (
	"strconv"
	"sync"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// memoryLog is the log of a child session: it ends with it.
type memoryLog struct {
	mu       sync.Mutex // guards the fields below
	entries  int
	messages []logged
}

type logged struct {
	id string
	m  providers.Message
}

func newMemoryLog() *memoryLog { return new(memoryLog) }

func (l *memoryLog) next() string {
	l.entries++
	return strconv.Itoa(l.entries)
}

// AppendMessage implements [Log].
func (l *memoryLog) AppendMessage(m *providers.Message) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.next()
	l.messages = append(l.messages, logged{id, *m})
	return id, nil
}

// Append implements [Log]. A child's choices are its parent's; only its messages count.
func (l *memoryLog) Append(sessions.Entry) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next(), nil
}

// SetTitle implements [Log].
func (l *memoryLog) SetTitle(string, string) error { return nil }

// Rewind implements [Log].
func (l *memoryLog) Rewind(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.messages {
		if l.messages[i].id == id {
			l.messages = l.messages[:i+1]
			return nil
		}
	}
	l.messages = nil
	return nil
}

// Leaf implements [Log].
func (l *memoryLog) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.messages); n > 0 {
		return l.messages[n-1].id
	}
	return ""
}

// Clear implements [Log].
func (l *memoryLog) Clear() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages = nil
	return nil
}

// Messages implements [Log].
func (l *memoryLog) Messages() ([]providers.Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]providers.Message, len(l.messages))
	for i := range l.messages {
		all[i] = l.messages[i].m
	}
	return all, nil
}

// Branch implements [Log].
func (l *memoryLog) Branch() ([]sessions.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]sessions.Entry, len(l.messages))
	for i := range l.messages {
		all[i] = sessions.MessageEntry{Base: sessions.Base{ID: l.messages[i].id}, Message: l.messages[i].m}
	}
	return all, nil
}

// Close implements [Log].
func (l *memoryLog) Close() error { return nil }
