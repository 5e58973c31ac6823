package server_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A command's prompt has its files and the output of its command lines. Those of the user's own files run; those of a workspace's run after
// the user has trusted the file, and only then.
func TestCommands_Templates(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command lines are for a POSIX shell")
	}
	var script *providertest.Script
	steps := make([]providertest.Step, 12)
	for i := range steps {
		steps[i] = providertest.Step{providertest.Text("ok")}
	}
	answer := "reject_once"
	questions := 0
	e := start(t, scripted(steps...), func(c *config) {
		script = c.server.Models.Models.(*models).list[0].(*providertest.Script)
		c.server.Sessions.UserDir, c.server.Sessions.Home = c.agent, c.agent
		c.server.Sessions.Trust = trust.Open(filepath.Join(c.agent, "trust.json"))
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			if !strings.HasPrefix(p.ToolCall.Title.Or(""), "Trust this workspace") {
				return acptest.Choose("allow_once"), nil
			}
			questions++
			return acptest.Choose(acp.PermissionOptionID(answer)), nil
		}
		put(t, filepath.Join(c.agent, "commands", "own.md"), "Sum: !`echo 3; echo $1`. See @notes.txt, @none.txt, @../out.txt and @.env; @sub.\n!`exit 3`")
	})
	put(t, filepath.Join(e.dir, "notes.txt"), "some notes")
	put(t, filepath.Join(e.dir, ".env"), "KEY=1")
	put(t, filepath.Join(e.dir, "sub", "x"), "x")
	put(t, filepath.Join(filepath.Dir(e.dir), "out.txt"), "outside")
	put(t, filepath.Join(e.dir, ".claude", "commands", "theirs.md"), "Out: !`echo secret word`")
	put(t, filepath.Join(e.dir, ".gemini", "commands", "gem.toml"), "prompt = 'Here: @{notes.txt} for {{args}}'")
	id := e.session()
	asked := func(prompt string) string {
		t.Helper()
		e.say(id, prompt, acp.StopReasonEndTurn)
		reqs := script.Requests()
		m := reqs[len(reqs)-1].Messages
		var all []string
		for _, p := range m[len(m)-1].Parts {
			if text, ok := p.(providers.Text); ok {
				all = append(all, text.Text)
			}
		}
		return strings.Join(all, "\n")
	}
	got := asked("/own '; touch pwned'")
	for _, want := range []string{
		"Sum: 3\n; touch pwned.", "See @notes.txt, @none.txt, @../out.txt (not attached: it is outside the workspace", "@.env (not attached: reading it needs", "@sub.",
		"(not run: exit 3; it failed: ", "<file path=\"notes.txt\">\nsome notes\n</file>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("/own asked %q, want %q", got, want)
		}
	}
	if strings.Contains(got, "KEY=1") || strings.Contains(got, "outside\n") || questions > 0 {
		t.Errorf("/own asked %q, after %d questions", got, questions)
	}
	if _, err := os.Stat(filepath.Join(e.dir, "pwned")); err == nil {
		t.Error("an argument ran as a command")
	}
	if got := asked("/gem all"); got != "Here: <file path=\"notes.txt\">\nsome notes\n</file> for all" {
		t.Errorf("/gem asked %q", got)
	}
	if got := asked("/theirs"); strings.Contains(got, "Out: secret") || !strings.Contains(got, "(not run: echo secret word; the command file belongs to the workspace") || questions != 1 {
		t.Errorf("/theirs asked %q, after %d questions", got, questions)
	}
	if got := asked("/theirs"); strings.Contains(got, "Out: secret") || questions != 1 {
		t.Errorf("after a no, /theirs asked %q, after %d questions", got, questions)
	}
	put(t, filepath.Join(e.dir, ".claude", "commands", "theirs.md"), "Now: !`echo secret word`")
	answer = "allow_always"
	if got := asked("/theirs"); got != "Now: secret word" || questions != 2 {
		t.Errorf("after a yes, /theirs asked %q, after %d questions", got, questions)
	}
	put(t, filepath.Join(e.dir, ".claude", "commands", "theirs.md"), "Then: !`echo other word`")
	answer = "reject_once"
	if got := asked("/theirs"); strings.Contains(got, "Then: other") || questions != 3 {
		t.Errorf("after a change, /theirs asked %q, after %d questions", got, questions)
	}
}

