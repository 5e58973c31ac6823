package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// judged runs calls in a session and collects the results that the model received and the titles of the questions.
type judged struct {
	mode  approval.Mode
	rules approval.Rules
	// answer returns the answer to question n.
	answer func(n int) acp.PermissionOptionID
	calls  []judgedCall
}

type judgedCall struct{ tool, input string }

func (j *judged) run(t *testing.T, base string) (results, asked []string) {
	t.Helper()
	dir := filepath.Join(base, "dir")
	names := strings.NewReplacer("{dir}", filepath.ToSlash(dir), "{out}", filepath.ToSlash(filepath.Join(base, "out")))
	steps := make([]providertest.Step, 0, len(j.calls)+1)
	for i, c := range j.calls {
		steps = append(steps, providertest.Step{providertest.Call(string(rune('a'+i)), c.tool, names.Replace(c.input))})
	}
	steps = append(steps, providertest.Step{providertest.Check(func(req *providers.Request) {
		for _, m := range req.Messages {
			if m.Role == providers.RoleTool {
				results = append(results, m.Text())
			}
		}
	}), providertest.Text("done")})
	e := start(t, scripted(steps...), func(c *config) {
		c.server.Sessions.Policy = func(string) approval.Policy {
			return approval.Policy{Rules: j.rules, Home: filepath.Join(base, "home")}
		}
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			title, _ := p.ToolCall.Title.Get()
			asked = append(asked, title)
			return acptest.Choose(j.answer(len(asked) - 1)), nil
		}
	})
	s, err := e.NewSession(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	j.sessionMode(t, e, s.SessionID, j.mode)
	e.say(s.SessionID, "go", acp.StopReasonEndTurn)
	return results, asked
}

func (*judged) sessionMode(t *testing.T, e *env, id acp.SessionID, mode approval.Mode) {
	t.Helper()
	if mode == "" {
		return
	}
	if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: id, ModeID: acp.SessionModeID(mode)}); err != nil {
		t.Fatal(err)
	}
}

// layout creates files and links (text that begins with "→") in a new directory.
func layout(t *testing.T, files map[string]string) (base string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(base, filepath.FromSlash(name))
		to, link := strings.CutPrefix(text, "→")
		if !link {
			put(t, path, text)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		relink(t, path, to)
	}
	return base
}

func relink(t *testing.T, path, to string) {
	t.Helper()
	_ = os.RemoveAll(path)
	if err := os.Symlink(filepath.FromSlash(to), path); err != nil {
		t.Skip(err) // Windows requires a privilege for symlinks
	}
}

func never(int) acp.PermissionOptionID  { return "reject_once" }
func always(int) acp.PermissionOptionID { return "allow_always" }

// The guidance of a repository is sent to the model without a question, so it must not be a link to a secret.
func TestGuidance_LinksToSecrets(t *testing.T) {
	base := layout(t, map[string]string{
		"dir/.env": "KEY=planted\n", "dir/.git/config": "url = https://planted@example.com\n", "dir/docs/more.md": "Harmless words.",
		"dir/AGENTS.md": "→.env", "dir/.clinerules": "→.git/config", "dir/.gjc/rules/a.md": "→../../.git/config", "dir/.gjc/rules/b.md": "→../../docs/more.md",
		"dir/.gjc/skills/s/SKILL.md": "---\ndescription: a skill\n---\nWords.", "dir/.gjc/skills/s/x.md": "→../../../.env",
		"dir/.gjc/agents/a.md": "→../../.env",
	})
	var system string
	var results []string
	e := start(t, scripted(
		providertest.Step{
			providertest.Check(func(req *providers.Request) { system = req.System }),
			providertest.Call("1", "read", `{"path":"skill://s/x.md"}`), providertest.Call("2", "read", `{"path":"rule://b"}`),
		},
		providertest.Step{providertest.Check(func(req *providers.Request) {
			for _, m := range req.Messages {
				results = append(results, m.Text())
			}
		}), providertest.Text("done")},
	))
	s, err := e.NewSession(t.Context(), filepath.Join(base, "dir"))
	if err != nil {
		t.Fatal(err)
	}
	e.say(s.SessionID, "go", acp.StopReasonEndTurn)
	if all := system + strings.Join(results, "\n"); strings.Contains(all, "planted") || !strings.Contains(all, "Harmless words.") {
		t.Errorf("prompt:\n%s\nresults:\n%s", system, strings.Join(results, "\n"))
	}
}

