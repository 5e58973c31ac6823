package relay

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/pipe"
)

// Client calls a client of this process.
type Client interface {
	acp.Caller
	// Start sends a request, in order, and returns a function that waits for the result.
	Start(method string, params any) (wait func(ctx context.Context, result any) error)
}

// Host accepts the connections of other processes to the sessions that this one has open. Its methods may be called from any goroutine.
//
// A process has one for all of its clients: an idle process looks into the store as rarely as it can.
type Host struct {
	store *sessions.Store
	log   zerolog.Logger

	mu       sync.Mutex // guards the field below
	sessions map[string]*Session
}

// NewHost returns a host for the sessions of a store. It accepts nothing until [Host.Run] is called.
func NewHost(store *sessions.Store, log zerolog.Logger) *Host {
	return &Host{store: store, log: log, sessions: make(map[string]*Session)}
}

// Run accepts connections until ctx ends.
func (h *Host) Run(ctx context.Context) {
	_, _, every := sessions.Pipes(h.store)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if err := h.accept(ctx); err != nil {
			h.log.Debug().Err(err).Msg("looking for other processes that take part in sessions")
		}
	}
}

// accept accepts what is offered now.
func (h *Host) accept(ctx context.Context) error {
	if h.count() == 0 {
		return nil
	}
	fsys, dir, _ := sessions.Pipes(h.store)
	offers, err := pipe.Offers(fsys, dir)
	if err != nil {
		return err
	}
	var all []error
	for _, o := range offers {
		s := h.session(o.Session)
		switch {
		case s == nil && time.Since(o.Time) > abandonedAfter:
			all = append(all, h.sweep(ctx, o))
		case s == nil || s.has(o.Name()):
		default:
			if err := s.accept(ctx, o); err != nil && !errors.Is(err, pipe.ErrEarly) {
				all = append(all, err)
			}
		}
	}
	return errors.Join(all...)
}

// abandonedAfter is the time after which what a process has offered, and not removed, is removed if no process has the session open: one that
// lives calls only a process that has it.
const abandonedAfter = 24 * time.Hour

// sweep removes an old offer that is no use any more.
func (h *Host) sweep(ctx context.Context, o *pipe.Offer) error {
	fsys, path, err := sessions.Locate(ctx, h.store, o.Session)
	if err == nil {
		holder, _, err := fsys.Holder(path)
		if err != nil || holder != nil {
			return err
		}
	} else if !errors.Is(err, sessions.ErrNotFound) {
		return err
	}
	return o.Remove()
}

func (h *Host) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

// session returns the open session with an ID; nil for none.
func (h *Host) session(id string) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// Session is a session in which the clients of other processes can take part. A nil *Session is one without them.
type Session struct {
	host   *Host
	id     string
	client Client
	all    sync.WaitGroup

	mu        sync.Mutex // guards the fields below
	peers     map[string]*jsonrpc.Conn
	questions map[*question]bool
	closed    bool
}

// Session returns a session that is not open yet, with the client that gives prompts their turns.
func (h *Host) Session(id string, client Client) *Session {
	return &Session{host: h, id: id, client: client, peers: make(map[string]*jsonrpc.Conn), questions: make(map[*question]bool)}
}

// Open has connections accepted until [Session.Close] is called. This process holds the lock of the session.
func (s *Session) Open() {
	if s == nil {
		return
	}
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	s.host.sessions[s.id] = s
}

// closeGrace bounds how long the end of a session waits for the answers to prompts that have had their turn.
const closeGrace = 500 * time.Millisecond

// Close ends the connections. What is not answered soon is refused.
func (s *Session) Close(ctx context.Context) {
	if s == nil {
		return
	}
	s.host.mu.Lock()
	if s.host.sessions[s.id] == s {
		delete(s.host.sessions, s.id)
	}
	s.host.mu.Unlock()
	s.mu.Lock()
	s.closed = true
	ctx, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	for _, conn := range s.peers {
		s.all.Go(func() { _ = conn.Shutdown(ctx) }) // its error is that not all was answered
	}
	s.mu.Unlock()
	s.all.Wait()
}

func (s *Session) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[name] != nil
}

