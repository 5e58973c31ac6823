package agent

import (
	"errors"
	"strings"

	"github.com/gajae-code/gjc/agent/faults"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

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
	calls, found := faults.CutLeaks(msg, func(name string) bool { return name != "" && find(t.tools, name) != nil })
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
