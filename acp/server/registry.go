package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/lsp"
)

// entry is one live session, or one that is being made: what the client asks of it before it is ready waits, in
// order.
type entry struct {
	id  acp.SessionID
	out *outlet
	// mark is that of the processes of commands, its helpers' too.
	mark string

	mu      sync.Mutex // guards the fields below
	settled bool
	err     error // why it never became ready
	session *agent.Session
	waiting []func(*agent.Session, error)

	asked      atomic.Int64 // counts the requests that opened it or found it open, in the order of the wire
	answers    line         // the answers to changes of what the session is set to
	advertised advertised
	guidance   guidance

	// These are set before it is ready, and never again.
	cwd          string
	box          *toolbox
	commands     *slash.Commands
	files        agent.FS
	languages    *lsp.Workspace // nil for none
	languagesErr error          // of their configuration
	settingsErr  error
	// modelErr is about the models of the configuration; nil for none.
	modelErr   error
	secretsErr error
	// policyErr is why the rules for permissions are not known.
	policyErr   error
	debugger    *agent.Debugger // nil for none
	debuggerErr error           // of its configuration
	// subagentLanguages says that child sessions have the language servers too.
	subagentLanguages bool

	done chan struct{} // closed when ready

	// before, if not nil, is closed when the session's former entry, which is being closed, has let go of its file.
	before   <-chan struct{}
	closing  sync.Once
	gone     chan struct{} // closed when the session is closed, and what was to follow is done
	closeErr error         // of gone
	// hurry ends endCtx, which bounds the closing: with the first context of those who wait for it.
	endCtx context.Context
	hurry  context.CancelCauseFunc
	// finish runs when the session is closed, before gone; finished says that it is too late for one. Both are under mu.
	finish   func()
	finished bool

	replaying sync.Mutex // held while a replay is written: two at once would mix
}

func newEntry(id acp.SessionID, out *outlet) *entry {
	e := &entry{id: id, out: out, mark: proc.NewMark(), done: make(chan struct{}), gone: make(chan struct{})}
	e.endCtx, e.hurry = context.WithCancelCause(context.Background())
	return e
}

// then calls fn with the session, at once if it is ready, else when it is. Calls keep their order.
func (e *entry) then(fn func(*agent.Session, error)) {
	e.mu.Lock()
	if !e.settled {
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
			e.settled = true
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

// close ends the session and waits for that. One that is still being made is closed as soon as it is made, also when
// ctx ends before. Of several calls the context that ends first counts.
func (e *entry) close(ctx context.Context) error {
	e.closing.Do(func() {
		go func() { // ends when the session is made, or is known not to be, and is closed
			defer close(e.gone)
			<-e.done
			e.closeErr = e.end()
			e.mu.Lock()
			finish := e.finish
			e.finished = true
			e.mu.Unlock()
			if finish != nil {
				finish()
			}
		}()
	})
	stop := context.AfterFunc(ctx, func() { e.hurry(context.Cause(ctx)) })
	defer stop()
	select {
	case <-e.gone:
		return e.closeErr
	case <-ctx.Done():
	}
	select {
	case <-e.done:
		<-e.gone // endCtx bounds it
		return e.closeErr
	default:
		return context.Cause(ctx)
	}
}

// end ends what the entry has.
func (e *entry) end() error {
	if e.session == nil {
		return nil
	}
	// A client that does not read holds up the session's events; it must not hold up its end.
	stop := context.AfterFunc(e.endCtx, e.out.close)
	defer stop()
	err := e.session.Close(e.endCtx)
	if e.debugger != nil {
		err = errors.Join(err, e.debugger.Sessions.Close(e.endCtx))
	}
	proc.Sweep(e.mark)
	e.out.close()
	if e.languages != nil {
		e.languages.Close()
	}
	if set := e.box.close(); set != nil {
		err = errors.Join(err, set.Close(e.endCtx))
	}
	return err
}

// thenFinish makes fn run when the session is closed, before another of the same id can be opened. It reports false
// where it is too late for that.
func (e *entry) thenFinish(fn func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.finished || e.finish != nil {
		return false
	}
	e.finish = fn
	return true
}

// toolbox returns the session's tools, or nil while it is being made.
func (e *entry) toolbox() *toolbox {
	select {
	case <-e.done:
		return e.box
	default:
		return nil
	}
}

// ready returns the session, or nil while it is being made or where it could not be.
func (e *entry) ready() *agent.Session {
	select {
	case <-e.done:
		return e.session
	default:
		return nil
	}
}

// entries returns the sessions that are open.
func (s *Server) entries() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.sessions))
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
	e = newEntry(id, newOutlet(s.conn, id, featuresOf(&s.client.ClientCapabilities)))
	if former := s.leaving[id]; former != nil {
		e.before = former.gone
	}
	s.sessions[id] = e
	return e, true, nil
}

// forget takes an entry out that never became a session.
func (s *Server) forget(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[e.id] == e {
		delete(s.sessions, e.id)
	}
}

// leave takes an entry out that is to be closed. A new one of the same id waits for it.
func (s *Server) leave(e *entry) {
	s.forget(e)
	s.mu.Lock()
	s.leaving[e.id] = e
	s.mu.Unlock()
	go func() { // ends with the session
		<-e.gone
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leaving[e.id] == e {
			delete(s.leaving, e.id)
		}
	}()
}
