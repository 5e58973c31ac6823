package agent

import "sync"

// mailbox is the queue of a session's actor. It has no limit, because the connection's dispatcher and running turns
// must not block when they post. Turns wait for their functions, which bounds the queue.
type mailbox struct {
	mu     sync.Mutex // guards todo and closed
	todo   []func(*state)
	closed bool
	wake   chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post adds fn and reports whether the actor will run it.
func (m *mailbox) post(fn func(st *state)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.todo = append(m.todo, fn)
	m.signal()
	return true
}

// run runs the posted functions in order until the mailbox is closed and empty. Only these functions see the state.
func (m *mailbox) run(st *state) {
	var batch []func(*state)
	for {
		m.mu.Lock()
		clear(batch)
		batch, m.todo = m.todo, batch[:0]
		closed := m.closed
		m.mu.Unlock()
		for _, fn := range batch {
			fn(st)
		}
		if len(batch) == 0 {
			if closed {
				return
			}
			<-m.wake
		}
	}
}

// close makes run return after the functions that are already posted.
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
