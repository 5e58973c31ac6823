package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A login for a provider that takes no key explains why: there is no such provider, it needs no key, or models.yml has
// a mistake.
func TestLogin_Refused(t *testing.T) {
	t.Parallel()
	const corp = "providers:\n  corp: {api: openai-completions, baseUrl: 'http://127.0.0.1:1/v1', models: [{id: m}]"
	for name, tt := range map[string]struct{ models, part string }{
		"unknown":  {"", "Configure your own in models.yml"},
		"keyless":  {corp + "}\n", "auth: apiKey"},
		"mistake":  {corp + ", windows: 3}\n", "models.yml:2"},
		"takes it": {corp + ", auth: apiKey}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := tempDir(t)
			writeFile(t, filepath.Join(agentDir(home), "models.yml"), tt.models)
			cmd := exec.CommandContext(t.Context(), self(t), "login", "corp")
			cmd.Dir, cmd.Env, cmd.Stdin = home, environment(home), strings.NewReader("k-of-corp\n")
			out, err := cmd.CombinedOutput()
			if (err == nil) != (tt.part == "") || !strings.Contains(string(out), tt.part) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// A key that could not be tested is not called wrong, and a logout needs an existing provider.
func TestLogin_NotTested(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), "providers:\n  corp: {api: openai-completions, baseUrl: 'http://127.0.0.1:1/v1', auth: apiKey, models: [{id: m}]}\n")
	for _, tt := range []struct {
		args []string
		part string
	}{
		{[]string{"login", "--test", "corp"}, "the key could not be tested"},
		{[]string{"logout", "korp"}, `unknown provider "korp"`},
	} {
		cmd := exec.CommandContext(t.Context(), self(t), tt.args...)
		cmd.Dir, cmd.Env, cmd.Stdin = home, environment(home), strings.NewReader("k-of-corp\n")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), tt.part) {
			t.Errorf("%v: %v: %s", tt.args, err, out)
		}
	}
}
