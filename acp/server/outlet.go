package server

import (
	"context"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
)

// outlet is a session's way to the client: events go in, session updates come out. A client rejects updates for a
// session id that it has not heard of, so a new session's outlet keeps them until its response is on the wire.
type outlet struct {
	conn *acp.AgentConn
	id   acp.SessionID
	features
	// ctx ends with the session. A client that does not read holds up its own session, no longer than that.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mapping sync.Mutex // held while an event is mapped and sent: a child's come beside its parent's
	mapper  *mapper

	mu   sync.Mutex // guards the fields below
	open bool
	kept []acp.SessionUpdate
	// turns counts the prompts that are not answered. Outside of them a client takes no words for the session: a
	// notice that has to become words waits in later.
	turns int
	later []acp.SessionUpdate
	// silent leaves the model's reasoning out.
	silent bool
}

func newOutlet(conn *acp.AgentConn, id acp.SessionID, f features) *outlet {
	o := &outlet{conn: conn, id: id, features: f, mapper: newMapper(f)}
	o.ctx, o.cancel = context.WithCancelCause(context.Background())
	return o
}

// emit is an agent session's Emit.
func (o *outlet) emit(ev agent.Event) {
	if m, ok := ev.(agent.MessageDelta); ok && m.Speaker == agent.SpeakerThought && o.hidesThoughts() {
		return
	}
	o.mapping.Lock()
	defer o.mapping.Unlock()
	all := o.mapper.updates(ev)
	if o.inWords(ev) && o.wait(all) {
		return
	}
	for _, u := range all {
		o.send(u)
	}
	if child, u := o.mapper.instructionOf(o.id, ev); u != nil {
		o.writeAs(child, u)
	}
}

// inWords reports whether an event that is no part of an answer is told in words all the same.
func (o *outlet) inWords(ev agent.Event) bool {
	switch ev.(type) {
	case agent.Noticed:
		return !o.notices
	case agent.CompactionChanged:
		return !o.notices && !o.compaction
	default:
		return false
	}
}

// hideThoughts leaves the model's reasoning out from now on, or shows it again.
func (o *outlet) hideThoughts(hide bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.silent = hide
}

func (o *outlet) hidesThoughts() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.silent
}

// wait puts words off to the next turn, unless there is one.
func (o *outlet) wait(words []acp.SessionUpdate) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turns > 0 {
		return false
	}
	o.later = append(o.later, words...)
	return true
}

// beginTurn opens a turn on the wire with the words that have waited for it.
func (o *outlet) beginTurn() {
	o.mu.Lock()
	o.turns++
	o.mu.Unlock()
	for _, u := range o.takeLater() {
		o.send(u)
	}
}

// endTurn comes before the prompt's response.
func (o *outlet) endTurn() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.turns--
}

func (o *outlet) takeLater() []acp.SessionUpdate {
	o.mu.Lock()
	defer o.mu.Unlock()
	words := o.later
	o.later = nil
	return words
}

// send sends one update, or keeps it until the outlet opens.
func (o *outlet) send(u acp.SessionUpdate) {
	o.mu.Lock()
	if !o.open {
		o.kept = append(o.kept, u)
		o.mu.Unlock()
		return
	}
	o.mu.Unlock()
	o.write(u)
}

// write puts an update on the wire whether the outlet is open or not: a replay precedes its response.
func (o *outlet) write(u acp.SessionUpdate) { o.writeAs(o.id, u) }

// writeAs is write for a child of the session.
func (o *outlet) writeAs(id acp.SessionID, u acp.SessionUpdate) {
	// The one error is that nobody is there to hear it.
	_ = o.conn.Update(o.ctx, &acp.SessionNotification{SessionID: id, Update: u})
}

// release opens the outlet behind what was kept. It runs right behind the session's response.
func (o *outlet) release(first ...acp.SessionUpdate) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		return
	}
	for _, u := range append(first, o.kept...) {
		o.write(u)
	}
	o.kept, o.open = nil, true
}

func (o *outlet) close() { o.cancel(agent.ErrSessionClosed) }
