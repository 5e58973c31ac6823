package agent

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/faults"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

//go:embed prompts/continue.md
var continuePrompt string

// ErrNoRoom is wrapped by the error for a request that does not fit into the model's window and for which compaction could not make
// room.
var ErrNoRoom = errors.New("no room could be made in the model's context window")

// recoveryError is the failure to make room for a request. It wraps the error of the request and the error of the attempt to make
// room.
type recoveryError struct {
	what     string
	err, why error
}

func (e *recoveryError) Error() string {
	text := e.err.Error()
	switch {
	case e.why == nil:
		return e.what + ": " + text
	case contextwindow.Overflowed(e.why):
		return e.what + ": the text to summarize does not fit either: " + text
	}
	return e.what + ": " + e.why.Error() + "; the model's answer was: " + text
}

// Is reports whether target is [ErrNoRoom].
func (e *recoveryError) Is(target error) bool { return target == ErrNoRoom }

func (e *recoveryError) Unwrap() []error {
	if e.why == nil {
		return []error{e.err}
	}
	return []error{e.err, e.why}
}

// ask requests an answer to the conversation. If the request does not fit into the model's window, the session changes
// to a larger model or is compacted, and the request is sent again, a limited number of times. With an error, ask
// returns the part of the answer that arrived, if any.
func (t *requester) ask(ctx context.Context) (*providers.Message, error) {
	for tried := 0; ; {
		msg, err := t.attempt(ctx)
		if err == nil || ctx.Err() != nil || !contextwindow.Overflowed(err) {
			return msg, err
		}
		if t.remodelled() && tried < contextwindow.MaxDepth {
			t.drop(t.model, msg)
			tried++
			continue // the user has chosen another model meanwhile
		}
		if promoted, perr := t.compactor.promote(ctx); promoted {
			t.drop(t.model, msg)
			continue // this terminates, because each model is larger than the one before
		} else if perr != nil {
			return msg, perr
		}
		if !t.session.settings.Compaction.Automatic() {
			return msg, err
		}
		if tried >= contextwindow.MaxDepth {
			return msg, &recoveryError{"Context overflow recovery failed", err, nil}
		}
		// The partial answer before the failure is not part of the conversation.
		_, cerr := t.compactor.compact(ctx, compacting{reason: contextwindow.ReasonOverflow, depth: tried})
		for errors.Is(cerr, contextwindow.ErrNothingToCompact) && tried < contextwindow.MaxDepth-1 {
			tried++ // nothing is new, or nothing is old enough: keep less
			_, cerr = t.compactor.compact(ctx, compacting{reason: contextwindow.ReasonOverflow, depth: tried})
		}
		switch {
		case ctx.Err() != nil:
			t.drop(t.model, msg)
			return nil, context.Cause(ctx)
		case cerr != nil:
			return msg, &recoveryError{"Context overflow recovery failed", err, cerr}
		}
		t.drop(t.model, msg)
		tried++
	}
}

// remodelled reports whether the session's model differs from that of the last request.
func (t *requester) remodelled() bool {
	is := false
	_ = t.do(func(st *state) error { // a turn that is over asks no model
		is = st.model.Ref() != t.model.Ref()
		return nil
	})
	return is
}

// makeRoom compacts a conversation that has grown over the threshold, so that the next request fits. After a failure the turn
// continues without it. It reports whether the conversation has changed.
func (t *compactor) makeRoom(ctx context.Context) bool {
	settings := &t.session.settings.Compaction
	if !settings.Automatic() || t.noRoom {
		return false
	}
	over := func() bool {
		is := false
		_ = t.do(func(st *state) error { // a turn that is over needs no room
			is = st.window.Over(&st.model, settings)
			return nil
		})
		return is
	}
	if !over() {
		return false
	}
	err := t.prune()
	if err == nil && !over() {
		return false
	}
	if err == nil {
		var promoted bool
		if promoted, err = t.promote(ctx); promoted && !over() {
			return false
		}
	}
	if err == nil {
		err = t.shorten(ctx, contextwindow.ReasonThreshold)
	}
	return t.shortened(ctx, err, "Auto-compaction failed")
}

