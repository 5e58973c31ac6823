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
)

// What a program that a command has left running makes between two commands asks with the next one. Without such a program, what appears
// between commands is the user's own.
func TestLingering_MakesFiles(t *testing.T) {
	needsBoundary(t)
	for _, tt := range []struct {
		name, first string
		asks        int
	}{
		{"a program", `mkfifo go made started; setsid sh -c 'echo > started; read x < go; mkdir .vscode; echo {} > .vscode/tasks.json; echo > made; exec sleep 600' >/dev/null 2>&1 & read x < started`, 1},
		{"the user", "true", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []string
			e := start(t, as(&acp.ClientCapabilities{}), func(c *config) { // an editor's terminal ends what a command leaves
				c.server.Sessions.Policy = func(string) approval.Policy {
					return approval.Policy{Boundary: testBoundary(), Home: t.TempDir()}
				}
				c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					asked = append(asked, p.ToolCall.Title.Or(""))
					return acptest.Choose("reject_once"), nil
				}
			})
			dir := t.TempDir()
			s, err := e.NewSession(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: s.SessionID, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
				t.Fatal(err)
			}
			e.say(s.SessionID, "!bash "+tt.first, acp.StopReasonEndTurn)
			tasks := filepath.Join(dir, ".vscode", "tasks.json")
			if tt.asks == 0 {
				if err := os.Mkdir(filepath.Dir(tasks), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(tasks, []byte("{}"), 0o644); err != nil {
					t.Fatal(err)
				}
			} else {
				if err := os.WriteFile(filepath.Join(dir, "go"), []byte("\n"), 0); err != nil { // a pipe
					t.Fatal(err)
				}
				if _, err := os.ReadFile(filepath.Join(dir, "made")); err != nil {
					t.Fatal(err)
				}
			}
			e.say(s.SessionID, "!bash echo next", acp.StopReasonEndTurn)
			if len(asked) != tt.asks || tt.asks > 0 && !strings.Contains(asked[0], "tasks.json") {
				t.Errorf("asked %q", asked)
			}
			if _, err := os.Lstat(tasks); (err == nil) != (tt.asks == 0) {
				t.Errorf("tasks.json: %v", err)
			}
		})
	}
}
