package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/internal/bug"
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

// TurnResult is how a turn ended. Usage is all that the turn has used, as far as that is known. Err is set instead of Stop for a turn that failed; it wraps a
// [*providers.Error] or an error of the session's log.
type TurnResult struct {
	Stop  StopReason
	Usage providers.Usage
	Err   error
}

// Turn is one prompt and all that follows from it.
type Turn struct {
	session *Session
	prompt  []providers.Part
	trace   Trace
	// prepare, if set, makes the prompt.
	prepare func(context.Context, *Turn) (Prepared, error)
	// local, if set, answers instead of a model.
	local  func(context.Context, *Turn) error
	ctx    context.Context
	cancel context.CancelCauseFunc

	done   chan struct{} // closed when result is set
	result TurnResult

	// tools are those of the last request, offeredTo is its model. They are the turn's goroutine's.
	tools     []Tool
	offeredTo providers.ModelInfo

	// Of the actor: whether the turn has been told to stop, its tool calls without a result in order, the model and the
	// service tier of its last request, and how the session stood before the prompt.
	cancelling bool
	overstay   *time.Timer
	calls      []*liveCall
	model      providers.ModelInfo
	tier       string
	before     checkpoint
	// steers is what was steered into the turn and has not been taken yet; closed says that it takes no more.
	steers [][]providers.Part
	closed bool
	// ending says that a tool has asked for the turn's end.
	ending bool
	// uses is what the turn has used. It is the actor's.
	uses []sessions.Use
	// idle says that nobody has asked for the turn.
	idle bool
	// unanswered is the prompt until the model has answered it. It is the turn's goroutine's, as are completed, which says
	// that an answer that was cut off was asked for once more, and noRoom, which says that making room has failed.
	unanswered        *providers.Message
	completed, noRoom bool
	// tried are the models that this turn has asked in vain. It belongs to the goroutine of the turn.
	tried map[string]bool
	odd   odd
	rules streamRules
	// prompted says that the prompt is in the log. It is the turn's goroutine's.
	prompted bool
	// last says that no request may come behind the one that is on its way. It is the turn's goroutine's.
	last bool
}

// checkpoint is a place in a session to go back to.
type checkpoint struct {
	leaf     string // of the log
	window   contextwindow.Mark
	mode     approval.Mode
	model    string
	thinking providers.ThinkingLevel
}

// Trace is the W3C trace context of a prompt (traceparent, tracestate, baggage), for what its calls ask of others.
type Trace map[string]string

// Prompt queues a turn with what the user said. It returns at once; turns run one after the other in the order of
// the calls.
func (s *Session) Prompt(parts []providers.Part) *Turn { return s.PromptTraced(parts, nil) }

// PromptTraced is [Session.Prompt] for a prompt that is part of a trace.
func (s *Session) PromptTraced(parts []providers.Part, trace Trace) *Turn {
	return s.queue(&Turn{session: s, prompt: parts, trace: trace, done: make(chan struct{})})
}

// Prepared is a prompt that had to be made first: a slash command's.
type Prepared struct {
	Parts []providers.Part
	// Shown is what the user typed; a replay shows it instead of the text that was made of it.
	Shown string
}

// PromptWith queues a turn whose prompt prepare makes when the turn's time has come. An error of prepare is the
// turn's; with no parts the turn ends at once.
func (s *Session) PromptWith(prepare func(ctx context.Context, t *Turn) (Prepared, error)) *Turn {
	return s.PromptWithTraced(prepare, nil)
}

// PromptWithTraced is [Session.PromptWith] for a prompt that is part of a trace.
func (s *Session) PromptWithTraced(prepare func(ctx context.Context, t *Turn) (Prepared, error), trace Trace) *Turn {
	return s.queue(&Turn{session: s, prepare: prepare, trace: trace, closed: true, done: make(chan struct{})})
}

// Answer queues a turn that fn makes, in its place behind the turns before it. The conversation does not remember what
// fn says with [Turn.Say]. An error of fn is the turn's.
func (s *Session) Answer(fn func(ctx context.Context, t *Turn) error) *Turn {
	return s.AnswerTraced(fn, nil)
}

// AnswerTraced is [Session.Answer] for a prompt that is part of a trace; [Turn.Trace] has it.
func (s *Session) AnswerTraced(fn func(ctx context.Context, t *Turn) error, trace Trace) *Turn {
	return s.queue(&Turn{session: s, local: fn, trace: trace, done: make(chan struct{})})
}

// Trace returns the trace that the prompt is part of; nil for none.
func (t *Turn) Trace() Trace { return t.trace }

func (s *Session) queue(t *Turn) *Turn {
	t.ctx, t.cancel = context.WithCancelCause(s.ctx)
	queued := s.box.post(func() {
		if s.st.closing {
			t.finish(TurnResult{Err: ErrSessionClosed})
			return
		}
		s.stopIdle(&s.st)
		s.st.waiting = append(s.st.waiting, t)
		s.next(&s.st)
	})
	if !queued {
		t.finish(TurnResult{Err: ErrSessionClosed})
	}
	return t
}