// shorten compacts the conversation with the configured strategy.
func (t *compactor) shorten(ctx context.Context, reason contextwindow.Reason) error {
	if t.session.settings.Compaction.Strategy == contextwindow.StrategyHandoff {
		err := t.handOver(ctx, reason)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	_, err := t.compact(ctx, compacting{reason: reason})
	return err
}

// shortened handles the result of an attempt and reports whether the conversation has changed.
func (t *compactor) shortened(ctx context.Context, err error, failed string) bool {
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil, errors.Is(err, errTurnOver):
	case errors.Is(err, contextwindow.ErrNothingToCompact):
		_ = t.do(func(st *state) error { // a turn that is over needs no room
			st.window.NothingToCompact(&st.model)
			return nil
		})
	default:
		// It would fail with each request of the turn.
		t.noRoom = true
		t.emit(Noticed{Severity: SeverityWarning, Title: failed + ": " + err.Error()})
	}
	return false
}

// completes reports whether to request an interrupted answer again, because the window was full and now has room. It removes the
// interrupted answer from the conversation.
func (t *compactor) completes(ctx context.Context, msg *providers.Message) bool {
	settings := &t.session.settings.Compaction
	if msg.StopReason != providers.StopLength || t.completed || t.last {
		return false
	}
	full, auto := false, settings.Automatic()
	var model providers.ModelInfo
	_ = t.do(func(st *state) error { // a turn that is over completes nothing
		model = t.model
		info := &st.model
		full = info.Ref() == t.model.Ref() && settings.FilledBy(info.ContextWindow, info.MaxOutput, msg.Usage.Context(), msg.Usage.Output)
		return nil
	})
	if !full {
		return false
	}
	t.completed = true
	again, err := t.promote(ctx)
	if !again && (err != nil || auto) {
		if err == nil {
			err = t.shorten(ctx, contextwindow.ReasonIncomplete)
		}
		again = t.shortened(ctx, err, "Incomplete response recovery failed")
	}
	if again {
		t.drop(model, msg)
	}
	return again
}

// tidy makes room after a turn's last answer. It reports whether the turn continues, because the compaction interrupted
// the work: the plan has open items.
func (t *compactor) tidy(ctx context.Context) bool {
	if t.ending() || !t.makeRoom(ctx) || !t.session.settings.Compaction.AutoContinue || t.last || ctx.Err() != nil {
		return false
	}
	inWork := false
	err := t.do(func(st *state) error {
		inWork = st.mode != approval.ModePlan && openSteps(st.plan) > 0
		if !inWork {
			return nil
		}
		return st.appendMessage(sessions.CustomMessage{
			CustomType: "auto-continue", Attribution: "agent",
			Parts: []providers.Part{providers.Text{Text: strings.TrimSpace(continuePrompt)}},
		})
	})
	return err == nil && inWork
}

// remind adds text from gjc to the conversation, marked so that the model does not attribute it to the user.
func (st *state) remind(kind, text string) error {
	return st.appendMessage(sessions.CustomMessage{CustomType: kind, Attribution: "agent", Parts: reminder(text)})
}

// reminderStart is the beginning of every reminder.
const reminderStart = "<" + reminderTag + ">\n"

const reminderTag = "system-reminder"

// reminder returns text from gjc in the form in which the model does not attribute it to the user.
func reminder(text string) []providers.Part {
	text = reminderStart + strings.ReplaceAll(text, "</"+reminderTag+">", "<\\/"+reminderTag+">") + "\n</" + reminderTag + ">"
	return []providers.Part{providers.Text{Text: text}}
}

// appendMessage stores a message of the program in the log and adds it to the conversation.
func (st *state) appendMessage(m sessions.CustomMessage) error {
	s := st.session
	if _, err := s.opts.Log.Append(m); err != nil {
		return st.unsaved(err)
	}
	st.window.Append(providers.Message{Role: providers.RoleUser, Parts: m.Parts, Time: s.opts.Clock()})
	return nil
}

// modelLister is a [Models] that lists its models, so that a session can find one with a larger window.
type modelLister interface {
	// Models returns the models that can be used.
	Models() []providers.ModelInfo
}

// fallbacks is a [Models] that names the models to use if one is not available.
type fallbacks interface {
	// Fallback returns the model to use after a call of info failed with err and is not retried. It returns none of the references
	// in tried, and false if there is no further model. The level is the session's thinking level with that model; empty for the
	// current level.
	Fallback(info providers.ModelInfo, err error, tried map[string]bool) (providers.ModelInfo, providers.ThinkingLevel, bool)
}

// The reasons in the log for a model that a session has changed to automatically.
const (
	promotionReason = "context-promotion"
	fallbackReason  = "fallback"
)

