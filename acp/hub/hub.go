// Package hub connects the clients of one user with their sessions: a session that one client has open can be attached to by others, which
// see the same updates, answer its questions and prompt it, and it outlives the connection of the client that has opened it.
//
// The hub is between the connections of clients and engines. Every client has an engine of its own, and its messages pass unchanged until
// it attaches to a session of another one's engine. The hub works on the wire: it decodes of a message what decides about its way, and
// nothing of a conversation.
//
// One mutex guards who is where. It is held while a message finds its way, and never while a connection is read or written: every peer has
// an outbox. The goroutines of a connection are the reader and the writer of the client, and those of its engine; Hub.Close ends all.
package hub

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/frame"
)

// The scopes of a client.
const (
	scopeRead    = "read"    // list and load sessions, and see what happens in them
	scopePrompt  = "prompt"  // create sessions and prompt
	scopeControl = "control" // everything else: cancel, change settings, answer questions, delete
)

// Client describes the client of one connection.
type Client struct {
	// Name is the author of its prompts, for the other clients of a session. It may be empty.
	Name string
	// Scopes list the groups of methods that the client may call: "read", "prompt", "control". Without any it may only initialize.
	Scopes []string
}

func (c *Client) may(scope string) bool { return slices.Contains(c.Scopes, scope) }

// mayAll reports whether nothing that the client can send needs to be refused.
func (c *Client) mayAll() bool { return c.may(scopeRead) && c.may(scopePrompt) && c.may(scopeControl) }

// Options configure a [Hub]. Dial is required.
type Options struct {
	// Dial starts an engine, an agent that speaks ACP in lines, and returns its stream. The engine ends when the stream is closed, at the
	// latest when ctx ends, which bounds it and not only the start. Close returns when the engine has released its sessions.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)
	// Grace bounds how long a turn goes on after the last client of its session is gone; if zero, two minutes.
	Grace time.Duration
	// MaxLog bounds the updates that are kept of a session, compressed, in bytes; if zero, 4 MiB.
	MaxLog int
	// MaxMessage bounds a message of a client's, in bytes; if zero, 64 MiB.
	MaxMessage int
	// MaxQueued bounds the bytes that wait for a client which shares a session; if zero, 16 MiB. A client that falls further back is
	// detached. One that shares no session delays its engine instead.
	MaxQueued int
	// Stall bounds how long an attached client may take to read a part of the conversation so far; if zero, a minute.
	Stall time.Duration
}

// Hub connects the clients of one user. Its methods may be called from any goroutine.
type Hub struct {
	opts Options
	ctx  context.Context //nolint:containedctx // bounds the engines, which outlive the connections of clients
	end  context.CancelCauseFunc
	all  sync.WaitGroup // engines and connections

	mu       sync.Mutex // guards the fields below, and what links, engines and sessions say it guards
	closed   bool
	draining bool
	serving  int // calls of Serve
	links    map[*link]struct{}
	sessions map[string]*session // that are open, or being opened or closed
	changed  chan struct{}       // closed, and replaced, when a prompt is answered, or a session or a connection ends
	packer   packer
}

// ErrStart is wrapped by the error of [Hub.Serve] for a client without an engine. Nothing was read of the client's then.
var ErrStart = errors.New("cannot start an engine")

// errClosed is the cause that ends connections when the hub closes.
var errClosed = errors.New("the server is closing")

// lowWater is the number of bytes that may wait for a peer before the one that sends to it waits.
const lowWater = 1 << 20

// New returns a hub. The caller closes it.
func New(opts Options) *Hub {
	for _, d := range []struct {
		to  *time.Duration
		def time.Duration
	}{{&opts.Grace, 2 * time.Minute}, {&opts.Stall, time.Minute}} {
		if *d.to == 0 {
			*d.to = d.def
		}
	}
	for _, n := range []struct {
		to  *int
		def int
	}{{&opts.MaxLog, 4 << 20}, {&opts.MaxMessage, 64 << 20}, {&opts.MaxQueued, 16 << 20}} {
		if *n.to == 0 {
			*n.to = n.def
		}
	}
	h := &Hub{opts: opts, links: make(map[*link]struct{}), sessions: make(map[string]*session), changed: make(chan struct{})}
	h.ctx, h.end = context.WithCancelCause(context.Background())
	return h
}

