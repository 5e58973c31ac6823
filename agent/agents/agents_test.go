package agents_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/agents"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// put writes a file and creates its directories.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func front(fields, body string) string { return "---\n" + fields + "\n---\n" + body }

func names(helpers []agent.Helper) string {
	var all []string
	for _, h := range helpers {
		all = append(all, h.Name)
	}
	return strings.Join(all, " ")
}

// The built-in agents work without configuration. Those that only read are in plan mode, or have no tool for changes.
func TestBuiltin(t *testing.T) {
	l := agents.New(agents.Options{Report: func(p userfiles.Problem) { t.Error(p) }})
	helpers := l.Helpers(t.Context())
	if got := names(helpers); got != "executor quick explorer librarian architect planner designer critic reviewer adviser" {
		t.Fatalf("there are %s", got)
	}
	for _, h := range helpers {
		changes := h.Name == "executor" || h.Name == "quick" || h.Name == "designer"
		if reads := h.ReadOnly || h.Tools != nil && !slices.Contains(h.Tools, "edit"); reads == changes || changes == strings.HasSuffix(h.Description, "Changes nothing.") {
			t.Errorf("%s: %+v", h.Name, h)
		}
		if (len(h.Spawns) > 0) != (h.Name == "executor") || (h.Output != nil) != (h.Name == "reviewer") || h.Description == "" || len(h.Prompt) < 200 {
			t.Errorf("%s: %+v", h.Name, h)
		}
	}
}

// The first location takes precedence: the workspace, the user, other programs, the built-in agents. A disabled name is removed.
func TestPlaces(t *testing.T) {
	project, user, home := t.TempDir(), t.TempDir(), t.TempDir()
	say := func(path, name, what string) { put(t, path, front("name: "+name+"\ndescription: "+what, "do")) }
	say(filepath.Join(user, "agents", "a.md"), "planner", "the user's")
	say(filepath.Join(user, "agents", "b.md"), "both", "the user's")
	say(filepath.Join(project, ".gjc", "agents", "b.md"), "both", "the project's")
	say(filepath.Join(project, ".claude", "agents", "b.md"), "both", "another's")
	put(t, filepath.Join(project, ".claude", "agents", "c.md"), front("name: theirs\ndescription: use it: often, and <b>always</b>: yes\ntools: Read, Grep, mcp__x_y, Task\nmodel: sonnet\ncolor: red", "do"))
	say(filepath.Join(home, ".gemini", "agents", "d.md"), "gem", "another's")
	put(t, filepath.Join(project, ".gjc", "agents", "off.md"), front("name: critic\ndisabled: true", ""))
	put(t, filepath.Join(project, ".gjc", "agents", "notes.txt"), "no agent")
	put(t, filepath.Join(project, ".claude", "agents", "broken.md"), "no agent either")
	l := agents.New(agents.Options{UserDir: user, ProjectDirs: []string{project}, Home: home, Report: func(p userfiles.Problem) { t.Error(p) }})
	helpers := l.Helpers(t.Context())
	if got := names(helpers); got != "both planner theirs gem executor quick explorer librarian architect designer reviewer adviser" {
		t.Fatalf("there are %s", got)
	}
	if helpers[0].Description != "the project's" || helpers[1].Description != "the user's" {
		t.Errorf("%+v", helpers[:2])
	}
	want := agent.Helper{
		Name: "theirs", Description: "use it: often, and <b>always</b>: yes", Prompt: "do", Tools: []string{"read", "search", "mcp__x_y"}, Spawns: []string{"*"},
	}
	if d := cmp.Diff(want, helpers[2]); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A file may set all fields.
func TestFields(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "agents", "x.md"), "\ufeff"+strings.ReplaceAll(front(`name: "x-1"
description: >
  looks
  around
tools: [read, "mcp__db_*", task]
model: gjc/slow, gjc/smol:low
thinking: high
spawns: executor, critic
output:
  type: object
  required: [found]
isolation: worktree
readOnly: true`, "\nYou look.\n\n---\nMore.\n"), "\n", "\r\n"))
	l := agents.New(agents.Options{UserDir: dir, Report: func(p userfiles.Problem) { t.Error(p) }})
	want := agent.Helper{
		Name: "x-1", Description: "looks around", Prompt: "You look.\n\n---\nMore.", Tools: []string{"read", "mcp__db_*"},
		Models: []string{"gjc/slow", "gjc/smol:low"}, Thinking: "high", Spawns: []string{"executor", "critic"}, ReadOnly: true, Isolated: true,
		Output: jsonx.Raw(`{"type":"object","required":["found"]}`),
	}
	if d := cmp.Diff(want, l.Helpers(t.Context())[0]); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A mistake in a file is reported once, with its line, and does not affect other files.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		counts           bool
	}{
		{"output", front("name: x\ndescription: d\noutput: {type: 1}", "x"), `:4: output: is no valid JSON Schema`, false},
		{"output as text", front("name: x\ndescription: d\noutput: a list", "x"), `:4: output: must be a JSON Schema`, false},
		{"blocking", front("name: x\ndescription: d\nblocking: true", "x"), `:4: blocking: the caller waits for every helper`, true},
		{"no front matter", "You do it.", `:1: must begin with front matter`, false},
		{"not closed", "---\nname: x\n", `:1: must begin with front matter`, false},
		{"empty", "", `:1: must begin`, false},
		{"no mapping", front("- a\n- b", "x"), `:1: the front matter must be lines like name: value`, false},
		{"no YAML", front("name: x\ndescription: a: b", "x"), `:3: the front matter cannot be read`, false},
		{"no name", front("description: d", "x"), `:1: name: invalid name ""`, false},
		{"bad name", front("name: ../x\ndescription: d", "x"), `name: invalid name "../x"`, false},
		{"long name", front("name: "+strings.Repeat("x", 49)+"\ndescription: d", "x"), `invalid name`, false},
		{"no description", front("name: x", "x"), `description: say in one sentence`, false},
		{"no text", front("name: x\ndescription: d", " \n"), `no text after the front matter`, false},
		{"tools", front("name: x\ndescription: d\ntools: {a: b}", "x"), `:4: tools: must be a list of names`, false},
		{"tools of numbers", front("name: x\ndescription: d\ntools: [[a]]", "x"), `:4: tools: must be a list of names`, false},
		{"empty tool", front("name: x\ndescription: d\ntools: a,,b", "x"), `:4: tools: must be a list without empty names`, false},
		{"thinking", front("name: x\ndescription: d\nthinking: much", "x"), `:4: thinking: unknown level "much"`, false},
		{"readOnly", front("name: x\ndescription: d\nreadOnly: maybe", "x"), `:4: readOnly: must be true or false`, false},
		{"isolation", front("name: x\ndescription: d\nisolation: vm", "x"), `:4: isolation: unknown value "vm"; use worktree or none`, false},
		{"misspelled", front("name: x\ndescription: d\ntool: read", "x"), `:4: unknown field "tool"; did you mean "tools"?`, true},
		{"unknown", front("name: x\ndescription: d\nfavourite: read", "x"), `:4: unknown field "favourite"; it is ignored`, true},
		{"not text", front("name: x\ndescription: d", "\xff"), `is neither UTF-8 nor UTF-16 text`, false},
		{"large", front("name: x\ndescription: d", strings.Repeat("x", 70_000)), `is larger than 64 KiB`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "agents", "a.md"), tt.text)
			put(t, filepath.Join(dir, "agents", "b.md"), front("name: other\ndescription: d", "x"))
			var reported []string
			l := agents.New(agents.Options{UserDir: dir, Report: func(p userfiles.Problem) { reported = append(reported, p.String()) }})
			for range 2 {
				helpers := l.Helpers(t.Context())
				if got := strings.HasPrefix(names(helpers), "x other"); got != tt.counts || !strings.Contains(names(helpers), "other") {
					t.Errorf("there are %s", names(helpers))
				}
				put(t, filepath.Join(dir, "agents", "c.md"), front("name: third\ndescription: d", "x")) // forces a reload
			}
			if len(reported) != 1 || !strings.HasPrefix(reported[0], filepath.Join(dir, "agents", "a.md")) || !strings.Contains(reported[0], tt.want) {
				t.Errorf("reported %q, want %q", reported, tt.want)
			}
		})
	}
}

