package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
)

// gjc config prints each setting with its value and source, and no secret.
func TestConfigCommand(t *testing.T) {
	t.Parallel()
	home, work := tempDir(t), tempDir(t)
	user, overlay, project := filepath.Join(agentDir(home), "config.yml"), filepath.Join(home, "more.yml"), filepath.Join(work, ".gjc", "config.yml")
	writeFile(t, user, `retry: {maxRetries: 5}
bash: {sandbox: on}
lsp: {formatOnWrite: true}
searxng: {endpoint: "https://u:SECRET@s.example/?key=SECRET", token: SECRET, basicPassword: SECRET}
network: {proxy: "http://u:SECRET@p.example:1"}
compaction: {remoteEndpoint: "https://u:SECRET@c.example/x?token=SECRET"}
permissions: {deny: [bash(rm)]}
`)
	writeFile(t, overlay, "retry: {maxRetries: 7}\n")
	writeFile(t, project, "modelRoles: {slow: a/b, plan: c/d}\npermissions:\n  ask: [edit]\nnetwork: {proxy: x}\n")
	run := func(args ...string) (string, string, int) {
		cmd := exec.CommandContext(t.Context(), self(t), append([]string{"config", "--config", overlay}, args...)...)
		cmd.Dir, cmd.Env = work, environment(home, "GJC_PLAN_MODEL=e/f", "GJC_NO_TITLE=1", "NO_PROXY=x.example", "OPENAI_API_KEY=SECRET")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // its exit code reports the mistake too
		if all := out.String() + errs.String(); strings.Contains(all, "SECRET") {
			t.Errorf("a secret is printed:\n%s", all)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	out, errs, code := run("--json", "--model", "x/y", "--mpreset", "mine", "--api-key", "SECRET", "--no-lsp")
	if code != 1 || errs != "" {
		t.Errorf("exit %d: %s", code, errs)
	}
	var got struct {
		Files    []readFile
		Settings []effective
		Mistakes []shownMistake
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []effective{
		{"agentDir", agentDir(home), "default", "", 0},
		{"apiKey", "(set)", "flag", "--api-key", 0},
		{"bash.sandbox", "require", "user file", user, 2},
		{"bash.sandboxNetwork", false, "default", "", 0},
		{"compaction.remoteEndpoint", "https://u:xxxxx@c.example/x?token=xxxxx", "user file", user, 6},
		{"lsp.enabled", false, "flag", "--no-lsp", 0},
		{"lsp.formatOnWrite", true, "user file", user, 3},
		{"modelProfile.default", "mine", "flag", "--mpreset", 0},
		{"modelRoles.default", "x/y", "flag", "--model", 0},
		{"modelRoles.plan", "e/f", "environment", "GJC_PLAN_MODEL", 0},
		{"modelRoles.slow", "a/b", "project file", project, 1},
		{"network.proxy", "http://u:xxxxx@p.example:1", "user file", user, 5},
		{"permissions.ask", "edit", "project file", project, 3},
		{"permissions.deny", "bash(rm)", "user file", user, 7},
		{"retry.maxRetries", 7.0, "flag", overlay, 1},
		{"retry.baseDelayMs", 2000.0, "default", "", 0},
		{"searxng.token", "(set)", "user file", user, 4},
		{"searxng.endpoint", "https://u:xxxxx@s.example/?key=xxxxx", "user file", user, 4},
		{"title.generate", false, "environment", "GJC_NO_TITLE", 0},
	} {
		found := 0
		for _, e := range got.Settings {
			if e.Name == want.Name {
				found++
				if d := cmp.Diff(want, e); d != "" {
					t.Errorf("%s (-want +got):\n%s", want.Name, d)
				}
			}
		}
		if found != 1 {
			t.Errorf("%s is there %d times", want.Name, found)
		}
	}
	if d := cmp.Diff([]readFile{{user, "user file", true}, {project, "project file", true}, {overlay, "flag", true}}, got.Files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if len(got.Mistakes) != 2 || got.Mistakes[0].Setting != "bash.sandbox" || got.Mistakes[1].Setting != "network.proxy" || got.Mistakes[1].Path != project || got.Mistakes[1].Line != 4 {
		t.Errorf("mistakes: %+v", got.Mistakes)
	}
	out, errs, code = run()
	if code != 1 || !strings.Contains(out, "retry.maxRetries") || !strings.Contains(out, "flag "+overlay+":1\n") || !strings.Contains(errs, user+":2: bash.sandbox: must be one of") {
		t.Errorf("exit %d:\n%s\n%s", code, out, errs)
	}
	// Every setting is listed.
	for name := range config.New().Values() {
		if !strings.Contains(out, name+" ") {
			t.Errorf("%s is missing", name)
		}
	}
}

// Without a mistake the exit status is 0.
func TestConfigCommand_Fine(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	cmd := exec.CommandContext(t.Context(), self(t), "config")
	cmd.Dir, cmd.Env = tempDir(t), environment(home)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "bash.sandbox") {
		t.Errorf("%v: %s", err, out)
	}
}
