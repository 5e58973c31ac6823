package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// record stores messages and adds them to the conversation. Of a turn that is over it accepts only answers.
func (t *RunningTurn) record(msgs ...*providers.Message) error {
	err := t.do(func(st *state) error {
		for _, m := range msgs {
			if err := t.keep(st, m); err != nil {
				return err
			}
			st.turn.recorded(m)
		}
		return nil
	})
	if errors.Is(err, errTurnOver) {
		for _, m := range msgs {
			if m.Role == providers.RoleAssistant {
				t.drop(t.model, m)
			}
		}
	}
	return err
}

// keep appends a message to the log and to the conversation.
func (t *RunningTurn) keep(st *state, m *providers.Message) error {
	if m.Time.IsZero() {
		m.Time = t.session.opts.Clock()
	}
	if m.Role == providers.RoleAssistant {
		m.Price = t.model.Price(m.Usage, t.tier)
	}
	if _, err := t.session.opts.Log.AppendMessage(m); err != nil {
		return st.unsaved(err)
	}
	st.saved()
	kept := *m
	if m.Role == providers.RoleAssistant {
		st.charge(st.turn, answerUse(&t.model, m))
	}
	kept.Details = nil // the display of a result is in the log, and large
	st.window.Append(kept)
	if m.Role == providers.RoleUser && st.rules != nil {
		st.rules.turns++
	}
	return nil
}

// customShown is the type of the entry that precedes a user message and holds the text from which the message was made.
const customShown = "gjc.shown"

// recordShown stores what the user typed, if the prompt differs from it.
func (t *RunningTurn) recordShown(text string) error {
	if text == "" {
		return nil
	}
	raw, err := jsonx.Marshal(text)
	if err != nil {
		return err
	}
	return t.do(func(st *state) error {
		if _, err := t.session.opts.Log.Append(sessions.Custom{CustomType: customShown, Data: raw}); err != nil {
			return st.unsaved(err)
		}
		return nil
	})
}

// customFailed is the type of the entry at the end of a turn that failed. Models do not see it.
const customFailed = "gjc.failed"

// failure describes why a turn failed.
type failure struct {
	Message string `json:"message"`
	// Kind is that of a failed model call; empty for other failures.
	Kind string `json:"kind,omitzero"`
}

// recordFailure records why the turn failed, so that a session that is loaded or exported later shows the reason. It does nothing
// for a turn that ended otherwise or whose prompt is not in the log.
func (t *RunningTurn) recordFailure(r TurnResult) {
	if r.Err == nil || !t.prompted {
		return
	}
	why := failure{Message: r.Err.Error()}
	if e, ok := errors.AsType[*providers.Error](r.Err); ok {
		why.Kind = string(e.Kind)
	}
	raw, err := jsonx.Marshal(why)
	if err != nil {
		return
	}
	// If the log cannot be written, this turn has failed for that reason, or the next one fails.
	_ = t.do(func(*state) error {
		_, err := t.session.opts.Log.Append(sessions.Custom{CustomType: customFailed, Data: raw})
		return err
	})
}

// customEnded is the type of the entry at the end of a turn that has not failed and does not end with an answer: a replay shows it as
// interrupted otherwise. Models do not see it.
const customEnded = "gjc.ended"

// recordEnd records that a turn has ended, if its last message does not show that.
func recordEnd(st *state, t *turnState, r TurnResult) {
	messages := st.window.Messages
	if r.Err != nil || r.Stop == StopRefusal || len(messages) == 0 || len(messages) == t.before.window.Messages {
		return
	}
	if last := &messages[len(messages)-1]; last.Role == providers.RoleAssistant && len(last.ToolCalls()) == 0 {
		return
	}
	raw, err := jsonx.Marshal(struct {
		Stop StopReason `json:"stop"`
	}{r.Stop})
	if err != nil {
		return
	}
	// If the log cannot be written, the next turn fails for that reason.
	_, _ = st.session.opts.Log.Append(sessions.Custom{CustomType: customEnded, Data: raw})
}

