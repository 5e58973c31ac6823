package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// fakeLanguages returns the user's configuration of the fake server, outside the sandbox, which does not have the program; more has further
// members of the server.
func fakeLanguages(t *testing.T, manner string, more ...string) map[string]string {
	return map[string]string{".gjc/agent/lsp.json": languageConfig(t, manner, more...)}
}

func languageConfig(t *testing.T, manner string, more ...string) string {
	t.Helper()
	command, err := json.Marshal(self(t))
	if err != nil {
		t.Fatal(err)
	}
	return `{"servers": {"fake": {"command": ` + string(command) + `, "args": ["` + fakeLanguageServer + `", "` + manner +
		`"], "fileTypes": [".txt"], "rootMarkers": ["root.mark"], "sandbox": false` + strings.Join(append([]string{""}, more...), ", ") + `}}}`
}

// mark makes the directory of a host a project of the fake server.
func (h *languageHost) mark() *languageHost {
	writeFile(h.t, filepath.Join(h.work, "root.mark"), "")
	return h
}

func TestLanguages_AfterChanges(t *testing.T) {
	t.Parallel()
	h := startLanguages(t, fakeLanguages(t, "good")).mark()
	id := h.open()
	h.ask(t, id, `!write a.txt fine\nBUG`, languageAsk{want: []string{"a.txt: 1 error (1 new)", "2:1 [error] [new] [fake] a bug"}})
	h.ask(t, id, `!edit a.txt fine => fine BUG`, languageAsk{want: []string{"a.txt: 2 errors (1 new)", "1:6 [error] [new]", "2:1 [error] [fake]"}})
	h.ask(t, id, `!write a.txt fine`, languageAsk{want: []string{"a.txt: no problems (fake)"}})
	if call := h.ask(t, id, "!write a.md BUG", languageAsk{}); strings.Contains(call.Text, "fake") {
		t.Errorf("a file that no server is for: %s", call.Text)
	}
	// The model receives the same text as the user, and can go to the places in it.
	h.Open(filepath.Join(h.work, "b.txt"), "one\n")
	h.ask(t, id, `!edit b.txt one => BUG`, languageAsk{want: []string{"b.txt: 1 error (1 new)"}})
	if o := h.prompt(id, "/lsp"); !strings.Contains(o.words, "**fake** ready (fake 7; pid") {
		t.Errorf("/lsp: %s", o.words)
	}
	var places []acp.ToolCallLocation
	for _, u := range h.Updates(id) {
		if u, ok := u.(*acp.ToolCallUpdate); ok {
			if list, ok := u.Locations.Get(); ok {
				places = list
			}
		}
	}
	if len(places) == 0 || places[0].Path != filepath.Join(h.work, "b.txt") || places[len(places)-1].Line == nil {
		t.Errorf("the editor can not follow: %+v", places)
	}
	h.stop()
}

func TestLanguages_Settings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, config string
		args         []string
		write, edit  string // required parts of the results; a leading minus excludes one
	}{
		{"format", "lsp: {formatOnWrite: true}", nil, "no problems", "no problems"},
		{"no diagnostics on edit", "lsp: {diagnosticsOnEdit: false}", nil, "no problems", "-no problems"},
		{"no diagnostics on write", "lsp: {diagnosticsOnWrite: false}", nil, "-no problems", "no problems"},
		{"off by the configuration", "lsp: {enabled: false}", nil, "-no problems", "-no problems"},
		{"off by the flag", "", []string{"--no-lsp"}, "-no problems", "-no problems"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := fakeLanguages(t, "good")
			files[".gjc/agent/config.yml"] = tt.config
			h := startLanguagesWith(t, files, tt.args).mark()
			id := h.open()
			for prompt, want := range map[string]string{"!write a.txt one  \\ntwo": tt.write, "!write b.txt one": tt.write} {
				h.has(t, h.ask(t, id, prompt, languageAsk{}).Text, want, want[0] == '-')
			}
			h.has(t, h.ask(t, id, "!edit a.txt two => three", languageAsk{}).Text, tt.edit, tt.edit[0] == '-')
			data, err := os.ReadFile(filepath.Join(h.work, "a.txt"))
			if want := map[bool]string{true: "one\nthree", false: "one  \nthree"}[tt.name == "format"]; err != nil || string(data) != want {
				t.Errorf("the file has %q", data)
			}
			if strings.HasPrefix(tt.name, "off") {
				if o := h.prompt(id, "!lsp status"); len(o.calls) > 0 || !strings.Contains(o.words, "no tool called lsp") {
					t.Errorf("the tool is offered: %+v", o)
				}
				if o := h.prompt(id, "/lsp"); !strings.Contains(o.words, "switched off") {
					t.Errorf("/lsp: %s", o.words)
				}
			}
			h.stop()
		})
	}
}