// Turns returns the number of prompts that are not answered.
func (h *Hub) Turns() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turns()
}

// turns is [Hub.Turns]. The caller holds h.mu.
func (h *Hub) turns() int {
	n := 0
	for _, s := range h.sessions {
		n += len(s.prompts)
	}
	return n
}

// Cancel cancels all turns, as their clients could.
func (h *Hub) Cancel() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		if len(s.prompts) > 0 && s.watched == nil {
			s.cancelled()
			s.engine.out.put(request(nil, "session/cancel", encode(map[string]string{"sessionId": s.id})))
		}
	}
}

// notify wakes those who wait for the end of something. The caller holds h.mu.
func (h *Hub) notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// Serve serves a client that writes to r and reads from w, one message a line, until the client disconnects, which is no error, or ctx
// ends. The caller then ends r and w, which frees a read or write that is blocked. The sessions of the client may go on after Serve returns.
// The error wraps [ErrStart], or is [ErrDrained], for those that the client should learn.
func (h *Hub) Serve(ctx context.Context, r io.Reader, w io.Writer, c Client) error {
	l := &link{hub: h, client: c, out: newOutbox(), calls: make(map[string]*call), asks: make(map[string]*ask)}
	l.ctx, l.end = context.WithCancelCause(ctx)
	h.mu.Lock()
	if h.closed || h.draining {
		defer h.mu.Unlock()
		if h.closed {
			return errClosed
		}
		return ErrDrained
	}
	h.all.Add(1)
	h.serving++
	h.links[l] = struct{}{}
	h.mu.Unlock()
	defer h.served()
	stream, err := h.opts.Dial(h.ctx)
	if err != nil {
		h.mu.Lock()
		delete(h.links, l)
		h.mu.Unlock()
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	l.engine = h.run(stream, l)
	var writer sync.WaitGroup
	writer.Go(func() {
		if err := l.out.drain(w); err != nil {
			l.end(err)
		}
	})
	go l.read(frame.Lines.NewReader(r, h.opts.MaxMessage)) // ends with r
	<-l.ctx.Done()
	if errors.Is(context.Cause(l.ctx), io.EOF) {
		h.answerAll(l)
	}
	h.leave(l)
	l.out.close()
	done := make(chan struct{})
	go func() { // ends with the writer, whose w the caller ends
		defer close(done)
		writer.Wait()
	}()
	select {
	case <-done:
	case <-time.After(writeGrace): // the client does not read
	}
	if err := context.Cause(l.ctx); !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return err
	}
	return nil
}

// served is the end of a call of Serve.
func (h *Hub) served() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serving--
	h.notify()
	h.all.Done()
}

// answerGrace bounds how long a client whose input has ended waits for the answers to its requests.
const answerGrace = time.Second

// answerAll waits until a client has the answers to what it has asked before its end. Turns go on without it.
func (h *Hub) answerAll(l *link) {
	ctx, cancel := context.WithTimeout(h.ctx, answerGrace)
	defer cancel()
	for {
		h.mu.Lock()
		left, changed := 0, h.changed
		for _, c := range l.calls {
			if c.method != "session/prompt" {
				left++
			}
		}
		h.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// writeGrace bounds how long the last messages for a client may take.
const writeGrace = time.Second

// Close ends all connections and engines, and waits until they have ended, or ctx ends.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	for l := range h.links {
		l.end(errClosed)
	}
	var engines []*engine
	for _, s := range h.sessions {
		engines = append(engines, s.engine)
	}
	for _, e := range engines {
		h.closeEngine(e)
	}
	h.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the connections, whose ends have begun
		defer close(done)
		h.all.Wait()
	}()
	defer h.end(errClosed)
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave removes a client that is gone.
func (h *Hub) leave(l *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.links, l)
	l.gone = true
	for key, a := range l.asks {
		delete(l.asks, key)
		a.lose(l)
	}
	l.engine.owner = nil
	for _, s := range h.sessions {
		s.remove(l)
	}
	h.settle(l.engine)
}

// newPrefix returns the beginning of IDs that no client can guess.
func newPrefix() string { return "gjc-" + rand.Text() + "-" }
