package anthropic

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/cloud"
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
	model  *model
	req    *providers.Request
	stream *wire.Stream
	yield  func(providers.Event, error) bool

	ev    event // reused for every event
	build providers.Builder
	join  dialect.Joiner
	// open holds the current content blocks, by index.
	open map[int]openBlock
	// calls holds the ids of the calls so far.
	calls       []string
	usage       providers.Usage
	usageReport dialect.UsageReporter
	stop        string
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
	for {
		ev, err := a.stream.Next()
		if errors.Is(err, io.EOF) {
			err = a.stream.CutOff()
		} else if broken, ok := errors.AsType[*cloud.FrameError](err); ok {
			err = a.stream.BadEvent(broken)
		}
		if err != nil {
			if a.stop != "" && !a.stream.Cancelled() {
				a.done() // the answer is complete
				return
			}
			a.yield(nil, err)
			return
		}
		more, err := a.event(ev)
		if err != nil {
			a.yield(nil, err)
			return
		}
		if !more {
			return
		}
	}
}

// events holds the types of events that are read.
var events = []string{
	"content_block_delta", "content_block_start", "content_block_stop", "message_start", "message_delta", "message_stop", "message", "error",
}

// event processes one event. It reports whether to continue.
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
	switch ev.Type { // events has all of them
	case "content_block_delta":
		return a.delta(ev), nil
	case "content_block_start":
		return a.start(ev), nil
	case "content_block_stop":
		return a.blockEnd(ev.Index.Value), nil
	case "message_start":
		a.count(&ev.Message.Usage.Value)
		return a.usageReport.Report(a.usage, a.yield), nil
	case "message_delta":
		a.count(&ev.Usage.Value)
		if ev.Delta.StopReason != "" {
			a.stop = ev.Delta.StopReason
		}
		if !a.usageReport.Report(a.usage, a.yield) {
			return false, nil
		}
		if why := ev.Delta.StopDetails.Explanation; why != "" && a.stop == "refusal" {
			a.build.Break()
			return a.send(providers.TextDelta{Text: why}), nil
		}
	case "message_stop":
		a.stream.End()
		a.done()
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
	if !a.usageReport.Report(a.usage, a.yield) {
		return nil
	}
	for i := range ev.Content {
		part := event{Index: dialect.Number{Value: i}, ContentBlock: ev.Content[i]}
		if !a.start(&part) || !a.blockEnd(i) {
			return nil
		}
	}
	a.stream.End()
	a.done()
	return nil
}

func (a *answer) send(ev providers.Event) bool {
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

func (a *answer) start(ev *event) bool {
	b := &ev.ContentBlock
	id := string(b.ID)
	if b.Type == "tool_use" {
		// Anthropic's own ids are unique; those of compatible servers may not be.
		id = dialect.UniqueID(a.req, id, "", a.calls)
		a.calls = append(a.calls, id)
	}
	a.open[ev.Index.Value] = openBlock{kind: b.Type, id: id, whole: b.Input}
	switch b.Type {
	case "text":
		a.build.Break()
		return b.Text == "" || a.send(providers.TextDelta{Text: b.Text})
	case "thinking":
		a.build.Break()
		if b.Thinking != "" && !a.send(providers.ThinkingDelta{Text: b.Thinking}) {
			return false
		}
		if b.Signature != "" {
			a.build.SignThinking(b.Signature)
		}
	case "redacted_thinking":
		a.build.Redacted(b.Data)
	case "tool_use":
		return a.send(providers.ToolCallStart{ID: id, Name: b.Name})
	}
	return true
}

func (a *answer) delta(ev *event) bool {
	d := &ev.Delta
	switch d.Type {
	case "text_delta":
		return d.Text == "" || a.send(providers.TextDelta{Text: d.Text})
	case "thinking_delta":
		return d.Thinking == "" || a.send(providers.ThinkingDelta{Text: d.Thinking})
	case "signature_delta":
		a.build.SignThinking(d.Signature)
	case "input_json_delta":
		b := a.open[ev.Index.Value]
		if b.kind != "tool_use" || d.PartialJSON == "" {
			return true
		}
		if !b.input {
			b.input = true
			a.open[ev.Index.Value] = b
		}
		return a.send(providers.ToolCallDelta{ID: b.id, Input: d.PartialJSON})
	}
	return true
}

// blockEnd closes a block. The input of a call that did not stream arrived with its start.
func (a *answer) blockEnd(index int) bool {
	b := a.open[index]
	delete(a.open, index)
	if b.kind == "tool_use" && !b.input && !jsonx.IsNull(b.whole) && string(b.whole) != "{}" {
		return a.send(providers.ToolCallDelta{ID: b.id, Input: string(b.whole)})
	}
	return true
}

func (a *answer) count(u *usage) {
	set := func(to *int, from dialect.Number) {
		if from.Known {
			*to = from.Count()
		}
	}
	set(&a.usage.Input, u.Input)
	set(&a.usage.Output, u.Output)
	set(&a.usage.CacheRead, u.CacheRead)
	set(&a.usage.CacheWrite, u.CacheWrite)
	set(&a.usage.Thinking, u.Details.Value.Thinking)
}

func (a *answer) done() {
	for _, ev := range a.join.Rest() {
		if !a.emit(ev) {
			return
		}
	}
	info := &a.model.cfg.Info
	m := a.build.Message()
	m.API, m.Provider, m.Model, m.Usage = info.API, info.Provider, info.ID, a.usage
	m.StopReason = a.stopReason()
	a.yield(providers.Done{Message: m}, nil)
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
	if a.build.Calls() > 0 {
		return providers.StopTools
	}
	return providers.StopEnd
}
