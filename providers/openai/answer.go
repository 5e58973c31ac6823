package openai

import (
	"bytes"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// chunk is one event of the stream, reduced to the members that are used.
type chunk struct {
	ID      dialect.ID            `json:"id"`
	Choices []choice              `json:"choices"`
	Usage   dialect.Object[usage] `json:"usage"`
	Error   jsonx.Raw             `json:"error"`
}

type choice struct {
	Index dialect.Number `json:"index"`
	Delta delta          `json:"delta"`
	// Message replaces Delta in the answer of a server that does not stream. MiniMax sends it after the deltas.
	Message      delta  `json:"message"`
	FinishReason string `json:"finish_reason"`
	// Usage is Moonshot's place for the usage.
	Usage dialect.Object[usage] `json:"usage"`
}

type delta struct {
	// Content is a string, or an array of parts from some servers.
	Content          jsonx.Raw  `json:"content"`
	ReasoningContent string     `json:"reasoning_content"`
	Reasoning        jsonx.Raw  `json:"reasoning"`
	ReasoningText    string     `json:"reasoning_text"`
	ReasoningDetails jsonx.Raw  `json:"reasoning_details"`
	Refusal          string     `json:"refusal"`
	ToolCalls        []callPart `json:"tool_calls"`
}

type callPart struct {
	Index    dialect.Number `json:"index"`
	ID       dialect.ID     `json:"id"`
	Function struct {
		Name string `json:"name"`
		// Arguments is a string of JSON, or the object itself from some servers.
		Arguments jsonx.Raw `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	Prompt            dialect.Number                `json:"prompt_tokens"`
	Completion        dialect.Number                `json:"completion_tokens"`
	Total             dialect.Number                `json:"total_tokens"`
	CacheHit          dialect.Number                `json:"prompt_cache_hit_tokens"` // DeepSeek's name for cached_tokens
	Cached            dialect.Number                `json:"cached_tokens"`           // Moonshot's
	PromptDetails     dialect.Object[inputDetails]  `json:"prompt_tokens_details"`
	CompletionDetails dialect.Object[outputDetails] `json:"completion_tokens_details"`
}

// inputDetails and outputDetails break the tokens down.
type inputDetails struct {
	Cached     dialect.Number `json:"cached_tokens"`
	CacheWrite dialect.Number `json:"cache_write_tokens"`
}

type outputDetails struct {
	Reasoning dialect.Number `json:"reasoning_tokens"`
}

// An answer reads one response.
type answer struct {
	dialect.Answer

	rules  *rules
	stream *wire.Stream

	calls   []*call
	finish  string
	refused bool
	deltas  bool   // the choice had deltas; a message after them repeats them
	member  string // the member that holds the reasoning
	details []reasoningDetail
	name    string // the id of the response
}

// call is a tool call that is being received.
type call struct {
	index   int
	given   string // the id on the wire
	id      string // the id that the session sees
	name    string
	input   []byte // input that arrived before the name
	started bool
}

func (a *answer) run() {
	a.stream.Each(a.stream.Next, a.Yield, a.chunk, func() bool {
		complete := a.finish != "" || a.Said && a.stream.Whole()
		if complete {
			a.done()
		}
		return complete
	})
}

// chunk processes one event. It reports whether to continue.
func (a *answer) chunk(ev wire.Event) (more bool, err error) {
	if bytes.Equal(bytes.TrimSpace(ev.Data), []byte("[DONE]")) {
		a.stream.End()
		if a.finish == "" && !a.Said {
			return false, a.stream.CutOff()
		}
		a.done()
		return false, nil
	}
	if text, ok := plainContent(ev.Data); ok {
		if text == "" { // as in the first chunk of most
			return a.Report(), nil
		}
		a.deltas = true
		return a.Send(providers.TextDelta{Text: text}), nil
	}
	var c chunk
	if err := jsonx.Unmarshal(ev.Data, &c); err != nil {
		return false, a.stream.BadEvent(err)
	}
	if dialect.IsError(c.Error, c.Choices != nil || c.Usage.Known) {
		return false, a.stream.EventError(c.Error)
	}
	if ev.Name == "error" {
		return false, a.stream.EventError(bytes.Clone(ev.Data))
	}
	if c.ID != "" {
		a.name = string(c.ID)
	}
	if c.Usage.Known {
		a.count(&c.Usage.Value)
	}
	if !a.Report() {
		return false, nil
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index.Value != 0 {
			continue // a second answer, which was not requested
		}
		if !c.Usage.Known && choice.Usage.Known {
			a.count(&choice.Usage.Value)
			if !a.Report() {
				return false, nil
			}
		}
		said, calls := a.Said, len(a.calls)
		if !a.delta(&choice.Delta) {
			return false, nil
		}
		a.deltas = a.deltas || a.Said != said || len(a.calls) > calls
		if !a.deltas && !a.delta(&choice.Message) {
			return false, nil
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
			a.stream.Hasten()
		}
	}
	return true, nil
}

// plainContent returns the text of a chunk that contains nothing else. Such chunks are the most frequent kind, and decoding them
// completely takes three times as long.
func plainContent(data []byte) (text string, ok bool) {
	if !jsonx.Valid(data) {
		return "", false
	}
	plain := true
	var choice, delta, content jsonx.Raw
	jsonx.EachMember(data, func(name []byte, value jsonx.Raw) bool {
		switch string(name) {
		case "choices":
			choice = jsonx.Sole(value)
		case "usage", "error":
			plain = jsonx.IsNull(value)
		case "object", "created", "model", "service_tier", "system_fingerprint", "obfuscation", "id":
		default:
			plain = false
		}
		return plain
	})
	if !plain {
		return "", false
	}
	jsonx.EachMember(choice, func(name []byte, value jsonx.Raw) bool {
		switch string(name) {
		case "index":
			plain = string(value) == "0"
		case "delta":
			delta = value
		case "logprobs", "finish_reason":
			plain = jsonx.IsNull(value)
		default:
			plain = false
		}
		return plain
	})
	if !plain {
		return "", false
	}
	jsonx.EachMember(delta, func(name []byte, value jsonx.Raw) bool {
		switch string(name) {
		case "content":
			content = value
		case "role":
		default:
			plain = jsonx.IsNull(value)
		}
		return plain
	})
	if !plain || content == nil {
		return "", false
	}
	return jsonx.Text(content)
}

func (a *answer) delta(d *delta) bool {
	a.detail(d.ReasoningDetails)
	if !a.think(a.thought(d)) {
		return false
	}
	if len(d.Content) > 0 && d.Content.Kind() == '[' && !a.think(thinkingParts(d.Content), memberContent) {
		return false
	}
	a.refused = a.refused || d.Refusal != ""
	if !a.SendText(text(d.Content)) || !a.SendText(d.Refusal) {
		return false
	}
	for i := range d.ToolCalls {
		if !a.call(&d.ToolCalls[i]) {
			return false
		}
	}
	return true
}

// text returns a string, or the text of an array of parts; "" for anything else.
func text(raw jsonx.Raw) string {
	if len(raw) < 3 {
		return "" // absent, or ""
	}
	switch raw.Kind() {
	case '"':
		var s string
		if jsonx.Unmarshal(raw, &s) == nil {
			return s
		}
	case '[':
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if jsonx.Unmarshal(raw, &parts) == nil {
			var b strings.Builder
			for _, p := range parts {
				if p.Type == "text" {
					b.WriteString(p.Text)
				}
			}
			return b.String()
		}
	}
	return ""
}

// call processes a piece of a tool call.
func (a *answer) call(part *callPart) bool {
	c := a.callOf(part)
	if part.Function.Name != "" && !c.started {
		// Servers send the name in one piece; a server that repeats it means the same call.
		c.name = part.Function.Name
	}
	input := arguments(part.Function.Arguments)
	if !c.started {
		if c.name == "" {
			c.input = append(c.input, input...)
			return true
		}
		return a.startCall(c, string(c.input)+input)
	}
	return input == "" || a.Send(providers.ToolCallDelta{ID: c.id, Input: input})
}

// startCall begins a call with the input that has arrived.
func (a *answer) startCall(c *call, input string) bool {
	c.started = true
	id, more := a.StartCall(c.given, a.name, c.name)
	c.id = id
	return more && (input == "" || a.Send(providers.ToolCallDelta{ID: c.id, Input: input}))
}

// nameless begins the calls that have no name: they fail, and the model sees why. It ignores empty pieces.
func (a *answer) nameless() bool {
	for _, c := range a.calls {
		if !c.started && (c.given != "" || len(c.input) > 0) && !a.startCall(c, string(c.input)) {
			return false
		}
	}
	return true
}

// callOf returns the call that a piece belongs to: by index; by id if a server sends no index or always the same one; otherwise the
// last call.
func (a *answer) callOf(part *callPart) *call {
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		sameIndex := !part.Index.Known || part.Index.Value == c.index
		sameID := part.ID == "" || string(part.ID) == c.given
		// A piece without an id after a complete call starts another call.
		another := part.ID == "" && part.Function.Name != "" && c.started &&
			(!part.Index.Known || jsonx.Valid([]byte(a.Build.Input(c.id))))
		if sameIndex && sameID && !another {
			return c
		}
	}
	if part.Index.Known && part.Function.Name == "" {
		// Some servers give every piece an id of its own.
		for _, c := range slices.Backward(a.calls) {
			if c.started && c.index == part.Index.Value {
				return c
			}
		}
	}
	c := &call{index: len(a.calls), given: string(part.ID)}
	if part.Index.Known {
		c.index = part.Index.Value
	}
	a.calls = append(a.calls, c)
	return c
}

func arguments(raw jsonx.Raw) string {
	if len(raw) == 0 {
		return ""
	}
	switch raw.Kind() {
	case '"':
		return text(raw)
	case '{':
		return string(raw)
	}
	return ""
}

func (a *answer) count(u *usage) {
	in := &u.PromptDetails.Value
	cached, written := max(u.CacheHit.Count(), u.Cached.Count(), in.Cached.Count()), in.CacheWrite.Count()
	output, thinking := u.Completion.Count(), u.CompletionDetails.Value.Reasoning.Count()
	if thinking > 0 && u.Total.Count() == u.Prompt.Count()+output+thinking {
		output += thinking // xAI counts reasoning separately
	}
	a.Usage = providers.Usage{
		Input: max(0, u.Prompt.Count()-cached-written), Output: output, CacheRead: cached, CacheWrite: written, Thinking: thinking,
	}
}

func (a *answer) done() {
	switch a.finish {
	case "error":
		a.Yield(nil, a.stream.EventError(nil))
		return
	case "insufficient_system_resource", "network_error", "abort": // of DeepSeek, Z.ai, vLLM
		a.Yield(nil, a.stream.EventError(jsonx.Raw(`"the provider aborted the answer: `+a.finish+`"`)))
		return
	}
	if !a.nameless() {
		return
	}
	a.Done(a.stopReason(), a.sign)
}

func (a *answer) stopReason() providers.StopReason {
	switch a.finish {
	case "length", "model_length", "model_context_window_exceeded": // of Mistral, Z.ai
		return providers.StopLength
	case "content_filter", "sensitive":
		return providers.StopRefusal
	}
	switch {
	case a.refused:
		return providers.StopRefusal
	case a.Build.Calls() > 0:
		// Some servers say "stop" with calls.
		return providers.StopTools
	}
	return providers.StopEnd
}