func (h *languageHost) has(t *testing.T, text, part string, not bool) {
	t.Helper()
	part = strings.TrimPrefix(part, "-")
	if strings.Contains(text, part) == not {
		t.Errorf("%q in %q: %v", part, text, !not)
	}
}

// Helper agents have no language servers, unless the user enables them; their parent's servers know their changes.
func TestLanguages_Subagents(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		files := fakeLanguages(t, "good")
		if on {
			files[".gjc/agent/config.yml"] = "task: {enableLsp: true}"
		}
		h := startLanguagesWith(t, files, nil).mark()
		id := h.open()
		o := h.prompt(id, `!task !write a.txt BUG`)
		reported := false
		for _, c := range o.calls {
			reported = reported || strings.Contains(c.Text, "a bug")
		}
		if reported != on {
			t.Errorf("with task.enableLsp %v the child got it: %v; %+v", on, reported, o)
		}
		h.ask(t, id, "!lsp diagnostics a.txt", languageAsk{want: []string{"a bug"}})
		h.stop()
	}
}

// Late reports of a server go to the model and the user with the next step.
func TestLanguages_Late(t *testing.T) {
	t.Parallel()
	h := startLanguages(t, fakeLanguages(t, "silent")).mark()
	id := h.open()
	h.ask(t, id, "!write a.txt BUG", languageAsk{want: []string{"fake has not answered in time"}})
	h.ask(t, id, "!write b.txt SPEAK", languageAsk{want: []string{"b.txt: no problems"}})
	for {
		o := h.prompt(id, "!read a.txt")
		if t.Failed() || h.ctx.Err() != nil {
			t.Fatal("nothing comes")
		}
		_ = o
		if acptest.Update(func(n *acp.Notice) bool {
			return n.Title == "Diagnostics of an earlier change" && strings.Contains(n.Description, "1:1 [error] [new] [fake] a bug")
		})(h.Updates(id), nil) {
			break
		}
	}
	h.stop()
	var log strings.Builder
	paths, _ := filepath.Glob(filepath.Join(h.home, ".gjc", "agent", "sessions", "*", "*.jsonl"))
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		log.WriteString(string(data))
	}
	if !strings.Contains(log.String(), "Late diagnostics of an earlier change") {
		t.Error("the model is not notified")
	}
}

// Two sessions of one directory share one process, and leave none.
func TestLanguages_Shared(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	h := startLanguages(t, fakeLanguages(t, "good"), mark).mark()
	one, two := h.open(), h.open()
	h.ask(t, one, "!write a.txt BUG", languageAsk{want: []string{"1 error"}})
	h.ask(t, two, "!write b.txt BUG", languageAsk{want: []string{"1 error"}})
	first, second := pidPattern.FindString(h.prompt(one, "/lsp").words), pidPattern.FindString(h.prompt(two, "/lsp").words)
	if first == "" || first != second {
		t.Errorf("the sessions use %q and %q", first, second)
	}
	h.close(one)
	h.ask(t, two, "!edit b.txt BUG => fine", languageAsk{want: []string{"no problems"}})
	if now := pidPattern.FindString(h.prompt(two, "/lsp").words); now != second {
		t.Errorf("the end of one session changed the other's server: %q, %q", second, now)
	}
	if o := h.prompt(two, "/lsp restart"); !strings.Contains(o.words, "fake was restarted") {
		t.Errorf("/lsp restart: %s", o.words)
	}
	if now := pidPattern.FindString(h.prompt(two, "/lsp").words); now == second || now == "" {
		t.Errorf("after /lsp restart: %q", now)
	}
	h.stop()
	wantNoneLeft(t, mark)
}

// Servers that hang or do not end delay nothing: not a session's start, not its work, not the process's end.
func TestLanguages_ServersThatHang(t *testing.T) {
	t.Parallel()
	for _, manner := range []string{"hang", "stubborn"} {
		t.Run(manner, func(t *testing.T) {
			t.Parallel()
			mark := markOf(t)
			h := startLanguages(t, fakeLanguages(t, manner, `"warmupTimeoutMs": 60000`), mark).mark()
			id := h.open()
			want := "no problems"
			if manner == "hang" {
				want = "fake has not answered in time"
			}
			h.ask(t, id, "!write a.txt fine", languageAsk{want: []string{want}})
			h.alive(id)
			h.stop()
			wantNoneLeft(t, mark)
		})
	}
}

