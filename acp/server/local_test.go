package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// results returns the results of the calls in a script's last request, in order.
func results(script *providertest.Script) []string {
	requests := script.Requests()
	var all []string
	for _, m := range requests[len(requests)-1].Messages {
		if m.Role == providers.RoleTool {
			all = append(all, m.Text())
		}
	}
	return all
}

// Local files are written without a question, in plan mode too, and a restart keeps them. The workspace does not get them.
func TestLocal_InPlanMode(t *testing.T) {
	var script *providertest.Script
	e := start(t, func(c *config) {
		script = providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000},
			providertest.Step{
				providertest.Call("c1", "write", `{"path":"local://plan.md","content":"# The plan\nstep one\n"}`),
				providertest.Call("c2", "edit", `{"path":"local://plan.md","edits":[{"old_text":"one","new_text":"1"}]}`),
				providertest.Call("c3", "write", `{"path":"plan.md","content":"no"}`),
				providertest.Call("c4", "write", `{"path":"local://../plan.md","content":"no"}`),
			},
			providertest.Step{providertest.Text("planned")},
			providertest.Step{providertest.Call("c5", "read", `{"path":"local://plan.md"}`)}, providertest.Step{providertest.Text("read")})
		c.server.Models.Models = &models{list: []providers.Model{script}}
	})
	id := e.session()
	e.say(id, "/mode plan", acp.StopReasonEndTurn)
	e.say(id, "plan", acp.StopReasonEndTurn)
	got := results(script)
	if len(got) != 4 || !strings.HasPrefix(got[0], "Wrote 20 bytes to local://plan.md") || !strings.HasPrefix(got[1], "Edited local://plan.md") ||
		!strings.Contains(got[2], "plan mode changes nothing") || !strings.Contains(got[3], "invalid local:// address") {
		t.Errorf("results %q", got)
	}
	call[struct{}](e, "session/close", obj{"sessionId": id})
	call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	e.say(id, "read", acp.StopReasonEndTurn)
	if got := results(script); len(got) != 5 || !strings.Contains(got[4], "2|step 1") {
		t.Errorf("after a restart: %q", got)
	}
	if slices.Contains(e.Calls(), "session/request_permission") {
		t.Error("a question was asked")
	}
}

// A helper and the session that has started it share their local files.
func TestLocal_Helpers(t *testing.T) {
	var script *providertest.Script
	e := start(t, func(c *config) {
		script = providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000},
			providertest.Step{providertest.Call("c1", "write", `{"path":"local://in.md","content":"for the helper"}`)},
			providertest.Step{providertest.Call("c2", "task", `{"tasks":[{"id":"h","description":"Help","assignment":"help"}]}`)},
			// The helper.
			providertest.Step{providertest.Call("h1", "read", `{"path":"local://in.md"}`), providertest.Call("h2", "write", `{"path":"local://out.md","content":"from the helper"}`)},
			providertest.Step{providertest.Text("helped")},
			// The session again.
			providertest.Step{providertest.Call("c3", "read", `{"path":"local://out.md"}`)},
			providertest.Step{providertest.Text("done")})
		c.server.Models.Models = &models{list: []providers.Model{script}}
	})
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	if got := results(script); len(got) != 3 || !strings.Contains(got[2], "from the helper") {
		t.Errorf("results %q", got)
	}
	for _, r := range script.Requests() {
		for _, m := range r.Messages {
			if m.ToolCallID == "h1" && !strings.Contains(m.Text(), "for the helper") {
				t.Errorf("the helper read %q", m.Text())
			}
		}
	}
}
