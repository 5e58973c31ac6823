package transport

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// isUpgrade reports whether a request asks for a WebSocket.
func isUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// remote is a connection over WebSocket at the server.
type remote struct {
	*link
	place *place
	owner string
	// key is the secret with which the client may come back; empty if it cannot.
	key      string
	patience time.Duration // with a client that has lost its socket

	mu    sync.Mutex // guards the fields below, and keeps the end of gone from crossing a return
	gone  *time.Timer
	since time.Time // the client has been away
}

// Read implements [io.Reader]. It returns [io.EOF] after any end; the context has the cause.
func (c *remote) Read(p []byte) (int, error) {
	n, err := c.link.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// errLost is the cause that ends a connection whose client has not come back.
var errLost = errors.New("the client has not come back")

// errMute is the cause that ends a connection that has not begun.
var errMute = websocket.CloseError{Code: websocket.StatusPolicyViolation, Reason: "initialize has not come in time"}

// upgrade serves a request for a WebSocket: a new connection, or a new socket of one that is there.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(headerConnection) != "" && r.Header.Get(headerResume) != "" {
		s.comeBack(w, r)
		return
	}
	p := s.enter()
	if p == nil {
		s.full(w)
		return
	}
	defer p.leave()
	c := &remote{place: p, owner: s.opts.Owner(r), patience: s.opts.Resume}
	if r.Header.Get(headerResume) == resumeNew && s.opts.Resume > 0 {
		c.key = rand.Text()
		w.Header().Set(headerResume, c.key)
	}
	c.link = newLink(lifetime{s.ctx, r.Context()}, c.key == "", s.opts.MaxBuffered, s.opts.Stall)
	c.full = errBacklog
	mute := time.AfterFunc(s.opts.Idle, func() { c.end(errMute) })
	defer mute.Stop()
	c.seen = untilInitialize(mute)
	s.mu.Lock()
	s.remotes[p.id] = c
	p.client = c
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.remotes, p.id)
		s.mu.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stay()
	}()
	socket, ws, ok := s.accept(w, r, c, 0)
	if !ok {
		c.end(errGone)
		return
	}
	var first sync.WaitGroup
	first.Go(func() { c.carry(socket, ws, s.opts.KeepAlive) }) // ends with the socket
	s.serve(c)
	first.Wait()
}

// untilInitialize returns a function that stops a timer when it is called with the request "initialize".
func untilInitialize(mute *time.Timer) func(message []byte) {
	var begun atomic.Bool
	return func(message []byte) {
		if begun.Load() {
			return
		}
		if m, ok := parse(message); ok && m.method == "initialize" {
			begun.Store(true)
			mute.Stop()
		}
	}
}

// serve serves a connection until it ends.
func (s *Server) serve(c *remote) {
	err := s.opts.Serve(c.ctx, c, c.writer())
	restarts := errors.Is(err, ErrRestart)
	if err == nil || restarts {
		ctx, cancel := context.WithTimeout(c.ctx, s.opts.Stall)
		defer cancel()
		if !restarts {
			c.closeWrite()
			err = errDone
		}
		c.flush(ctx)
	}
	c.end(err)
}

// accept completes the upgrade of a socket that goes on after the messages that the client has received.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, c *remote, received uint64) (socket int, ws *websocket.Conn, ok bool) {
	c.mu.Lock()
	socket, has, err := c.attach(received)
	if err == nil {
		c.stay()
	}
	c.mu.Unlock()
	if errors.Is(err, errCount) {
		fail(w, http.StatusConflict, err.Error())
		return 0, nil, false
	}
	if err != nil {
		fail(w, http.StatusNotFound, "unknown "+headerConnection)
		return 0, nil, false
	}
	w.Header().Set(headerConnection, c.place.id)
	if c.key != "" {
		w.Header().Set(headerReceived, formatReceived(has))
	}
	s.setAffinity(w, r)
	// It refuses a page of another origin.
	ws, err = websocket.Accept(wholeWriter{w}, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil { // it has answered
		c.lose(socket)
		return 0, nil, false
	}
	ws.SetReadLimit(s.opts.MaxMessage)
	return socket, ws, true
}

// comeBack gives a connection another socket.
func (s *Server) comeBack(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	c := s.remotes[r.Header.Get(headerConnection)]
	s.mu.Unlock()
	if c == nil || c.key == "" || subtle.ConstantTimeCompare([]byte(c.key), []byte(r.Header.Get(headerResume))) != 1 || c.owner != s.opts.Owner(r) {
		fail(w, http.StatusNotFound, "unknown "+headerConnection)
		return
	}
	received, err := parseReceived(r.Header)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if !s.hold() {
		fail(w, http.StatusServiceUnavailable, errClosed.Error())
		return
	}
	defer s.all.Done()
	if socket, ws, ok := s.accept(w, r, c, received); ok {
		c.carry(socket, ws, s.opts.KeepAlive)
	}
}

// carry carries messages over a socket of the connection's until it breaks.
func (c *remote) carry(socket int, ws *websocket.Conn, keepAlive time.Duration) {
	if err := c.run(socket, ws, keepAlive); c.key == "" {
		c.end(err)
	}
	c.lose(socket)
}

// lose gives up a socket. If there is no other, the client has a while to come back.
func (c *remote) lose(socket int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.detach(socket) || c.ctx.Err() != nil {
		return
	}
	c.stay()
	c.since = time.Now()
	c.gone = time.AfterFunc(c.patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.detach(socket) {
			c.end(errLost)
		}
	})
}

// stay stops the time in which the client has to come back. The caller holds c.mu.
func (c *remote) stay() {
	if c.gone != nil {
		c.gone.Stop()
		c.gone = nil
	}
}

// giveUp implements waitingRoom.
func (c *remote) giveUp(cause error) { c.end(cause) }

// away implements waitingRoom.
func (c *remote) away() (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since, c.gone != nil
}
