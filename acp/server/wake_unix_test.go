//go:build unix

package server_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/wake"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A background command that prints what it is watched for begins a turn, in the editor's terminal and without one. So does its end.
func TestWake_WatchedCommand(t *testing.T) {
	for name, terminal := range map[string]bool{"editor's terminal": true, "local": false} {
		t.Run(name, func(t *testing.T) {
			e := start(t, scripted(
				providertest.Step{providertest.Call("c1", "bash", `{"command":"echo begun; until [ -e go ]; do sleep 0.1; done; echo listening on 80; exec sleep 600","async":true,"watch":"^listen"}`)},
				providertest.Step{providertest.Text("It starts.")},
				providertest.Step{providertest.Call("c2", "job", `{"cancel":["job-1"]}`)},
				providertest.Step{providertest.Text("It listens.")},
			), wakes(wake.Settings{Auto: wake.On}), func(c *config) { c.editor.Capabilities.Terminal = terminal })
			id := e.session()
			if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: id, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
				t.Fatal(err)
			}
			e.say(id, "go", acp.StopReasonEndTurn)
			n := len(e.Updates(id))
			e.write("go", "")
			e.await(id, acptest.Expectation(func([]acp.SessionUpdate, []string) bool {
				return strings.Contains(strings.Join(e.shown(id, n), "\n"), "state: idle")
			}))
			got := strings.Join(e.shown(id, n), "\n")
			if !strings.HasPrefix(got, "state: running\nnotice: job-1 has printed what it is watched for: listening on 80 | ") || !strings.HasSuffix(got, "agent: It listens.\nstate: idle end_turn") {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}
