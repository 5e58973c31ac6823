package server_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// lastPlan returns the steps of the last plan among updates, with their statuses; "none" if there is no plan.
func lastPlan(updates []acp.SessionUpdate) string {
	last := "none"
	for _, u := range updates {
		if u, ok := u.(*acp.Plan); ok {
			var steps []string
			for _, e := range u.Entries {
				steps = append(steps, e.Content+" "+string(e.Status))
			}
			last = strings.Join(steps, "; ")
		}
	}
	return last
}

func TestTodo_Edits(t *testing.T) {
	e := start(t)
	id := e.session()
	for _, tt := range []struct{ prompt, text, plan string }{
		{"/todo done 1", "/todo: there is no plan; /todo add <step> begins one\n", "none"},
		{"/todo add  Write\tthe code", "Added \"Write the code\". The plan has 1 step, 1 open.\n", "Write the code pending"},
		{"/todo add Write the code", "/todo: the plan already has the step \"Write the code\"\n", "none"},
		{"/todo add Test the code", "Added \"Test the code\". The plan has 2 steps, 2 open.\n", "Write the code pending; Test the code pending"},
		{"/todo add Write the docs", "Added \"Write the docs\". The plan has 3 steps, 3 open.\n", "Write the code pending; Test the code pending; Write the docs pending"},
		{"/todo done 4", "/todo: there is no step 4; the plan has 3 steps\n", "none"},
		{"/todo done 0", "/todo: there is no step 0; the plan has 3 steps\n", "none"},
		{"/todo done WRITE the", "/todo: 2 steps contain \"write the\"; use a number, as /todo lists them\n", "none"},
		{"/todo drop nothing", "/todo: no step contains \"nothing\"; /todo lists the steps with their numbers\n", "none"},
		{"/todo done write THE code", "Marked as completed: \"Write the code\". The plan has 3 steps, 2 open.\n", "Write the code completed; Test the code pending; Write the docs pending"},
		{"/todo done 1", "/todo: step 1 is already completed: Write the code\n", "none"},
		{"/todo drop 2, 3", "Marked as abandoned: \"Test the code\", \"Write the docs\". The plan has 3 steps, 0 open.\n", "Write the code completed; Test the code (abandoned) completed; Write the docs (abandoned) completed"},
		{"/todo done docs", "Marked as completed: \"Write the docs\". The plan has 3 steps, 0 open.\n", "Write the code completed; Test the code (abandoned) completed; Write the docs completed"},
		{"/todo", "1. [x] Write the code\n2. [-] Test the code\n3. [x] Write the docs\n", "none"},
		{"/todo done", "Use /todo, /todo add <step>, /todo done <number or step> or /todo drop <number or step>.\n", "none"},
		{"/todo remove 1", "Use /todo, /todo add <step>, /todo done <number or step> or /todo drop <number or step>.\n", "none"},
	} {
		text, updates := e.after(id, tt.prompt)
		if text != tt.text {
			t.Errorf("%s: %q, want %q", tt.prompt, text, tt.text)
		}
		if got := lastPlan(updates); got != tt.plan {
			t.Errorf("%s: plan %q, want %q", tt.prompt, got, tt.plan)
		}
	}
}

// The user's edit outlives a restart, is in a fork, and reaches the model with the next prompt. It
// can be made in plan mode.
func TestTodo_EditsAreKept(t *testing.T) {
	var script *providertest.Script
	e := start(t, func(c *config) {
		script = providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000},
			providertest.Step{providertest.Call("c1", "todo_write", `{"todos":[{"content":"one","phase":"A","priority":"high"},{"content":"two","phase":"A"}]}`)},
			providertest.Step{providertest.Text("planned")}, providertest.Step{providertest.Text("seen")}, providertest.Step{providertest.Text("again")})
		c.server.Models.Models = &models{list: []providers.Model{script}}
	})
	id := e.session()
	e.say(id, "plan", acp.StopReasonEndTurn)
	e.say(id, "/mode plan", acp.StopReasonEndTurn)
	e.say(id, "/todo drop 1", acp.StopReasonEndTurn)
	e.say(id, "/todo add three", acp.StopReasonEndTurn)
	const want = "A: one (abandoned) completed; A: two pending; A: three pending"
	reload := func(id acp.SessionID) string {
		t.Helper()
		call[struct{}](e, "session/close", obj{"sessionId": id})
		from := len(e.Updates(id))
		call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
		if got := lastPlan(e.Updates(id)[from:]); got != want {
			t.Errorf("replayed plan %q, want %q", got, want)
		}
		text, _ := e.after(id, "/todo")
		return text
	}
	const listed = "1. [-] A: one\n2. [ ] A: two\n3. [ ] A: three\n"
	if got := reload(id); got != listed {
		t.Errorf("after a restart: %q", got)
	}
	forked := call[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}}).SessionID
	if got, _ := e.after(forked, "/todo"); got != listed {
		t.Errorf("in the fork: %q", got)
	}
	e.say(id, "go on", acp.StopReasonEndTurn)
	requests := script.Requests()
	var seen []string
	for _, m := range requests[len(requests)-1].Messages {
		if text := m.Text(); strings.HasPrefix(text, "<system-reminder>") {
			seen = append(seen, text)
		}
	}
	end := "Keep to it: the next call of todo_write starts from this plan.\n</system-reminder>"
	if diff := cmp.Diff([]string{
		"<system-reminder>\nThe user has edited the plan: marked as abandoned: \"one\".\nIt is now:\n- A: one (abandoned)\n- A: two (pending)\n" + end,
		"<system-reminder>\nThe user has edited the plan: added \"three\".\nIt is now:\n- A: one (abandoned)\n- A: two (pending)\n- A: three (pending)\n" + end,
	}, seen); diff != "" {
		t.Errorf("the model saw (-want +got):\n%s", diff)
	}
}
