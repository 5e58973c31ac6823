package server_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/jsonx"
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

// A helper in the background works on after the turn that has started it, as a job of the session and a child session of the client.
func TestSubagents_Background(t *testing.T) {
	gate := providertest.NewGate()
	e := start(t, scripted(), as(acptest.UnstableCapabilities()), func(c *config) {
		c.server.Models.Models.(*models).list[0].(*providertest.Script).Else(func(req *providers.Request) providertest.Step {
			last := req.Messages[len(req.Messages)-1].Text()
			switch {
			case strings.HasPrefix(req.Messages[0].Text(), "look around"):
				return providertest.Step{gate.Hold(), providertest.Text("the report")}
			case last == "delegate":
				return providertest.Step{providertest.Call("c1", "task", `{"async":true,"tasks":[{"id":"scout","description":"look","assignment":"look around"}]}`)}
			case last == "wait":
				return providertest.Step{providertest.Call("c2", "job", `{"poll":["job-1"],"wait":300}`)}
			default:
				return providertest.Step{providertest.Text("heard: " + last)}
			}
		})
	})
	id := e.session()
	e.say(id, "delegate", acp.StopReasonEndTurn)
	if text := e.Text(id); !strings.Contains(text, "job-1: the helper scout works on: look") {
		t.Errorf("after the call the model got %q", text)
	}
	gate.Open()
	e.say(id, "wait", acp.StopReasonEndTurn)
	if text := e.Text(id); !strings.Contains(text, "the report\n\n[Report: agent://scout, conversation: history://scout]") {
		t.Errorf("at last the model got %q", text)
	}
	var states []string
	for _, u := range e.Updates(id) {
		if u, ok := u.(*acp.SubagentUpdate); ok {
			state, _ := u.State.Get()
			raw, _ := jsonx.Marshal(state)
			states = append(states, string(raw))
		}
	}
	if len(states) != 2 || !strings.Contains(states[0], "running") || !strings.Contains(states[1], "end_turn") {
		t.Errorf("states %v", states)
	}
}