// failed replays why a turn failed. It returns false to stop.
func (r *replay) failed(e *sessions.Custom) bool {
	var why failure
	if jsonx.Unmarshal(e.Data, &why) != nil || why.Message == "" {
		return true
	}
	return r.yield(Noticed{ID: r.id() + "-failed", Severity: SeverityError, Title: "The turn failed.", Detail: why.Message})
}

// RunTool runs a tool at the user's request, and returns its result for display. The editor shows the call like one of the model's,
// and hooks, rules and plan mode apply. Because the user has requested the call, RunTool asks for permission only where auto mode
// would. The conversation does not include the call; the model receives its result afterwards, unless it is empty. RunTool returns
// the tool's error, or one that explains why the tool did not run. It may be called only in the functions of a [Prompt]. The own tools are
// not offered to models: only the user can call them.
func (t *RunningTurn) RunTool(name string, input jsonx.Raw, own ...Tool) (text string, err error) {
	s := t.session
	text, err = runForUser(t, name, input, own...)
	shown := s.Hide(text)
	if err != nil || text == "" {
		return "", err
	}
	Value(s.opts.Values, func() *userCalls { return new(userCalls) }).add("The user has called the tool " + name + ":\n" + text)
	return shown, nil
}

// RunInPrompt runs a tool for the prompt of t, as [RunningTurn.RunTool] does. The result is for the prompt: the model does not receive it
// otherwise.
func RunInPrompt(t *RunningTurn, name string, input jsonx.Raw, own ...Tool) (text string, err error) {
	text, err = runForUser(t, name, input, own...)
	return t.session.Hide(text), err
}

// runForUser runs a tool at the user's request. An own tool replaces one of the same name that models are offered.
func runForUser(t *RunningTurn, name string, input jsonx.Raw, own ...Tool) (text string, err error) {
	result, err := callForUser(t, name, input, own...)
	if err != nil {
		return "", err
	}
	if result.IsError {
		return "", errors.New(t.session.Hide(result.Text))
	}
	return result.Text, nil
}

// callForUser is runForUser with a result that can be an error.
func callForUser(t *RunningTurn, name string, input jsonx.Raw, own ...Tool) (*Result, error) {
	s := t.session
	var model providers.ModelInfo
	var mode approval.Mode
	if err := t.do(func(st *state) error { model, mode = st.model, st.mode; return nil }); err != nil {
		return nil, err
	}
	t.tools, t.model = &toolset{active: slices.Concat(own, s.offered(&model, mode))}, model
	run := &toolRun{turn: t, call: providers.ToolCall{ID: s.opts.NewID(), Name: name, Input: input}, tool: find(t.tools.active, name), byUser: true}
	return run.do(t.ctx)
}

// customUserCall is the type of the entry for a call that is not part of the conversation. Its data is a [userCall].
const customUserCall = "gjc.user_call"

// userCall is a call that the user made, or that stood for a question to the user, with its result.
type userCall struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Input   jsonx.Raw `json:"input"`
	Text    string    `json:"text,omitzero"`
	IsError bool      `json:"isError,omitzero"`
	Details jsonx.Raw `json:"details,omitzero"`
}

// keepUserCall records a call of the user's with its result.
func (st *state) keepUserCall(input jsonx.Raw, result *providers.Message) error {
	s := st.session
	data, err := jsonx.Marshal(userCall{
		ID: result.ToolCallID, Name: result.ToolName, Input: input,
		Text: result.Text(), IsError: result.IsError, Details: result.Details,
	})
	if err != nil {
		return err
	}
	if _, err := s.opts.Log.Append(sessions.Custom{CustomType: customUserCall, Data: data}); err != nil {
		return st.unsaved(err)
	}
	return nil
}

