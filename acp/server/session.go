package server

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/followed"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/lsp"
)

// session is a session that is open or being opened. Requests for it wait, in order, until it is open.
type session struct {
	id     acp.SessionID
	cwd    string
	out    *outlet
	config sessionConfig
	// mark identifies the processes started by the commands of the session and its subagents.
	mark string
	// former, if not nil, is closed when the former session with this ID has released its file.
	former <-chan struct{}

	opening
	ending ending
	// followed is set while the session is open elsewhere, or cannot be opened here, and the client watches it.
	followed atomic.Pointer[followed.Session]
	relay    *relay.Session // nil if the client has no use for other processes that take part

	requests   atomic.Int64 // counts, in wire order, the requests that opened the session or found it open
	answers    line         // the answers to changes of settings
	advertised advertised
	replaying  sync.Mutex // held while a replay is sent, so that two do not mix
}

func newSession(id acp.SessionID, cwd string, out *outlet, models Models) *session {
	s := &session{id: id, cwd: cwd, out: out, config: sessionConfig{models, cwd, out}, mark: proc.NewMark()}
	s.done = make(chan struct{})
	s.ending.init()
	return s
}

// opened is an agent session together with the server's state for it. It does not change.
type opened struct {
	*agent.Session
	named     agent.Workspace // the directories that the client has named
	tools     *toolbox
	commands  *slash.Commands
	languages *lsp.Workspace  // nil for none
	debugger  *debug.Debugger // nil for none
	bridges   Bridges
	lost      <-chan struct{} // closed when another process takes the session over; nil for never
}

// takenOver reports whether another process has taken the session over.
func (o *opened) takenOver() bool {
	select {
	case <-o.lost:
		return true
	default:
		return false
	}
}

// opening is the queue of calls for a session that is being opened.
type opening struct {
	done chan struct{} // closed when the session is open, or cannot be opened

	mu       sync.Mutex // guards the fields below
	finished bool
	opened   *opened // nil if the session could not be opened
	err      error   // why it could not be opened
	waiting  []func(*opened, error)
	refusal  error // of calls, while the session is followed
}

// refuse makes calls fail until accept is called.
func (q *opening) refuse(err error) {
	q.mu.Lock()
	q.refusal = err
	waiting := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	for _, fn := range waiting {
		fn(nil, err)
	}
}

func (q *opening) accept() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refusal = nil
}

// then calls fn when the session is open, or cannot be opened. Calls keep their order. If the session is open, then calls fn
// at once.
func (q *opening) then(fn func(*opened, error)) {
	q.mu.Lock()
	if !q.finished && q.refusal == nil {
		q.waiting = append(q.waiting, fn)
		q.mu.Unlock()
		return
	}
	o, err := q.opened, q.err
	if !q.finished {
		err = q.refusal
	}
	q.mu.Unlock()
	fn(o, err)
}

// finish ends the opening. It is called once.
func (q *opening) finish(o *opened, err error) {
	for first := true; ; first = false {
		q.mu.Lock()
		if first {
			q.opened, q.err = o, err
		}
		waiting := q.waiting
		q.waiting = nil
		if len(waiting) == 0 {
			// From now on calls may bypass the queue.
			q.finished = true
			q.mu.Unlock()
			close(q.done)
			return
		}
		q.mu.Unlock()
		for _, fn := range waiting {
			fn(o, err)
		}
	}
}

// ready returns the opened session, or nil if it is being opened or could not be.
func (q *opening) ready() *opened {
	select {
	case <-q.done:
		return q.opened
	default:
		return nil
	}
}

// wait waits until the session is open and returns it.
func (q *opening) wait(ctx context.Context) (*opened, error) {
	select {
	case <-q.done:
		return q.opened, q.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// queue passes a change to the session, in call order, and returns a function that waits for its result.
func (q *opening) queue(change func(*opened) agent.Pending) func() error {
	wait := after(q, change)
	return func() error {
		pending, err := wait()
		if err != nil {
			return err
		}
		return pending()
	}
}

// after calls fn when the session is open, in call order, and returns a function that waits for its result.
func after[T any](q *opening, fn func(*opened) T) func() (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	q.then(func(o *opened, err error) {
		r := result{err: err}
		if err == nil {
			r.value = fn(o)
		}
		done <- r
	})
	return func() (T, error) {
		r := <-done
		return r.value, r.err
	}
}

// log returns a log with the ID of the session.
func (s *session) log(to *zerolog.Logger) zerolog.Logger {
	return to.With().Str("session", string(s.id)).Logger()
}
