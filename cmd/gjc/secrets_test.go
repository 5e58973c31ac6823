package main

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/providers/providertest"
)

// Keys reach their provider and nothing else: no message, no log, no session file, no child.
func TestSecrets(t *testing.T) {
	t.Parallel()
	secret := map[string]string{
		"flag":        "sk-ant-flagsecretflagsecretflagsecret",
		"environment": "sk-environmentsecretenvironmentsecret",
		"variable":    "variablesecretvariablesecret",
		"auth.json":   "sk-storedsecretstoredsecretstored",
		"models.yml":  "filesecretfilesecretfilesecret",
		"named":       "namedsecretnamedsecretnamedsecret",
	}
	model := providertest.NewServer(
		providertest.Step{providertest.Call("c1", "bash", `{"command":"env; env >env.txt"}`)},
		providertest.Step{providertest.Text("done")},
		// A provider repeats the key in its complaint.
		providertest.Step{providertest.Status(http.StatusUnauthorized, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key: `+secret["flag"]+`"}}`, nil)},
		providertest.Step{providertest.Status(http.StatusBadRequest, `oops `+secret["flag"], nil)},
	)
	defer model.Close()
	home := tempDir(t)
	agent := filepath.Join(home, ".gjc", "agent")
	writeFile(t, filepath.Join(agent, "models.yml"), "providers:\n  own:\n    api: openai-completions\n    baseUrl: http://127.0.0.1:1\n"+
		"    apiKey: "+secret["models.yml"]+"\n    models: [{id: m}]\n"+
		"  other: {api: openai-completions, baseUrl: 'http://127.0.0.1:1', apiKeyEnv: CORP_GATEWAY, models: [{id: m}]}\n")
	writeFile(t, filepath.Join(agent, "auth.json"), `{"openai":{"type":"api_key","key":"`+secret["auth.json"]+`"}}`)
	logs := tempDir(t)
	p := startPeer(t, peerOptions{
		home: home,
		args: []string{
			"--api-key", secret["flag"], "--log-level", "trace", "--log-file", filepath.Join(logs, "log"),
			"--rpc-log", filepath.Join(logs, "rpc"),
		},
		env: []string{"ANTHROPIC_BASE_URL=" + model.AnthropicURL(), "OPENAI_API_KEY=" + secret["environment"], "GJC_OWN_TOKEN=" + secret["variable"], "CORP_GATEWAY=" + secret["named"]},
	})
	p.initialize(nil)
	id := p.session("auto")
	if m, _ := p.answer(p.prompt(id, "go")); m.Error != nil {
		t.Errorf("the prompt got %s", m.line)
	}
	for _, code := range []int{-32603, -32603} { // a wrong key, an invalid request
		if m, _ := p.answer(p.prompt(id, "again")); m.Error == nil || m.Error.Code != code {
			t.Errorf("the failing prompt got %s, want code %d", m.line, code)
		}
	}
	// The editor's terminals get no keys either.
	model.Add(providertest.Step{providertest.Call("c2", "bash", `{"command":"env"}`)}, providertest.Step{providertest.Text("done")})
	p.initialize(withTerminals)
	prompt := p.prompt(p.session("auto"), "go")
	create := p.called("terminal/create")
	wantNoSecret(t, secret, "terminal/create", create.line)
	p.send(`{"jsonrpc":"2.0","id":` + string(create.ID) + `,"error":{"code":-32603,"message":"no terminal today"}}`)
	p.answer(prompt)
	p.call("session/close", object{"sessionId": id})
	p.call("session/load", object{"sessionId": id, "cwd": p.work, "mcpServers": []any{}})
	p.stop()
	<-p.drained

	// The test must not pass for a program that uses no key.
	requests := model.Requests()
	if len(requests) < 4 || requests[0].Header.Get("X-Api-Key") != secret["flag"] {
		t.Errorf("the model was asked %d times, with the key %q", len(requests), requests[0].Header.Get("X-Api-Key"))
	}
	for _, r := range requests {
		wantNoSecret(t, secret, "a model request's body", string(r.Body))
	}
	rpc, err := os.ReadFile(filepath.Join(logs, "rpc"))
	if err != nil || len(rpc) == 0 {
		t.Errorf("no message log: %v", err)
	}
	wantNoSecret(t, secret, "stderr", p.stderrText.String())
	wantNoSecretFiles(t, secret, logs)
	wantNoSecretFiles(t, secret, p.work)
	wantNoSecretFiles(t, secret, home, "auth.json", "models.yml")
	if data, err := os.ReadFile(filepath.Join(p.work, "env.txt")); err != nil || !strings.Contains(string(data), "PATH=") {
		t.Errorf("the command's environment was not written: %q, %v", data, err)
	}
}

func wantNoSecret(t *testing.T, secrets map[string]string, where, text string) {
	t.Helper()
	for name, secret := range secrets {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("the key of %s is in %s: …%s…", name, where, text[max(0, i-100):i+len(secret)])
		}
	}
}

// wantNoSecretFiles checks all files below dir except those with the given names.
func wantNoSecretFiles(t *testing.T, secrets map[string]string, dir string, except ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || slices.Contains(except, d.Name()) {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			wantNoSecret(t, secrets, path, string(data))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
