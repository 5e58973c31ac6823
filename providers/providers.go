// Package providers is the neutral interface to language models: requests ([Request]), the events that a model streams ([Event]),
// classified errors ([Error]), and descriptions of models ([ModelInfo]).
//
// Package registry knows which models there are and opens them. Packages anthropic (Messages, also at Bedrock and Vertex AI),
// openai (Chat Completions and Responses, also at Azure), google (Gemini, also at Vertex AI), ollama and offline (no server)
// implement the APIs. The program passes their factories to the registry; no package registers itself. Package discovery asks
// servers for their models.
package providers

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A Model answers requests. It is safe for concurrent use and holds no conversation.
type Model interface {
	// Info describes the model. It does no I/O.
	Info() ModelInfo
	// Stream sends req and yields the events of the answer in order. The last pair is either a [Done] with a nil error, or a
	// nil event with an error that is an [*Error] or ctx's cause. Stopping the iteration closes the HTTP body and leaves no
	// goroutine running.
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Request is one call of a model: the whole conversation, the tools and the limits.
type Request struct {
	// System is the system prompt; empty for none.
	System string
	// Messages is the conversation, oldest first. A result follows every tool call.
	Messages []Message
	// Tools are offered in this order. Requests keep the order, so that prompt caches stay valid.
	Tools []Tool
	// MaxTokens limits the answer. If zero, the model's own limit applies.
	MaxTokens int
	// Thinking is the reasoning effort; the empty level is [ThinkingOff]. An unsupported level is clamped by
	// [ModelInfo.ClampThinking].
	Thinking ThinkingLevel
	// ServiceTier is one of the model's ServiceTiers; empty for the provider's default.
	ServiceTier string
	// SessionID lets APIs use one cache for the requests of a session. Optional.
	SessionID string
	// HasCall reports whether an id belongs to a tool call that is not in Messages: one on another branch, or one that was
	// compacted. A model does not reuse such an id for a new call. Optional.
	HasCall func(id string) bool
	// ForceTool is the name of the tool that the answer must call. If empty, or if the API cannot force a tool, the model
	// chooses.
	ForceTool string
	// Search describes how the model finds tools that are not in Tools; nil for a request with all of them.
	Search *ToolSearch
	// Output is the format of the answer; nil for text. The model then calls no tools. It needs [ModelInfo.StructuredOutput].
	Output *OutputFormat
}

// ToolSearch describes a search for tools, by a tool of the caller. APIs that can add tools in the middle of a conversation do so
// ([ModelInfo.ToolSearch]): the beginning of the request then stays the same, and so the cache stays valid. All others receive the
// found tools like any other.
type ToolSearch struct {
	// Tool is the name of the tool that searches.
	Tool string
	// Found holds the names of the found tools by the IDs of the calls that found them. Those in [Request.Tools] follow the other tools.
	Found map[string][]string
}

// OutputFormat is the format of an answer that is JSON. APIs enforce it as far as they can; the caller checks the answer.
type OutputFormat struct {
	// Name has letters, digits, "_" and "-", at most 64.
	Name string
	// Schema is a JSON Schema, of an object.
	Schema jsonx.Raw
}

// Tool describes a tool to a model.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the input, which is an object.
	Schema jsonx.Raw
}

// Role is the author of a [Message].
type Role string

// The roles of a conversation.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one step of a conversation.
type Message struct {
	// ID identifies the message to editors; empty if no editor has seen it.
	ID   string
	Role Role
	// Parts is the content. A user message holds [Text] and [Image]; an assistant message [Text], [Thinking] and [ToolCall]; a
	// tool message [Text] and [Image].
	Parts []Part
	// Time is the time at which the message was complete.
	Time time.Time

	// These fields belong to an assistant message: its model, why it stopped, what it cost, and the error that ended it early.
	API        string
	Provider   string
	Model      string
	StopReason StopReason
	Usage      Usage
	// Price is the price at the time of the message; zero if it was unknown.
	Price Price
	Error string

	// These fields belong to a tool message: the call that it answers.
	ToolCallID string
	ToolName   string
	IsError    bool
	// Details holds what the editor showed in addition to the text (diffs, locations, a terminal), as JSON. It is kept for replay
	// and never sent to a model.
	Details jsonx.Raw
}

// Text returns the message's text parts, concatenated.
func (m *Message) Text() string {
	var s strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			s.WriteString(t.Text)
		}
	}
	return s.String()
}

// ToolCalls returns the calls of an assistant message, in order.
func (m *Message) ToolCalls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// A Part is one piece of a message: [Text], [Thinking], [Image] or [ToolCall].
type Part interface{ isPart() }

// Text is plain text.
type Text struct {
	Text string
	// Signature is opaque data that some APIs require back with the text.
	Signature string
}

// Thinking is a model's reasoning.
type Thinking struct {
	Text string
	// Signature is opaque data that proves to the API that the thinking is unchanged. For redacted thinking it is the whole
	// payload.
	Signature string
	Redacted  bool
	// Field is the member of the API's message that contained the text, if the API has several. The text is sent back in that
	// member. Field proves nothing: the text may be changed.
	Field string
}

// Image is a picture.
type Image struct {
	MIMEType string
	Data     []byte
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	ID   string
	Name string
	// Input is the argument object as the model wrote it. It may be invalid JSON if the answer broke off.
	Input jsonx.Raw
	// Signature is opaque data that some APIs require back with the call.
	Signature string
}

func (Text) isPart()     {}
func (Thinking) isPart() {}
func (Image) isPart()    {}
func (ToolCall) isPart() {}

// StopReason says why an answer ended.
type StopReason string

