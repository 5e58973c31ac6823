//go:build unix

package server_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The user sees the jobs that the model has started and ends them, and the model is notified.
func TestCommandJobs(t *testing.T) {
	var reports strings.Builder
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "bash", `{"command":"sleep 600","async":true}`)},
		providertest.Step{providertest.Text("It runs.")},
		providertest.Step{providertest.Check(func(req *providers.Request) {
			for _, m := range req.Messages {
				reports.WriteString(m.Text() + "\n")
			}
		}), providertest.Text("I see.")},
	))
	id := e.session()
	if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: id, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
		t.Fatal(err)
	}
	e.say(id, "go", acp.StopReasonEndTurn)
	for _, tt := range []struct{ prompt, want string }{
		{"/jobs", "job-1 runs for "},
		{"/jobs stop", "Use /jobs or /jobs stop <job>"},
		{"/jobs stop job-7", `unknown job "job-7"; the jobs are job-1`},
		{"/jobs what", "Use /jobs or"},
		{"/jobs stop job-1", "job-1 failed after "},
		{"/jobs", "job-1 failed after "},
	} {
		if got, _ := e.after(id, tt.prompt); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q in it", tt.prompt, got, tt.want)
		}
	}
	e.say(id, "and now?", acp.StopReasonEndTurn)
	if !strings.Contains(reports.String(), "job-1") || !strings.Contains(reports.String(), "cancelled") {
		t.Errorf("the model received:\n%s", reports.String())
	}
}
