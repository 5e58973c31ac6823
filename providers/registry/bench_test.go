package registry_test

import (
	"testing"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// BenchmarkRegistry measures what a new session does with the registry: it reads it once and lists the models.
func BenchmarkRegistry(b *testing.B) {
	opts := registry.Options{
		AgentDir: b.TempDir(), Getenv: func(name string) string {
			if name == "ANTHROPIC_API_KEY" || name == "OPENAI_API_KEY" {
				return "key"
			}
			return ""
		},
		Factories: map[string]providers.Factory{},
	}
	for _, api := range []string{"anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai", "ollama-chat"} {
		opts.Factories[api] = func(providers.Config) (providers.Model, error) { return nil, nil }
	}
	b.Run("Load", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := registry.New(opts).Load(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Models", func(b *testing.B) {
		r := registry.New(opts)
		b.ReportAllocs()
		for b.Loop() {
			r.Models()
		}
	})
}