// message returns the call and its result in the form that they would have in a conversation.
func (c *userCall) message() (providers.ToolCall, *providers.Message) {
	call := providers.ToolCall{ID: c.ID, Name: c.Name, Input: c.Input}
	m := contextwindow.ToolMessage(call, c.Text, c.IsError)
	m.Details = c.Details
	return call, &m
}

// userCalls holds the results of the user's calls that the model has not seen yet. It is a [reporter].
type userCalls struct {
	mu    sync.Mutex // guards texts
	texts []string
}

func (u *userCalls) add(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.texts = append(u.texts, text)
}

// Report implements [reporter]. The user has seen the results.
func (u *userCalls) Report() Report {
	u.mu.Lock()
	defer u.mu.Unlock()
	text := strings.Join(u.texts, "\n\n")
	u.texts = nil
	return Report{Text: text}
}

// Steered is the result of steering a turn.
type Steered struct {
	// Injected reports that the running turn accepted the text.
	Injected bool
	// Turn is the turn that was queued instead, if requested; nil for none.
	Turn *Turn
}

// Steer adds a message to the running turn. The model sees it with its next request, at the latest when it has finished its answer.
// Steer reports false, and does nothing, if no turn can still answer it: none is running, its last request is under way, its prompt
// is not ready yet, or it is ending.
func (s *Session) Steer(parts []providers.Part) (injected bool, err error) {
	done, err := s.QueueSteer(parts, false)()
	return done.Injected, err
}

// QueueSteer is [Session.Steer] in the order of the calls, like [Session.Prompt]: it returns at once, and the returned function
// waits for the result. With orPrompt, a turn is queued if no turn can accept the message.
func (s *Session) QueueSteer(parts []providers.Part, orPrompt bool) func() (Steered, error) {
	var result Steered
	pending := s.do(func(st *state) error {
		if t := st.turn; t != nil && !t.cancelling && !t.closed && t.prompt.Answer == nil {
			result.Injected = true
			t.steers = append(t.steers, parts)
			return nil
		}
		if !orPrompt || st.closing {
			return nil
		}
		result.Turn = s.newTurn(Prompt{Parts: parts})
		st.queue(result.Turn)
		return nil
	})
	return func() (Steered, error) {
		err := pending()
		return result, err
	}
}

// takeSteers adds the messages that were steered into t to the conversation.
func (st *state) takeSteers() error {
	s, t := st.session, st.turn
	if err := giveNews(st); err != nil {
		return err
	}
	for len(t.steers) > 0 {
		m := &providers.Message{ID: s.opts.NewID(), Role: providers.RoleUser, Parts: t.steers[0], Time: s.opts.Clock()}
		if _, err := s.opts.Log.AppendMessage(m); err != nil {
			return st.unsaved(err)
		}
		st.window.Append(*m)
		t.steers = t.steers[1:]
	}
	return nil
}

// goesOn reports whether a turn that would end with stop continues for messages that were steered into it. If not, the turn accepts
// no more messages. A refusal always ends the turn and leaves the messages to the next one.
func (t *RunningTurn) goesOn(stop StopReason) bool {
	more := false
	_ = t.do(func(st *state) error { // a finished turn accepts no more either
		now := st.turn
		more = len(now.steers) > 0 && !now.cancelling && (stop == StopEndTurn || stop == StopMaxTokens)
		now.closed = !more
		if more {
			now.ending = false
		}
		return nil
	})
	return more
}

// openToSteers allows the turn to be steered. Until then, it is uncertain whether the turn reaches a model request.
func (t *RunningTurn) openToSteers() {
	_ = t.do(func(st *state) error { // a finished turn stays closed
		st.turn.closed = false
		return nil
	})
}

// ending reports whether a tool has requested the end of the turn.
func (t *RunningTurn) ending() bool {
	is := false
	_ = t.do(func(st *state) error { // a finished turn ends anyway
		is = st.turn.ending
		return nil
	})
	return is
}

// Delivery is the time at which the model receives a message of an extension. Between turns every message waits for the next prompt.
type Delivery string