// A question about a project that names a program is asked once, and the answer is kept as long as the project's files
// stay the same.
func TestLanguages_Trust(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	var titles []string
	answer := acp.PermissionOptionID("reject_once")
	begin := func(work string) (*languageHost, acp.SessionID) {
		h := startLanguagesAt(t, home, nil, func(p *acp.RequestPermissionRequest) acp.PermissionOptionID {
			if p.ToolCall.Kind.Or("") == acp.ToolKindExecute {
				return "allow_once" // a command of the test's own
			}
			titles = append(titles, p.ToolCall.Title.Or(""))
			text, _ := json.Marshal(p)
			if !strings.Contains(string(text), fakeLanguageServer) {
				t.Errorf("the question does not say what would run: %s", text)
			}
			return answer
		})
		if work != "" {
			h.work = work
		}
		return h, h.open()
	}
	const question = "Trust this workspace to start its own language servers?"
	asked := func(want int) {
		t.Helper()
		if len(titles) != want || want > 0 && titles[want-1] != question {
			t.Fatalf("asked %q, want %d questions", titles, want)
		}
	}
	h, id := begin("")
	h.mark()
	work := h.work
	config := filepath.Join(work, ".gjc", "lsp.json")
	writeFile(t, config, languageConfig(t, "good"))
	h.ask(t, id, "!read root.mark", languageAsk{})
	h.ask(t, id, "!write a.md BUG", languageAsk{})
	asked(0) // nothing would be started for these
	if call := h.ask(t, id, "!write a.txt BUG", languageAsk{}); strings.Contains(call.Text, "a bug") {
		t.Errorf("a server that was refused runs: %s", call.Text)
	}
	asked(1)
	h.ask(t, id, "!write a.txt BUG BUG", languageAsk{})
	asked(1) // once for each session
	if o := h.prompt(id, "/lsp"); !strings.Contains(o.words, "gjc trust") {
		t.Errorf("/lsp does not say how to trust: %s", o.words)
	}
	h.stop()
	answer = "allow_always"
	h, id = begin(work)
	h.ask(t, id, "!write a.txt BUG", languageAsk{want: []string{"a bug"}})
	asked(2)
	h.stop()
	h, id = begin(work)
	h.ask(t, id, "!edit a.txt BUG => a BUG", languageAsk{want: []string{"a bug"}})
	asked(2) // kept
	list := exec.CommandContext(t.Context(), self(t), "trust")
	list.Env = environment(home)
	if out, err := list.Output(); err != nil || !strings.Contains(string(out), work) {
		t.Errorf("gjc trust: %s, %v", out, err)
	}
	// Changed content is a new question; here it comes in the middle of a session.
	writeFile(t, config, languageConfig(t, "good", `"settings": {"a": 1}`))
	answer = "reject_always"
	h.prompt(id, "!bash true") // the check after a command finds the change
	for n := 0; len(titles) < 3 && h.ctx.Err() == nil; n++ {
		h.ask(t, id, fmt.Sprintf("!write a.txt BUG %d", n), languageAsk{})
	}
	asked(3)
	h.stop()
	h, id = begin(work)
	h.ask(t, id, "!write c.txt BUG", languageAsk{})
	asked(3)
	revoke := exec.CommandContext(t.Context(), self(t), "trust", "revoke", work)
	revoke.Env = environment(home)
	if out, err := revoke.CombinedOutput(); err != nil {
		t.Errorf("gjc trust revoke: %s, %v", out, err)
	}
	answer = "allow_once"
	h.ask(t, id, "!write c.txt BUG BUG", languageAsk{want: []string{"a bug"}})
	asked(4)
	h.stop()
}

// Mistakes of configuration files are reported with their lines, and their valid parts apply.
func TestLanguages_BadConfiguration(t *testing.T) {
	t.Parallel()
	files := fakeLanguages(t, "loud", "\n"+`"fileTyps": [".x"]`)
	files[".gjc/agent/lsp.yaml"] = "servers:\n  gopls:\n    args: 7\n"
	h := startLanguages(t, files).mark()
	id := h.open()
	h.ask(t, id, "!write a.txt BUG", languageAsk{want: []string{"a bug"}})
	o := h.prompt(id, "/lsp")
	for _, want := range []string{"lsp.json:2", "fileTyps", `did you mean "fileTypes"`, "lsp.yaml:3", "args"} {
		if !strings.Contains(o.words, want) {
			t.Errorf("no %q in %s", want, o.words)
		}
	}
	if o := h.prompt(id, "/lsp log fake"); !strings.Contains(o.words, "the fake server was here") {
		t.Errorf("/lsp log: %s", o.words)
	}
	if o := h.prompt(id, "/lsp log nobody"); !strings.Contains(o.words, `No language server "nobody"`) {
		t.Errorf("/lsp log nobody: %s", o.words)
	}
	h.stop()
}