// promote changes to a model with a larger window, if the settings allow that and one exists. It reports whether it did.
func (t *compactor) promote(ctx context.Context) (bool, error) {
	s := t.session
	if !s.settings.ContextPromotion || ctx.Err() != nil {
		return false, nil
	}
	snap, err := s.Snapshot()
	if err != nil {
		return false, err
	}
	from := snap.Model
	to, ok := t.promotionTarget(ctx, &from)
	if !ok {
		return false, nil
	}
	return t.requester.switchModel(sessions.ModelChange{Model: to.Ref(), PreviousModel: from.Ref(), Reason: promotionReason}, to, "", Noticed{
		Severity: SeverityInfo, Title: fmt.Sprintf("The conversation has outgrown %s; continuing with %s.", from.Ref(), to.Ref()),
	})
}

// fallBack changes to the next model after a call that failed and is not retried, if there is a model that this turn has not tried.
// It reports whether it did.
func (t *requester) fallBack(ctx context.Context, failed error) (bool, error) {
	s := t.session
	chain, ok := s.opts.Models.(fallbacks)
	if !ok || ctx.Err() != nil {
		return false, nil
	}
	from := t.model
	if t.tried == nil {
		t.tried = make(map[string]bool)
	}
	t.tried[from.Ref()] = true
	to, level, ok := chain.Fallback(from, failed, t.tried)
	for ; ok; to, level, ok = chain.Fallback(to, failed, t.tried) {
		t.tried[to.Ref()] = true
		if _, err := s.opts.Models.Open(ctx, to); err == nil {
			break
		}
	}
	if !ok {
		return false, nil
	}
	return t.switchModel(sessions.ModelChange{Model: to.Ref(), PreviousModel: from.Ref(), Reason: fallbackReason}, to, level, Noticed{
		Severity: SeverityWarning, Title: fmt.Sprintf("%s is not available; continuing with %s.", from.Ref(), to.Ref()), Detail: failed.Error(),
	})
}

// switchModel changes the session's model and notifies the user, unless the user has selected another model meanwhile. It reports
// whether it changed the model. An empty level keeps the current one.
func (t *requester) switchModel(change sessions.ModelChange, to providers.ModelInfo, level providers.ThinkingLevel, notice Noticed) (bool, error) {
	s := t.session
	switched := false
	err := t.do(func(st *state) error {
		if st.model.Ref() != change.PreviousModel {
			return nil
		}
		if _, err := s.opts.Log.Append(change); err != nil {
			return st.unsaved(err)
		}
		st.model = to
		st.window.ModelChanged()
		switched = true
		if err := st.fitToModel(cmp.Or(level, st.thinking)); err != nil {
			return err
		}
		st.emit(ConfigChanged{Now: st.snapshot()})
		st.emit(notice)
		st.emit(st.used(st.window.Next(&st.model)))
		return nil
	})
	return switched && err == nil, err
}

// Faults of models that no provider reports as an error.
const (
	// ErrorEmptyResponse: the model repeatedly returned an empty answer.
	ErrorEmptyResponse providers.ErrorKind = "empty_response"
	// ErrorRepetition: the model twice repeated the same text endlessly.
	ErrorRepetition providers.ErrorKind = "repetition"
	// ErrorProtocolLeak: the model repeatedly mixed parts of its provider's protocol into its answers.
	ErrorProtocolLeak providers.ErrorKind = "protocol_leak"
)

// Limits of the requests for another answer in one turn.
const (
	mostEmpty   = 2
	mostRepeats = 1
	mostLeaks   = 2
)

// odd counts the faulty answers of a turn.
type odd struct {
	empty, repeats, leaks int
	// rejected holds the calls of the current answer that must not run.
	rejected map[string]bool
}

const (
	nudgeEmpty   = "Your last answer was empty. Continue the work: call a tool, or briefly report the result."
	nudgeRepeats = "Your last answer repeated the same thing over and over and was cut off. Continue without repeating yourself; to produce something long and regular, use a command."
	nudgeLeak    = "The end of your last answer was not meant for the user: it was part of the internal format of tool calls. It was cut off. Continue from there; to use a tool, call it."
	whyLeak      = "The call did not run: its arguments contained parts of the internal format of tool calls, with text that does not belong there. Nothing was changed. Send the call again, with only its arguments."
)