// Changed, new and deleted files take effect immediately.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".gjc", "agents", "a.md")
	l := agents.New(agents.Options{ProjectDirs: []string{dir}, Report: func(p userfiles.Problem) { t.Error(p) }})
	first := func(want string) {
		t.Helper()
		if h := l.Helpers(t.Context())[0]; h.Name+" "+h.Prompt != want {
			t.Errorf("the first is %s %q, want %s", h.Name, h.Prompt, want)
		}
	}
	if h := l.Helpers(t.Context())[0]; h.Name != "executor" {
		t.Errorf("the first is %s", h.Name)
	}
	put(t, file, front("name: a\ndescription: d", "one"))
	first("a one")
	put(t, file, front("name: a\ndescription: d", "other"))
	at := time.Now().Add(time.Hour)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	first("a other")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if h := l.Helpers(t.Context())[0]; h.Name != "executor" {
		t.Errorf("the first is %s", h.Name)
	}
}

// A link out of the workspace is not followed; the user's own links may lead anywhere.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links takes a privilege there")
	}
	outside, project, user := t.TempDir(), t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret.md")
	put(t, secret, front("name: secret\ndescription: d", "x"))
	for _, dir := range []string{filepath.Join(project, ".gjc", "agents"), filepath.Join(user, "agents")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(secret, filepath.Join(dir, "a.md")); err != nil {
			t.Fatal(err)
		}
	}
	reported := 0
	l := agents.New(agents.Options{ProjectDirs: []string{project}, Report: func(userfiles.Problem) { reported++ }})
	if got := names(l.Helpers(t.Context())); strings.Contains(got, "secret") || reported != 1 {
		t.Errorf("there are %s, reported %d times", got, reported)
	}
	l = agents.New(agents.Options{UserDir: user})
	if got := names(l.Helpers(t.Context())); !strings.Contains(got, "secret") {
		t.Errorf("there are %s", got)
	}
}

