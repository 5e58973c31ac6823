package server

import (
	"context"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
)

// entry is one live session, or one that is being made: what the client asks of it before it is ready waits, in
// order.
type entry struct {
	id  acp.SessionID
	out *outlet

	mu      sync.Mutex // guards the fields below
	ready   bool
	err     error // why it never became ready
	session *agent.Session
	waiting []func(*agent.Session, error)
	closed  bool

	done chan struct{} // closed when ready
}

func newEntry(id acp.SessionID, out *outlet) *entry {
	return &entry{id: id, out: out, done: make(chan struct{})}
}

// then calls fn with the session, at once if it is ready, else when it is. Calls keep their order.
func (e *entry) then(fn func(*agent.Session, error)) {
	e.mu.Lock()
	if !e.ready {
		e.waiting = append(e.waiting, fn)
		e.mu.Unlock()
		return
	}
	session, err := e.session, e.err
	e.mu.Unlock()
	fn(session, err)
}

// settle makes the entry ready, once.
func (e *entry) settle(session *agent.Session, err error) {
	for first := true; ; first = false {
		e.mu.Lock()
		if first {
			e.session, e.err = session, err
		}
		waiting := e.waiting
		e.waiting = nil
		if len(waiting) == 0 {
			// Only now may others go past the queue.
			e.ready = true
			e.mu.Unlock()
			close(e.done)
			return
		}
		e.mu.Unlock()
		for _, fn := range waiting {
			fn(session, err)
		}
	}
}

// close ends the session, waiting for one that is still being made.
func (e *entry) close(ctx context.Context) error {
	select {
	case <-e.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	e.mu.Lock()
	session := e.session
	again := e.closed
	e.closed = true
	e.mu.Unlock()
	if session == nil || again {
		return nil
	}
	err := session.Close(ctx)
	e.out.close()
	return err
}

// lookup returns the live session with an id.
func (s *Server) lookup(id acp.SessionID) (*entry, error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.sessions[id]
	if e == nil {
		return nil, unknownSession(id)
	}
	return e, nil
}

// enter adds an entry for id, or returns the one that is there.
func (s *Server) enter(id acp.SessionID) (e *entry, added bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, false, agent.ErrSessionClosed
	}
	if e := s.sessions[id]; e != nil {
		return e, false, nil
	}
	e = newEntry(id, newOutlet(s.conn, id, s.clientNotices()))
	s.sessions[id] = e
	return e, true, nil
}

// clientNotices reports whether the client takes notice updates. s.mu is held.
func (s *Server) clientNotices() bool {
	session := s.client.ClientCapabilities.Session
	return session != nil && session.Notices != nil
}

// leave forgets an entry.
func (s *Server) leave(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[e.id] == e {
		delete(s.sessions, e.id)
	}
}
