package server_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers/providertest"
)

// H9: a rule about a file holds against every program, because the file is read-only or hidden inside the boundary, and the user is not
// asked about what a rule denies.
func TestRules_HoldForCommands(t *testing.T) {
	needsBoundary(t)
	for _, line := range []string{
		"cp other go.mod", "git restore --source HEAD go.mod", "git checkout HEAD -- go.mod", "printf -- '--- a/go.mod\\n+++ b/go.mod\\n@@ -1 +1 @@\\n-new\\n+evil\\n' | patch -p1", "tar xf evil.tar",
		"echo evil > go.mod", "F=go.mo; echo evil > ${F}d", "python3 -c 'open(\"go.mod\", \"w\").write(\"evil\")'", "mv other go.mod", "rm go.mod", "rm -f *.mod", "sed -i s/new/evil/ go.mod", "ln -f other go.mod", "truncate -s 0 go.mod",
		"find . -name go.mod -delete", "git apply evil.patch", "dd if=other of=go.mod", "mv docs/a docs/b", "echo evil > docs/new", "echo evil > docs/a", "cat private/key", "cp -r private copy; cat copy/key", "tar cf - private | base64",
		"p=priv; cat ${p}ate/*", "python3 -c 'print(open(\"private/key\").read())'", "cat {home}/notes/x",
	} {
		t.Run(line, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			w := &target{filepath.Join(base, "dir"), filepath.Join(base, "home"), filepath.Join(base, "out")}
			for name, text := range map[string]string{
				"dir/go.mod": "old\n", "dir/other": "evil\n", "dir/docs/a": "a\n", "dir/private/key": "TOKEN-7f3a\n", "home/notes/x": "TOKEN-7f3a\n",
				"dir/evil.patch": "--- a/go.mod\n+++ b/go.mod\n@@ -1 +1 @@\n-new\n+evil\n",
			} {
				w.put(t, filepath.Join(base, name), text)
			}
			for _, args := range [][]string{
				{"git", "init", "-q"},
				{"git", "add", "."},
				{"git", "-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "-qm", "x"},
				{"sh", "-c", "mkdir ../tar; echo evil > ../tar/go.mod; tar cf evil.tar -C ../tar go.mod; echo new > go.mod"},
			} {
				cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
				cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "HOME="+w.home)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
			}
			var rules approval.Rules
			for _, text := range []string{"edit(go.mod)", "edit(docs/**)", "read(private/**)", "read(~/notes/**)"} {
				r, err := approval.ParseRule(approval.Deny, text)
				if err != nil {
					t.Fatal(err)
				}
				rules = append(rules, r)
			}
			e := start(t, scripted(providertest.Step{providertest.Call("c1", "bash", command(strings.ReplaceAll(line, "{home}", w.home)))}, providertest.Step{providertest.Text("done")}), func(c *config) {
				c.server.Sessions.Policy = func(string) approval.Policy {
					return approval.Policy{Boundary: testBoundary(), Rules: rules, Home: w.home}
				}
				c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					title, _ := p.ToolCall.Title.Get()
					t.Errorf("asked about %s: %s", title, contentText(p.ToolCall.Content.Or(nil)))
					return acptest.Choose("reject_once"), nil
				}
			})
			s, err := e.NewSession(t.Context(), w.dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: s.SessionID, ModeID: "auto"}); err != nil {
				t.Fatal(err)
			}
			e.say(s.SessionID, "go", acp.StopReasonEndTurn)
			for name, want := range map[string]string{"go.mod": "new\n", "docs/a": "a\n", "private/key": "TOKEN-7f3a\n"} {
				if got, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || string(got) != want {
					t.Errorf("%s is %q, %v", name, got, err)
				}
			}
			if _, err := os.Lstat(filepath.Join(w.dir, "docs", "new")); err == nil {
				t.Error("a file was made in a directory that is not to change")
			}
			if text := e.toolText(s.SessionID); strings.Contains(text, "TOKEN-7f3a") || strings.Contains(text, "VE9LRU4") {
				t.Errorf("a file that is not to be read was shown: %s", text)
			}
		})
	}
}

// contentText returns the texts of a question.
func contentText(all []acp.ToolCallContent) string {
	var texts []string
	for _, c := range all {
		if c, ok := c.(*acp.Content); ok {
			if text, ok := c.Content.(*acp.TextContent); ok {
				texts = append(texts, text.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}
