package ollama

import (
	"context"
	"errors"
	"io"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// chunk is one line of the stream, with the members that are used.
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
	ctx    context.Context //nolint:containedctx // the caller's; bounds one answer, also a line of many parts
	model  *model
	stream *wire.Stream
	yield  func(providers.Event, error) bool
	req    *providers.Request

	build       providers.Builder
	join        dialect.Joiner
	calls       []string // their ids
	usage       providers.Usage
	usageReport dialect.UsageReporter
}

func (a *answer) run() {
	for {
		line, err := a.stream.NextValue()
		if errors.Is(err, io.EOF) {
			err = a.stream.CutOff()
		}
		more := false
		if err == nil {
			more, err = a.line(line.Data)
		}
		if err != nil {
			a.yield(nil, err)
			return
		}
		if !more {
			return
		}
	}
}

// line processes one line. It reports whether to continue.
func (a *answer) line(data []byte) (more bool, err error) {
	var c chunk
	if err := jsonx.Unmarshal(data, &c); err != nil {
		return false, a.stream.BadEvent(err)
	}
	if dialect.IsError(c.Error, c.Message.Content != "" || c.Message.Thinking != "" || c.Message.ToolCalls != nil || c.Done) {
		return false, a.stream.EventError(c.Error)
	}
	// Only the last line has the counts, except from some compatible servers.
	if in, out := c.PromptEval.Count(), c.Eval.Count(); in > 0 || out > 0 {
		a.usage = providers.Usage{Input: in, Output: out}
	}
	if !a.usageReport.Report(a.usage, a.yield) {
		return false, nil
	}
	if c.Message.Thinking != "" && !a.send(providers.ThinkingDelta{Text: c.Message.Thinking}) {
		return false, nil
	}
	if c.Message.Content != "" && !a.send(providers.TextDelta{Text: c.Message.Content}) {
		return false, nil
	}
	for i := range c.Message.ToolCalls {
		if !a.call(&c.Message.ToolCalls[i]) {
			return false, nil
		}
	}
	if c.Done {
		a.stream.End()
		a.done(c.DoneReason)
		return false, nil
	}
	return true, nil
}

func (a *answer) send(ev providers.Event) bool {
	if a.ctx.Err() != nil {
		a.yield(nil, context.Cause(a.ctx))
		return false
	}
	before, now := a.join.Next(ev)
	return a.emit(before) && a.emit(now)
}

// emit yields ev unless it is nil.
func (a *answer) emit(ev providers.Event) bool {
	if ev == nil {
		return true
	}
	a.build.Add(ev)
	return a.yield(ev, nil)
}

// call processes a call, which always arrives whole. Older versions give it no id.
func (a *answer) call(part *callPart) bool {
	id := dialect.UniqueID(a.req, string(part.ID), "ollama", a.calls)
	a.calls = append(a.calls, id)
	if !a.send(providers.ToolCallStart{ID: id, Name: part.Function.Name}) {
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
	return a.send(providers.ToolCallDelta{ID: id, Input: string(input)})
}

func (a *answer) done(reason string) {
	for _, ev := range a.join.Rest() {
		if !a.emit(ev) {
			return
		}
	}
	info := &a.model.cfg.Info
	m := a.build.Message()
	m.API, m.Provider, m.Model, m.Usage = info.API, info.Provider, info.ID, a.usage
	switch {
	case reason == "length":
		m.StopReason = providers.StopLength
	case a.build.Calls() > 0:
		m.StopReason = providers.StopTools
	default:
		m.StopReason = providers.StopEnd
	}
	a.yield(providers.Done{Message: m}, nil)
}