// The deliveries.
const (
	// DeliverSteer adds the message to the next request of the running turn.
	DeliverSteer Delivery = "steer"
	// DeliverFollowUp makes the running turn go on with the message when it would end.
	DeliverFollowUp Delivery = "followUp"
	// DeliverNextTurn adds the message to the next prompt.
	DeliverNextTurn Delivery = "nextTurn"
)

const (
	// maxExtensionMessage bounds a message of an extension, in bytes, and maxExtensionMessages how many wait.
	maxExtensionMessage  = 16 << 10
	maxExtensionMessages = 50
)

// errDelivery is wrapped by the error for a message that cannot be delivered.
var errDelivery = errors.New("the message cannot be delivered")

// extensionMessage is a message that waits.
type extensionMessage struct {
	from, text string
	when       Delivery
}

// Deliver gives the model a message of an extension. The model receives it as the extension's, never as the user's.
func Deliver(s *Session, from, message string, when Delivery) error {
	switch when {
	case DeliverSteer, DeliverFollowUp, DeliverNextTurn:
	default:
		return fmt.Errorf("%w: deliverAs must be steer, followUp or nextTurn", errDelivery)
	}
	message = strings.TrimSpace(strings.ToValidUTF8(message, "\ufffd"))
	if message == "" || len(message) > maxExtensionMessage {
		return fmt.Errorf("%w: its text must have 1 to %d bytes", errDelivery, maxExtensionMessage)
	}
	s.hooked.mu.Lock()
	defer s.hooked.mu.Unlock()
	if len(s.hooked.messages) >= maxExtensionMessages {
		return fmt.Errorf("%w: %d messages wait already", errDelivery, maxExtensionMessages)
	}
	s.hooked.messages = append(s.hooked.messages, extensionMessage{from, message, when})
	return nil
}

// take removes the messages for one of these times and returns them.
func (h *hookState) take(when ...Delivery) (taken []extensionMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages = slices.DeleteFunc(h.messages, func(m extensionMessage) bool {
		is := slices.Contains(when, m.when)
		if is {
			taken = append(taken, m)
		}
		return is
	})
	return taken
}

// deliver adds the waiting messages for these times to the conversation. It reports whether there were any.
func (t *turnHooks) deliver(when ...Delivery) (bool, error) {
	if t.session.child {
		return false, nil
	}
	taken := t.session.hooked.take(when...)
	if len(taken) == 0 {
		return false, nil
	}
	var words []string
	for _, m := range taken {
		words = append(words, "<extension name="+quoted(m.from)+">\n"+strings.ReplaceAll(m.text, "</extension>", "<\\/extension>")+"\n</extension>")
		t.emit(Noticed{Severity: SeverityInfo, Title: "The extension " + m.from + " sends the model a message: " + t.session.opts.Secrets.Hide(text.Truncate(text.OneLine(m.text), 200))})
	}
	return true, t.do(func(st *state) error {
		return st.appendMessage(sessions.CustomMessage{
			CustomType: "extension", Attribution: "agent", Parts: []providers.Part{providers.Text{Text: strings.Join(words, "\n\n")}},
		})
	})
}

// AppendCustom adds data to the session's log that no model receives. The kind is that of a [sessions.Custom].
func AppendCustom(s *Session, kind string, data jsonx.Raw) error {
	return s.do(func(st *state) error {
		if st.closing {
			return ErrSessionClosed
		}
		if _, err := s.opts.Log.Append(sessions.Custom{CustomType: kind, Data: data}); err != nil {
			return st.unsaved(err)
		}
		return nil
	})()
}

// followUp reports whether a turn that would end goes on for messages of extensions.
func (t *turnHooks) followUp(r *TurnResult) bool {
	if t.session.child || t.idle || t.ctx.Err() != nil || r.Err != nil || r.Stop != StopEndTurn || t.stops >= maxStops {
		return false
	}
	more, err := t.deliver(DeliverSteer, DeliverFollowUp)
	if !more || err != nil {
		return false
	}
	t.stops++
	return true
}
