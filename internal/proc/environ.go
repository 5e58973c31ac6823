package proc

import (
	"runtime"
	"strings"
)

// providerKeys are the variables with keys for models and services of gjc. They do not include general tokens that the user's own
// commands need (GITHUB_TOKEN, AWS_*).
var providerKeys = map[string]bool{
	"AI_GATEWAY_API_KEY":            true,
	"ALIBABA_CODING_PLAN_API_KEY":   true,
	"ANTHROPIC_API_KEY":             true,
	"ANTHROPIC_AUTH_TOKEN":          true,
	"ANTHROPIC_FOUNDRY_API_KEY":     true,
	"ANTHROPIC_OAUTH_TOKEN":         true,
	"ANTHROPIC_SEARCH_API_KEY":      true,
	"AWS_BEARER_TOKEN_BEDROCK":      true,
	"AZURE_OPENAI_API_KEY":          true,
	"BRAVE_API_KEY":                 true,
	"CEREBRAS_API_KEY":              true,
	"CLOUDFLARE_AI_GATEWAY_API_KEY": true,
	"COPILOT_GITHUB_TOKEN":          true,
	"CURSOR_ACCESS_TOKEN":           true,
	"DEEPSEEK_API_KEY":              true,
	"EXA_API_KEY":                   true,
	"FIREWORKS_API_KEY":             true,
	"GEMINI_API_KEY":                true,
	"GOOGLE_API_KEY":                true,
	"GOOGLE_CLOUD_API_KEY":          true,
	"GOOGLE_GENERATIVE_AI_API_KEY":  true,
	"GROQ_API_KEY":                  true,
	"HF_TOKEN":                      true,
	"HUGGINGFACE_HUB_TOKEN":         true,
	"JINA_API_KEY":                  true,
	"KAGI_API_KEY":                  true,
	"KILO_API_KEY":                  true,
	"KIMI_API_KEY":                  true,
	"KIMI_SEARCH_API_KEY":           true,
	"LITELLM_API_KEY":               true,
	"LLAMA_CPP_API_KEY":             true,
	"LM_STUDIO_API_KEY":             true,
	"MINIMAX_API_KEY":               true,
	"MINIMAX_CODE_API_KEY":          true,
	"MINIMAX_CODE_CN_API_KEY":       true,
	"MISTRAL_API_KEY":               true,
	"MOONSHOT_API_KEY":              true,
	"MOONSHOT_SEARCH_API_KEY":       true,
	"NANO_GPT_API_KEY":              true,
	"NVIDIA_API_KEY":                true,
	"OLLAMA_API_KEY":                true,
	"OLLAMA_CLOUD_API_KEY":          true,
	"OPENAI_API_KEY":                true,
	"OPENCODE_API_KEY":              true,
	"OPENROUTER_API_KEY":            true,
	"PARALLEL_API_KEY":              true,
	"PERPLEXITY_API_KEY":            true,
	"PPLX_API_KEY":                  true,
	"QIANFAN_API_KEY":               true,
	"QWEN_OAUTH_TOKEN":              true,
	"QWEN_PORTAL_API_KEY":           true,
	"SEARXNG_BASIC_PASSWORD":        true,
	"SEARXNG_TOKEN":                 true,
	"SYNTHETIC_API_KEY":             true,
	"TAVILY_API_KEY":                true,
	"TOGETHER_API_KEY":              true,
	"VENICE_API_KEY":                true,
	"VLLM_API_KEY":                  true,
	"XAI_API_KEY":                   true,
	"XIAOMI_API_KEY":                true,
	"ZAI_API_KEY":                   true,
	"ZENMUX_API_KEY":                true,
}

// IsSecretVariable reports whether [Environ] removes a variable: the known provider keys, and GJC_ variables that end in API_KEY, _TOKEN
// or _SECRET.
func IsSecretVariable(name string) bool {
	name = strings.ToUpper(name)
	if providerKeys[name] {
		return true
	}
	return strings.HasPrefix(name, "GJC_") && (strings.HasSuffix(name, "API_KEY") ||
		strings.HasSuffix(name, "_TOKEN") || strings.HasSuffix(name, "_SECRET"))
}

// Environ returns the environment of a child: base, which is the program's own, without secret variables (see [IsSecretVariable]) and the
// mark of this program, followed by extra, which is not filtered. The last value of a name counts. Entries of base without a name
// are dropped.
func Environ(base []string, extra ...string) []string {
	return environ(base, extra, runtime.GOOS == "windows")
}

func environ(base, extra []string, foldCase bool) []string {
	env := make([]string, 0, len(base)+len(extra))
	at := make(map[string]int, len(base)+len(extra))
	add := func(entry string, scrub bool) {
		// Windows stores the current directory of each drive in names that begin with "=".
		i := strings.IndexByte(entry[min(1, len(entry)):], '=')
		if i < 0 {
			return
		}
		name := entry[:i+1]
		if scrub && (IsSecretVariable(name) || isMark(entry)) {
			return
		}
		if foldCase {
			name = strings.ToUpper(name)
		}
		if old, ok := at[name]; ok {
			env[old] = entry
			return
		}
		at[name] = len(env)
		env = append(env, entry)
	}
	for _, entry := range base {
		add(entry, true)
	}
	for _, entry := range extra {
		add(entry, false)
	}
	return env
}
