package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// doctor reports mistakes in the settings of models, and changes nothing.
func TestDoctor_Models(t *testing.T) {
	dir := t.TempDir()
	h := &host{env: []string{"HOME=" + dir, "USERPROFILE=" + dir, "OPENAI_API_KEY=sk-doctor-secret"}}
	said := func(opts *options) string {
		var b strings.Builder
		for _, f := range h.examineModels(t.Context(), filepath.Join(dir, "agent"), opts) {
			b.WriteString(f.State + " " + f.What + ": " + f.Detail + "\n")
		}
		examineFiles(t.Context(), h, opts, filepath.Join(dir, "agent"), dir, func(state, what, format string, args ...any) {
			b.WriteString(state + " " + what + ": " + fmt.Sprintf(format, args...) + "\n")
		})
		return b.String()
	}
	if got := said(&options{}); !strings.Contains(got, "ok keys: OpenAI API key, from environment OPENAI_API_KEY") || strings.Contains(got, "warning") || strings.Contains(got, "problem") {
		t.Errorf("with a key:\n%s", got)
	}
	writeFile(t, filepath.Join(dir, "agent", "models.yml"), "providers: {x: {baseUrl: nowhere}}\n")
	writeFile(t, filepath.Join(dir, "agent", "secrets.yml"), "- type: regex\n  content: '(sk-doctor-secret'\n")
	writeFile(t, filepath.Join(dir, "agent", "config.yml"), `
secrets: {enabled: true}
network: {caFiles: [missing.pem]}
modelRoles: {smol: anthropic/claude-haiku-5-5, slow: nobody/nothing}
modelProfile: {default: claude-medium}
`)
	got := said(&options{model: "openai/no-such-model"})
	for _, want := range []string{
		"problem models: ", "models.yml:1: providers.x.baseUrl", "problem network: ", "missing.pem", "problem secrets: ", "secrets.yml",
		`warning roles: the role "slow"`, "problem profile: ", "gjc login anthropic", "problem --model: ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "doctor-secret") {
		t.Errorf("a secret is shown:\n%s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "agent", "*")); len(left) != 3 {
		t.Errorf("the agent directory has %q", left)
	}
}