// Removing a workspace ends nothing.
func TestLanguages_WorkspaceThatVanishes(t *testing.T) {
	t.Parallel()
	h := startLanguages(t, fakeLanguages(t, "good")).mark()
	id := h.open()
	h.ask(t, id, "!write a.txt BUG", languageAsk{want: []string{"a bug"}})
	if err := os.Remove(filepath.Join(h.work, "a.txt")); err != nil {
		t.Fatal(err)
	}
	h.ask(t, id, "!lsp diagnostics a.txt", languageAsk{fails: true, want: []string{"a.txt"}})
	if err := os.RemoveAll(h.work); err != nil {
		t.Fatal(err)
	}
	h.ask(t, id, "!lsp diagnostics a.txt", languageAsk{fails: true})
	h.prompt(id, "!lsp status")
	h.alive(id)
	h.stop()
}

// Read-only files are analysed too; actions that would change them fail and change nothing.
func TestLanguages_ReadOnly(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	for name, text := range fakeLanguages(t, "good") {
		writeFile(t, filepath.Join(home, filepath.FromSlash(name)), text)
	}
	// Without the editor's files gjc writes itself.
	h := startLanguagesFor(t, &acp.ClientCapabilities{}, home, nil, func(*acp.RequestPermissionRequest) acp.PermissionOptionID { return "allow_once" }).mark()
	const text = "BUG  \n"
	path := filepath.Join(h.work, "a.txt")
	writeFile(t, path, text)
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	id := h.open()
	h.ask(t, id, "!lsp diagnostics a.txt", languageAsk{want: []string{"a bug"}})
	for _, prompt := range []string{"!edit a.txt BUG => fine", "!write a.txt fine", "!lsp format a.txt"} {
		h.ask(t, id, prompt, languageAsk{fails: true, want: []string{"a.txt", "permission denied"}})
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != text {
		t.Errorf("the file has %q, %v", data, err)
	}
	h.alive(id)
	h.stop()
}

func startLanguagesWith(t *testing.T, files map[string]string, args []string, env ...string) *languageHost {
	t.Helper()
	home := tempDir(t)
	for name, text := range files {
		writeFile(t, filepath.Join(home, filepath.FromSlash(name)), text)
	}
	return startLanguagesAt(t, home, args, func(*acp.RequestPermissionRequest) acp.PermissionOptionID { return "allow_once" }, env...)
}

// startLanguagesAt starts gjc with a home directory, possibly of an earlier gjc.
func startLanguagesAt(t *testing.T, home string, args []string, answer func(*acp.RequestPermissionRequest) acp.PermissionOptionID, env ...string) *languageHost {
	t.Helper()
	capabilities := acptest.AllCapabilities()
	capabilities.Terminal = false
	return startLanguagesFor(t, capabilities, home, args, answer, env...)
}

func startLanguagesFor(t *testing.T, capabilities *acp.ClientCapabilities, home string, args []string, answer func(*acp.RequestPermissionRequest) acp.PermissionOptionID, env ...string) *languageHost {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*hang, errors.New("the session hangs"))
	t.Cleanup(cancel)
	h := &languageHost{&mcpHost{home: home, scenario: &scenario{t: t, ctx: ctx, check: newWireCheck(t), work: tempDir(t)}}}
	env = append(env, "SHLVL=1") // gjc uses PATH unchanged, without that of a login shell
	var err error
	h.Agent, err = acptest.Start(ctx, acptest.ProcessOptions{Path: self(t), Args: append([]string{"acp"}, args...), Dir: home, Env: environment(home, env...)}, acptest.EditorOptions{
		Capabilities: capabilities, Trace: h.check.trace,
		Permission: func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			return acptest.Choose(answer(p)), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Process.Kill()
		_ = h.Close()
		if t.Failed() {
			t.Logf("stderr: %s", h.Process.Stderr())
		}
	})
	if _, err := h.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	return h
}
