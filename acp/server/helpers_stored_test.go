package server_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// After a session was closed and loaded again, its helper's report and conversation are readable, and the helper goes on as the same
// child session of the client.
func TestSubagents_AfterRestart(t *testing.T) {
	last := func(want ...string) providertest.Action {
		return providertest.Check(func(req *providers.Request) {
			var all strings.Builder
			for i := range req.Messages {
				all.WriteString(req.Messages[i].Text() + "\n")
			}
			for _, w := range want {
				if !strings.Contains(all.String(), w) {
					t.Errorf("the model does not get %q, but %q", w, all.String())
				}
			}
		})
	}
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "task", `{"tasks":[{"id":"scout","description":"look","assignment":"look around"}]}`)},
		providertest.Step{providertest.Text("the report of the scout")},
		providertest.Step{last("[Report: agent://scout, conversation: history://scout]"), providertest.Text("done")},
		providertest.Step{providertest.Call("c2", "read", `{"path":"agent://scout"}`), providertest.Call("c3", "read", `{"path":"history://scout"}`)},
		providertest.Step{last("1|the report of the scout", "# scout: look", "look around"), providertest.Call("c4", "task", `{"tasks":[{"to":"scout","description":"ask","assignment":"look again"}]}`)},
		providertest.Step{last("look around", "the report of the scout", "look again"), providertest.Text("seen again")},
		providertest.Step{last("seen again\n\n[Report: agent://scout,"), providertest.Text("done")},
	), as(acptest.UnstableCapabilities()))
	id := e.session()
	e.say(id, "delegate", acp.StopReasonEndTurn)
	if _, err := acp.MethodSessionClose.Call(t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := acp.MethodSessionLoad.Call(t.Context(), e.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir}); err != nil {
		t.Fatal(err)
	}
	e.say(id, "ask it", acp.StopReasonEndTurn)
	children := make(map[acp.SessionID]int)
	for _, u := range e.Updates(id) {
		if u, ok := u.(*acp.SubagentUpdate); ok {
			children[u.SessionID]++
		}
	}
	if len(children) != 1 {
		t.Errorf("the children of the client are %v", children)
	}
	list, err := acp.MethodSessionList.Call(t.Context(), e.Conn, &acp.ListSessionsRequest{})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionID != id {
		t.Errorf("the list is %+v, %v", list, err)
	}
}
