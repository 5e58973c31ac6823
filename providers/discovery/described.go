package discovery

import (
	"slices"
	"strings"
	"unicode"

	"github.com/gajae-code/gjc/providers"
)

// described decodes a model from a list entry. The members are those of many servers; each has the same meaning on every server
// that sends it.
func described(f facts) providers.ModelInfo {
	m := providers.ModelInfo{ID: f.at("id").text()}
	for _, name := range []string{"display_name", "name"} {
		if m.Name == "" {
			m.Name = f.at(name).text()
		}
	}
	m.ContextWindow = firstTokens(
		f,
		[]string{"top_provider", "context_length"},                 // OpenRouter: of the preferred provider
		[]string{"max_model_len"},                                  // vLLM
		[]string{"loaded_context_length"},                          // LM Studio
		[]string{"context_length"},                                 // OpenRouter, Together, Fireworks, Moonshot
		[]string{"context_window"},                                 // Groq, Vercel
		[]string{"max_context_length"},                             // Mistral, LM Studio
		[]string{"meta", "n_ctx"}, []string{"meta", "n_ctx_train"}, // llama.cpp
	)
	m.MaxOutput = firstTokens(
		f,
		[]string{"top_provider", "max_completion_tokens"}, []string{"max_completion_tokens"}, []string{"max_output_tokens"},
		[]string{"max_tokens"}, // Vercel
	)
	for _, inputs := range []facts{f.at("architecture", "input_modalities"), f.at("input_modalities"), f.at("tags"), f.at("capabilities")} {
		words, _ := inputs.words()
		m.Images = m.Images || slices.Contains(words, "image") || slices.Contains(words, "vision") || slices.Contains(words, "multimodal")
	}
	for _, yes := range []facts{f.at("capabilities", "vision"), f.at("supports_image_input"), f.at("supports_image_in")} {
		can, _ := yes.flag()
		m.Images = m.Images || can
	}
	m.Images = m.Images || f.at("type").text() == "vlm" // LM Studio
	if words, _ := f.at("supported_parameters").words(); slices.Contains(words, "reasoning") || slices.Contains(words, "reasoning_effort") {
		m.Thinking = []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingMedium, providers.ThinkingHigh}
	}
	if m.ContextWindow == 0 {
		m.ContextWindow = routedWindow(f)
	}
	m.Cost = prices(f.at("pricing"))
	return m
}

// prices reads the prices of an entry in dollars per token, as strings, in the format of OpenRouter and Vercel. Prices of other
// servers have other units and types, and are ignored.
func prices(f facts) providers.Cost {
	c := providers.Cost{Input: f.firstPrice("prompt", "input"), Output: f.firstPrice("completion", "output")}
	if c.Input == 0 || c.Output == 0 {
		return providers.Cost{}
	}
	c.CacheRead, c.CacheWrite = f.cachePrice("input_cache_read", c.Input), f.cachePrice("input_cache_write", c.Input)
	return c
}

// routedWindow returns the smallest context window among the providers that serve a model at Hugging Face, because any of them may
// answer.
func routedWindow(f facts) int {
	least := 0
	routes, _ := f.at("providers").list()
	for _, route := range routes {
		if n := route.at("context_length").tokens(); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

func firstTokens(f facts, paths ...[]string) int {
	for _, path := range paths {
		if n := f.at(path...).tokens(); n > 0 {
			return n
		}
	}
	return 0
}

// chats reports whether the model of an entry can chat and call tools, as far as the entry shows.
func chats(f facts) bool {
	for _, can := range []facts{
		f.at("active"),                          // Groq
		f.at("capabilities", "completion_chat"), // Mistral
		f.at("capabilities", "function_calling"),
		f.at("supports_chat"), f.at("supports_tools"), // Fireworks
	} {
		if yes, said := can.flag(); said && !yes {
			return false
		}
	}
	if archived, _ := f.at("archived").flag(); archived {
		return false
	}
	if words, said := f.at("supported_parameters").words(); said && len(words) > 0 && !slices.Contains(words, "tools") {
		return false
	}
	if words, said := f.at("architecture", "output_modalities").words(); said && len(words) > 0 && !slices.Contains(words, "text") {
		return false
	}
	if !routed(f) {
		return false
	}
	switch kind := strings.ToLower(f.at("type").text()); kind {
	case "chat", "language", "llm", "vlm", "code":
		return true
	case "", "model", "base", "fine-tuned", "ft":
		return !otherTask(f.at("id").text())
	default: // embedding, image, moderation, rerank, audio, …
		return false
	}
}

// routed reports whether any provider that serves a model supports tools; true if that is unknown.
func routed(f facts) bool {
	routes, _ := f.at("providers").list()
	known := false
	for _, route := range routes {
		if status := route.at("status").text(); status != "" && status != "live" {
			known = true
			continue
		}
		tools, said := route.at("supports_tools").flag()
		if tools || !said {
			return true
		}
		known = true
	}
	return !known
}

// otherTask reports whether the ID of an otherwise unknown model indicates that it cannot chat.
func otherTask(id string) bool {
	words := strings.FieldsFunc(strings.ToLower(id), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	return slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "embed", "embedding", "embeddings", "rerank", "reranker", "whisper", "tts", "moderation", "transcribe", "ocr":
			return true
		}
		return false
	})
}
