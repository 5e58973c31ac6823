package hub

import (
	"context"
	"errors"

	"github.com/gajae-code/gjc/internal/jsonrpc"
)

// ErrDrained is the error of [Hub.Serve] for a client whose connection [Hub.Drain] has ended. The client has received the answers to all
// requests that were begun.
var ErrDrained = errors.New("the server is shutting down; connect again in a moment")

// drained is the reason that the clients of a session receive when the hub has given it up.
const drained = "the server is shutting down and has given the session up; connect again and load it, or wait for the server that watches it"

// Drain gives up the sessions, so that other servers can open them: those that are idle at once, the others when their turns have ended.
// Prompts that wait for a turn, new ones, and requests that open sessions are refused. The connection of a client ends when the client takes
// part in no session and has no request without an answer. Drain returns at once; [Hub.Drained] waits.
func (h *Hub) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
	for _, s := range h.sessions {
		s.dropWaiting(func(*prompt) bool { return true }, func() *message {
			return &message{err: failure(jsonrpc.CodeInternalError, kindShutdown, ErrDrained.Error())}
		})
		s.handOver()
	}
	h.dismiss()
}

// kindShutdown is the kind of the error for what is not begun any more.
const kindShutdown = "shutdown"

// Drained waits until [Hub.Drain] has given up all sessions and ended all connections. It returns the cause of ctx if that ends before.
func (h *Hub) Drained(ctx context.Context) error {
	for {
		h.mu.Lock()
		left, changed := len(h.sessions)+h.serving, h.changed
		h.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// handOver closes a session that nothing uses at the moment. Its clients are detached when the engine has released it, and not before, so that
// one that loads it at once elsewhere can have it.
func (s *session) handOver() {
	if s.closing || s.over || !s.isOpen() || s.busy() && s.watched == nil || s.replaying {
		return // a later call closes it, or it is being closed
	}
	s.closing = true
	s.engine.call("session/close", encode(map[string]string{"sessionId": s.id}), func(*message) {
		owner := s.member(s.engine.owner)
		s.end(drained)
		if owner != nil {
			owner.detached(drained)
		}
	})
}

// dismiss ends the connections of the clients that need this server no longer, if it drains. The caller holds h.mu.
func (h *Hub) dismiss() {
	if !h.draining {
		return
	}
	needed := make(map[*link]bool)
	for _, s := range h.sessions {
		for _, m := range s.members {
			needed[m.link] = true
		}
	}
	for l := range h.links {
		if !needed[l] && len(l.calls) == 0 {
			l.end(ErrDrained) // it sends nothing to an engine any more
		}
	}
}