// The stop reasons, as session files contain them.
const (
	StopEnd     StopReason = "stop"
	StopTools   StopReason = "toolUse"
	StopLength  StopReason = "length"
	StopRefusal StopReason = "refusal"
	StopError   StopReason = "error"
	StopAborted StopReason = "aborted"
)

// Usage counts the tokens of one model call. Input excludes tokens that were read from or written to a cache.
type Usage struct {
	Input      int
	Output     int
	CacheRead  int
	CacheWrite int
	// Thinking is the part of Output that was reasoning, if the API reports it.
	Thinking int
}

// Context returns how many tokens of the context window the call filled.
func (u Usage) Context() int { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Add returns the sum of two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Thinking: u.Thinking + v.Thinking,
	}
}

// ThinkingLevel is how much a model reasons before it answers.
type ThinkingLevel string

// The levels, in ascending order.
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
	// Name is for people. If empty, ID is used.
	Name string
	// API is the wire format: one of those in docs/models.md, or "offline".
	API string
	// ContextWindow and MaxOutput are in tokens; zero if unknown.
	ContextWindow int
	MaxOutput     int
	// Thinking lists the levels that the model supports in addition to off; empty for a model that cannot reason.
	Thinking []ThinkingLevel
	// DefaultThinking is the level of a session that sets none; empty for off.
	DefaultThinking ThinkingLevel
	// ThinkingMode says how requests express the level. If empty, [ThinkingEffort].
	ThinkingMode ThinkingMode
	// Images reports that the model accepts images.
	Images bool
	// StructuredOutput reports that the model accepts [Request.Output].
	StructuredOutput bool
	// ToolSearch reports that the model's API can add the tools of [Request.Search] where they were found.
	ToolSearch bool
	// Canonical is the id that the model's maker gave it. It is the same for every provider of the model.
	Canonical string
	// ContextPromotionTarget names the model that continues a conversation that has outgrown this one: "provider/id", or the id
	// of a model of the same provider; empty for none.
	ContextPromotionTarget string
	// ServiceTiers lists the tiers that requests can ask for, cheapest first; empty for none.
	ServiceTiers []string
	// TierPrices are factors of Cost, by tier. The factor of other tiers is 1.
	TierPrices map[string]float64
	// Cost is in US dollars per million tokens; zero if unknown.
	Cost Cost
}

// Cost is a price list in US dollars per million tokens.
type Cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
	// Long applies to requests with long prompts.
	Long LongCost `json:"long,omitzero"`
}

// LongCost is the price list of whole requests whose prompts, including cached tokens, exceed Above tokens. Above is zero if
// all requests have the same price.
type LongCost struct {
	Above      int     `json:"above"`
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// Price returns the price of one request that used u, by kind of token.
func (c Cost) Price(u Usage) Price {
	if long := c.Long; long.Above > 0 && u.Input+u.CacheRead+u.CacheWrite > long.Above {
		c = Cost{Input: long.Input, Output: long.Output, CacheRead: long.CacheRead, CacheWrite: long.CacheWrite}
	}
	return c.AtLeast(u)
}

// AtLeast returns the minimum price of several requests that used u: the price if none of them had a long prompt.
func (c Cost) AtLeast(u Usage) Price {
	return Price{
		Input: c.Input * float64(u.Input) / 1e6, Output: c.Output * float64(u.Output) / 1e6,
		CacheRead: c.CacheRead * float64(u.CacheRead) / 1e6, CacheWrite: c.CacheWrite * float64(u.CacheWrite) / 1e6,
		Total: (c.Input*float64(u.Input) + c.Output*float64(u.Output) +
			c.CacheRead*float64(u.CacheRead) + c.CacheWrite*float64(u.CacheWrite)) / 1e6,
	}.rounded()
}

// RoundUSD rounds an amount to twelve significant digits, so that sums print without rounding errors: 0.000808, not
// 0.0008079999999999999.
func RoundUSD(usd float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(usd, 'e', 11, 64), 64)
	if err != nil {
		return usd
	}
	return rounded
}

// Price holds the cost of model calls, in US dollars. The zero value stands for an unknown price.
type Price struct{ Input, Output, CacheRead, CacheWrite, Total float64 }

// Add returns the sum of two prices.
func (p Price) Add(q Price) Price {
	return Price{
		Input: p.Input + q.Input, Output: p.Output + q.Output, CacheRead: p.CacheRead + q.CacheRead,
		CacheWrite: p.CacheWrite + q.CacheWrite, Total: p.Total + q.Total,
	}.rounded()
}

// rounded returns the price with each amount rounded by [RoundUSD]. Every Price is rounded.
func (p Price) rounded() Price {
	return Price{
		Input: RoundUSD(p.Input), Output: RoundUSD(p.Output), CacheRead: RoundUSD(p.CacheRead), CacheWrite: RoundUSD(p.CacheWrite),
		Total: RoundUSD(p.Total),
	}
}

// times returns the price times f.
func (p Price) times(f float64) Price {
	return Price{Input: p.Input * f, Output: p.Output * f, CacheRead: p.CacheRead * f, CacheWrite: p.CacheWrite * f, Total: p.Total * f}.rounded()
}

// Price returns the price of one request that used u in a service tier. An empty tier is the provider's default.
func (i ModelInfo) Price(u Usage, tier string) Price {
	price := i.Cost.Price(u)
	if f, ok := i.TierPrices[tier]; ok {
		price = price.times(f)
	}
	return price
}

// Ref returns "provider/id".
func (i ModelInfo) Ref() string { return i.Provider + "/" + i.ID }

// DisplayName returns Name, or ID if Name is empty.
func (i ModelInfo) DisplayName() string {
	if i.Name != "" {
		return i.Name
	}
	return i.ID
}
