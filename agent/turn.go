package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/telemetry"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// StopReason says why a turn ended, in ACP's words.
type StopReason string

// The stop reasons of a turn.
const (
	StopEndTurn         StopReason = "end_turn"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxTurnRequests StopReason = "max_turn_requests"
	StopRefusal         StopReason = "refusal"
	StopCancelled       StopReason = "cancelled"
)

// TurnResult is the result of a turn. Usage is the known usage of the turn. Err is set instead of Stop for a turn that
// failed; it wraps a [*providers.Error] or an error of the session's log.
type TurnResult struct {
	Stop    StopReason
	Usage   providers.Usage
	Changes Changes
	Err     error
}

// Turn is a queued prompt and everything that follows from it. It is safe for concurrent use.
type Turn struct {
	session *Session
	prompt  Prompt
	idle    bool // whether it compacts an idle session, without a prompt
	own     bool // whether gjc has begun it, for its reports; see [WhenIdle]

	ctx    context.Context //nolint:containedctx // bounds the turn
	span   *telemetry.Span // nil without a tracer
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when result is set
	result TurnResult

	changes changes
}

// turnState is the actor's state of a turn.
type turnState struct {
	*Turn
	cancelling bool
	overstay   *time.Timer // disowns a cancelled turn that does not end
	before     checkpoint  // before the prompt
	calls      []*liveCall // the tool calls without a result, in order
	uses       []sessions.Use
	counted    goal.Use // for the goal
	// steers are the messages for the next request; closed is set if the turn accepts no more.
	steers [][]providers.Part
	closed bool
	// ending is set if a tool has requested the end of the turn.
	ending bool
}

// RunningTurn is the state of a turn while it runs. It belongs to the goroutine of the turn, and to the function of a
// [Prompt] that this goroutine calls.
type RunningTurn struct {
	*Turn
	parts []providers.Part
	// prompted is set when the prompt is in the log, and unanswered is the prompt until the model has answered it.
	prompted   bool
	unanswered *providers.Message
	// model, tier and tools are those of the last request.
	model providers.ModelInfo
	tier  string
	tools *toolset
	// last is set if no request may follow the current one.
	last bool
	// completed is set if a truncated answer was requested again, and noRoom if making room has failed.
	completed, noRoom bool
	// tried are the models that failed in this turn, by reference.
	tried map[string]bool
	odd   odd
	rules streamRules
	// reminders are those of open steps of the plan.
	reminders planReminders

	compactor *compactor
	requester *requester
	hooks     *turnHooks
}

// compactor makes room in the model's window for the requests of a turn.
type compactor struct{ *RunningTurn }

// requester requests the answers of a turn, and requests them again if they are faulty.
type requester struct{ *RunningTurn }

// turnHooks runs the hooks of a turn.
type turnHooks struct {
	*RunningTurn
	// ended says that the hooks for the turn's end have run, stops how often they have made it go on.
	ended bool
	stops int
}

func newRunningTurn(t *Turn) *RunningTurn {
	run := &RunningTurn{Turn: t, parts: t.prompt.Parts, tools: new(toolset)}
	run.compactor, run.requester, run.hooks = &compactor{run}, &requester{run}, &turnHooks{RunningTurn: run}
	return run
}

// checkpoint is a position in a session to return to.
type checkpoint struct {
	leaf     string // of the log
	window   contextwindow.Mark
	mode     approval.Mode
	model    string
	thinking providers.ThinkingLevel
	time     time.Time
}

// Trace is the W3C trace context of a prompt (traceparent, tracestate, baggage), for requests of its calls.
type Trace map[string]string

// Prompt describes a turn. Exactly one of Parts, Prepare and Answer is set.
type Prompt struct {
	// Parts is the user's message.
	Parts []providers.Part
	// Prepare returns the prompt when the turn begins. If it fails, the turn fails. If the prompt has no parts, the turn ends at
	// once.
	Prepare func(ctx context.Context, t *RunningTurn) (Prepared, error)
	// Answer answers instead of a model. Text that it sends with [RunningTurn.Say] is not part of the conversation. If it fails,
	// the turn fails.
	Answer func(ctx context.Context, t *RunningTurn) error
	// Output is the format of the answer to Parts, which then calls no tools; nil for text. [NewOutput] returns one.
	Output *providers.OutputFormat
	// MessageID is the ID of the user's message; if empty, a new one.
	MessageID string
	// Trace is the trace that the prompt is part of. Optional.
	Trace Trace
}

// Prepared is a prompt that [Prompt.Prepare] returned, such as that of a slash command.
type Prepared struct {
	Parts []providers.Part
	// Shown is the text that the user typed. A replay shows it instead of Parts.
	Shown string
}

