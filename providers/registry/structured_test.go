package registry_test

import (
	"testing"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// Models have structured output at their makers' own servers, and where models.yml says so.
func TestRegistry_StructuredOutput(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", `
providers:
  anthropic:
    models: [{id: claude-3-5-haiku-20241022}, {id: claude-opus-4-1-20250805}, {id: claude-sonnet-4-20250514}, {id: claude-sonnet-4-5-20250929}, {id: mythos}, {id: alias, wireModelId: claude-3-opus}]
    modelOverrides: {claude-opus-5: {structuredOutput: false}}
  openai:
    models: [{id: chat, api: openai-completions}]
  google:
    models: [{id: gemma-4-27b}]
  gateway:
    baseUrl: https://api.openai.com.example/v1
    api: openai-completions
    auth: none
    models: [{id: a}, {id: b, structuredOutput: true}]
  held:
    baseUrl: http://127.0.0.1:1/v1
    api: openai-completions
    auth: none
    structuredOutput: true
    models: [{id: a}, {id: b, structuredOutput: false}]
  region:
    baseUrl: https://eu.api.openai.com/v1
    api: openai-responses
    apiKey: k
    models: [{id: a}]
  ollama:
    models: [{id: qwen}, {id: "gpt-oss:120b-cloud"}]
  hosted:
    baseUrl: https://ollama.com
    api: ollama-chat
    apiKey: k
    models: [{id: qwen}]
`, 0o600)
	r := w.registry(func(o *registry.Options) {
		for _, api := range []string{"google-generative-ai", "ollama-chat", "google-vertex"} {
			o.Factories[api] = o.Factories["openai-completions"]
		}
	})
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	has := func(ref string) bool {
		t.Helper()
		info, ok := r.Lookup(ref)
		if !ok {
			t.Fatalf("there is no %s", ref)
		}
		return info.StructuredOutput
	}
	for ref, want := range map[string]bool{
		"anthropic/claude-sonnet-5-5": true, "anthropic/claude-fable-5-1": true, "anthropic/claude-haiku-4-5": true, "anthropic/mythos": true,
		"anthropic/claude-sonnet-4-5-20250929": true, "anthropic/claude-3-5-haiku-20241022": false, "anthropic/claude-opus-4-1-20250805": false,
		"anthropic/claude-sonnet-4-20250514": false, "anthropic/alias": false, "anthropic/claude-opus-5": false,
		"openai/gpt-6-luna": true, "openai/chat": true, "region/a": true, "gateway/a": false, "gateway/b": true, "held/a": true, "held/b": false,
		"google/gemini-3.5-flash": true, "google/gemma-4-27b": false, "google-vertex/gemini-3.5-flash": false, "mistral/mistral-large-4": false,
		"ollama/qwen": true, "ollama/gpt-oss:120b-cloud": false, "hosted/qwen": false, "offline/demo": false,
	} {
		if got := has(ref); got != want {
			t.Errorf("%s: %t", ref, got)
		}
	}
	if cfg := w.open(r, "held/a"); !cfg.Info.StructuredOutput {
		t.Errorf("opened as %+v", cfg.Info)
	}

	// The address counts, not the provider: that of the environment, and that of an editor.
	w.env["OPENAI_BASE_URL"] = "https://proxy.example/v1"
	if has("openai/gpt-6-luna") {
		t.Error("a proxy has structured output")
	}
	if err := r.SetProvider("held", "openai", "https://other.example/v1", nil); err != nil {
		t.Fatal(err)
	}
	if has("held/a") {
		t.Error("a redirected provider keeps what models.yml says of another server")
	}
	if err := r.SetProvider("anthropic", "anthropic", "https://gateway.example", nil); err != nil {
		t.Fatal(err)
	}
	if has("anthropic/claude-sonnet-5-5") {
		t.Error("a gateway has structured output")
	}
	var info providers.ModelInfo
	for _, m := range r.All() {
		if m.Ref() == "ollama/qwen" {
			info = m
		}
	}
	if !info.StructuredOutput {
		t.Errorf("listed as %+v", info)
	}
}

// The API adds tools in the conversation at the makers' own servers, with models that are new enough, and where models.yml says so.
func TestRegistry_ToolSearch(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", `
providers:
  anthropic:
    models: [{id: claude-3-7-sonnet-20250219}, {id: claude-sonnet-4-20250514}, {id: claude-haiku-4-20250514}, {id: alias, wireModelId: claude-3-opus}]
    modelOverrides: {claude-opus-5: {toolSearch: false}}
  openai:
    models: [{id: gpt-5}, {id: gpt-5.4-mini}, {id: gpt-5-2}, {id: o4}, {id: chat, api: openai-completions}]
  gateway:
    baseUrl: https://gateway.example/v1
    api: openai-responses
    auth: none
    toolSearch: true
    models: [{id: a}, {id: b, toolSearch: false}]
  other:
    baseUrl: https://other.example
    api: anthropic-messages
    auth: none
    models: [{id: claude-opus-5}]
`, 0o600)
	r := w.registry()
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]bool{
		"anthropic/claude-sonnet-5-5": true, "anthropic/claude-haiku-4-5": true, "anthropic/claude-sonnet-4-20250514": true,
		"anthropic/claude-haiku-4-20250514": false, "anthropic/claude-3-7-sonnet-20250219": false, "anthropic/alias": false, "anthropic/claude-opus-5": false,
		"openai/gpt-6-luna": true, "openai/gpt-5.4-mini": true, "openai/gpt-5": false, "openai/gpt-5-2": false, "openai/o4": false, "openai/chat": false,
		"gateway/a": true, "gateway/b": false, "other/claude-opus-5": false,
	} {
		if info, ok := r.Lookup(ref); !ok || info.ToolSearch != want {
			t.Errorf("%s: %t, %t", ref, ok, info.ToolSearch)
		}
	}
}
