package server

import (
	"context"
	"sync"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/acp/server/air"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/permit"
)

// outlet sends the events of a session to the client as session updates. A client rejects updates for a session ID that it
// does not know, so the outlet of a new session holds them back until the response with the ID has been sent.
type outlet struct {
	conn *acp.AgentConn
	id   acp.SessionID
	features
	// ctx ends with the session, so that a client that does not read cannot block the session beyond its end.
	ctx    context.Context //nolint:containedctx // bounds the sending of the events of one session
	cancel context.CancelCauseFunc

	mapping sync.Mutex // held while an event is mapped and sent: subagents emit concurrently
	mapper  *mapper

	mu   sync.Mutex // guards the fields below
	open bool
	held []acp.SessionUpdate
	// turns counts the prompts without a response. Outside of a turn a client accepts no messages from the agent, so a notice that
	// must be sent as a message waits in later.
	turns int
	later []acp.SessionUpdate
	// asking counts the questions that wait for the user. ended is the time at which the last turn ended; zero for none.
	asking int
	ended  time.Time
	// silent omits the model's reasoning.
	silent bool
}

func newOutlet(conn *acp.AgentConn, id acp.SessionID, f features) *outlet {
	o := &outlet{conn: conn, id: id, features: f, mapper: newMapper(f)}
	o.ctx, o.cancel = context.WithCancelCause(permit.With(context.Background(), permit.Own()))
	return o
}

// emit sends an event.
func (o *outlet) emit(ev agent.Event) {
	if m, ok := ev.(agent.MessageDelta); ok && m.Speaker == agent.SpeakerThought && o.hidesThoughts() {
		return
	}
	if own, ok := ev.(agent.OwnTurnChanged); ok {
		o.ownTurn(&own)
		return
	}
	o.mapping.Lock()
	defer o.mapping.Unlock()
	all := o.mapper.updates(ev)
	if o.needsTurn(ev) && o.postpone(all) {
		return
	}
	for _, u := range all {
		o.send(u)
	}
	if child, u := o.mapper.instructionOf(o.id, ev); u != nil {
		o.writeAs(child, u)
	}
}

// notice shows a notice to the user. detail may be empty.
func (o *outlet) notice(severity agent.Severity, title, detail string) {
	o.emit(agent.Noticed{Severity: severity, Title: title, Detail: detail})
}

// warn shows warnings to the user.
func (o *outlet) warn(titles []string) {
	for _, title := range titles {
		o.notice(agent.SeverityWarning, title, "")
	}
}

// needsTurn reports whether an event that can occur at any time is sent as an agent message.
func (o *outlet) needsTurn(ev agent.Event) bool {
	switch ev := ev.(type) {
	case agent.Noticed:
		_, failure := o.failure(&ev)
		return !o.notices && !failure
	case agent.CompactionChanged:
		return !o.notices && !o.compaction
	default:
		return false
	}
}

// hideThoughts hides or shows the model's subsequent reasoning.
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

// postpone keeps messages for the next turn. During a turn it does nothing and returns false.
func (o *outlet) postpone(messages []acp.SessionUpdate) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turns > 0 {
		return false
	}
	o.later = append(o.later, messages...)
	return true
}

// beginTurn begins a turn and sends the postponed messages.
func (o *outlet) beginTurn() {
	o.mu.Lock()
	o.turns++
	o.mu.Unlock()
	for _, u := range o.takeLater() {
		o.send(u)
	}
}

// endTurn ends a turn. It is called before the response to the prompt.
func (o *outlet) endTurn() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.turns--
	o.ended = time.Now()
}

// ownTurn begins or ends a turn that has no prompt, and reports the state of the session.
func (o *outlet) ownTurn(ev *agent.OwnTurnChanged) {
	if ev.Running {
		o.beginTurn()
	} else if ev.Err != nil {
		o.turnFailed(ev.Err)
	}
	u := new(acp.SessionInfoUpdate)
	setMeta(&u.Meta, content.StateMeta, stateUpdate(ev.Running, ev.Stop, ev.Err))
	o.send(u)
	if !ev.Running {
		o.endTurn()
	}
}

// turnFailed shows why a turn failed for which no request waits.
func (o *outlet) turnFailed(err error) {
	if f, ok := o.turnFailure(err); ok {
		o.send(f.Update())
	} else {
		o.notice(agent.SeverityError, "The turn failed.", err.Error())
	}
}

// ask counts a question to the user until the returned function is called.
func (o *outlet) ask() (answered func()) {
	add := func(n int) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.asking += n
	}
	add(1)
	return func() { add(-1) }
}

// state returns the state of the session in an index, and the time at which its last turn ended; zero for none.
func (o *outlet) state() (name string, ended time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.asking > 0:
		return air.StateRequiresAction, o.ended
	case o.turns > 0:
		return air.StateRunning, o.ended
	default:
		return air.StateIdle, o.ended
	}
}

// askingApprover counts the questions of an approver.
type askingApprover struct {
	agent.Approver
	out *outlet
}

func (a askingApprover) Approve(ctx context.Context, q agent.Question) (agent.Decision, error) {
	defer a.out.ask()()
	return a.Approver.Approve(ctx, q)
}

// askingElicitor counts the questions of an elicitor.
type askingElicitor struct {
	agent.Elicitor
	out *outlet
}

func (a askingElicitor) Form(ctx context.Context, f agent.Form) (agent.FormAnswer, error) {
	defer a.out.ask()()
	return a.Elicitor.Form(ctx, f)
}

func (a askingElicitor) Choose(ctx context.Context, c agent.Choice) (int, agent.ElicitAction, error) {
	defer a.out.ask()()
	return a.Elicitor.Choose(ctx, c)
}

// takeLater returns the postponed messages. The caller must send them.
func (o *outlet) takeLater() []acp.SessionUpdate {
	o.mu.Lock()
	defer o.mu.Unlock()
	messages := o.later
	o.later = nil
	return messages
}

// send sends one update, or keeps it until the outlet is released.
func (o *outlet) send(u acp.SessionUpdate) {
	o.mu.Lock()
	if !o.open {
		o.held = append(o.held, u)
		o.mu.Unlock()
		return
	}
	o.mu.Unlock()
	o.write(u)
}

// write sends an update even if the outlet is not released: a replay precedes its response.
func (o *outlet) write(u acp.SessionUpdate) { o.writeAs(o.id, u) }

// writeAs sends an update for a child of the session.
func (o *outlet) writeAs(id acp.SessionID, u acp.SessionUpdate) {
	// It fails only if the session is closed or the client is gone.
	_ = o.conn.Update(o.ctx, &acp.SessionNotification{SessionID: id, Update: u})
}

// release sends first and then the updates that were kept, and opens the outlet. It is called immediately after the session's
// response.
func (o *outlet) release(first ...acp.SessionUpdate) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		return
	}
	for _, u := range append(first, o.held...) {
		o.write(u)
	}
	o.held, o.open = nil, true
}

// job reports a background job of the session to a client that lists them.
func (o *outlet) job(job *shell.JobChange) {
	for _, u := range air.TaskUpdates(job) {
		o.send(u)
	}
}

// flushTimeout bounds how long flush waits for a client that does not read.
const flushTimeout = 100 * time.Millisecond

// flush waits, at most flushTimeout, until everything queued before has been written.
func (o *outlet) flush() {
	ctx, cancel := context.WithTimeout(o.ctx, flushTimeout)
	defer cancel()
	_ = o.conn.Flush(ctx) // the caller continues in any case
}

// close makes waiting and later sends fail.
func (o *outlet) close() { o.cancel(agent.ErrSessionClosed) }
