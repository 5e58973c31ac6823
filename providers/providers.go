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
	// HasCall reports whether an id is one of a tool call that Messages lacks: of another branch, or compacted since. A model
	// gives no new call such an id. Optional.
	HasCall func(id string) bool
	// ForceTool is the name of the tool that the answer has to call; empty where the model chooses. An API or a server that
	// cannot be told so lets the model choose.
	ForceTool string
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
	// Price is what it cost at the prices that held then; zero where they were not known.
	Price Price
	Error string

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
	// Field is the member of the wire's message that the text came in, where an API has several for it. The text goes back
	// in it and proves nothing: it may be changed.
	Field string
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
	// Signature is what some APIs want back with the call; opaque.
	Signature string
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
	// API is the wire format: one of those that docs/models.md lists, or "offline".
	API string
	// ContextWindow and MaxOutput are in tokens; zero where unknown.
	ContextWindow int
	MaxOutput     int
	// Thinking lists the levels that the model knows beside off; empty for a model that cannot reason.
	Thinking []ThinkingLevel
	// DefaultThinking is the level of a session that names none; empty for off.
	DefaultThinking ThinkingLevel
	// ThinkingMode says how the levels go over the wire. If empty, [ThinkingEffort].
	ThinkingMode ThinkingMode
	// Images reports that the model takes pictures.
	Images bool
	// Canonical is the id that the same model has with every provider: the one that its maker gave it.
	Canonical string
	// ContextPromotionTarget names the model that a conversation goes over to that has outgrown this one: "provider/id", or
	// the id of one of the same provider; empty for none.
	ContextPromotionTarget string
	// ServiceTiers lists the tiers that requests can ask for, cheapest first; empty for a model that has none.
	ServiceTiers []string
	// TierPrices says by how much Cost is multiplied for a request of a tier; one that is not in it costs what Cost says.
	TierPrices map[string]float64
	// Cost is in US dollars per million tokens; zero where unknown.
	Cost Cost
}

// Cost is a price list in US dollars per million tokens.
type Cost struct {
	Input, Output, CacheRead, CacheWrite float64
	// Long holds for the requests with long prompts.
	Long LongCost
}

// LongCost is the price list of a request whose prompt is longer than Above tokens, those of the cache included. It is for the
// whole request. Above is zero where all requests have one price.
type LongCost struct {
	Above                                int
	Input, Output, CacheRead, CacheWrite float64
}

// Price returns the price of u, the tokens of one request, by kind of token.
func (c Cost) Price(u Usage) Price {
	if long := c.Long; long.Above > 0 && u.Input+u.CacheRead+u.CacheWrite > long.Above {
		c = Cost{Input: long.Input, Output: long.Output, CacheRead: long.CacheRead, CacheWrite: long.CacheWrite}
	}
	return c.AtLeast(u)
}

// AtLeast returns the price of u, the tokens of many requests, as if none of them was long.
func (c Cost) AtLeast(u Usage) Price {
	return Price{
		Input: c.Input * float64(u.Input) / 1e6, Output: c.Output * float64(u.Output) / 1e6,
		CacheRead: c.CacheRead * float64(u.CacheRead) / 1e6, CacheWrite: c.CacheWrite * float64(u.CacheWrite) / 1e6,
		Total: (c.Input*float64(u.Input) + c.Output*float64(u.Output) +
			c.CacheRead*float64(u.CacheRead) + c.CacheWrite*float64(u.CacheWrite)) / 1e6,
	}.rounded()
}

// RoundUSD rounds an amount to twelve significant digits, so that sums of prices print as people would write them:
// 0.000808 and not 0.0008079999999999999.
func RoundUSD(usd float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(usd, 'e', 11, 64), 64)
	if err != nil {
		return usd
	}
	return rounded
}

// Price is what model calls cost, in US dollars. The zero value is for a price that is not known.
type Price struct{ Input, Output, CacheRead, CacheWrite, Total float64 }

// Add returns the sum of two prices.
func (p Price) Add(q Price) Price {
	return Price{
		Input: p.Input + q.Input, Output: p.Output + q.Output, CacheRead: p.CacheRead + q.CacheRead,
		CacheWrite: p.CacheWrite + q.CacheWrite, Total: p.Total + q.Total,
	}.rounded()
}

// rounded returns the price with each amount rounded by [RoundUSD]. All prices are.
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

// Price returns what one request of a service tier costs that used u. An empty tier is the provider's default.
func (i ModelInfo) Price(u Usage, tier string) Price {
	price := i.Cost.Price(u)
	if f, ok := i.TierPrices[tier]; ok {
		price = price.times(f)
	}
	return price
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
