package openai

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// chunk is one event of the stream, with the members that are used.
type chunk struct {
	ID      string    `json:"id"`
	Choices []choice  `json:"choices"`
	Usage   *usage    `json:"usage"`
	Error   jsonx.Raw `json:"error"`
}

type choice struct {
	Index int   `json:"index"`
	Delta delta `json:"delta"`
	// Message stands where Delta should, in the answer of a server that does not stream.
	Message      delta  `json:"message"`
	FinishReason string `json:"finish_reason"`
}

type delta struct {
	// Content is a string, or an array of parts from some servers.
	Content          jsonx.Raw  `json:"content"`
	ReasoningContent string     `json:"reasoning_content"`
	Reasoning        jsonx.Raw  `json:"reasoning"`
	Refusal          string     `json:"refusal"`
	ToolCalls        []callPart `json:"tool_calls"`
}

type callPart struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name string `json:"name"`
		// Arguments is a string of JSON, or the object itself from some servers.
		Arguments jsonx.Raw `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	CacheHit      int `json:"prompt_cache_hit_tokens"` // DeepSeek's word for cached
	PromptDetails *struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails *struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// answer is one response being read.
type answer struct {
	model  *Model
	stream *wire.Stream
	yield  func(providers.Event, error) bool
	req    *providers.Request

	build   providers.Builder
	calls   []*call
	usage   providers.Usage
	finish  string
	refused bool
	said    bool   // anything at all
	member  string // that holds the reasoning
	name    string // of the response
}

// call is one tool call under way.
type call struct {
	index   int
	given   string // the id on the wire
	id      string // the id that the session sees
	name    string
	input   []byte // that came before the name
	started bool
}

func (a *answer) run() {
	for {
		ev, err := a.stream.Next()
		if errors.Is(err, io.EOF) {
			if a.finish == "" {
				err = a.stream.CutOff()
			} else {
				a.done()
				return
			}
		}
		if err != nil {
			a.yield(nil, err)
			return
		}
		if bytes.Equal(bytes.TrimSpace(ev.Data), []byte("[DONE]")) {
			a.stream.End()
			if a.finish == "" && !a.said {
				a.yield(nil, a.stream.CutOff())
				return
			}
			a.done()
			return
		}
		more, err := a.chunk(ev)
		if err != nil {
			a.yield(nil, err)
			return
		}
		if !more {
			return
		}
	}
}

// chunk takes in one event. It reports whether to read on.
func (a *answer) chunk(ev wire.Event) (more bool, err error) {
	var c chunk
	if err := jsonx.Unmarshal(ev.Data, &c); err != nil {
		return false, a.stream.BadEvent(err)
	}
	if !jsonx.IsNull(c.Error) {
		return false, a.stream.EventError(c.Error)
	}
	if ev.Name == "error" {
		return false, a.stream.EventError(bytes.Clone(ev.Data))
	}
	if c.ID != "" {
		a.name = c.ID
	}
	if c.Usage != nil {
		a.count(c.Usage)
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue // nobody asked for a second answer
		}
		if !a.delta(&choice.Delta) || !a.delta(&choice.Message) {
			return false, nil
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	return true, nil
}

func (a *answer) send(ev providers.Event) bool {
	a.said = true
	a.build.Add(ev)
	return a.yield(ev, nil)
}

func (a *answer) delta(d *delta) bool {
	if !a.think(d.ReasoningContent, memberContent) {
		return false
	}
	if d.ReasoningContent == "" && len(d.Reasoning) > 0 && d.Reasoning.Kind() == '"' {
		if !a.think(text(d.Reasoning), memberReasoning) {
			return false
		}
	}
	if s := text(d.Content); s != "" && !a.send(providers.TextDelta{Text: s}) {
		return false
	}
	if d.Refusal != "" {
		a.refused = true
		if !a.send(providers.TextDelta{Text: d.Refusal}) {
			return false
		}
	}
	for i := range d.ToolCalls {
		if !a.call(&d.ToolCalls[i]) {
			return false
		}
	}
	return true
}

func (a *answer) think(s, member string) bool {
	if s == "" {
		return true
	}
	a.member = member
	return a.send(providers.ThinkingDelta{Text: s})
}

// text returns a string, or the text of an array of parts; "" for null and everything else.
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

// call takes in a piece of a tool call.
func (a *answer) call(part *callPart) bool {
	c := a.callOf(part)
	if part.Function.Name != "" && !c.started {
		// Servers send the name at once; one that repeats it means the same.
		c.name = part.Function.Name
	}
	input := arguments(part.Function.Arguments)
	if !c.started {
		if c.name == "" {
			c.input = append(c.input, input...)
			return true
		}
		c.started = true
		c.id = a.uniqueID(c)
		if !a.send(providers.ToolCallStart{ID: c.id, Name: c.name}) {
			return false
		}
		input = string(c.input) + input
	}
	return input == "" || a.send(providers.ToolCallDelta{ID: c.id, Input: input})
}

// callOf finds the call that a piece belongs to: by index, by id where a server counts none or gives every call the
// same index, and else the last one.
func (a *answer) callOf(part *callPart) *call {
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		sameIndex := part.Index == nil || *part.Index == c.index
		sameID := part.ID == "" || part.ID == c.given
		// A call without an id, behind one that is whole, is another call.
		another := part.ID == "" && part.Function.Name != "" && c.started &&
			(part.Index == nil || jsonx.Valid([]byte(a.build.Input(c.id))))
		if sameIndex && sameID && !another {
			return c
		}
	}
	c := &call{index: len(a.calls), given: part.ID}
	if part.Index != nil {
		c.index = *part.Index
	}
	a.calls = append(a.calls, c)
	return c
}

// uniqueID returns the id that the server gave, unless it gave none or one that the conversation has already: some
// servers begin to count at zero with every answer.
func (a *answer) uniqueID(c *call) string {
	taken := func(id string) bool {
		for _, other := range a.calls {
			if other != c && other.id == id {
				return true
			}
		}
		for i := range a.req.Messages {
			for _, old := range a.req.Messages[i].ToolCalls() {
				if old.ID == id {
					return true
				}
			}
		}
		return false
	}
	id := c.given
	if id != "" && !taken(id) {
		return id
	}
	if id == "" {
		id = "call"
		if a.name != "" {
			id += "_" + a.name
		}
	}
	for n := len(a.req.Messages); ; n++ {
		if try := id + "_" + strconv.Itoa(n) + "_" + strconv.Itoa(len(a.calls)-1); !taken(try) {
			return try
		}
	}
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
	cached, written := u.CacheHit, 0
	if d := u.PromptDetails; d != nil {
		cached, written = max(cached, d.Cached), d.CacheWrite
	}
	a.usage = providers.Usage{
		Input: max(0, u.Prompt-cached-written), Output: u.Completion, CacheRead: cached, CacheWrite: written,
	}
	if d := u.CompletionDetails; d != nil {
		a.usage.Thinking = d.Reasoning
	}
}

func (a *answer) done() {
	if a.finish == "error" {
		a.yield(nil, a.stream.EventError(nil))
		return
	}
	info := &a.model.cfg.Info
	m := a.build.Message()
	for i, part := range m.Parts {
		if t, ok := part.(providers.Thinking); ok {
			t.Signature = a.member
			m.Parts[i] = t
		}
	}
	m.API, m.Provider, m.Model, m.Usage = info.API, info.Provider, info.ID, a.usage
	m.StopReason = a.stopReason()
	a.yield(providers.Done{Message: m}, nil)
}

func (a *answer) stopReason() providers.StopReason {
	switch {
	case a.finish == "length":
		return providers.StopLength
	case a.finish == "content_filter" || a.refused:
		return providers.StopRefusal
	case a.build.Calls() > 0:
		// Some servers say "stop" beside their calls.
		return providers.StopTools
	}
	return providers.StopEnd
}