// Wait returns how the turn ended. When ctx ends first it cancels the turn and goes on waiting for its end, which
// is bounded by Options.CancelGrace.
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
		if st.turn == t {
			s.cancelTurn(st, t, ErrCancelled)
			return nil
		}
		for i, w := range st.waiting {
			if w == t {
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
	t.cancel(nil)
	close(t.done)
}

// next starts the next waiting turn if none runs. It runs on the actor.
func (s *Session) next(st *state) {
	if st.turn != nil || len(st.waiting) == 0 {
		return
	}
	t := st.waiting[0]
	st.waiting = st.waiting[1:]
	st.turn = t
	t.before = checkpoint{
		s.opts.Log.Leaf(), st.window.Mark(), st.mode, st.model.Ref(), st.thinking,
	}
	go func() {
		r := t.run()
		t.recordFailure(r)
		s.do(func(st *state) error {
			s.turnOver(st, t, r)
			return nil
		})
	}()
}

// turnOver takes note of a turn's end and starts the next one. It runs on the actor.
func (s *Session) turnOver(st *state, t *Turn, r TurnResult) {
	if st.turn != t {
		return // disowned before
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
	s.endChildren(st, why)
	s.endOpenCalls(t, why)
	if r.Stop == StopRefusal {
		// The refused prompt and what followed stays out of the next one.
		s.goBack(st, t.before)
	}
	// What was steered in and never asked is not lost: the next turn sees it. A log that fails here fails the next prompt
	// too.
	_ = s.takeSteers(st, t)
	if t.cancelling {
		// Also where the end and the cancellation crossed: who cancels waits for this answer.
		r = TurnResult{Stop: StopCancelled}
	}
	r.Usage = usageOf(t.uses)
	s.leavePreview(st)
	s.tellCost(st)
	if !t.idle {
		s.tellInfo(st)
		s.nameByModel(st)
	}
	if len(t.uses) > 0 {
		st.lastTurn = t.uses
	}
	st.turn = nil
	t.finish(r)
	if st.closing {
		s.box.close()
		return
	}
	s.next(st)
	if st.turn == nil && !t.idle {
		s.watchIdle(st)
	}
}

// goBack takes back the conversation since c, but not what was chosen since. It runs on the actor.
func (s *Session) goBack(st *state, c checkpoint) {
	log := s.opts.Log
	if log.Rewind(c.leaf) != nil {
		return // a log that cannot be written refuses the next prompt too
	}
	// What the turn has compacted is back too, so the log says what there is.
	history, err := log.Messages()
	if err != nil {
		history = st.window.Messages[:min(c.window.Messages, len(st.window.Messages))]
	}
	st.window.Return(c.window, history)
	st.branch++
	if branch, err := log.Branch(); err == nil {
		if plan := PlanOf(branch); !slices.Equal(plan, st.plan) {
			s.emit(PlanChanged{Entries: append([]PlanEntry{}, plan...)})
			st.plan = plan
		}
	}
	// The choices stand in the branch that was left. A failure is the next prompt's.
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

// cancelTurn tells the running turn to stop and bounds how long that may take. It runs on the actor.
func (s *Session) cancelTurn(st *state, t *Turn, cause error) {
	if t.cancelling {
		return
	}
	t.cancelling = true
	t.cancel(cause)
	t.overstay = time.AfterFunc(s.opts.CancelGrace, func() {
		s.do(func(st *state) error {
			if st.turn == t {
				s.abandon(st, t)
			}
			return nil
		})
	})
}

// abandon disowns a turn that did not stop in time. It runs on the actor.
func (s *Session) abandon(st *state, t *Turn) {
	t.cancelling = true
	t.cancel(ErrCancelled)
	s.turnOver(st, t, TurnResult{Stop: StopCancelled})
}

// errTurnOver tells a turn's goroutine that the turn has been disowned.
var errTurnOver = errors.New("the turn is over")

// do runs fn on the actor and waits, unless the turn is over.
func (t *Turn) do(fn func(st *state) error) error {
	return t.session.do(func(st *state) error {
		if st.turn != t {
			return errTurnOver
		}
		return fn(st)
	})()
}

// emit tells an event of this turn, unless it is over.
func (t *Turn) emit(ev Event) {
	_ = t.do(func(*state) error { // a turn that is over has nothing to tell
		if t.note(ev) {
			t.session.emit(ev)
		}
		return nil
	})
}

// run is the turn. It runs in a goroutine of its own.
func (t *Turn) run() (r TurnResult) {
	defer func() {
		if v := recover(); v != nil {
			if t.session.opts.Panicked != nil {
				t.session.opts.Panicked("turn", v, debug.Stack())
			}
			r = TurnResult{Err: fmt.Errorf("internal error in the turn: %v", v)}
		}
	}()
	s := t.session
	if t.local != nil {
		return t.answer()
	}
	shown := ""
	if t.prepare != nil {
		p, err := t.prepare(t.ctx, t)
		if err != nil || len(p.Parts) == 0 {
			return t.ended(err)
		}
		t.prompt, shown = p.Parts, p.Shown
		t.openToSteers()
	}
	shown = t.withReports(shown)
	user := &providers.Message{ID: s.opts.NewID(), Role: providers.RoleUser, Parts: t.prompt}
	if err := t.recordShown(shown); err != nil {
		return t.ended(err)
	}
	if err := t.record(user); err != nil {
		return t.ended(err)
	}
	t.prompted = true
	defer func() { t.endHooks(&r) }()
	if err := t.promptHooks(); err != nil {
		return t.ended(err)
	}
	t.unanswered = user
	if shown == "" {
		shown = user.Text()
	}
	t.title(shown)
	t.settle()
	for left := s.opts.MaxRequests; left > 0; left-- {
		t.last = left == 1
		t.makeRoom(t.ctx)
		if t.ctx.Err() != nil {
			return t.ended(nil)
		}
		if !t.withinBudget() {
			return TurnResult{Stop: StopMaxTokens}
		}
		msg, err := t.ask(t.ctx)
		again, err := t.checked(msg, err)
		if err != nil {
			return t.failed(msg, err)
		}
		if again {
			continue
		}
		if t.completes(t.ctx, msg) {
			continue
		}
		if err := t.record(msg); err != nil {
			return t.ended(err)
		}
		t.unanswered = nil
		t.tellUsage(msg)
		stop, over := stopReason(msg.StopReason), true
		if calls := msg.ToolCalls(); len(calls) > 0 {
			if err := t.call(stop, calls); err != nil {
				return t.ended(err)
			}
			over = stop != StopEndTurn || t.ending
			if t.ctx.Err() != nil {
				return TurnResult{Stop: StopCancelled}
			}
		}
		if over && stop == StopEndTurn && !t.ending {
			again, err := t.notDone()
			if err != nil {
				return t.ended(err)
			}
			if again {
				continue
			}
		}
		if over && stop == StopEndTurn && t.tidy(t.ctx) {
			continue
		}
		if over && !t.goesOn(stop) {
			return TurnResult{Stop: stop}
		}
	}
	return TurnResult{Stop: StopMaxTurnRequests}
}

// call runs the calls of an answer that stopped in this way, and adds what the model is to know next to their results.
func (t *Turn) call(stop StopReason, calls []providers.ToolCall) error {
	if stop != StopEndTurn {
		return t.refuseCalls(calls, "The answer was cut off before this call was complete; it did not run.")
	}
	if err := t.runTools(t.ctx, calls); err != nil {
		return err
	}
	if err := t.addReports(); err != nil {
		return err
	}
	if _, err := t.addMatches(); err != nil {
		return err
	}
	_, err := t.checkPreview(calls)
	return err
}

// notDone reports whether the model is asked again after an answer that would end the turn: it ran into rules, or left a
// preview pending.
func (t *Turn) notDone() (again bool, err error) {
	if again, err = t.addMatches(); again || err != nil {
		return again, err
	}
	return t.checkPreview(nil)
}

// answer is the turn of [Session.Answer].
func (t *Turn) answer() TurnResult {
	if err := t.local(t.ctx, t); err != nil {
		return t.ended(err)
	}
	return TurnResult{Stop: StopEndTurn}
}

// Say tells the user something that is not part of the conversation. It is for the function that [Session.Answer]
// runs.
func (t *Turn) Say(text string) {
	if text != "" {
		t.emit(MessageDelta{MessageID: t.session.opts.NewID(), Speaker: SpeakerAgent, Text: text})
	}
}

// Clear begins the conversation anew. The session, its title and its choices stay. It is for the function that
// [Session.Answer] runs.
func (t *Turn) Clear() error {
	return t.do(func(st *state) error {
		if err := t.session.opts.Log.Clear(); err != nil {
			return err
		}
		st.window.Clear()
		st.branch++
		if st.plan != nil {
			t.session.emit(PlanChanged{Entries: []PlanEntry{}})
			st.plan = nil
		}
		t.session.emit(st.used(0))
		return nil
	})
}

// settle waits for tools that are on their way, within bounds.
func (t *Turn) settle() {
	ctx, cancel := context.WithTimeout(t.ctx, settleTools)
	defer cancel()
	t.session.opts.Tools.Settle(ctx)
}

// ended is the result of a turn that does not go on, because of err if that is not nil.
func (t *Turn) ended(err error) TurnResult {
	t.goesOn("")
	if t.ctx.Err() != nil || errors.Is(err, errTurnOver) {
		return TurnResult{Stop: StopCancelled}
	}
	if err == nil {
		return TurnResult{Stop: StopEndTurn}
	}
	return TurnResult{Err: err}
}

// failed ends a turn whose model call broke off. What the user has seen of the answer is kept; partial is nil where no
// answer had begun.
func (t *Turn) failed(partial *providers.Message, err error) TurnResult {
	if partial == nil {
		return t.ended(err)
	}
	// A call that streamed in part never ran and is not worth keeping.
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

func stopReason(r providers.StopReason) StopReason {
	switch r {
	case providers.StopLength:
		return StopMaxTokens
	case providers.StopRefusal:
		return StopRefusal
	default:
		return StopEndTurn
	}
}
