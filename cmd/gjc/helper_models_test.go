package main

import (
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/registry"
)

// A helper's model is the one bound to it, or that of the role with its name, or the one it prefers; a model that
// cannot be used is reported with the next usable one.
func TestHelperModel(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "models.yml"), `providers:
  local: { baseUrl: "http://127.0.0.1:1/v1", api: openai-completions, auth: none, models: [{ id: a }, { id: b }] }
  locked: { baseUrl: "http://127.0.0.1:1/v1", api: openai-completions, apiKey: NO_SUCH_VARIABLE_OF_A_KEY, models: [{ id: m }] }
modelBindings:
  modelRoles: { architect: local/a, slow: local/b }
  agentModelOverrides: { executor: local/b, both: local/a }
`)
	models := registry.New(registry.Options{
		AgentDir: dir, Fallback: offline.Info(), Getenv: func(string) string { return "" },
		Factories: map[string]providers.Factory{openai.API: openai.Open},
	})
	defer models.Close()
	if err := models.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	find := helperModel(roles{models: models})
	for _, tt := range []struct {
		helper agent.Helper
		want   string
		missed bool
	}{
		{agent.Helper{Name: "executor"}, "local/b", false},
		{agent.Helper{Name: "both", Models: []string{"local/b"}}, "local/a", false},
		{agent.Helper{Name: "architect", Models: []string{"gjc/slow"}}, "local/a", false},
		{agent.Helper{Name: "critic", Models: []string{"gjc/slow"}}, "local/b", false},
		{agent.Helper{Name: "planner", Models: []string{"gjc/plan", "gjc/slow"}}, "local/b", false},
		{agent.Helper{Name: "plain"}, "/", false},
		{agent.Helper{Name: "unset", Models: []string{"gjc/smol", "inherit"}}, "/", false},
		{agent.Helper{Name: "wrong", Models: []string{"nobody/nothing", "local/b"}}, "local/b", true},
		{agent.Helper{Name: "gone", Models: []string{"nobody/nothing"}}, "/", true},
	} {
		info, _, err := find(&tt.helper)
		if info.Ref() != tt.want || (err != nil) != tt.missed {
			t.Errorf("%s has %s, %v; want %s", tt.helper.Name, info.Ref(), err, tt.want)
		}
	}
}
