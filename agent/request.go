package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/faults"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// ContextUse describes the use of a model's window, in tokens. All numbers except Used and Size are estimates.
type ContextUse struct {
	// Used is the size of the last request; zero if it is unknown. Size is that of the window.
	Used, Size int
	// Next is the size of the next request without its prompt.
	Next int
	// System, Tools and Conversation are the parts of the next request.
	System, Tools, Conversation int
	ToolCount, Messages         int
}

// ContextUse returns the use of the model's window.
func (s *Session) ContextUse(ctx context.Context) (ContextUse, error) {
	var view requestState
	if err := s.do(func(st *state) error {
		view = st.request()
		return nil
	})(); err != nil {
		return ContextUse{}, err
	}
	set, err := toolsFor(s, &view)
	if err != nil {
		return ContextUse{}, err
	}
	w := &view.window
	use := ContextUse{
		Used: w.Usage().Context(), Size: view.model.ContextWindow, Conversation: contextwindow.Estimate(&view.model, w.Messages),
		ToolCount: len(set.active), Messages: len(w.Messages), System: contextwindow.Tokens(len(prompter{s}.systemPrompt(ctx, view.mode, set.stable()))),
	}
	for _, tool := range set.active {
		spec := tool.Spec()
		use.Tools += contextwindow.Tokens(len(spec.Name) + len(spec.Description) + len(spec.Schema))
	}
	w.SetOverhead(use.System + use.Tools)
	use.Next = w.Next(&view.model)
	return use, nil
}

// requestState is the part of a session's state from which a request is built.
type requestState struct {
	choices
	window contextwindow.Window
}

// request returns the state for a request, with its own copy of the messages.
func (st *state) request() requestState { return requestState{st.choices, st.window.Clone()} }

// assemble builds a request.
func (s *Session) assemble(ctx context.Context, view *requestState, set *toolset) *providers.Request {
	req := &providers.Request{
		System:   prompter{s}.briefed(prompter{s}.systemPrompt(ctx, view.mode, set.stable())),
		Messages: contextwindow.Messages(view.window.Messages, view.model.Images),
		Thinking: view.thinking, ServiceTier: view.tier,
		SessionID: s.opts.ID,
		HasCall:   s.opts.Log.HasCall,
	}
	set.request(ctx, s, req)
	return req
}

// maxOutputSchema bounds the schema of an answer, in bytes.
const maxOutputSchema = 2 << 20

// NewOutput returns the format of an answer that fits a JSON Schema, which must be that of an object.
func NewOutput(schema jsonx.Raw) (*providers.OutputFormat, error) {
	if len(schema) > maxOutputSchema {
		return nil, fmt.Errorf("the JSON Schema has more than %d MiB", maxOutputSchema>>20)
	}
	parsed := new(jsonschema.Schema)
	if err := jsonx.Unmarshal(schema, parsed); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	if _, err := parsed.Resolve(nil); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema that can be checked: %w", err)
	}
	if parsed.Type != "object" {
		return nil, errors.New("the root of the JSON Schema must have the type \"object\"")
	}
	return &providers.OutputFormat{Name: "answer", Schema: schema}, nil
}

// attempt makes one model request and emits the answer as it arrives. It retries after a temporary failure, and notifies the user.
// On an error it returns the part of the answer that arrived, or nil if there is none.
func (t *requester) attempt(ctx context.Context) (*providers.Message, error) {
	for failed := 1; ; failed++ {
		model, req, err := t.request(ctx)
		if err != nil {
			fell, ferr := t.fallBack(ctx, err)
			if fell {
				failed = 0
				continue
			}
			return nil, cmp.Or(ferr, err)
		}
		t.watchRules(ctx)
		msg, err := t.stream(ctx, model, req)
		if err == nil && failed > 1 {
			t.hooks.observe(hooks.RetryEnd, func(in *hooks.Input) { in.Attempt = failed - 1 })
		}
		if err == nil || ctx.Err() != nil || len(t.rules.broke) > 0 {
			return msg, err
		}
		warnOfQuotas(t.RunningTurn)
		if err := t.again(ctx, failed, err); err != nil {
			fell, ferr := t.fallBack(ctx, err)
			if ferr != nil {
				return msg, errors.Join(err, ferr)
			}
			if !fell {
				return msg, err
			}
			failed = 0
		}
		t.drop(t.model, msg)
	}
}

// again waits for the next attempt after a model call has failed failed times, and notifies the user. If there is no further
// attempt, it returns the final error of the call.
func (t *requester) again(ctx context.Context, failed int, err error) error {
	policy := t.session.opts.Retry
	wait, again := policy.Next(failed, err)
	if !again {
		if failed > 1 {
			t.hooks.observe(hooks.RetryEnd, func(in *hooks.Input) { in.Attempt, in.Reason = failed, t.session.opts.Secrets.Hide(err.Error()) })
			err = fmt.Errorf("%w (tried %d times)", err, failed)
		}
		if asked := policy.Asked(err); asked > 0 {
			at := t.session.opts.Clock().Add(asked)
			err = fmt.Errorf("%w; it can be tried again at %s, in %s", err, at.Format("2006-01-02 15:04 MST"), asked.Round(time.Second))
		}
		return err
	}
	t.hooks.observe(hooks.Retry, func(in *hooks.Input) { in.Attempt, in.Reason = failed, t.session.opts.Secrets.Hide(err.Error()) })
	t.emit(Noticed{
		Severity: SeverityWarning,
		Title: fmt.Sprintf("The model call failed; trying again in %s (attempt %d of %d).",
			wait.Round(100*time.Millisecond), failed+1, policy.Tries()),
		Detail: err.Error(),
	})
	return policy.Wait(ctx, wait)
}

