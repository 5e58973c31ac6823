package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers/providertest"
)

// doctor --online sends each configured provider one request, and reports the source of its key, the address and the
// result.
func TestDoctor_Online(t *testing.T) {
	t.Parallel()
	wrong := providertest.Step{providertest.Status(401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`, nil)}
	fine, refuses := providertest.NewServer(providertest.Step{providertest.Text("OK")}), providertest.NewServer(wrong, wrong)
	silent := providertest.NewServer(providertest.Step{providertest.NewGate().HoldAll()})
	for _, s := range []*providertest.Server{fine, refuses, silent} {
		t.Cleanup(s.Close)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	home, work := tempDir(t), tempDir(t)
	provider := func(name, url, key string) string {
		return "  " + name + ": {api: openai-completions, baseUrl: \"" + url + "\", " + key + ", models: [{id: m}]}\n"
	}
	run := func(models string) (string, int) {
		t.Helper()
		writeFile(t, filepath.Join(agentDir(home), "config.yml"), "network: {firstByteTimeoutSeconds: 1}\n")
		writeFile(t, filepath.Join(agentDir(home), "models.yml"), "providers:\n"+models)
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		cmd := exec.CommandContext(ctx, self(t), "doctor", "--online", "--no-lsp", "--json")
		cmd.Dir, cmd.Env = work, environment(home, "SHLVL=1", "MY_KEY=k-of-the-test")
		out, err := cmd.Output()
		code := 0
		if err != nil {
			code = cmd.ProcessState.ExitCode()
		}
		var all []finding
		if err := json.Unmarshal(out, &all); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var b strings.Builder
		for _, f := range all {
			if f.What == "online" {
				b.WriteString(f.State + " " + f.Detail + "\n")
			}
		}
		if strings.Contains(string(out), "k-of-the-test") {
			t.Errorf("the key is shown: %s", out)
		}
		return b.String(), code
	}
	said, code := run(provider("good", fine.OpenAIURL(), "apiKeyEnv: MY_KEY"))
	if want := "ok good: key: environment MY_KEY; m at " + fine.OpenAIURL() + ": it answers\n"; said != want || code != 0 {
		t.Errorf("exit %d, said %q, want %q", code, said, want)
	}
	said, code = run(provider("wrong", refuses.OpenAIURL(), "apiKeyEnv: MY_KEY") + provider("down", gone.URL, "auth: none") +
		provider("none", gone.URL, "apiKeyEnv: NOT_SET") + provider("slow", silent.OpenAIURL(), "apiKey: literal-key-of-the-test"))
	for _, want := range []string{
		"problem wrong: key: environment MY_KEY; m at " + refuses.OpenAIURL() + ": the key was refused: Incorrect API key provided (HTTP 401); store another one with gjc login wrong\n",
		"problem down: key: none needed; m at " + gone.URL + ": the server cannot be reached: ",
		"problem none: key: none; " + gone.URL + ": no API key; run gjc login none, or set NOT_SET\n",
		"problem slow: key: models.yml; m at " + silent.OpenAIURL() + ": the server does not answer in time: ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	if code != 1 || strings.Count(said, "\n") != 4 {
		t.Errorf("exit %d:\n%s", code, said)
	}
	if n := len(refuses.Requests()); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

// A setup without a provider is a problem.
func TestDoctor_OnlineWithoutProviders(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	cmd := exec.CommandContext(t.Context(), self(t), "doctor", "--online", "--no-lsp")
	cmd.Dir, cmd.Env = tempDir(t), environment(home, "SHLVL=1")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "no provider is configured; run gjc login") {
		t.Errorf("%v: %s", err, out)
	}
}

// A session reports where a refused key came from, and how to replace it.
func TestModels_RefusedKey(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer(providertest.Step{providertest.Status(401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, nil)})
	t.Cleanup(model.Close)
	home := tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), "providers:\n  corp: {api: openai-completions, baseUrl: \""+model.OpenAIURL()+"\", apiKeyEnv: MY_KEY, models: [{id: m}]}\n")
	l := startLife(t, lifeOptions{home: home, env: []string{"MY_KEY=k-of-the-test", "GJC_NO_TITLE=1"}})
	id := l.begin()
	e := wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("go")}})
	const want = "The key came from environment MY_KEY; replace it there, or store another one with gjc login corp, which takes precedence."
	if !strings.Contains(e.Message, "Incorrect API key provided") || !strings.HasSuffix(e.Message, want) || strings.Contains(e.Message, "k-of-the-test") {
		t.Errorf("the message is %s", e.Message)
	}
}

// doctor names each file that gjc reads, and each mistake in one, once.
func TestDoctor_Files(t *testing.T) {
	t.Parallel()
	home, work := tempDir(t), tempDir(t)
	dir := agentDir(home)
	overlay := filepath.Join(home, "more.yml")
	for path, text := range map[string]string{
		filepath.Join(dir, "config.yml"): "retry: {maxRetries: many}\ntheme: dark\nsecrets: {enabled: true}\n",
		overlay:                          "lsp: {enabled: false}\n",
		filepath.Join(work, ".gjc", "config.yml"):    "bash: {sandbox: off}\n",
		filepath.Join(dir, "mcp.json"):               `{"mcpServers": {"x": {"command": "true", "enabld": false}}}`,
		filepath.Join(dir, "hooks.yml"):              "hooks:\n- {event: never, command: [x]}\n",
		filepath.Join(dir, "secrets.yml"):            "- {type: plain}\n",
		filepath.Join(work, ".gjc", "secrets.yml"):   "- 7\n",
		filepath.Join(dir, "commands", "c.md"):       "---\nmodel: x\n---\nbody",
		filepath.Join(work, ".gjc", "rules", "r.md"): "---\nglob: x\n---\nbody",
		filepath.Join(dir, "agents", "a.md"):         "---\nname: a\ndescription: d\noutput: 7\n---\nbody",
		filepath.Join(dir, "trust.json"):             "{",
		filepath.Join(dir, "models.yml"):             "providers: {x: {baseUrl: nowhere}}\n",
		filepath.Join(dir, "dap.json"):               `{"adapters": {"dlv": {"comand": "x"}}}`,
	} {
		writeFile(t, path, text)
	}
	cmd := exec.CommandContext(t.Context(), self(t), "doctor", "--config", overlay)
	cmd.Dir, cmd.Env = work, environment(home, "SHLVL=1")
	out, _ := cmd.CombinedOutput()
	for _, want := range []string{
		filepath.Join(dir, "config.yml") + ":1: retry.maxRetries: ", filepath.Join(dir, "config.yml") + ":2: theme: not a setting of gjc", overlay,
		filepath.Join(work, ".gjc", "config.yml") + ":1: bash.sandbox: can be set only in the user's", `mcp.json:1: mcpServers.x.enabld: unknown field; did you mean "enabled"?`,
		"hooks.yml:2: ", filepath.Join(dir, "secrets.yml") + ":1: ", filepath.Join(work, ".gjc", "secrets.yml") + ":1: ", `c.md:2: unknown field "model"`,
		`r.md:2: unknown field "glob"; did you mean "globs"?`, "a.md:4: output: ", "problem  trust ", "models.yml:1: providers.x.baseUrl", `dap.json:1: unknown field "comand"`,
	} {
		if strings.Count(string(out), want) != 1 {
			t.Errorf("%q is there %d times in\n%s", want, strings.Count(string(out), want), out)
		}
	}
	if cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit %d", cmd.ProcessState.ExitCode())
	}
}