// Prompt queues a turn. It returns at once. Turns run one after the other, in the order of the calls.
func (s *Session) Prompt(p Prompt) *Turn {
	t := s.newTurn(p)
	if !s.box.post(func(st *state) { st.queue(t) }) {
		t.finish(TurnResult{Err: ErrSessionClosed})
	}
	return t
}

func (s *Session) newTurn(p Prompt) *Turn {
	t := &Turn{session: s, prompt: p, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(s.ctx)
	t.ctx, t.span = spans{s}.begin(t.ctx, p.Trace)
	return t
}

// queue adds a turn, and starts it if no other is running.
func (st *state) queue(t *Turn) {
	if st.closing {
		t.finish(TurnResult{Err: ErrSessionClosed})
		return
	}
	if !t.idle {
		st.stopIdle()
	}
	st.waiting = append(st.waiting, &turnState{Turn: t, closed: t.prompt.Prepare != nil})
	st.next()
}

// Trace returns the trace that the prompt is part of; nil for none.
func (t *Turn) Trace() Trace { return t.prompt.Trace }

// Wait returns the result of the turn. If ctx ends first, it cancels the turn and keeps waiting for its end, which
// Options.CancelGrace bounds.
func (t *Turn) Wait(ctx context.Context) TurnResult {
	select {
	case <-t.done:
	case <-ctx.Done():
		t.Cancel()
		<-t.done
	}
	return t.result
}

// Cancel ends this turn, running or waiting. It returns at once.
func (t *Turn) Cancel() {
	s := t.session
	s.do(func(st *state) error {
		if st.runs(t) {
			st.cancelTurn(st.turn, ErrCancelled)
			return nil
		}
		for i, w := range st.waiting {
			if w.Turn == t {
				st.waiting = append(st.waiting[:i:i], st.waiting[i+1:]...)
				t.finish(TurnResult{Stop: StopCancelled})
				break
			}
		}
		return nil
	})
}

// finish settles the turn, once. It runs on the actor, or before the actor knows of the turn.
func (t *Turn) finish(r TurnResult) {
	t.result = r
	spans{t.session}.end(t, &r)
	t.cancel(nil)
	close(t.done)
}

// next starts the next waiting turn if none runs.
func (st *state) next() {
	s := st.session
	if st.turn != nil || len(st.waiting) == 0 {
		return
	}
	t := st.waiting[0]
	st.waiting = st.waiting[1:]
	st.turn = t
	if t.own {
		st.emit(OwnTurnChanged{Running: true})
	}
	t.before = checkpoint{
		s.opts.Log.Leaf(), st.window.Mark(), st.mode, st.model.Ref(), st.thinking, s.opts.Clock(),
	}
	go func() {
		run := newRunningTurn(t.Turn)
		r := run.run()
		run.recordFailure(r)
		s.do(func(st *state) error {
			st.turnOver(t, r)
			return nil
		})
	}()
}

// turnOver ends a turn and starts the next one.
func (st *state) turnOver(t *turnState, r TurnResult) {
	s := st.session
	if st.turn != t {
		return // already disowned
	}
	if t.overstay != nil {
		t.overstay.Stop()
	}
	why := "The turn is over."
	if e, unsaved := errors.AsType[*UnsavedError](r.Err); unsaved {
		why = "The result was lost: " + e.Error() + "."
	} else if n := t.openCalls(); n > 0 && !t.cancelling {
		bug.Reportf("a turn ended with %d open tool calls", n)
	}
	st.endChildren(why)
	st.endOpenCalls(t, why)
	if r.Stop == StopRefusal {
		// The next prompt does not include the refused one and what followed it.
		st.goBack(t.before)
	}
	// A steering message that no request has included is not lost: the next turn includes it. If the log fails here, the next
	// prompt fails too.
	_ = st.takeSteers()
	if t.cancelling {
		// This also applies if the end and the cancellation coincide: the canceller waits for this answer.
		r = TurnResult{Stop: StopCancelled}
	}
	recordEnd(st, t, r)
	countGoal(st, t) // before the uses of the turn are those of the last one
	r.Usage, r.Changes = usageOf(t.uses), t.changes.all()
	previews{st}.leavePreview()
	st.emitCost()
	if !t.idle {
		st.emitInfo()
		st.nameByModel()
	}
	if len(t.uses) > 0 {
		st.lastTurn = t.uses
	}
	st.turn = nil
	if t.own {
		st.emit(OwnTurnChanged{Stop: r.Stop, Err: r.Err})
	}
	t.finish(r)
	if st.closing {
		s.box.close()
		return
	}
	st.next()
	if st.turn == nil && !t.idle {
		st.watchIdle()
	}
	if st.turn == nil {
		s.opts.Values.Wake()
	}
}

// goBack removes the conversation since c, but keeps the settings chosen since.
func (st *state) goBack(c checkpoint) {
	s := st.session
	log := s.opts.Log
	if log.Rewind(c.leaf) != nil {
		return // a log that cannot be written refuses the next prompt too
	}
	// The rewind also undoes the turn's compactions, so the history comes from the log.
	history, err := log.Messages()
	if err != nil {
		history = st.window.Messages[:min(c.window.Messages, len(st.window.Messages))]
	}
	st.window.Return(c.window, history)
	st.branch++
	if branch, err := log.Branch(); err == nil {
		followPlan(st, branch)
		keepGoal(st, branch)
	}
	// The settings were recorded in the abandoned branch, so record them again. If that fails, the next prompt fails too.
	if st.mode != c.mode {
		_, _ = log.Append(sessions.ModeChange{Mode: string(st.mode)})
	}
	if st.model.Ref() != c.model {
		_, _ = log.Append(sessions.ModelChange{Model: st.model.Ref()})
	}
	if st.thinking != c.thinking {
		_, _ = log.Append(sessions.ThinkingChange{Level: st.thinking})
	}
}

// cancelTurn cancels the running turn and bounds how long its end may take.
func (st *state) cancelTurn(t *turnState, cause error) {
	s := st.session
	if t.cancelling {
		return
	}
	t.cancelling = true
	t.cancel(cause)
	t.overstay = time.AfterFunc(s.opts.CancelGrace, func() {
		s.do(func(st *state) error {
			if st.turn == t {
				st.abandon(t)
			}
			return nil
		})
	})
}

// abandon disowns a turn that did not stop in time.
func (st *state) abandon(t *turnState) {
	t.cancelling = true
	t.cancel(ErrCancelled)
	st.turnOver(t, TurnResult{Stop: StopCancelled})
}

// errTurnOver is the error of a turn that was disowned.
var errTurnOver = errors.New("the turn is over")

// runs reports whether t is the running turn.
func (st *state) runs(t *Turn) bool { return st.turn != nil && st.turn.Turn == t }

// do runs fn on the actor and waits, unless the turn is over.
func (t *Turn) do(fn func(st *state) error) error {
	return t.session.do(func(st *state) error {
		if !st.runs(t) {
			return errTurnOver
		}
		return fn(st)
	})()
}

// emit emits an event of this turn, unless it is over.
func (t *Turn) emit(ev Event) {
	_ = t.do(func(st *state) error { // a turn that is over emits nothing
		if st.turn.note(ev) {
			st.emit(ev)
		}
		return nil
	})
}

// run runs the turn. A panic is the failure of the turn.
func (t *RunningTurn) run() (r TurnResult) {
	t.span.Restart()
	defer func() {
		if v := recover(); v != nil {
			if t.session.opts.Panicked != nil {
				t.session.opts.Panicked("turn", v, debug.Stack())
			}
			r = TurnResult{Err: fmt.Errorf("internal error in the turn: %v", v)}
		}
	}()
	if t.prompt.Answer != nil {
		return t.answer()
	}
	shown := ""
	if t.prompt.Prepare != nil {
		p, err := t.prompt.Prepare(t.ctx, t)
		if err != nil || len(p.Parts) == 0 {
			return t.ended(err)
		}
		t.parts, shown = p.Parts, p.Shown
		t.openToSteers()
	}
	user, shown, err := recordBeginning(t, shown)
	if err != nil || user == nil {
		return t.ended(err)
	}
	t.prompted = true
	recordPrompt(t, user, shown)
	defer func() {
		if !t.hooks.ended {
			_ = t.hooks.endHooks(&r) // the turn cannot go on
		}
	}()
	if err := t.hooks.trustQuestions(); err != nil {
		return t.ended(err)
	}
	if err := t.hooks.promptHooks(); err != nil {
		return t.ended(err)
	}
	if !t.own {
		t.unanswered = user
		t.title(cmp.Or(shown, user.Text()))
	}
	t.awaitTools()
	for left := t.session.opts.MaxRequests; left > 0; left-- {
		t.last = left == 1
		if r, over := t.step(); over && !t.hooks.endHooks(&r) {
			return r
		}
	}
	return TurnResult{Stop: StopMaxTurnRequests}
}

// step makes one request and runs the calls of its answer. It reports whether the turn is over, and how it ended.
func (t *RunningTurn) step() (r TurnResult, over bool) {
	if _, err := t.hooks.deliver(DeliverSteer); err != nil {
		return t.ended(err), true
	}
	t.compactor.makeRoom(t.ctx)
	if t.ctx.Err() != nil {
		return t.ended(nil), true
	}
	if !t.requester.withinBudget() {
		return TurnResult{Stop: StopMaxTokens}, true
	}
	msg, err := t.requester.ask(t.ctx)
	again, err := t.requester.checked(msg, err)
	if err != nil {
		return t.failed(msg, err), true
	}
	if again || t.compactor.completes(t.ctx, msg) {
		return r, false
	}
	if err := t.record(msg); err != nil {
		return t.ended(err), true
	}
	t.hooks.observe(hooks.Reply, func(in *hooks.Input) { in.Messages = hookMessages([]providers.Message{*msg}) })
	t.unanswered = nil
	t.emitUsage(msg)
	stop, over := stopReason(msg.StopReason), true
	if calls := msg.ToolCalls(); len(calls) > 0 {
		if err := t.call(stop, calls); err != nil {
			return t.ended(err), true
		}
		over = stop != StopEndTurn || t.ending()
		if t.ctx.Err() != nil {
			return TurnResult{Stop: StopCancelled}, true
		}
	}
	if over && stop == StopEndTurn && !t.ending() && t.prompt.Output == nil {
		again, err := t.notDone(msg)
		if err != nil {
			return t.ended(err), true
		}
		if again {
			return r, false
		}
	}
	if over && stop == StopEndTurn && t.compactor.tidy(t.ctx) {
		return r, false
	}
	return TurnResult{Stop: stop}, over && !t.goesOn(stop)
}

// call runs the calls of an answer with this stop reason. With their results it adds pending reports and matched rules to the
// conversation, and checks for a pending preview.
func (t *RunningTurn) call(stop StopReason, calls []providers.ToolCall) error {
	if stop != StopEndTurn {
		return t.refuseCalls(calls, "The answer was cut off before this call was complete; it did not run.")
	}
	if t.prompt.Output != nil {
		return t.refuseCalls(calls, "No tool can be called now. Give the answer as JSON.")
	}
	t.reminders.worked = true
	if err := t.runTools(t.ctx, calls); err != nil {
		return err
	}
	if err := t.addReports(); err != nil {
		return err
	}
	if _, err := t.requester.addMatches(); err != nil {
		return err
	}
	_, err := t.checkPreview(calls)
	return err
}

// notDone reports whether to ask the model again after an answer that would end the turn: it matched rules, left a preview pending,
// left steps of the plan open, or did not reach the goal.
func (t *RunningTurn) notDone(msg *providers.Message) (again bool, err error) {
	if again, err = t.requester.addMatches(); again || err != nil {
		return again, err
	}
	if again, err = t.checkPreview(nil); again || err != nil {
		return again, err
	}
	if again, err = remindOfPlan(t, msg); again || err != nil {
		return again, err
	}
	return remindOfGoal(t, msg)
}

// answer runs a turn with [Prompt.Answer].
func (t *RunningTurn) answer() TurnResult {
	if err := t.prompt.Answer(t.ctx, t); err != nil {
		return t.ended(err)
	}
	return TurnResult{Stop: StopEndTurn}
}

// Say sends the user text that is not part of the conversation. It is for the functions of a [Prompt].
func (t *RunningTurn) Say(text string) {
	if text != "" {
		t.emit(MessageDelta{MessageID: t.session.opts.NewID(), Speaker: SpeakerAgent, Text: text})
	}
}

// awaitTools waits for tools that are still loading, for at most maxToolsWait.
func (t *RunningTurn) awaitTools() {
	ctx, cancel := context.WithTimeout(t.ctx, maxToolsWait)
	defer cancel()
	t.session.opts.Tools.AwaitLoading(ctx)
}

// ended returns the result of a turn that stops here, because of err if that is not nil.
func (t *RunningTurn) ended(err error) TurnResult {
	t.goesOn("")
	if t.ctx.Err() != nil || errors.Is(err, errTurnOver) {
		return TurnResult{Stop: StopCancelled}
	}
	if err == nil {
		return TurnResult{Stop: StopEndTurn}
	}
	return TurnResult{Err: err}
}

// failed ends a turn whose model call was interrupted. It keeps the part of the answer that the user has seen; partial is nil if no
// answer had begun.
func (t *RunningTurn) failed(partial *providers.Message, err error) TurnResult {
	if partial == nil {
		return t.ended(err)
	}
	// A call that was streamed only in part never ran and is not worth keeping.
	kept := withoutCalls(partial.Parts)
	if len(kept) == 0 {
		t.drop(t.model, partial)
		return t.ended(err)
	}
	partial.Parts = kept
	partial.StopReason, partial.Error = providers.StopError, err.Error()
	if t.ctx.Err() != nil {
		partial.StopReason, partial.Error = providers.StopAborted, context.Cause(t.ctx).Error()
	}
	if rerr := t.record(partial); rerr != nil {
		err = errors.Join(err, rerr)
	}
	return t.ended(err)
}