// A failed edit reveals the content of a file, so an edit of a secret needs permission first, and a rule against reading forbids it.
func TestEdit_OfUnreadableFile(t *testing.T) {
	base := layout(t, map[string]string{"dir/.env": "API_KEY=planted\nOTHER=planted\n", "dir/secret/a.txt": "planted\n", "dir/a.txt": "a\n"})
	rule, err := approval.ParseRule(approval.Deny, "read(secret/**)")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []approval.Mode{approval.ModeDefault, approval.ModeAuto} {
		j := &judged{mode: mode, rules: approval.Rules{rule}, answer: never, calls: []judgedCall{
			{"edit", `{"path":".env","edits":[{"old_text":"API_KEY=\nOTHER=","new_text":"y"}]}`},
			{"edit", `{"path":"secret/a.txt","edits":[{"old_text":"zzz","new_text":"y"}]}`},
			{"write", `{"path":".env","content":"x"}`},
			{"search", `{"pattern":"planted"}`},
			{"search", `{"pattern":"planted","paths":["**/*.txt"],"hidden":true}`},
		}}
		results, asked := j.run(t, base)
		if diff := cmp.Diff([]string{"Edit .env", "Write .env"}, asked); diff != "" {
			t.Errorf("%s: questions: -want +got:\n%s", mode, diff)
		}
		if all := strings.Join(results, "\n"); strings.Contains(all, "=planted") || strings.Contains(all, "1:planted") || !strings.Contains(all, "permissions.deny") || !strings.Contains(all, "secret/a.txt") {
			t.Errorf("%s: results:\n%s", mode, all)
		}
	}
}

// A permission covers only what was shown. A link that has changed since is not followed, be it a file, a directory or a root, even
// if a mode change causes the call to be reevaluated.
func TestApproval_LinksThatMove(t *testing.T) {
	for _, c := range []struct {
		name, tool, input string
		// changed changes the mode while the question is open.
		changed bool
	}{
		{"file and mode", "read", `{"path":"link"}`, true},
		{"file", "read", `{"path":"link"}`, false},
		{"search", "search", `{"pattern":"e","paths":["link"]}`, false},
		{"listing", "read", `{"path":"link"}`, false},
		{"find", "find", `{"paths":["link/**"]}`, false},
		{"find and mode", "find", `{"paths":["link/**"]}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := layout(t, map[string]string{"out/shown/name-shown": "shown", "out/other/name-planted": "planted", "dir/link": "→../out/shown"})
			var e *env
			var id acp.SessionID
			var result string
			e = start(t, scripted(
				providertest.Step{providertest.Call("a", c.tool, c.input)},
				providertest.Step{providertest.Check(func(req *providers.Request) { result = req.Messages[len(req.Messages)-1].Text() }), providertest.Text("done")},
			), func(cf *config) {
				cf.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					relink(t, filepath.Join(base, "dir", "link"), "../out/other")
					if c.changed {
						new(judged).sessionMode(t, e, id, approval.ModeAuto)
					}
					return acptest.Choose("allow_once"), nil
				}
			})
			s, err := e.NewSession(t.Context(), filepath.Join(base, "dir"))
			if err != nil {
				t.Fatal(err)
			}
			id = s.SessionID
			e.say(id, "go", acp.StopReasonEndTurn)
			if strings.Contains(result, "planted") || !strings.Contains(result, "resolves to a different file") {
				t.Errorf("the model got: %s", result)
			}
		})
	}
}

// A root that is replaced by a link does not give the session access to its target.
func TestRoots_ReplacedByLinks(t *testing.T) {
	base := layout(t, map[string]string{"dir/sub/a.txt": "a\n", "out/x": "harmless"})
	var e *env
	var asked []string
	e = start(t, scripted(
		providertest.Step{providertest.Check(func(*providers.Request) { relink(t, filepath.Join(base, "dir", "sub"), "../out") }), providertest.Call("a", "write", `{"path":"sub/pwn","content":"x"}`)},
		providertest.Step{providertest.Text("done")},
	), func(cf *config) {
		cf.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			title, _ := p.ToolCall.Title.Get()
			asked = append(asked, title)
			return acptest.Choose("reject_once"), nil
		}
	})
	s, err := acp.MethodSessionNew.Call(t.Context(), e.Conn, &acp.NewSessionRequest{
		Cwd: filepath.Join(base, "dir"), AdditionalDirectories: []string{filepath.Join(base, "dir", "sub")}, MCPServers: []acp.MCPServer{},
	})
	if err != nil {
		t.Fatal(err)
	}
	new(judged).sessionMode(t, e, s.SessionID, approval.ModeAuto)
	e.say(s.SessionID, "go", acp.StopReasonEndTurn)
	if _, err := os.Stat(filepath.Join(base, "out", "pwn")); err == nil || len(asked) != 1 {
		t.Errorf("questions %q, written: %t", asked, err == nil)
	}
}

// "Always" for a host applies only to that host.
func TestGrants_Hosts(t *testing.T) {
	base := layout(t, map[string]string{"dir/a.txt": "a\n"})
	j := &judged{answer: always, calls: []judgedCall{
		{"web_fetch", `{"url":"http://127.0.0.1:9/"}`},
		{"read", `{"path":"http://127.0.0.1:9/again"}`},
		{"web_fetch", `{"url":"http://LOCALHOST:9/x"}`},
		{"web_fetch", `{"url":"http://localhost:9/y"}`},
		{"read", `{"path":"http://127.0.0.2:9/"}`},
	}}
	_, asked := j.run(t, base)
	if len(asked) != 3 {
		t.Errorf("questions: %q; want one for each host", asked)
	}
}