// A session reads the files of other programs in the user's home.
func TestGuidance_Home(t *testing.T) {
	var prompt string
	var home string
	e := start(t, scripted(providertest.Step{providertest.Check(func(req *providers.Request) { prompt = req.System }), providertest.Text("ok")}), func(c *config) {
		c.server.Sessions.UserDir, c.server.Sessions.Home = c.agent, c.agent
		home = c.agent
	})
	put(t, filepath.Join(home, ".claude", "CLAUDE.md"), "See @style.md")
	put(t, filepath.Join(home, ".claude", "style.md"), "The user's style.")
	put(t, filepath.Join(home, "SYSTEM.md"), "You are a poet.")
	put(t, filepath.Join(e.dir, ".gjc", "APPEND_SYSTEM.md"), "End with a rhyme.")
	put(t, filepath.Join(e.dir, ".cursorrules"), "Copied.")
	put(t, filepath.Join(e.dir, "AGENTS.md"), "Copied.")
	put(t, filepath.Join(e.dir, "CLAUDE.local.md"), "@../outside.md")
	put(t, filepath.Join(filepath.Dir(e.dir), "outside.md"), "Outside.")
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	if !strings.HasPrefix(prompt, "You are a poet.\n\nAlways:\n") || !strings.HasSuffix(prompt, "End with a rhyme.") || strings.Count(prompt, "Copied.") != 1 {
		t.Error(prompt)
	}
	for _, want := range []string{"The user's style.", "When the user refuses a step", "Tools: "} {
		if !strings.Contains(prompt, want) {
			t.Errorf("no %q in %s", want, prompt)
		}
	}
	e.await(id, acptest.Update(func(n *acp.Notice) bool {
		return strings.Contains(n.Description, "outside.md: it is outside the workspace")
	}))
}

// The instructions of a subdirectory come with the first file there, once, unless they are a copy. Rules that exceed the limit are named.
func TestGuidance_Nested(t *testing.T) {
	var prompt string
	var results []string
	keep := providertest.Check(func(req *providers.Request) {
		prompt, results = req.System, nil
		for i := range req.Messages {
			results = append(results, req.Messages[i].Text())
		}
	})
	e := start(t, scripted(
		providertest.Step{providertest.Call("1", "read", `{"path":"sub/a.txt"}`), providertest.Call("2", "read", `{"path":"sub/in/b.txt"}`), providertest.Call("3", "read", `{"path":"copy/c.txt"}`)},
		providertest.Step{providertest.Call("4", "read", `{"path":"sub/a.txt"}`)},
		providertest.Step{keep, providertest.Text("ok")},
	))
	for name, text := range map[string]string{
		"AGENTS.md": "Of the top.", "sub/AGENTS.md": "Of sub.", "sub/in/CLAUDE.md": "Of in.", "copy/GEMINI.md": "Of the top.", "sub/a.txt": "a", "sub/in/b.txt": "b", "copy/c.txt": "c",
		".claude/rules/long.md": "# Long\n" + strings.Repeat("long ", 5_000), ".claude/rules/more.md": "# More\n" + strings.Repeat("more ", 5_000),
	} {
		put(t, filepath.Join(e.dir, filepath.FromSlash(name)), text)
	}
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	all := prompt + strings.Join(results, "\n")
	for want, n := range map[string]int{"Of the top.": 1, "Of sub.": 1, "Of in.": 1, "long long": 2500, "more more": 0, "- more (for all work): More": 1} {
		if got := strings.Count(all, want); got != n {
			t.Errorf("%q is there %d times, want %d", want, got, n)
		}
	}
	if strings.Contains(prompt, "Of sub.") {
		t.Error("the prompt has the instructions of a subdirectory")
	}
	e.await(id, acptest.Update(func(n *acp.Notice) bool {
		return strings.Contains(n.Description, "more.md: the rules for every prompt exceed 32 KiB")
	}))
}
