package providers

import (
	"maps"
	"reflect"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Compat describes how a server differs from the API that it imitates. Defaults for unset fields depend on the base URL.
// docs/models.md describes each field; most apply only to the API openai-completions.
type Compat struct {
	// SupportsStore sends store: false, which asks the server not to keep the conversation.
	SupportsStore *bool `yaml:"supportsStore"`
	// SupportsDeveloperRole sends the system prompt with the role developer to a model that reasons.
	SupportsDeveloperRole *bool `yaml:"supportsDeveloperRole"`
	// SupportsReasoningEffort sends the thinking level.
	SupportsReasoningEffort *bool `yaml:"supportsReasoningEffort"`
	// ReasoningEffortMap maps levels to the server's names for them.
	ReasoningEffortMap map[ThinkingLevel]string `yaml:"reasoningEffortMap"`
	// SupportsUsageInStreaming asks for the usage at the end of the stream.
	SupportsUsageInStreaming *bool `yaml:"supportsUsageInStreaming"`
	// SupportsToolChoice lets a request force a tool.
	SupportsToolChoice *bool `yaml:"supportsToolChoice"`
	// DisableReasoningOnForcedToolChoice omits the thinking level from a request that forces a tool.
	DisableReasoningOnForcedToolChoice *bool `yaml:"disableReasoningOnForcedToolChoice"`
	// MaxTokensField is the name of the limit: "max_completion_tokens" or "max_tokens".
	MaxTokensField string `yaml:"maxTokensField"`
	// ThinkingFormat is the format of the thinking level: "openai", "openrouter", "zai" (on or off, and with
	// SupportsReasoningEffort also the level), "qwen" or "qwen-chat-template".
	ThinkingFormat string `yaml:"thinkingFormat"`
	// ReasoningContentField is the member of an answer that holds reasoning: "reasoning_content", "reasoning" or
	// "reasoning_text".
	ReasoningContentField string `yaml:"reasoningContentField"`
	// RequiresReasoningContentForToolCalls sends reasoning back with every answer that calls tools.
	RequiresReasoningContentForToolCalls *bool `yaml:"requiresReasoningContentForToolCalls"`
	// RequiresAssistantContentForToolCalls sends some text with every answer that calls tools.
	RequiresAssistantContentForToolCalls *bool `yaml:"requiresAssistantContentForToolCalls"`
	// RequiresToolResultName sends the tool's name with its result.
	RequiresToolResultName *bool `yaml:"requiresToolResultName"`
	// RequiresAssistantAfterToolResult inserts an assistant message between a tool's result and a user message.
	RequiresAssistantAfterToolResult *bool `yaml:"requiresAssistantAfterToolResult"`
	// RequiresThinkingAsText sends thinking back as text between <thinking> tags.
	RequiresThinkingAsText *bool `yaml:"requiresThinkingAsText"`
	// RequiresMistralToolIDs gives every call an id of nine letters and digits.
	RequiresMistralToolIDs *bool `yaml:"requiresMistralToolIds"`
	// SupportsStrictMode sends strict with each tool whose schema allows it.
	SupportsStrictMode *bool `yaml:"supportsStrictMode"`
	// ToolStrictMode is "all_strict" to make every tool strict or "none" to make no tool strict. If empty, each tool is strict
	// if its schema allows it.
	ToolStrictMode string `yaml:"toolStrictMode"`
	// OpenRouterRouting is sent only to openrouter.ai, VercelGatewayRouting only to ai-gateway.vercel.sh.
	OpenRouterRouting    *GatewayRouting `yaml:"openRouterRouting"`
	VercelGatewayRouting *GatewayRouting `yaml:"vercelGatewayRouting"`
	// ExtraBody is added to every request. It cannot replace the members that [ProtectedBody] lists.
	ExtraBody map[string]jsonx.Raw `yaml:"-"`
}

// GatewayRouting says which providers a gateway may use, and in which order it tries them.
type GatewayRouting struct {
	Only  []string `json:"only,omitzero"  yaml:"only"`
	Order []string `json:"order,omitzero" yaml:"order"`
}

// Over returns c with its unset fields taken from base.
func (c Compat) Over(base Compat) Compat {
	c.ReasoningEffortMap = Overlay(c.ReasoningEffortMap, base.ReasoningEffortMap)
	c.ExtraBody = Overlay(c.ExtraBody, base.ExtraBody)
	c.OpenRouterRouting = c.OpenRouterRouting.over(base.OpenRouterRouting)
	c.VercelGatewayRouting = c.VercelGatewayRouting.over(base.VercelGatewayRouting)
	to, from := reflect.ValueOf(&c).Elem(), reflect.ValueOf(base)
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return c
}

func (g *GatewayRouting) over(base *GatewayRouting) *GatewayRouting {
	if g == nil {
		return base
	}
	if base == nil {
		return g
	}
	both := *g
	if both.Only == nil {
		both.Only = base.Only
	}
	if both.Order == nil {
		both.Order = base.Order
	}
	return &both
}

// Overlay returns the entries of top and base; those of top take precedence. It may return top or base itself.
func Overlay[K comparable, V any](top, base map[K]V) map[K]V {
	if len(top) == 0 {
		return base
	}
	all := maps.Clone(base)
	if all == nil {
		all = make(map[K]V, len(top))
	}
	maps.Copy(all, top)
	return all
}

// ProtectedBody returns the members of a request that no configuration may replace.
func ProtectedBody() []string {
	return []string{"model", "messages", "input", "contents", "stream", "tools", "tool_choice", "toolConfig"}
}

// A RequestTransform changes every request to a server.
type RequestTransform struct {
	// StripHeaders names headers that are not sent; a trailing "*" in a name matches any suffix.
	StripHeaders []string
	// SetHeaders are set after that; a nil value removes the header.
	SetHeaders map[string]*string
	// ExtraBody is added to every request, as [Compat.ExtraBody] is.
	ExtraBody map[string]jsonx.Raw
}

// CacheRetention selects how long a provider caches a request.
type CacheRetention string

// The retentions.
const (
	CacheNone  CacheRetention = "none"
	CacheShort CacheRetention = "short"
	CacheLong  CacheRetention = "long"
)