// The directories above a root are searched up to the top of its repository, nearest first.
func TestHelpers_Above(t *testing.T) {
	top := t.TempDir()
	sub := filepath.Join(top, "repo", "sub")
	put(t, filepath.Join(top, "repo", ".git", "HEAD"), "x")
	for path, what := range map[string]string{
		filepath.Join(top, "repo", ".gjc"): "top", filepath.Join(sub, ".gjc"): "near", filepath.Join(top, ".gjc"): "outside",
	} {
		put(t, filepath.Join(path, "agents", "both.md"), "---\nname: both\ndescription: "+what+"\n---\nx")
		put(t, filepath.Join(path, "agents", what+".md"), "---\nname: "+what+"\ndescription: d\n---\nx")
	}
	put(t, filepath.Join(top, "repo", ".agents", "agents", "theirs.md"), "---\nname: theirs\ndescription: d\n---\nx")
	var got []string
	for _, h := range agents.New(agents.Options{ProjectDirs: []string{sub}}).Helpers(t.Context()) {
		got = append(got, h.Name+" "+h.Description)
	}
	all := strings.Join(got, ", ")
	for _, want := range []string{"both near", "near d", "top d", "theirs d"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in %s", want, all)
		}
	}
	if strings.Contains(all, "outside") {
		t.Errorf("a helper outside of the repository: %s", all)
	}
}

// Helpers of other programs are converted: names, tools, models, and what forbids changes.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".claude/agents/plan.md":            front("name: Plan It\ndescription: d\ntools: Read, Bash(git *), Edit\nmodel: opus\ndisallowedTools: Write\nisolation: worktree\nhooks: {a: b}", "do"),
		".codex/agents/sec.toml":            "name = \"sec\"\ndescription = \"checks\"\ndeveloper_instructions = \"\"\"\nLook.\n\"\"\"\nmodel = \"gpt-5-mini\"\nmodel_reasoning_effort = \"high\"\nsandbox_mode = \"read-only\"\n[mcp_servers.x]\ncommand = \"y\"\n",
		".codex/agents/bad.toml":            "name = ",
		".opencode/agent/tester.md":         front("description: tests\nmode: subagent\nmodel: anthropic/claude-x\ntools:\n  write: false\n  bash: true", "test"),
		".opencode/agents/main.md":          front("description: talks\nmode: primary", "talk"),
		".opencode/agents/off.md":           front("description: off\ndisable: true", "x"),
		".cursor/agents/fast.md":            front("name: fast\ndescription: d\nmodel: fast\nreadonly: true\nis_background: true", "go"),
		".github/agents/docs.agent.md":      front("description: writes\ntools: ['edit', 'search', 'x/*']\nhandoffs:\n  - label: a", "# Docs\nwrite"),
		".github/chatmodes/ask.chatmode.md": front("tools: ['codebase']", "# Ask them\nask"),
		".gemini/agents/g.md":               front("name: g\nkind: local\ndescription: d\ntools: [run_shell_command, '*']\nmodel: gemini-2.5-flash", "go"),
	} {
		put(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	l := agents.New(agents.Options{ProjectDirs: []string{dir}, Report: func(p userfiles.Problem) { t.Error(p) }})
	helpers := l.Helpers(t.Context())
	want := []agent.Helper{
		{Name: "Plan-It", Description: "d", Prompt: "do", Tools: []string{"read", "bash", "edit"}, Models: []string{"gjc/slow"}, ReadOnly: true, Isolated: true},
		{Name: "sec", Description: "checks", Prompt: "Look.", Models: []string{"gjc/smol"}, Thinking: "high", ReadOnly: true},
		{Name: "g", Description: "d", Prompt: "go", Models: []string{"gjc/smol"}},
		{Name: "tester", Description: "tests", Prompt: "test", Models: []string{"anthropic/claude-x"}, ReadOnly: true},
		{Name: "fast", Description: "d", Prompt: "go", Models: []string{"gjc/smol"}, ReadOnly: true},
		{Name: "docs", Description: "writes", Prompt: "# Docs\nwrite", Tools: []string{"edit", "write", "search", "find", "x/*"}},
		{Name: "ask", Description: "Ask them", Prompt: "# Ask them\nask", Tools: []string{"search", "find"}},
	}
	if d := cmp.Diff(want, helpers[:min(len(helpers), len(want))]); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	unused := make(map[string]string)
	for _, f := range l.Found(t.Context()) {
		if f.Why != "" {
			unused[filepath.Base(f.Path)] = f.Why
		}
	}
	if !strings.HasPrefix(unused["bad.toml"], "is not TOML") || !strings.HasPrefix(unused["main.md"], "mode: ") || unused["off.md"] != "turns the agent off" || len(unused) != 3 {
		t.Error(unused)
	}
}
