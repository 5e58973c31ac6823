package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// attempt makes one model request and tells what the model says while it speaks. A failure that may pass is tried
// again, visibly. With an error comes what was said before it, if anything.
func (t *Turn) attempt(ctx context.Context) (*providers.Message, error) {
	for failed := 1; ; failed++ {
		model, req, err := t.request(ctx)
		if err != nil {
			return nil, err
		}
		msg, err := t.stream(ctx, model, req)
		if err == nil || ctx.Err() != nil {
			return msg, err
		}
		if err := t.again(ctx, failed, err); err != nil {
			return msg, err
		}
	}
}

// again waits for the next attempt of a model call that has failed for the failed-th time, and says so. It returns the
// error that the call has in the end if there is none.
func (t *Turn) again(ctx context.Context, failed int, err error) error {
	policy := t.session.opts.Retry
	wait, again := policy.Next(failed, err)
	if !again {
		if failed > 1 {
			err = fmt.Errorf("%w (tried %d times)", err, failed)
		}
		if asked := policy.Asked(err); asked > 0 {
			at := t.session.opts.Clock().Add(asked)
			err = fmt.Errorf("%w; it can be tried again at %s, in %s", err, at.Format("2006-01-02 15:04 MST"), asked.Round(time.Second))
		}
		return err
	}
	t.emit(Noticed{
		Severity: SeverityWarning,
		Title: fmt.Sprintf("The model call failed; trying again in %s (attempt %d of %d).",
			wait.Round(100*time.Millisecond), failed+1, policy.Tries()),
		Detail: err.Error(),
	})
	return policy.Wait(ctx, wait)
}

// request assembles the next request from the session's state.
func (t *Turn) request(ctx context.Context) (providers.Model, *providers.Request, error) {
	s := t.session
	var snap state
	if err := t.do(func(st *state) error {
		if err := s.takeSteers(st, t); err != nil {
			return err
		}
		t.closed = t.closed || t.last
		t.model = st.model
		snap = st.copied()
		return nil
	}); err != nil {
		return nil, nil, err
	}
	model, err := s.opts.Models.Open(snap.model)
	if err != nil {
		return nil, nil, err
	}
	t.tools = s.offered()
	req := s.assemble(ctx, &snap, t.tools)
	overhead := requestOverhead(req)
	err = t.do(func(st *state) error {
		st.overhead = overhead
		return nil
	})
	return model, req, err
}

// stream runs one request and returns the whole answer.
func (t *Turn) stream(ctx context.Context, model providers.Model, req *providers.Request) (*providers.Message, error) {
	id := t.session.opts.NewID()
	var said providers.Builder
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return t.partial(id, model, &said), modelError(ctx, err)
		}
		said.Add(ev)
		switch ev := ev.(type) {
		case providers.TextDelta:
			t.emit(MessageDelta{MessageID: id, Speaker: SpeakerAgent, Text: ev.Text})
		case providers.ThinkingDelta:
			t.emit(MessageDelta{MessageID: id, Speaker: SpeakerThought, Text: ev.Text})
		case providers.Done:
			msg := ev.Message
			msg.ID = id
			return &msg, nil
		default: // a call is told when it is whole
		}
		if ctx.Err() != nil {
			// A model that goes on after its context has ended is not listened to.
			return t.partial(id, model, &said), context.Cause(ctx)
		}
	}
	info := model.Info()
	return t.partial(id, model, &said), bug.Errorf("model %s ended its stream without an end", info.Ref())
}

// modelError prefers why the turn was ended over how the model's client took it.
func modelError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("the model call was cut off: %w", err)
	}
	return err
}

func (t *Turn) partial(id string, model providers.Model, said *providers.Builder) *providers.Message {
	msg := said.Message()
	info := model.Info()
	msg.ID, msg.Role = id, providers.RoleAssistant
	msg.API, msg.Provider, msg.Model = info.API, info.Provider, info.ID
	return &msg
}

// conversation prepares a history for a request: what a model must not see is left out, and every tool call gets
// an answer, also where the process died before it could give one.
func conversation(history []providers.Message, images bool) []providers.Message {
	msgs := make([]providers.Message, 0, len(history))
	var open []providers.ToolCall
	flush := func() {
		for _, c := range open {
			msgs = append(msgs, toolMessage(c, "The call was interrupted; it is not known whether it took effect.", true))
		}
		open = nil
	}
	for _, m := range history {
		switch m.Role {
		case providers.RoleTool:
			kept := open[:0:0]
			answered := false
			for _, c := range open {
				if c.ID == m.ToolCallID && !answered {
					answered = true
					continue
				}
				kept = append(kept, c)
			}
			if !answered {
				continue // an answer to nothing
			}
			open = kept
		default:
			flush()
			if len(m.Parts) == 0 {
				continue
			}
			if m.Role == providers.RoleAssistant {
				open = m.ToolCalls()
			}
		}
		if !images {
			m.Parts = withoutImages(m.Parts)
		}
		msgs = append(msgs, m)
	}
	flush()
	return msgs
}

func withoutImages(parts []providers.Part) []providers.Part {
	out := parts[:0:0]
	for _, p := range parts {
		if _, isImage := p.(providers.Image); isImage {
			p = providers.Text{Text: "[An image was here. This model cannot see images.]"}
		}
		out = append(out, p)
	}
	return out
}

func toolMessage(c providers.ToolCall, text string, isError bool) providers.Message {
	return providers.Message{
		Role: providers.RoleTool, ToolCallID: c.ID, ToolName: c.Name, IsError: isError,
		Parts: []providers.Part{providers.Text{Text: text}},
	}
}

// validInput returns a call's input as an object, or what is wrong with it.
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
