package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// In a session every mistake is reported once, with its line, and a rule for a tool that does not exist makes every
// step ask, in auto mode too.
func TestConfig_MistakesInSession(t *testing.T) {
	t.Parallel()
	agentDir := tempDir(t)
	writeFile(t, filepath.Join(agentDir, "config.yml"), "retry: {maxRetries: many}\npermissions:\n  deny: ['bsh(rm)']\nlsp: {enabled: maybe}\n")
	p := startPeer(t, peerOptions{args: []string{"--agent-dir", agentDir}})
	writeFile(t, filepath.Join(p.work, ".gjc", "config.yml"), "bash: {sandbox: off}\npermissions: {deny: ['bash(echo forbidden)']}\n")
	p.initialize(nil)
	id := p.session("auto")
	req := p.prompt(id, "!bash echo $((40+2))x")
	ask, before := p.until("a question", func(m message) bool { return m.Method == "session/request_permission" })
	notices := strings.Join(lines(before), "\n")
	p.reply(ask, `{"outcome":{"outcome":"selected","optionId":"`+optionOf(t, ask, "reject_once")+`"}}`)
	_, rest := p.answer(req)
	notices += strings.Join(lines(rest), "\n")
	for _, want := range []string{"config.yml:1: retry.maxRetries", "config.yml:3: permissions.deny[0]", "config.yml:4: lsp.enabled", ".gjc/config.yml:1: bash.sandbox"} {
		if strings.Count(notices, want) != 1 {
			t.Errorf("%q is reported %d times:\n%s", want, strings.Count(notices, want), notices)
		}
	}
	if strings.Contains(notices, "42x") {
		t.Errorf("the command ran:\n%s", notices)
	}
	_, before = p.answer(p.prompt(id, "!bash echo forbidden"))
	if notices := strings.Join(lines(before), "\n"); !strings.Contains(notices, "permissions.deny: bash(echo forbidden)") {
		t.Errorf("the project's rule does not forbid:\n%s", notices)
	}
	p.stop()
}

// optionOf returns the ID of a question's option of a kind.
func optionOf(t *testing.T, ask message, kind string) string {
	t.Helper()
	var q struct {
		Options []struct{ OptionID, Kind string } `json:"options"`
	}
	if err := json.Unmarshal(ask.Params, &q); err != nil {
		t.Fatal(err)
	}
	for _, o := range q.Options {
		if o.Kind == kind {
			return o.OptionID
		}
	}
	t.Fatalf("no option of kind %s: %s", kind, ask.line)
	return ""
}
