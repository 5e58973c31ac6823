package config_test

import (
	"slices"
	"testing"

	"github.com/gajae-code/gjc/dap/config"
)

// TestConfiguration_EnvFileHidden checks that the question to the user contains the names of the variables in an environment file
// but not their values, which may be secret.
func TestConfiguration_EnvFileHidden(t *testing.T) {
	m := newMachine(t)
	m.write(".vscode/launch.json", `{"configurations": [{
		"name": "x", "type": "go", "request": "launch", "program": ".", "env": {"OWN": "own", "LD_PRELOAD": "/x.so"}, "envFile": ".env",
	}]}`)
	m.write(".env", "PASSWORD=hunter2\nOWN=other\n")
	c, err := m.catalog(m.options()).Configuration(t.Context(), "x", config.Resolve{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `env: {"LD_PRELOAD":"/x.so","OWN":"own","PASSWORD":"…"}`; !slices.Contains(c.Runs, want) {
		t.Errorf("runs = %q, want %q in it", c.Runs, want)
	}
	env, _ := c.Arguments["env"].(map[string]any)
	if env["PASSWORD"] != "hunter2" || env["OWN"] != "own" {
		t.Errorf("the program receives %v", env)
	}
}
