package openai

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// rules is what a server wants: a [providers.Compat] in which everything is decided.
type rules struct {
	store, developer, effort, usage        bool
	toolChoice, noThinkingWhenForced       bool
	reasoningForCalls, contentForCalls     bool
	resultName, answerBehindResult         bool
	thinkingAsText, mistralIDs             bool
	official                               bool // OpenAI itself
	cacheKey                               bool // takes prompt_cache_key
	strict                                 strictness
	efforts                                map[providers.ThinkingLevel]string
	maxTokens, thinkingFormat, reasoningIn string
	openRouter, vercel                     *providers.GatewayRouting
}

// strictness is which tools are strict.
type strictness int

const (
	strictNone  strictness = iota
	strictExact            // those whose schemas are strict as they are
	strictAll              // all, or none if one of them can not be
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

// knownHost is what is known of the servers of a host. A name that begins with a dot stands for all below it.
type knownHost struct {
	names  []string
	compat providers.Compat
}

// knownHosts are the servers that differ from what a server is thought to be: one that knows the old words of the API,
// all of them, and nothing that is OpenAI's alone.
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
		// It refuses members that it does not know, and tells the usage unasked.
		{[]string{"api.mistral.ai", "codestral.mistral.ai"}, providers.Compat{
			SupportsUsageInStreaming: no, SupportsReasoningEffort: no, RequiresToolResultName: yes,
			RequiresThinkingAsText: yes, RequiresMistralToolIDs: yes,
		}},
		// It refuses to be forced while it reasons.
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

// detect returns what is known of a server by its host.
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

// rulesFor decides what the server of cfg at host wants.
func rulesFor(cfg *providers.Config, host string) rules {
	host = strings.ToLower(host)
	c := cfg.Compat.Over(detect(host))
	is := func(flag *bool, otherwise bool) bool {
		if flag == nil {
			return otherwise
		}
		return *flag
	}
	official := host == officialHost || strings.HasSuffix(host, "."+officialHost) // it has hosts for regions
	r := rules{
		store: is(c.SupportsStore, false), developer: is(c.SupportsDeveloperRole, false),
		effort: is(c.SupportsReasoningEffort, true), usage: is(c.SupportsUsageInStreaming, true),
		toolChoice:           is(c.SupportsToolChoice, true),
		noThinkingWhenForced: is(c.DisableReasoningOnForcedToolChoice, refusesForcedThinking(cfg.Model())),
		reasoningForCalls:    is(c.RequiresReasoningContentForToolCalls, false),
		contentForCalls:      is(c.RequiresAssistantContentForToolCalls, false),
		resultName:           is(c.RequiresToolResultName, false),
		answerBehindResult:   is(c.RequiresAssistantAfterToolResult, false),
		thinkingAsText:       is(c.RequiresThinkingAsText, false), mistralIDs: is(c.RequiresMistralToolIDs, false),
		official: official, cacheKey: official, efforts: c.ReasoningEffortMap,
		maxTokens: c.MaxTokensField, thinkingFormat: c.ThinkingFormat, reasoningIn: c.ReasoningContentField,
		strict: strictOf(cfg, &c),
	}
	// A server that is no gateway would take the routes of one for a mistake.
	if host == openRouterHost {
		r.openRouter = c.OpenRouterRouting
	}
	if host == vercelHost {
		r.vercel = c.VercelGatewayRouting
	}
	return r
}

func strictOf(cfg *providers.Config, c *providers.Compat) strictness {
	switch {
	case cfg.NoStrictTools || c.ToolStrictMode == "none":
		return strictNone
	case c.ToolStrictMode == "all_strict":
		return strictAll
	case c.SupportsStrictMode != nil && *c.SupportsStrictMode:
		return strictExact
	}
	return strictNone
}

// refusesForcedThinking reports whether a model behind a gateway is of a family that can not be forced to call a tool
// while it reasons.
func refusesForcedThinking(model string) bool {
	model = strings.ToLower(model)
	family, _, _ := strings.Cut(model, "/")
	return slices.Contains([]string{"anthropic", "moonshotai"}, family) ||
		strings.Contains(model, "claude") || strings.Contains(model, "kimi")
}