// request assembles the next request from the session's state.
func (t *requester) request(ctx context.Context) (providers.Model, *providers.Request, error) {
	s := t.session
	var view requestState
	if err := t.do(func(st *state) error {
		if err := st.takeSteers(); err != nil {
			return err
		}
		if err := (previews{st}).remindLeft(); err != nil {
			return err
		}
		st.turn.closed = st.turn.closed || t.last
		t.model, t.tier = st.model, st.tier
		view = st.request()
		return nil
	}); err != nil {
		return nil, nil, err
	}
	model, err := s.opts.Models.Open(ctx, view.model)
	if err != nil {
		return nil, nil, err
	}
	output := t.prompt.Output
	if info := model.Info(); output != nil && !info.StructuredOutput {
		return nil, nil, &providers.Error{
			Kind: providers.KindOutput, Provider: info.Provider, Model: info.ID,
			Message: "the model does not take a JSON Schema for its answer; if its API does, set structuredOutput: true in models.yml",
		}
	}
	if t.tools, err = toolsFor(s, &view); err != nil {
		return nil, nil, err
	}
	req := s.assemble(ctx, &view, t.tools)
	req.Output = output
	if err := t.hooks.contextHooks(ctx, req); err != nil {
		return nil, nil, err
	}
	overhead := contextwindow.RequestOverhead(req)
	err = t.do(func(st *state) error {
		st.window.SetOverhead(overhead)
		finds{st}.noticeCuts(t.tools)
		if output == nil {
			req.ForceTool = previews{st}.forcedTool(t.tools.active)
		}
		return nil
	})
	return model, req, err
}

// stream runs one request and returns the whole answer. On an error it returns the part of the answer that arrived and its known
// usage, or nil if no answer had begun.
func (t *requester) stream(ctx context.Context, model providers.Model, req *providers.Request) (*providers.Message, error) {
	id := t.session.opts.NewID()
	said := partial{id: id, info: new(model.Info())}
	var repetitions faults.Repetitions
	speech := speech{turn: t.Turn, ahead: make(chan struct{}, deltasAhead)}
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return said.message(), contextwindow.StreamError(ctx, err)
		}
		said.add(ev)
		switch ev := ev.(type) {
		case providers.TextDelta:
			speech.say(MessageDelta{MessageID: id, Speaker: SpeakerAgent, Text: ev.Text})
		case providers.ThinkingDelta:
			speech.say(MessageDelta{MessageID: id, Speaker: SpeakerThought, Text: ev.Text})
		case providers.Done:
			msg := ev.Message
			msg.ID = id
			if t.rules.look(ev) {
				return &msg, brokenOff(said.info)
			}
			return &msg, nil
		default: // a call is emitted when it is complete
		}
		if block := repetitions.Add(ev); block > 0 && t.model.API != offlineAPI {
			msg := said.message()
			return msg, repeats(msg, block)
		}
		if t.rules.look(ev) {
			return said.message(), brokenOff(said.info)
		}
		if ctx.Err() != nil {
			// Stop reading a model that continues after its context has ended.
			return said.message(), context.Cause(ctx)
		}
	}
	return said.message(), bug.Errorf("model %s ended its stream without an end event", said.info.Ref())
}

// deltasAhead is the maximum number of a model's deltas that may wait for the actor. Waiting for each would cost two goroutine
// switches for a few words. Without a limit, the backlog of a slow editor could grow without bound.
const deltasAhead = 32

// speech emits the deltas of one answer, in order. Later events follow them in the actor's queue.
type speech struct {
	turn *Turn
	// ahead holds a token for each delta that the actor has not emitted yet.
	ahead chan struct{}
}

func (s *speech) say(ev MessageDelta) {
	s.ahead <- struct{}{}
	posted := s.turn.session.box.post(func(st *state) {
		defer func() { <-s.ahead }()
		if st.runs(s.turn) && st.turn.note(ev) {
			st.emit(ev)
		}
	})
	if !posted {
		<-s.ahead
	}
}

// partial collects an answer as it arrives.
type partial struct {
	id    string
	info  *providers.ModelInfo
	build providers.Builder
	used  contextwindow.Meter
}

func (p *partial) add(ev providers.Event) {
	p.build.Add(ev)
	p.used.Add(ev)
}

// message returns the part that has arrived; nil for none.
func (p *partial) message() *providers.Message {
	if !p.used.Begun {
		return nil
	}
	msg := p.build.Message()
	msg.ID, msg.API, msg.Provider, msg.Model = p.id, p.info.API, p.info.Provider, p.info.ID
	msg.Usage = p.used.Usage
	return &msg
}

// validInput returns a call's input as an object, or an error that says what is wrong with it.
func validInput(c providers.ToolCall) (jsonx.Raw, error) {
	if len(c.Input) == 0 {
		return jsonx.Raw("{}"), nil
	}
	err := jsonx.ReadObject(c.Input, func([]byte, jsonx.Raw) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("%w: the arguments of %s are not a JSON object: %w", ErrBadInput, c.Name, err)
	}
	return c.Input, nil
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
