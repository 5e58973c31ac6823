package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// A command that fails at the boundary asks to run again with what it needs: once, always for this command, or not. The result names the
// path or the host that was refused.
func TestRefused_RunsAgain(t *testing.T) {
	needsBoundary(t)
	python := testenv.NeedsTool(t, "python3")
	outside, err := os.MkdirTemp(".", "testdata-refused-") //nolint:usetesting // /tmp is another one inside
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(outside) })
	if outside, err = filepath.Abs(outside); err != nil {
		t.Fatal(err)
	}
	write := "echo x >> " + outside + "/f"
	for _, tt := range []struct {
		name, line, choose, needs string
		// asked counts the questions of the command and of the same one again, and written the lines in the file after both.
		asked, written int
		result         string
	}{
		{"once", write, "allow_once", "It needs to write " + outside, 2, 2, ""},
		{"always", write, "allow_always", "It needs to write " + outside, 1, 2, ""},
		{"no", write, "reject_once", "It needs to write " + outside, 2, 0, "did not let the command write " + outside},
		{"a host", python + ` -c 'import urllib.request; urllib.request.urlopen("http://gjc.example/", timeout=5)'`, "reject_once", "It needs to reach gjc.example", 2, 0, "gjc.example"},
		{"a command that fails by itself", "cat none", "allow_once", "", 0, 0, "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []string
			e := start(t, func(c *config) {
				c.server.Sessions.Policy = func(string) approval.Policy {
					return approval.Policy{Boundary: testBoundary(), Home: t.TempDir()}
				}
				c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					raw, err := jsonx.Marshal(p.ToolCall)
					if err != nil {
						return nil, err
					}
					asked = append(asked, string(raw))
					return acptest.Choose(acp.PermissionOptionID(tt.choose)), nil
				}
			})
			s, err := e.NewSession(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: s.SessionID, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				e.say(s.SessionID, "!bash "+tt.line, acp.StopReasonEndTurn)
			}
			if len(asked) != tt.asked {
				t.Errorf("asked %d times: %q", len(asked), asked)
			}
			for _, q := range asked {
				if !strings.Contains(q, tt.needs) {
					t.Errorf("no %q in %s", tt.needs, q)
				}
			}
			if text := e.toolText(s.SessionID); !strings.Contains(text, tt.result) {
				t.Errorf("no %q in %s", tt.result, text)
			}
			file := filepath.Join(outside, "f")
			data, _ := os.ReadFile(file) // it may not be there
			if got := strings.Count(string(data), "\n"); got != tt.written {
				t.Errorf("written %d times", got)
			}
			if err := os.Remove(file); err != nil && tt.written > 0 {
				t.Error(err)
			}
		})
	}
}
