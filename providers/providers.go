// Package providers is the neutral face of every model: what a turn asks ([Request]), what comes back while the
// model speaks ([Event]), what can go wrong ([Error]), and which models there are ([Registry]).
//
// The packages below it (anthropic, openai, offline) each speak one API. They are handed to the registry by
// value; nothing registers itself.
package providers

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A Model answers requests. It is safe for concurrent use and holds no conversation.
type Model interface {
	// Info describes the model. It does no I/O.
	Info() ModelInfo
	// Stream sends req and yields what the model says, in order. The last pair is either a [Done] with a nil
	// error or a nil event with an error that is an [*Error] or ctx's cause. Stopping the iteration early
	// closes the HTTP body and leaves no goroutine behind.
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Request is one call of a model: the whole conversation, the tools, the limits.
type Request struct {
	// System is the system prompt; empty for none.
	System string
	// Messages is the conversation, oldest first. Every tool call in it has a result behind it.
	Messages []Message
	// Tools are offered in this order. The order is kept on the wire, so that prompt caches hold.
	Tools []Tool
	// MaxTokens caps the answer. If zero, the model's own limit holds.
	MaxTokens int
	// Thinking is the reasoning effort; the empty level is [ThinkingOff]. A level that the model does not know is
	// clamped as [ModelInfo.ClampThinking] says.
	Thinking ThinkingLevel
	// ServiceTier is one of the model's ServiceTiers; empty for the provider's default.
	ServiceTier string
	// SessionID ties requests of one session together where an API can use that for caching. Optional.
	SessionID string
}

// Tool is what a model is told about one tool.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the input, an object schema.
	Schema jsonx.Raw
}

// Role says who speaks in a [Message].
type Role string

// The roles of a conversation.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one step of a conversation.
type Message struct {
	// ID is the name under which an editor was shown the message; empty for one that it never saw.
	ID   string
	Role Role
	// Parts is what was said. A user message holds [Text] and [Image]; an assistant message [Text], [Thinking]
	// and [ToolCall]; a tool message [Text] and [Image].
	Parts []Part
	// Time is when the message was complete.
	Time time.Time

	// Of an assistant message: who spoke, why it stopped, what it cost, and the error that cut it short.
	API        string
	Provider   string
	Model      string
	StopReason StopReason
	Usage      Usage
	Error      string

	// Of a tool message: the call that it answers.
	ToolCallID string
	ToolName   string
	IsError    bool
	// Details is what the editor was shown beside the text (diffs, locations, terminal), as JSON. It is kept
	// for replay and never sent to a model.
	Details jsonx.Raw
}

// Text returns the message's text parts, joined.
func (m *Message) Text() string {
	var s strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			s.WriteString(t.Text)
		}
	}
	return s.String()
}

// ToolCalls returns the calls that an assistant message makes, in order.
func (m *Message) ToolCalls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// Part is one piece of a message: [Text], [Thinking], [Image] or [ToolCall].
type Part interface{ isPart() }

// Text is plain text.
type Text struct {
	Text string
	// Signature is what some APIs want back with the text; opaque.
	Signature string
}

// Thinking is a model's reasoning.
type Thinking struct {
	Text string
	// Signature proves to the API that made the thinking that it is unchanged; opaque. For redacted thinking it
	// is the whole payload.
	Signature string
	Redacted  bool
}

// Image is a picture.
type Image struct {
	MIMEType string
	Data     []byte
}

// ToolCall is a model's wish to run a tool.
type ToolCall struct {
	ID   string
	Name string
	// Input is the argument object as the model wrote it. It need not be valid JSON: a model can break off.
	Input jsonx.Raw
}

func (Text) isPart()     {}
func (Thinking) isPart() {}
func (Image) isPart()    {}
func (ToolCall) isPart() {}

// StopReason says why a model stopped speaking.
type StopReason string

// The stop reasons. The strings are those of the session files.
const (
	StopEnd     StopReason = "stop"
	StopTools   StopReason = "toolUse"
	StopLength  StopReason = "length"
	StopRefusal StopReason = "refusal"
	StopError   StopReason = "error"
	StopAborted StopReason = "aborted"
)

// Usage counts tokens of one model call. Input excludes what came from or went to a cache.
type Usage struct {
	Input      int
	Output     int
	CacheRead  int
	CacheWrite int
	// Thinking is the part of Output that was reasoning, where the API tells.
	Thinking int
}

// Context is how many tokens of the model's window the call filled.
func (u Usage) Context() int { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Add returns the sum of two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Thinking: u.Thinking + v.Thinking,
	}
}

// ThinkingLevel is how much a model should reason before it speaks.
type ThinkingLevel string

// The levels, in rising order.
const (
	ThinkingOff     ThinkingLevel = "off"
	ThinkingMinimal ThinkingLevel = "minimal"
	ThinkingLow     ThinkingLevel = "low"
	ThinkingMedium  ThinkingLevel = "medium"
	ThinkingHigh    ThinkingLevel = "high"
	ThinkingXHigh   ThinkingLevel = "xhigh"
	ThinkingMax     ThinkingLevel = "max"
)

// ModelInfo describes a model.
type ModelInfo struct {
	// Provider and ID together name the model: "provider/id".
	Provider string
	ID       string
	// Name is for people; if empty, ID serves.
	Name string
	// API is the wire format: "anthropic-messages", "openai-completions", "offline".
	API string
	// ContextWindow and MaxOutput are in tokens; zero where unknown.
	ContextWindow int
	MaxOutput     int
	// Thinking lists the levels that the model knows beside off; empty for a model that cannot reason.
	Thinking []ThinkingLevel
	// ThinkingMode says how the levels go over the wire. If empty, [ThinkingEffort].
	ThinkingMode ThinkingMode
	// Images reports that the model takes pictures.
	Images bool
	// ContextPromotionTarget names the model that a conversation goes over to that has outgrown this one: "provider/id", or
	// the id of one of the same provider; empty for none.
	ContextPromotionTarget string
	// ServiceTiers lists the tiers that requests can ask for, cheapest first; empty for a model that has none.
	ServiceTiers []string
	// Cost is in US dollars per million tokens; zero where unknown.
	Cost Cost
}

// Cost is a price list in US dollars per million tokens.
type Cost struct{ Input, Output, CacheRead, CacheWrite float64 }

// Of returns the price of u in US dollars.
func (c Cost) Of(u Usage) float64 {
	return (c.Input*float64(u.Input) + c.Output*float64(u.Output) +
		c.CacheRead*float64(u.CacheRead) + c.CacheWrite*float64(u.CacheWrite)) / 1e6
}

// Ref returns "provider/id".
func (i ModelInfo) Ref() string { return i.Provider + "/" + i.ID }

// DisplayName returns Name, or ID where there is none.
func (i ModelInfo) DisplayName() string {
	if i.Name != "" {
		return i.Name
	}
	return i.ID
}
