package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers/providertest"
)

// chosenModel returns the current value of the option model.
func chosenModel(options []acp.SessionConfigOption) string {
	for _, o := range options {
		if sel, ok := o.Kind.(*acp.SessionConfigSelect); ok && o.ID == "model" {
			return string(sel.CurrentValue)
		}
	}
	return ""
}

// chosen returns an expectation that an update of the options meets if the model is the current one.
func chosen(model string) acptest.Expectation {
	return acptest.Update(func(u *acp.ConfigOptionUpdate) bool { return chosenModel(u.ConfigOptions) == model })
}

// new begins a session and returns its model.
func (l *life) new() string {
	l.t.Helper()
	resp := must(l.scenario, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: l.work})
	l.id = resp.SessionID
	return chosenModel(resp.ConfigOptions)
}

// Changes by gjc login, gjc logout and edits of models.yml apply to the running agent, from the next prompt on. A
// session that began without a model continues with the first available one.
func TestModels_ChangedMeanwhile(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer(providertest.Step{providertest.Text("with a key")}, providertest.Step{providertest.Text("as another")})
	t.Cleanup(model.Close)
	home := tempDir(t)
	file := filepath.Join(agentDir(home), "models.yml")
	const text = "providers:\n  corp: {api: openai-completions, baseUrl: %s, auth: apiKey, models: [{id: %s}]}\n"
	writeFile(t, file, fmt.Sprintf(text, model.OpenAIURL(), "m"))
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), quick)
	l := startLife(t, lifeOptions{home: home})
	if got := l.new(); got != "offline/demo" {
		t.Fatalf("without a key the model is %s", got)
	}
	terminal := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), self(t), args...)
		cmd.Dir, cmd.Env, cmd.Stdin = home, environment(home), strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	providersOf := func() int {
		t.Helper()
		return len(must(l.scenario, acp.MethodAuthStatus, &acp.AuthStatusRequest{}).Accounts)
	}
	before := providersOf()
	terminal("k-of-corp-1234567\n", "login", "corp")
	if got := providersOf(); got != before+1 {
		t.Errorf("after a login there are %d accounts, before %d", got, before)
	}
	if got := l.turn("go"); !strings.Contains(got, "with a key") {
		t.Errorf("after a login: %q", got)
	}
	if err := l.Await(l.ctx, l.id, chosen("corp/m")); err != nil {
		t.Error(err)
	}
	if got := l.new(); got != "corp/m" {
		t.Errorf("a new session has %s", got)
	}
	writeFile(t, file, fmt.Sprintf(text, model.OpenAIURL(), "other"))
	if got := l.new(); got != "corp/other" {
		t.Errorf("after an edit of models.yml a new session has %s", got)
	}
	if got := l.turn("go"); !strings.Contains(got, "as another") {
		t.Errorf("after an edit: %q", got)
	}
	terminal("", "logout", "corp")
	if _, err := l.Prompt(l.ctx, l.id, "go"); err == nil || !strings.Contains(err.Error(), "gjc login corp") {
		t.Errorf("after a logout: %v", err)
	}
	if n := len(model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	l.stop()
}

// A model that gjc must ask for can be named before its server has been asked, and the first session of a user without
// another model changes to it.
func TestModels_FoundMeanwhile(t *testing.T) {
	t.Parallel()
	tt := localModels[1]
	start := func(args ...string) (*life, *machine) {
		m := startMachine(t, tt.lists)
		home := tempDir(t)
		writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf(tt.file, m.URL))
		writeFile(t, filepath.Join(agentDir(home), "config.yml"), noTitles)
		return startLife(t, lifeOptions{home: home, args: args}), m
	}
	named, m := start("--model", tt.ref)
	m.tells.Open()
	if got := named.new(); got != tt.ref {
		t.Errorf("the model is %s", got)
	}
	named.stop()

	unnamed, m := start()
	if got := unnamed.new(); got != "offline/demo" {
		t.Errorf("before any is found the model is %s", got)
	}
	m.tells.Open()
	if err := unnamed.Await(unnamed.ctx, unnamed.id, chosen(tt.ref)); err != nil {
		t.Error(err)
	}
	unnamed.stop()

	// The offline model stays if it was named explicitly.
	demo, m := start("--model", "offline/demo")
	demo.new()
	m.tells.Open()
	if err := demo.Await(demo.ctx, demo.id, offered(tt.ref)); err != nil {
		t.Fatal(err)
	}
	if got := demo.new(); got != "offline/demo" {
		t.Errorf("the model is %s", got)
	}
	demo.stop()
}

