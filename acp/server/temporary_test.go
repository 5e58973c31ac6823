package server_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers/providertest"
)

// File tools and commands of one session agree on what /tmp holds: the session's own files. That asks nothing, and the editor does not
// see them. The machine's files in /tmp are not there, except those of a root.
func TestTemporary_ToolsAndCommandsAgree(t *testing.T) {
	needsBoundary(t)
	if real, err := filepath.EvalSymlinks("/tmp"); err != nil || real != "/tmp" {
		t.Skip("/tmp is a link here")
	}
	machine, err := os.CreateTemp("/tmp", "gjc-test-machine-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(machine.Name()) })
	if _, err := machine.WriteString("machine-text"); err != nil {
		t.Fatal(err)
	}
	if err := machine.Close(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "gjc-test-root-") //nolint:usetesting // TMPDIR may be elsewhere
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "in-root"), []byte("of the root"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(machine.Name(), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		calls [][2]string
		want  []string // in the results of the last call
		fails bool
		asks  bool
	}{
		{name: "a command's file is read", calls: [][2]string{{"bash", command("echo by-command > /tmp/f")}, {"read", `{"path":"/tmp/f"}`}}, want: []string{"by-command"}},
		{name: "a later command stays in a directory", calls: [][2]string{{"bash", command("mkdir -p /tmp/gjc-test-dir && cd /tmp/gjc-test-dir && echo by-command > f")}, {"bash", command("cat f")}}, want: []string{"in /tmp/gjc-test-dir", `"exitCode":0`}},
		{name: "a written file is seen", calls: [][2]string{{"write", `{"path":"/tmp/sub/f","content":"by-tool"}`}, {"bash", command(`test "$(cat /tmp/sub/f $TMPDIR/sub/f)" = by-toolby-tool`)}}, want: []string{`"exitCode":0`}},
		{name: "the machine's file is not read without a question", calls: [][2]string{{"read", `{"path":"` + machine.Name() + `"}`}}, want: []string{"rejected"}, fails: true, asks: true},
		{name: "nor is it found", calls: [][2]string{{"write", `{"path":"/tmp/gjc-test-own","content":"x"}`}, {"find", `{"paths":["/tmp/gjc-test-*"]}`}}, want: []string{"/tmp/gjc-test-own"}},
		{name: "a command's file is searched", calls: [][2]string{{"bash", command("echo by-command > /tmp/f")}, {"search", `{"pattern":"by-c","paths":["/tmp"]}`}}, want: []string{"by-command", "/tmp/f"}},
		{name: "a root in /tmp stays", calls: [][2]string{{"read", `{"path":"` + dir + `/in-root"}`}}, want: []string{"of the root"}},
		{name: "a link of the root into the machine's asks", calls: [][2]string{{"read", `{"path":"` + dir + `/link"}`}}, want: []string{"rejected"}, fails: true, asks: true},
		{name: "and leads nowhere inside", calls: [][2]string{{"bash", command("test -L link && test ! -e link")}}, want: []string{`"exitCode":0`}},
		{name: "a link out of it asks", calls: [][2]string{{"bash", command("ln -s /etc/hostname /tmp/l")}, {"read", `{"path":"/tmp/l"}`}}, fails: true, asks: true},
		{name: "a secret in it asks", calls: [][2]string{{"bash", command("echo K=1 > /tmp/.env")}, {"read", `{"path":"/tmp/.env"}`}}, fails: true, asks: true},
		{name: "a directory above it by dots asks", calls: [][2]string{{"read", `{"path":"/tmp/../etc/hostname"}`}}, fails: true, asks: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var steps []providertest.Step
			for i, c := range tt.calls {
				steps = append(steps, providertest.Step{providertest.Call("c"+string(rune('0'+i)), c[0], c[1])})
			}
			steps = append(steps, providertest.Step{providertest.Text("done")})
			asked := 0
			e := start(t, scripted(steps...), func(c *config) {
				c.server.Sessions.Policy = func(string) approval.Policy { return approval.Policy{Boundary: testBoundary()} }
				c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					asked++
					return acptest.Choose("reject_once"), nil
				}
			})
			s, err := e.NewSession(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: s.SessionID, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
				t.Fatal(err)
			}
			e.say(s.SessionID, "go", acp.StopReasonEndTurn)
			var last []acp.SessionUpdate
			failed := false
			for _, u := range e.Updates(s.SessionID) {
				if u, ok := u.(*acp.ToolCallUpdate); ok && string(u.ToolCallID) == "c"+string(rune('0'+len(tt.calls)-1)) {
					last = append(last, u)
					failed = failed || u.Status.Or("") == acp.ToolCallStatusFailed
				}
			}
			text := toolText(last)
			if failed != tt.fails || (asked > 0) != tt.asks {
				t.Errorf("failed %v, asked %d times: %s", failed, asked, text)
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %s", want, text)
				}
			}
			if strings.Contains(text, "machine-text") || strings.Contains(text, filepath.Base(machine.Name())) && !tt.fails {
				t.Errorf("the machine's file is shown: %s", text)
			}
			if calls := e.Calls(); tt.calls[len(tt.calls)-1][0] == "read" && strings.HasPrefix(tt.calls[len(tt.calls)-1][1], `{"path":"/tmp/f`) && slices.Contains(calls, "fs/read_text_file") {
				t.Errorf("the editor was asked for the session's file: %q", calls)
			}
		})
	}
	if data, err := os.ReadFile(machine.Name()); err != nil || string(data) != "machine-text" {
		t.Errorf("the machine's file is now %q, %v", data, err)
	}
}

