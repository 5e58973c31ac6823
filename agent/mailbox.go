package agent

import "sync"

// mailbox is the actor's queue of things to do. It is unbounded, because those who post must not wait: they are
// the connection's dispatcher and running turns. Turns wait for what they post, which bounds it.
type mailbox struct {
	mu     sync.Mutex // guards todo, closed
	todo   []func()
	closed bool
	wake   chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post adds fn and reports whether it will run.
func (m *mailbox) post(fn func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.todo = append(m.todo, fn)
	m.signal()
	return true
}

// run runs what is posted, in order, until the box is closed and empty.
func (m *mailbox) run() {
	var batch []func()
	for {
		m.mu.Lock()
		clear(batch)
		batch, m.todo = m.todo, batch[:0]
		closed := m.closed
		m.mu.Unlock()
		for _, fn := range batch {
			fn()
		}
		if len(batch) == 0 {
			if closed {
				return
			}
			<-m.wake
		}
	}
}

func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.signal()
}

func (m *mailbox) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