// A loaded session continues with its own model, not with the command line's. If that no longer exists, a similar name
// does not replace it: the session continues with the default, and reports that.
func TestModels_OfALoadedSession(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer()
	t.Cleanup(model.Close)
	model.Else(func(providertest.Recorded) providertest.Step { return providertest.Step{providertest.Text("ok")} })
	home := tempDir(t)
	provider := func(name, id string) string {
		return fmt.Sprintf("  %s: {api: openai-completions, baseUrl: %s, auth: none, models: [{id: %s}]}\n", name, model.OpenAIURL(), id)
	}
	others := "providers:\n" + provider("gptp-like", "m") + provider("third", "x")
	write := func(text string) { writeFile(t, filepath.Join(agentDir(home), "models.yml"), text) }
	write(others + provider("p", "m"))
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), quick+"modelRoles: {default: third/x}\n")
	l := startLife(t, lifeOptions{home: home})
	l.new()
	l.option("model", "p/m")
	l.turn("go")
	id := l.id
	l.stop()

	l = startLife(t, lifeOptions{home: home, work: l.work, args: []string{"--model", "gptp-like/m"}})
	if resp, _ := l.load(id); chosenModel(resp.ConfigOptions) != "p/m" {
		t.Errorf("with another model on the command line it has %s", chosenModel(resp.ConfigOptions))
	}
	l.stop()

	write(others)
	l = startLife(t, lifeOptions{home: home, work: l.work})
	resp, _ := l.load(id)
	l.turn("go") // updates about the session come before that
	updates := string(bytes.Join(l.since(0), []byte("\n")))
	if chosenModel(resp.ConfigOptions) != "third/x" || !strings.Contains(updates, "p/m no longer exists; the session continues with third/x") {
		t.Errorf("without its model it has %s\n%s", chosenModel(resp.ConfigOptions), updates)
	}
	l.stop()
}

// Models that are disabled or listed for a directory are disabled or listed only there, in the editor's list and for the first
// model.
func TestModels_OfADirectory(t *testing.T) {
	t.Parallel()
	home, work := tempDir(t), tempDir(t)
	var file strings.Builder
	file.WriteString("providers:\n")
	for _, name := range []string{"aaa", "bbb", "ccc"} {
		file.WriteString("  " + name + ": {api: openai-completions, baseUrl: 'http://127.0.0.1:1/v1', auth: none, models: [{id: m-" + name + "}]}\n")
	}
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), file.String())
	for _, role := range []string{"", "modelRoles: {default: aaa/m-aaa}\n"} {
		writeFile(t, filepath.Join(agentDir(home), "config.yml"), noTitles+role+"disabledProviders:\n- {path: '"+work+"', providers: [aaa]}\n"+
			"enabledModels:\n- {path: '"+work+"', models: ['*/m-aaa', '*/m-ccc']}\n")
		l := startLife(t, lifeOptions{home: home, work: work})
		there := must(l.scenario, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: work}).ConfigOptions
		if got := chosenModel(there); got != "ccc/m-ccc" || listsModel(there, "aaa/m-aaa") || listsModel(there, "bbb/m-bbb") || !listsModel(there, "ccc/m-ccc") {
			t.Errorf("%q: in the directory the model is %s of %+v", role, got, there)
		}
		elsewhere := must(l.scenario, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: home}).ConfigOptions
		if got := chosenModel(elsewhere); got != "aaa/m-aaa" || !listsModel(elsewhere, "bbb/m-bbb") {
			t.Errorf("%q: elsewhere the model is %s", role, got)
		}
		l.stop()
	}
}