// A command that is allowed once runs outside, and makes its temporary files where commands inside and file tools find them.
func TestTemporary_OfCommandsOutside(t *testing.T) {
	needsBoundary(t)
	for name, temp := range map[string]string{"the session's": "", "the user's": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", temp)
			out := filepath.Join(t.TempDir(), "out")
			e := start(t, scripted(
				providertest.Step{providertest.Call("c0", "bash", command(`test ! -e /run/gjc/self && f=$(mktemp) && mv "$f" "$(dirname "$f")/known" && echo by-outside > "$(dirname "$f")/known" && echo "$TMPDIR" > `+out))},
				providertest.Step{providertest.Text("done")},
				providertest.Step{providertest.Call("c1", "bash", command(`test -e /run/gjc/self && grep -q by-outside /tmp/known && grep -q by-outside "$TMPDIR/known"`))},
				providertest.Step{providertest.Call("c2", "read", `{"path":"/tmp/known"}`)},
				providertest.Step{providertest.Text("done")},
			), func(c *config) {
				c.server.Sessions.Policy = func(string) approval.Policy { return approval.Policy{Boundary: testBoundary()} }
				c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					return acptest.Choose("allow_once"), nil
				}
			})
			id := e.session()
			e.say(id, "go", acp.StopReasonEndTurn)
			dir, err := os.ReadFile(out)
			if err != nil {
				t.Fatalf("%v: %s", err, e.toolText(id))
			}
			if temp != "" {
				if got := strings.TrimSpace(string(dir)); got != temp {
					t.Errorf("TMPDIR is %q, want the user's", got)
				}
				return
			}
			if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: id, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
				t.Fatal(err)
			}
			asked := slices.Index(e.Calls(), "session/request_permission")
			calls := len(e.Calls())
			e.say(id, "go on", acp.StopReasonEndTurn)
			if asked < 0 || slices.Contains(e.Calls()[calls:], "session/request_permission") {
				t.Errorf("questions: %q", e.Calls())
			}
			for call, want := range map[string]string{"c1": `"exitCode":0`, "c2": "by-outside"} {
				var updates []acp.SessionUpdate
				for _, u := range e.Updates(id) {
					if u, ok := u.(*acp.ToolCallUpdate); ok && string(u.ToolCallID) == call {
						updates = append(updates, u)
					}
				}
				if text := toolText(updates); !strings.Contains(text, want) {
					t.Errorf("%s: %s", call, text)
				}
			}
		})
	}
}

// Without a boundary /tmp is the machine's.
func TestTemporary_WithoutBoundary(t *testing.T) {
	w := &target{}
	path := filepath.Join(t.TempDir(), "x")
	w.put(t, path, "of the machine")
	e := start(t, scripted(providertest.Step{providertest.Call("c1", "read", `{"path":"`+filepath.ToSlash(path)+`"}`)}, providertest.Step{providertest.Text("done")}), func(c *config) {
		c.server.Sessions.Policy = func(string) approval.Policy {
			return approval.Policy{Boundary: boundary.Settings{Use: boundary.Off}}
		}
	})
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	if text := e.toolText(id); !strings.Contains(text, "of the machine") {
		t.Error(text)
	}
}

// What an interpreter outside makes in the directory for temporary files, file tools find without a question.
func TestTemporary_OfEvalOutside(t *testing.T) {
	needsBoundary(t)
	testenv.NeedsTool(t, "python3")
	t.Setenv("TMPDIR", "")
	cell := `import os, tempfile; assert not os.path.exists("/run/gjc/self"); f = open(tempfile.gettempdir() + "/of-eval", "w"); f.write("by-eval"); f.close()`
	e := start(t, scripted(
		providertest.Step{providertest.Call("c0", "eval", callInput(t, map[string]any{"cells": []any{map[string]any{"language": "py", "code": cell}}}))},
		providertest.Step{providertest.Text("done")},
		providertest.Step{providertest.Call("c1", "read", `{"path":"/tmp/of-eval"}`)},
		providertest.Step{providertest.Text("done")},
	), func(c *config) {
		c.server.Sessions.Policy = func(string) approval.Policy { return approval.Policy{Boundary: testBoundary()} }
		c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			return acptest.Choose("allow_once"), nil
		}
	})
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	calls := len(e.Calls())
	e.say(id, "go on", acp.StopReasonEndTurn)
	if text := e.toolText(id); !strings.Contains(text, "by-eval") || slices.Contains(e.Calls()[calls:], "session/request_permission") {
		t.Errorf("after %q:\n%s", e.Calls()[calls:], text)
	}
}
