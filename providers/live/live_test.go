// Package live_test tests against the real servers of models, as "task test:live" does. It needs the network and costs a little
// money, so it is skipped unless GJC_LIVE is 1. Each provider is skipped without its key.
package live_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/anthropic"
	"github.com/gajae-code/gjc/providers/discovery"
	"github.com/gajae-code/gjc/providers/google"
	"github.com/gajae-code/gjc/providers/ollama"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/registry"
)

// A subject is one provider under test.
type subject struct {
	name, provider string
	// variable names the required environment variable, which holds the key, or the address of a server that needs no key.
	variable string
	// prefer lists models by id, the best for a test first. Without any of them the test uses the cheapest, or the first.
	prefer []string
	// file is the content of models.yml.
	file    string
	keyless bool
}

var subjects = []subject{
	{name: "anthropic", provider: "anthropic", variable: "ANTHROPIC_API_KEY"},
	{name: "openai responses", provider: "openai", variable: "OPENAI_API_KEY"},
	{name: "openai completions", provider: "openai", variable: "OPENAI_API_KEY", file: "providers: {openai: {api: openai-completions}}\n"},
	{name: "azure", provider: "azure-openai", variable: "AZURE_OPENAI_API_KEY"},
	{name: "google", provider: "google", variable: "GEMINI_API_KEY"},
	{name: "openrouter", provider: "openrouter", variable: "OPENROUTER_API_KEY", prefer: []string{"google/gemini-3.1-flash-lite", "openai/gpt-6-luna", "anthropic/claude-haiku-5.5"}},
	{name: "mistral", provider: "mistral", variable: "MISTRAL_API_KEY"},
	{name: "deepseek", provider: "deepseek", variable: "DEEPSEEK_API_KEY"},
	{name: "ollama", provider: "ollama", variable: "OLLAMA_BASE_URL", keyless: true},
}

// TestLive asks each provider with a key. GJC_LIVE_MODEL overrides the model, as provider/id.
func TestLive(t *testing.T) {
	if os.Getenv("GJC_LIVE") != "1" {
		t.Skip("this uses the network and costs money; run ./task test:live, or set GJC_LIVE=1")
	}
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if os.Getenv(s.variable) == "" {
				t.Skipf("%s is not set", s.variable)
			}
			s.test(t)
		})
	}
}

func (s *subject) test(t *testing.T) {
	r := s.registry(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := r.Discover(ctx); err != nil {
		t.Errorf("looking for models: %v", err)
	}
	info, ok := s.choose(r.Models())
	if !ok {
		t.Fatalf("%s has no model that can be used", s.provider)
	}
	t.Logf("the model is %s, with a window of %d", info.Ref(), info.ContextWindow)
	m, err := r.Open(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	exercise(t, m)
	if s.keyless {
		return
	}
	t.Run("wrong key", func(t *testing.T) {
		m, err := s.registry(t, "sk-0000000000000000000000000000wrong").Open(t.Context(), info)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ask(t, m, &providers.Request{Messages: []providers.Message{user("Hello.")}, MaxTokens: 100})
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindAuth {
			t.Errorf("a wrong key gets %v", err)
		}
	})
}

// registry returns a registry with the keys of the environment, or with one key.
func (s *subject) registry(t *testing.T, key string) *registry.Registry {
	t.Helper()
	dir := t.TempDir()
	if s.file != "" {
		if err := os.WriteFile(filepath.Join(dir, "models.yml"), []byte(s.file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := registry.New(registry.Options{
		AgentDir: dir, APIKey: key, APIKeyProvider: s.provider, Discover: discovery.Discover,
		Getenv: func(name string) string {
			switch {
			case name == s.variable, strings.HasPrefix(name, strings.ToUpper(strings.SplitN(s.provider, "-", 2)[0])+"_"):
				return os.Getenv(name)
			case strings.HasSuffix(name, "_BASE_URL"):
				return "http://127.0.0.1:1" // no other provider is asked for its models
			}
			return ""
		},
		Factories: map[string]providers.Factory{
			anthropic.API: anthropic.Open, openai.API: openai.Open, openai.APIResponses: openai.OpenResponses,
			openai.APIAzure: openai.OpenAzure, google.API: google.Open, ollama.API: ollama.Open,
		},
	})
	t.Cleanup(r.Close)
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// choose returns the model to ask.
func (s *subject) choose(models []providers.ModelInfo) (providers.ModelInfo, bool) {
	models = slices.DeleteFunc(slices.Clone(models), func(m providers.ModelInfo) bool { return m.Provider != s.provider })
	if len(models) == 0 {
		return providers.ModelInfo{}, false
	}
	for _, id := range slices.Concat([]string{strings.TrimPrefix(os.Getenv("GJC_LIVE_MODEL"), s.provider+"/")}, s.prefer) {
		if i := slices.IndexFunc(models, func(m providers.ModelInfo) bool { return m.ID == id }); i >= 0 {
			return models[i], true
		}
	}
	price := func(m providers.ModelInfo) float64 {
		if m.Cost == (providers.Cost{}) {
			return 1e9 // unknown
		}
		return m.Cost.Input + m.Cost.Output
	}
	return slices.MinFunc(models, func(a, b providers.ModelInfo) int { return cmp.Compare(price(a), price(b)) }), true
}