// accept accepts a connection.
func (s *Session) accept(ctx context.Context, o *pipe.Offer) error {
	fsys, path, err := sessions.Locate(ctx, s.host.store, s.id)
	if err != nil {
		return err
	}
	holder, _, err := fsys.Holder(path)
	if err != nil || holder == nil || holder.PID != os.Getpid() || holder.Host != "" {
		return err // this process is not the one that has it open any more, and will notice
	}
	p, err := o.Accept(pipe.Holder(holder))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return p.Close()
	}
	g := &guest{session: s}
	conn := jsonrpc.NewConn(context.Background(), p, p, options(p, g))
	g.closing = conn.Closing()
	s.peers[o.Name()] = conn
	s.all.Go(func() { // ends with the connection
		<-conn.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.peers, o.Name())
	})
	for q := range s.questions {
		s.put(q, conn)
	}
	return nil
}

// guest handles what another process sends.
type guest struct {
	session *Session
	closing <-chan struct{} // of the connection; the session's mutex guards it
}

// Handle implements [jsonrpc.Handler].
func (g *guest) Handle(ctx context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
	s := g.session
	switch req.Method {
	case methodHello:
		return func() (any, error) { return struct{}{}, nil }, nil
	case acp.MethodSessionPrompt.Name:
		params, err := ofSession(req.Params, s.id)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
		wait := s.client.Start(MethodPrompt, params)
		return func() (any, error) {
			ctx, cancel := g.outlive(ctx)
			defer cancel()
			return answered(func(answer *jsonx.Raw) error { return wait(ctx, answer) })
		}, nil
	case acp.MethodSessionCancel.Name:
		return nil, s.client.Notify(ctx, MethodCancel, acp.CancelNotification{SessionID: acp.SessionID(s.id)})
	default:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method: " + req.Method}
	}
}

// outlive returns a context for a prompt. It ends when the other process cancels the prompt, and not when that process is gone: the turn goes
// on, as it does without any other client.
func (g *guest) outlive(ctx context.Context) (context.Context, func()) {
	g.session.mu.Lock()
	closing := g.closing
	g.session.mu.Unlock()
	kept, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-closing:
		default:
			cancel(context.Cause(ctx))
		}
	})
	return kept, func() {
		stop()
		cancel(nil)
	}
}

// question is a request that any client of the session can answer.
type question struct {
	ctx     context.Context //nolint:containedctx // ends when it is answered
	method  string
	params  jsonx.Raw
	answers chan jsonx.Raw
}

// put sends a question to another process. An error is no answer. The caller holds s.mu.
func (s *Session) put(q *question, conn *jsonrpc.Conn) {
	s.all.Go(func() { // ends with the question
		var answer jsonx.Raw
		if conn.Call(q.ctx, q.method, q.params, &answer) != nil {
			return
		}
		select {
		case q.answers <- answer:
		case <-q.ctx.Done():
		}
	})
}

// Caller returns a caller that puts questions to the clients of other processes too, those that come later among them. The first answer
// counts.
func (s *Session) Caller(own acp.Caller) acp.Caller {
	if s == nil {
		return own
	}
	return asking{own, s}
}

type asking struct {
	acp.Caller
	session *Session
}

var errAnswered = errors.New("the question was answered by another client")

// Call implements [acp.Caller].
func (a asking) Call(ctx context.Context, method string, params, result any) error {
	if !isQuestion(method) {
		return a.Caller.Call(ctx, method, params, result)
	}
	s := a.session
	raw, err := ofSession(params, s.id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errAnswered)
	q := &question{ctx, method, raw, make(chan jsonx.Raw)}
	s.ask(q)
	defer s.forget(q)
	var answer jsonx.Raw
	answered := make(chan error, 1)
	go func() { answered <- a.Caller.Call(ctx, method, params, &answer) }() // ends with ctx
	select {
	case err := <-answered:
		if err != nil {
			return err
		}
	case theirs := <-q.answers:
		cancel(errAnswered)
		<-answered
		answer = theirs
	}
	return jsonx.Unmarshal(answer, result)
}

// ask puts a question to all other processes.
func (s *Session) ask(q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.questions[q] = true
	for _, conn := range s.peers {
		s.put(q, conn)
	}
}

func (s *Session) forget(q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.questions, q)
}
