package anthropic

import (
	"bytes"
	"errors"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// event is the union of the stream's events, with the members that are used.
type event struct {
	Type         string                `json:"type"`
	Index        dialect.Number        `json:"index"`
	Delta        delta                 `json:"delta"`
	ContentBlock block                 `json:"content_block"`
	Message      start                 `json:"message"`
	Usage        dialect.Object[usage] `json:"usage"`
	Error        jsonx.Raw             `json:"error"`

	// The members of a whole message, from a server that does not stream.
	Content    []block `json:"content"`
	StopReason string  `json:"stop_reason"`
}

type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	PartialJSON string `json:"partial_json"`
	Signature   string `json:"signature"`
	StopReason  string `json:"stop_reason"`
	StopDetails struct {
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

type block struct {
	Type      string     `json:"type"`
	ID        dialect.ID `json:"id"`
	Name      string     `json:"name"`
	Text      string     `json:"text"`
	Thinking  string     `json:"thinking"`
	Signature string     `json:"signature"`
	Data      string     `json:"data"`
	Input     jsonx.Raw  `json:"input"`
}

type start struct {
	Usage dialect.Object[usage] `json:"usage"`
}

// usage is the usage of one event: later events omit what earlier ones reported.
type usage struct {
	Input      dialect.Number               `json:"input_tokens"`
	Output     dialect.Number               `json:"output_tokens"`
	CacheRead  dialect.Number               `json:"cache_read_input_tokens"`
	CacheWrite dialect.Number               `json:"cache_creation_input_tokens"`
	Details    dialect.Object[usageDetails] `json:"output_tokens_details"`
}

type usageDetails struct {
	Thinking dialect.Number `json:"thinking_tokens"`
}

// An answer reads one response.
type answer struct {
	dialect.Answer

	stream *wire.Stream
	ev     event // reused for every event
	// open holds the current content blocks, by index.
	open map[int]openBlock
	stop string
}

type openBlock struct {
	kind string
	id   string // of a tool call
	// input reports that the input of the call has begun to stream.
	input bool
	// whole is the input that arrived with the start of the call.
	whole jsonx.Raw
}

func (a *answer) run() {
	a.open = map[int]openBlock{}
	a.stream.Each(a.stream.Next, a.Yield, a.event, func() bool {
		if a.stop != "" {
			a.Done(a.stopReason(), nil)
		}
		return a.stop != ""
	})
}

// events lists the event types that are handled.
var events = []string{
	"content_block_delta", "content_block_start", "content_block_stop", "message_start", "message_delta", "message_stop", "message", "error",
}

// event processes one event. It reports whether the stream continues.
func (a *answer) event(raw wire.Event) (more bool, err error) {
	if raw.Name == "ping" {
		return true, nil
	}
	a.ev = event{}
	ev := &a.ev
	if err := jsonx.Unmarshal(raw.Data, ev); err != nil {
		switch kind := dialect.EventType(raw.Data); {
		case kind == "error":
			return false, a.stream.EventError(bytes.Clone(raw.Data))
		case kind != "" && !slices.Contains(events, kind):
			return true, nil
		}
		return false, a.stream.BadEvent(err)
	}
	switch ev.Type { // must cover all of events
	case "content_block_delta":
		return a.delta(ev), nil
	case "content_block_start":
		return a.start(ev), nil
	case "content_block_stop":
		return a.blockEnd(ev.Index.Value), nil
	case "message_start":
		a.count(&ev.Message.Usage.Value)
		return a.Report(), nil
	case "message_delta":
		a.count(&ev.Usage.Value)
		if ev.Delta.StopReason != "" {
			a.stop = ev.Delta.StopReason
		}
		if !a.Report() {
			return false, nil
		}
		if why := ev.Delta.StopDetails.Explanation; why != "" && a.stop == "refusal" {
			a.Build.Break()
			return a.Send(providers.TextDelta{Text: why}), nil
		}
	case "message_stop":
		a.stream.End()
		a.Done(a.stopReason(), nil)
		return false, nil
	case "message":
		return false, a.whole(ev)
	case "error":
		if jsonx.IsNull(ev.Error) {
			ev.Error = bytes.Clone(raw.Data)
		}
		return false, a.stream.EventError(ev.Error)
	case "":
		if !jsonx.IsNull(ev.Error) {
			return false, a.stream.EventError(ev.Error)
		}
		return false, a.stream.BadEvent(errors.New("no type"))
	}
	return true, nil // a newer type of event
}

// whole processes a message that arrives as one event.
func (a *answer) whole(ev *event) error {
	if dialect.IsError(ev.Error, true) {
		return a.stream.EventError(ev.Error)
	}
	a.count(&ev.Usage.Value)
	a.stop = ev.StopReason
	if !a.Report() {
		return nil
	}
	for i := range ev.Content {
		part := event{Index: dialect.Number{Value: i}, ContentBlock: ev.Content[i]}
		if !a.start(&part) || !a.blockEnd(i) {
			return nil
		}
	}
	a.stream.End()
	a.Done(a.stopReason(), nil)
	return nil
}

func (a *answer) start(ev *event) bool {
	b := &ev.ContentBlock
	open := openBlock{kind: b.Type, whole: b.Input}
	more := true
	if b.Type == "tool_use" {
		// Anthropic's own ids are unique; those of compatible servers may not be.
		open.id, more = a.StartCall(string(b.ID), "", b.Name)
	}
	a.open[ev.Index.Value] = open
	switch b.Type {
	case "text":
		a.Build.Break()
		return a.SendText(b.Text)
	case "thinking":
		a.Build.Break()
		if !a.SendThinking(b.Thinking) {
			return false
		}
		if b.Signature != "" {
			a.Build.SignThinking(b.Signature)
		}
	case "redacted_thinking":
		a.Build.Redacted(b.Data)
	}
	return more
}

func (a *answer) delta(ev *event) bool {
	d := &ev.Delta
	switch d.Type {
	case "text_delta":
		return a.SendText(d.Text)
	case "thinking_delta":
		return a.SendThinking(d.Thinking)
	case "signature_delta":
		a.Build.SignThinking(d.Signature)
	case "input_json_delta":
		b := a.open[ev.Index.Value]
		if b.kind != "tool_use" || d.PartialJSON == "" {
			return true
		}
		if !b.input {
			b.input = true
			a.open[ev.Index.Value] = b
		}
		return a.Send(providers.ToolCallDelta{ID: b.id, Input: d.PartialJSON})
	}
	return true
}

// blockEnd closes a block. If the input of a call was not streamed, it uses the input that arrived with the call's start.
func (a *answer) blockEnd(index int) bool {
	b := a.open[index]
	delete(a.open, index)
	if b.kind == "tool_use" && !b.input && !jsonx.IsNull(b.whole) && string(b.whole) != "{}" {
		return a.Send(providers.ToolCallDelta{ID: b.id, Input: string(b.whole)})
	}
	return true
}

func (a *answer) count(u *usage) {
	set := func(to *int, from dialect.Number) {
		if from.Known {
			*to = from.Count()
		}
	}
	set(&a.Usage.Input, u.Input)
	set(&a.Usage.Output, u.Output)
	set(&a.Usage.CacheRead, u.CacheRead)
	set(&a.Usage.CacheWrite, u.CacheWrite)
	set(&a.Usage.Thinking, u.Details.Value.Thinking)
}

func (a *answer) stopReason() providers.StopReason {
	switch a.stop {
	case "max_tokens", "model_context_window_exceeded":
		return providers.StopLength
	case "refusal":
		return providers.StopRefusal
	case "tool_use":
		return providers.StopTools
	}
	// end_turn, stop_sequence, pause_turn, and future reasons. Calls need results, whatever the reason.
	if a.Build.Calls() > 0 {
		return providers.StopTools
	}
	return providers.StopEnd
}
