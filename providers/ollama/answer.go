package ollama

import (
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// chunk is one line of the stream, reduced to the members that are used.
type chunk struct {
	Message    spoken         `json:"message"`
	Done       bool           `json:"done"`
	DoneReason string         `json:"done_reason"`
	PromptEval dialect.Number `json:"prompt_eval_count"`
	Eval       dialect.Number `json:"eval_count"`
	Error      jsonx.Raw      `json:"error"`
}

type spoken struct {
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking"`
	ToolCalls []callPart `json:"tool_calls"`
}

type callPart struct {
	ID       dialect.ID `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments jsonx.Raw `json:"arguments"`
	} `json:"function"`
}

// An answer reads one response.
type answer struct {
	dialect.Answer

	stream *wire.Stream
}

// line processes one line. It reports whether to continue.
func (a *answer) line(ev wire.Event) (more bool, err error) {
	var c chunk
	if err := jsonx.Unmarshal(ev.Data, &c); err != nil {
		return false, a.stream.BadEvent(err)
	}
	if dialect.IsError(c.Error, c.Message.Content != "" || c.Message.Thinking != "" || c.Message.ToolCalls != nil || c.Done) {
		return false, a.stream.EventError(c.Error)
	}
	// Only the last line has the counts, except from some compatible servers.
	if in, out := c.PromptEval.Count(), c.Eval.Count(); in > 0 || out > 0 {
		a.Usage = providers.Usage{Input: in, Output: out}
	}
	if !a.Report() {
		return false, nil
	}
	if !a.SendThinking(c.Message.Thinking) || !a.SendText(c.Message.Content) {
		return false, nil
	}
	for i := range c.Message.ToolCalls {
		if !a.call(&c.Message.ToolCalls[i]) {
			return false, nil
		}
	}
	if c.Done {
		a.stream.End()
		a.Done(a.stopReason(c.DoneReason), nil)
		return false, nil
	}
	return true, nil
}

// call processes a call, which always arrives whole. Older versions give it no id.
func (a *answer) call(part *callPart) bool {
	id, more := a.StartCall(string(part.ID), "ollama", part.Function.Name)
	if !more {
		return false
	}
	input := part.Function.Arguments
	if len(input) > 0 && input.Kind() == '"' {
		// Some compatible servers send the JSON as a string.
		var s string
		if jsonx.Unmarshal(input, &s) == nil {
			input = jsonx.Raw(s)
		}
	}
	if jsonx.IsNull(input) || string(input) == "{}" {
		return true
	}
	return a.Send(providers.ToolCallDelta{ID: id, Input: string(input)})
}

func (a *answer) stopReason(reason string) providers.StopReason {
	switch {
	case reason == "length":
		return providers.StopLength
	case a.Build.Calls() > 0:
		return providers.StopTools
	}
	return providers.StopEnd
}
