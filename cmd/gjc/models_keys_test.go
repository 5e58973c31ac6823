package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/providers/providertest"
)

// If a key of auth.json is refused, limited or used up, the next one is used, within the turn and without a notice; the
// working key stays in use. No key is in anything that gjc prints or stores.
func TestModels_KeyRotation(t *testing.T) {
	t.Parallel()
	refused := providertest.Status(401, `{"error":{"message":"Incorrect API key provided: sk-first-key-1111111111","type":"invalid_request_error","code":"invalid_api_key"}}`, nil)
	used := providertest.Status(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, nil)
	for _, tt := range []struct {
		name string
		step providertest.Step
	}{
		{"refused", providertest.Step{refused}},
		{"limited", limited("60")},
		{"used up", providertest.Step{used}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			keys := map[string]string{"first": "sk-first-key-1111111111", "second": "sk-second-key-2222222222"}
			model := providertest.NewServer(tt.step, providertest.Step{providertest.Text("the second works")}, providertest.Step{providertest.Text("and stays")})
			t.Cleanup(model.Close)
			home, logs := tempDir(t), tempDir(t)
			writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf("providers:\n  fake: {api: openai-completions, baseUrl: %s, apiKeyEnv: FAKE_KEY, models: [{id: m}]}\n", model.OpenAIURL()))
			writeFile(t, filepath.Join(agentDir(home), "config.yml"), quick+"modelRoles: {default: fake/m}\n")
			writeFile(t, filepath.Join(agentDir(home), "auth.json"), `{"fake":{"type":"api_key","key":"`+keys["first"]+`","keys":["`+keys["first"]+`","`+keys["second"]+`"]}}`)
			if err := os.Chmod(filepath.Join(agentDir(home), "auth.json"), 0o600); err != nil {
				t.Fatal(err)
			}
			p := startPeer(t, peerOptions{home: home, args: []string{"--log-level", "trace", "--log-file", filepath.Join(logs, "log"), "--rpc-log", filepath.Join(logs, "rpc")}})
			p.initialize(nil)
			id := p.session("auto")
			for _, want := range []string{"the second works", "and stays"} {
				m, before := p.answer(p.prompt(id, "go"))
				updates := strings.Join(lines(before), "\n")
				if m.Error != nil || !strings.Contains(updates, want) {
					t.Errorf("the prompt got %s\n%s", m.line, updates)
				}
				wantNoSecret(t, keys, "what the editor receives", updates+m.line)
			}
			p.stop()
			<-p.drained
			var used []string
			for _, r := range model.Requests() {
				used = append(used, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			}
			if want := []string{keys["first"], keys["second"], keys["second"]}; !slices.Equal(used, want) {
				t.Errorf("the keys sent are %q", used)
			}
			wantNoSecret(t, keys, "stderr", p.stderrText.String())
			wantNoSecretFiles(t, keys, logs)
			wantNoSecretFiles(t, keys, home, "auth.json")
		})
	}
}

// If the last key is limited too, the wait is reported and the turn continues after it.
func TestModels_KeysAllLimited(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer(limited("60"), limited("0"), providertest.Step{providertest.Text("at last")})
	t.Cleanup(model.Close)
	home := tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf("providers:\n  fake: {api: openai-completions, baseUrl: %s, apiKeyEnv: FAKE_KEY, models: [{id: m}]}\n", model.OpenAIURL()))
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), quick+"modelRoles: {default: fake/m}\n")
	writeFile(t, filepath.Join(agentDir(home), "auth.json"), `{"fake":{"type":"api_key","key":"sk-aaaaaaaaaaaaaaaa","keys":["sk-aaaaaaaaaaaaaaaa","sk-bbbbbbbbbbbbbbbb"]}}`)
	l := startLife(t, lifeOptions{home: home})
	l.begin()
	mark := l.mark()
	if got := l.turn("go"); !strings.Contains(got, "at last") {
		t.Errorf("it says %q", got)
	}
	if notices := shown(l.since(mark)); strings.Count(notices, "trying again") != 1 {
		t.Errorf("the wait is reported as\n%s", notices)
	}
	l.stop()
	if n := len(model.Requests()); n != 3 {
		t.Errorf("%d requests were made", n)
	}
}
