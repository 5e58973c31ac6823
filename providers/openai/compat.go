package openai

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// rules describes what a server supports and requires.
type rules struct {
	providers.Compat

	official bool // OpenAI itself
	cacheKey bool // accepts prompt_cache_key
	strict   strictness
}

// is returns the value of a flag of [providers.Compat], or the default if the flag is not set.
func is(flag *bool, otherwise bool) bool {
	if flag == nil {
		return otherwise
	}
	return *flag
}

// strictness selects the tools that are sent as strict.
type strictness int

const (
	strictNone  strictness = iota
	strictExact            // the tools whose schemas are strict already
	strictAll              // all tools, or none if one of them cannot be strict
)

// The values of MaxTokensField and ThinkingFormat.
const (
	maxTokensOld = "max_tokens"
	maxTokensNew = "max_completion_tokens"

	formatOpenRouter   = "openrouter"
	formatZAI          = "zai"
	formatQwen         = "qwen"
	formatQwenTemplate = "qwen-chat-template"
)

const (
	openRouterHost = "openrouter.ai"
	vercelHost     = "ai-gateway.vercel.sh"
)

// knownHost describes the servers of a host. A name that begins with a dot matches all subdomains.
type knownHost struct {
	names  []string
	compat providers.Compat
}

// knownHosts lists the servers that differ from the default, which is a server with the classic features of the API and none of
// OpenAI's extensions.
func knownHosts() []knownHost {
	yes, no := new(true), new(false)
	return []knownHost{
		{[]string{officialHost, "." + officialHost}, providers.Compat{
			SupportsStore: yes, SupportsDeveloperRole: yes, SupportsStrictMode: yes, MaxTokensField: maxTokensNew,
		}},
		{[]string{".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"}, providers.Compat{
			SupportsDeveloperRole: yes, MaxTokensField: maxTokensNew,
		}},
		{[]string{openRouterHost}, providers.Compat{ThinkingFormat: formatOpenRouter, ReasoningContentField: memberReasoning}},
		{[]string{vercelHost}, providers.Compat{ReasoningContentField: memberReasoning}},
		// It rejects unknown members, and reports the usage without a request for it.
		{[]string{"api.mistral.ai", "codestral.mistral.ai"}, providers.Compat{
			SupportsUsageInStreaming: no, SupportsReasoningEffort: no, RequiresToolResultName: yes,
			RequiresThinkingAsText: yes, RequiresMistralToolIDs: yes,
		}},
		// It rejects a forced tool while reasoning.
		{[]string{"api.deepseek.com"}, providers.Compat{
			SupportsToolChoice: no, ThinkingFormat: formatZAI, RequiresReasoningContentForToolCalls: yes,
			ReasoningEffortMap: map[providers.ThinkingLevel]string{providers.ThinkingXHigh: "max"},
		}},
		{[]string{"api.z.ai", "open.bigmodel.cn"}, providers.Compat{SupportsReasoningEffort: no, ThinkingFormat: formatZAI}},
		{[]string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"}, providers.Compat{
			SupportsReasoningEffort: no, ThinkingFormat: formatQwen,
		}},
		{[]string{"api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"}, providers.Compat{
			DisableReasoningOnForcedToolChoice:   yes,
			RequiresReasoningContentForToolCalls: yes, RequiresAssistantContentForToolCalls: yes,
		}},
		{[]string{"api.groq.com", "api.cerebras.ai"}, providers.Compat{
			MaxTokensField: maxTokensNew, ReasoningContentField: memberReasoning,
		}},
		{[]string{"api.minimax.io", "api.minimaxi.com"}, providers.Compat{ReasoningContentField: memberContent}},
		{[]string{"integrate.api.nvidia.com"}, providers.Compat{SupportsReasoningEffort: no, ReasoningContentField: memberContent}},
	}
}

// detect returns what is known about the server at a host.
func detect(host string) providers.Compat {
	for _, known := range knownHosts() {
		for _, name := range known.names {
			if host == name || name[0] == '.' && strings.HasSuffix(host, name) {
				return known.compat
			}
		}
	}
	return providers.Compat{}
}

// rulesFor returns the rules for the server of cfg at host.
func rulesFor(cfg *providers.Config, host string) rules {
	host = strings.ToLower(host)
	official := host == officialHost || strings.HasSuffix(host, "."+officialHost) // subdomains are regions
	r := rules{Compat: cfg.Compat.Over(detect(host)), official: official, cacheKey: official}
	r.strict = strictOf(cfg, &r.Compat)
	if r.DisableReasoningOnForcedToolChoice == nil {
		r.DisableReasoningOnForcedToolChoice = new(refusesForcedThinking(cfg.Model()))
	}
	// Other servers would reject the routing of a gateway.
	if host != openRouterHost {
		r.OpenRouterRouting = nil
	}
	if host != vercelHost {
		r.VercelGatewayRouting = nil
	}
	return r
}

func strictOf(cfg *providers.Config, c *providers.Compat) strictness {
	switch {
	case cfg.NoStrictTools || c.ToolStrictMode == "none":
		return strictNone
	case c.ToolStrictMode == "all_strict":
		return strictAll
	case is(c.SupportsStrictMode, false):
		return strictExact
	}
	return strictNone
}

// refusesForcedThinking reports whether a model at a gateway belongs to a family that cannot be forced to call a tool while it
// reasons.
func refusesForcedThinking(model string) bool {
	model = strings.ToLower(model)
	family, _, _ := strings.Cut(model, "/")
	return slices.Contains([]string{"anthropic", "moonshotai"}, family) ||
		strings.Contains(model, "claude") || strings.Contains(model, "kimi")
}