// checked inspects the result of a request; err is set if the request failed. It reports whether to ask the model again. If not, it
// returns the error that ends the turn, if any. It may replace msg.
func (t *requester) checked(msg *providers.Message, err error) (again bool, _ error) {
	t.odd.rejected = nil
	if len(t.rules.broke) > 0 && t.ctx.Err() == nil {
		return t.interrupted(msg)
	}
	if e, ok := repetition(err); ok {
		if t.odd.repeats++; t.odd.repeats > mostRepeats || t.last {
			return false, e
		}
		return t.askAgain(msg, "The model repeated itself, so its answer was cut off; asking it again.", nudgeRepeats)
	}
	if err != nil {
		return false, err
	}
	fail := func(kind providers.ErrorKind, message string) error {
		return &providers.Error{Kind: kind, Provider: t.model.Provider, Model: t.model.ID, Message: message}
	}
	if t.cutLeaks(msg) {
		switch t.odd.leaks++; {
		case t.odd.leaks > mostLeaks:
			return false, fail(ErrorProtocolLeak, "the model keeps mixing parts of its protocol into its answers")
		case len(msg.ToolCalls()) > 0:
			return false, nil // the results explain the fault
		case t.last:
			return false, nil
		}
		return t.askAgain(msg, "The model's answer contained parts of its protocol, which were cut off; asking it again.", nudgeLeak)
	}
	if !empty(msg) {
		// A long turn may have some faulty answers, far apart; MaxRequests bounds it.
		t.odd = odd{}
		return false, nil
	}
	if t.odd.empty++; t.odd.empty > mostEmpty || t.last {
		msg.Parts = nil
		return false, fail(ErrorEmptyResponse, "the model gave an empty answer")
	}
	t.drop(t.model, msg)
	nudge := ""
	if t.odd.empty == mostEmpty {
		nudge = nudgeEmpty
	}
	return t.askAgain(nil, "The model gave an empty answer; asking it again.", nudge)
}

// askAgain records the good part of an answer, notifies the user, and explains to the model why it is asked again.
func (t *requester) askAgain(msg *providers.Message, notice, nudge string) (bool, error) {
	if msg != nil {
		msg.Parts = withoutCalls(msg.Parts)
		if len(msg.Parts) > 0 {
			if msg.StopReason == "" {
				msg.StopReason, msg.Error = providers.StopError, notice
			}
			if err := t.record(msg); err != nil {
				return false, err
			}
		} else {
			t.drop(t.model, msg)
		}
	}
	t.emit(Noticed{Severity: SeverityWarning, Title: notice})
	if nudge == "" {
		return true, nil
	}
	err := t.do(func(st *state) error {
		return st.appendMessage(sessions.CustomMessage{
			CustomType: "nudge", Attribution: "agent", Parts: []providers.Part{providers.Text{Text: nudge}},
		})
	})
	return err == nil, err
}

// empty reports whether an answer that ended normally has no text and no calls. Thinking alone counts as empty.
func empty(msg *providers.Message) bool {
	return msg.StopReason == providers.StopEnd && len(msg.ToolCalls()) == 0 && strings.TrimSpace(msg.Text()) == ""
}

func withoutCalls(parts []providers.Part) []providers.Part {
	kept := parts[:0:0]
	for _, p := range parts {
		if _, isCall := p.(providers.ToolCall); !isCall {
			kept = append(kept, p)
		}
	}
	return kept
}

// offlineAPI is the API of the scripted model, whose repetitions are intended.
const offlineAPI = "offline"

// repetition returns err as the error of [repeats], if it is one.
func repetition(err error) (*providers.Error, bool) {
	e, ok := errors.AsType[*providers.Error](err)
	return e, ok && e.Kind == ErrorRepetition
}

// repeats removes the repetitions from an answer, and returns the error of a stream that was ended because of them.
func repeats(msg *providers.Message, block int) *providers.Error {
	faults.CutRepetition(msg, block)
	return &providers.Error{
		Kind: ErrorRepetition, Provider: msg.Provider, Model: msg.Model, Message: "the model repeated itself endlessly, so its answer was cut off",
	}
}

// cutLeaks removes leaks from an answer, and rejects the calls that contain one. It reports whether it found any. It does nothing
// if the conversation has shown the model a marker, because then the model may write about it.
func (t *requester) cutLeaks(msg *providers.Message) bool {
	if !faults.Suspect(msg) || !faults.CanLeak(&t.model) || t.markerShown() {
		return false
	}
	calls, found := faults.CutLeaks(msg, func(name string) bool { return name != "" && find(t.tools.active, name) != nil })
	for _, id := range calls {
		if t.odd.rejected == nil {
			t.odd.rejected = make(map[string]bool)
		}
		t.odd.rejected[id] = true
	}
	return found
}

// markerShown reports whether the user or a tool has shown the model a marker.
func (t *requester) markerShown() bool {
	found := false
	_ = t.do(func(st *state) error { // a turn that is over runs no calls
		for i := range st.window.Messages {
			if m := &st.window.Messages[i]; m.Role != providers.RoleAssistant && faults.Shown(m.Text()) {
				found = true
				return nil
			}
		}
		return nil
	})
	return found
}
