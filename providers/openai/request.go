package openai

import (
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// request is the body of a request, with its members in wire order. The order must stay the same, so that equal conversations have
// equal bytes.
type request struct {
	Stream               bool           `json:"stream"`
	Messages             []message      `json:"messages"`
	Model                string         `json:"model"`
	MaxCompletionTokens  int            `json:"max_completion_tokens,omitzero"`
	MaxTokens            int            `json:"max_tokens,omitzero"`
	PromptCacheKey       string         `json:"prompt_cache_key,omitzero"`
	PromptCacheRetention string         `json:"prompt_cache_retention,omitzero"`
	ReasoningEffort      string         `json:"reasoning_effort,omitzero"`
	Reasoning            *effort        `json:"reasoning,omitzero"`            // OpenRouter
	Thinking             *typed         `json:"thinking,omitzero"`             // Z.ai
	EnableThinking       *bool          `json:"enable_thinking,omitzero"`      // Qwen
	ChatTemplate         *chatTemplate  `json:"chat_template_kwargs,omitzero"` // Qwen, on a server that only fills in a template
	ServiceTier          string         `json:"service_tier,omitzero"`
	Store                *bool          `json:"store,omitzero"`
	StreamOptions        *streamOptions `json:"stream_options,omitzero"`
	Tools                []tool         `json:"tools,omitzero"`
	ToolChoice           any            `json:"tool_choice,omitzero"` // "none" or a toolChoice
	ResponseFormat       *chatFormat    `json:"response_format,omitzero"`
	// Provider holds OpenRouter's routing, ProviderOptions Vercel's.
	Provider        *providers.GatewayRouting `json:"provider,omitzero"`
	ProviderOptions *providerOptions          `json:"providerOptions,omitzero"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type effort struct {
	Effort string `json:"effort"`
}

type typed struct {
	Type string `json:"type"`
}

type chatTemplate struct {
	EnableThinking bool `json:"enable_thinking"`
}

type providerOptions struct {
	Gateway *providers.GatewayRouting `json:"gateway"`
}

type tool struct {
	Function function `json:"function"`
	Type     string   `json:"type"`
}

type function struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Parameters  jsonx.Raw `json:"parameters"` // a JSON Schema
	Strict      bool      `json:"strict,omitzero"`
}

type toolChoice struct {
	Function named  `json:"function"`
	Type     string `json:"type"`
}

type named struct {
	Name string `json:"name"`
}

// formatJSONSchema is the type of an answer that fits a schema.
const formatJSONSchema = "json_schema"

type chatFormat struct {
	Type       string       `json:"type"`
	JSONSchema outputSchema `json:"json_schema"`
}

type outputSchema struct {
	Name   string    `json:"name"`
	Schema jsonx.Raw `json:"schema"`
	Strict bool      `json:"strict"`
}

// encode writes the body of a request. Requests with the same beginning are encoded with the same prefix, so that prompt caches
// stay valid: OpenAI's, and those in the memory of local servers.
func (m *model) encode(req *providers.Request) ([]byte, error) {
	r := request{
		Stream: true, Messages: m.messages(req), Model: m.cfg.Model(), Tools: m.tools(req.Tools),
		ServiceTier: serviceTier(&m.cfg.Info, req), Provider: m.rules.OpenRouterRouting,
	}
	if is(m.rules.SupportsUsageInStreaming, true) {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if is(m.rules.SupportsStore, false) {
		r.Store = new(false)
	}
	if m.rules.VercelGatewayRouting != nil {
		r.ProviderOptions = &providerOptions{Gateway: m.rules.VercelGatewayRouting}
	}
	forced := is(m.rules.SupportsToolChoice, true) && offered(req)
	if forced {
		r.ToolChoice = &toolChoice{Function: named{req.ForceTool}, Type: "function"}
	}
	if !forced || !*m.rules.DisableReasoningOnForcedToolChoice {
		m.think(&r, req.Thinking)
	}
	if most := mostTokens(&m.cfg.Info, req); m.rules.MaxTokensField == maxTokensNew {
		r.MaxCompletionTokens = most
	} else {
		r.MaxTokens = most
	}
	if m.rules.cacheKey {
		r.PromptCacheKey, r.PromptCacheRetention = req.SessionID, cacheRetention(&m.cfg)
	}
	if req.Output != nil {
		r.ResponseFormat = &chatFormat{Type: formatJSONSchema, JSONSchema: m.strict.output(req.Output, m.rules.strict)}
		if r.ToolChoice = noTools(req); !is(m.rules.SupportsToolChoice, true) {
			r.Tools, r.ToolChoice = nil, nil
		}
	}
	body, err := jsonx.Marshal(&r)
	if err != nil {
		return nil, err
	}
	return wire.ExtraBody(&m.cfg, body), nil
}

// noTools returns the choice of no tool; nil if the request has none. The tools stay in the request, for the cache.
func noTools(req *providers.Request) any {
	if len(req.Tools) == 0 {
		return nil
	}
	return "none"
}

// offered reports whether the request forces a tool that it offers.
func offered(req *providers.Request) bool {
	return req.ForceTool != "" &&
		slices.ContainsFunc(req.Tools, func(t providers.Tool) bool { return t.Name == req.ForceTool })
}

// mostTokens returns the limit of the answer, or zero.
func mostTokens(info *providers.ModelInfo, req *providers.Request) int {
	if req.MaxTokens > 0 && info.MaxOutput > 0 {
		return min(req.MaxTokens, info.MaxOutput)
	}
	return max(0, req.MaxTokens)
}

// serviceTier returns the requested tier if the model has it. OpenAI rejects an unknown tier, and other servers may reject the
// member.
func serviceTier(info *providers.ModelInfo, req *providers.Request) string {
	if slices.Contains(info.ServiceTiers, req.ServiceTier) {
		return req.ServiceTier
	}
	return ""
}

func cacheRetention(cfg *providers.Config) string {
	if cfg.CacheRetention == providers.CacheLong {
		return "24h"
	}
	return ""
}

// think sets the level in the server's format.
func (m *model) think(r *request, want providers.ThinkingLevel) {
	info := &m.cfg.Info
	on := info.ClampThinking(want) != providers.ThinkingOff || info.ThinkingMode == providers.ThinkingEffortAlways
	switch m.rules.ThinkingFormat {
	case formatOpenRouter:
		if word := m.effortWord(want); word != "" {
			r.Reasoning = &effort{word}
		}
	case formatZAI:
		if len(info.Thinking) > 0 {
			r.Thinking = &typed{"disabled"}
			if on {
				r.Thinking.Type, r.ReasoningEffort = "enabled", m.effortWord(want)
			}
		}
	case formatQwen:
		if len(info.Thinking) > 0 {
			r.EnableThinking = &on
		}
	case formatQwenTemplate:
		if len(info.Thinking) > 0 {
			r.ChatTemplate = &chatTemplate{on}
		}
	default:
		r.ReasoningEffort = m.effortWord(want)
	}
}

func (m *model) effortWord(want providers.ThinkingLevel) string {
	if !is(m.rules.SupportsReasoningEffort, true) {
		return ""
	}
	return effortWord(&m.cfg.Info, want, m.rules.ReasoningEffortMap)
}

// effortWord returns the server's name for a level, or "" to omit it. The names in other take precedence.
func effortWord(info *providers.ModelInfo, want providers.ThinkingLevel, other map[providers.ThinkingLevel]string) string {
	level := info.ClampThinking(want)
	if level == providers.ThinkingOff && info.ThinkingMode == providers.ThinkingEffortAlways && len(info.Thinking) > 0 {
		level = info.Thinking[0]
	}
	word, known := other[level]
	switch {
	case known:
		return word
	case level != providers.ThinkingOff:
		return string(level)
	case info.ThinkingMode == providers.ThinkingEffortNone:
		return "none"
	}
	return ""
}

func (m *model) tools(tools []providers.Tool) []tool {
	schemas, strict := m.strict.of(tools, m.rules.strict)
	var out []tool
	for i := range tools {
		out = append(out, tool{Type: "function", Function: function{
			Name: tools[i].Name, Description: tools[i].Description, Parameters: schemas[i], Strict: strict[i],
		}})
	}
	return out
}

// strictTools makes the schemas of tools strict.
type strictTools struct{ schemas dialect.StrictSchemas }

// output returns the schema of an answer. It is strict if its strict form allows nothing that the original does not.
func (s *strictTools) output(format *providers.OutputFormat, mode strictness) outputSchema {
	if mode != strictNone {
		if made, nulls, ok := s.schemas.Of(format.Schema); ok && !nulls {
			return outputSchema{format.Name, made, true}
		}
	}
	return outputSchema{format.Name, format.Schema, false}
}

// of returns the schema of each tool, and whether it is strict.
func (s *strictTools) of(tools []providers.Tool, mode strictness) (schemas []jsonx.Raw, strict []bool) {
	schemas, strict = make([]jsonx.Raw, len(tools)), make([]bool, len(tools))
	for i := range tools {
		schemas[i] = tools[i].Schema
		if jsonx.IsNull(schemas[i]) {
			schemas[i] = jsonx.Raw(`{"type":"object","properties":{}}`)
		}
	}
	if mode == strictNone {
		return schemas, strict
	}
	loose := slices.Clone(schemas)
	for i := range schemas {
		made, nulls, ok := s.schemas.Of(schemas[i])
		switch {
		case ok && (mode == strictAll || !nulls):
			schemas[i], strict[i] = made, true
		case mode == strictAll:
			// Servers that require strict tools require either all tools to be strict or none.
			return loose, make([]bool, len(tools))
		}
	}
	return schemas, strict
}
