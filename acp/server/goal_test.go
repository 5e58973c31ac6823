package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// goals returns a configuration with a scripted model that has these settings of goals, and a pointer to its script.
func goals(script **providertest.Script, reminders, budget int, steps ...providertest.Step) func(*config) {
	return func(c *config) {
		*script = providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000}, steps...)
		c.server.Models.Models = &models{list: []providers.Model{*script}}
		c.server.Sessions.Settings = func(string) (*server.Settings, error) {
			set := server.DefaultSettings()
			set.Agent.Goals.MaxReminders, set.Agent.Goals.TokenBudget = reminders, budget
			return set, nil
		}
	}
}

// reminders returns the texts about the goal in a request, their first lines only.
func reminders(req *providers.Request) []string {
	var all []string
	for _, m := range req.Messages {
		if text, ok := strings.CutPrefix(m.Text(), "<system-reminder>\n"); ok && strings.Contains(text, "goal of this session") {
			first, _, _ := strings.Cut(text, "\n")
			all = append(all, first)
		}
	}
	return all
}

func offersTool(req *providers.Request, name string) bool {
	return slices.ContainsFunc(req.Tools, func(t providers.Tool) bool { return t.Name == name })
}

const (
	goalSet    = "The user has set the goal of this session:"
	goalRemind = "The turn would end now, but the goal of this session is not reached:"
)

func TestGoal_Command(t *testing.T) {
	e := start(t)
	id := e.session()
	const none = "/goal: there is no goal; /goal <text> sets one\n"
	for _, tt := range []struct{ prompt, want string }{
		{"/goal", "There is no goal; /goal <text> sets one."},
		{"/goal done", none},
		{"/goal pause", none},
		{"/goal " + strings.Repeat("x", 2001), "/goal: the goal has 2001 characters; it has at most 2000\n"},
		{"/goal  All tests pass.\nNo lint. ", "The goal is active. The model works towards it from the next prompt on; /goal done ends it."},
		{"/goal", "Goal: All tests pass.\nNo lint.\nStatus: active\nUsed: 0 tokens in 0s"},
		{"/goal resume", "/goal: the goal is active already\n"},
		{"/goal pause", "The goal is paused."},
		{"/goal pause", "/goal: the goal is paused; only an active one can be paused\n"},
		{"/goal resume", "The goal is active. The model works towards it from the next prompt on; /goal done ends it."},
		{"/goal done", "The goal is complete."},
		{"/goal", "Goal: All tests pass.\nNo lint.\nStatus: complete\nUsed: 0 tokens in 0s"},
		{"/goal Another", "The goal is active. The model works towards it from the next prompt on; /goal done ends it."},
		{"/goal drop", "The goal is dropped."},
		{"/goal", "There is no goal; /goal <text> sets one."},
	} {
		if got, _ := e.after(id, tt.prompt); strings.TrimSpace(got) != strings.TrimSpace(tt.want) {
			t.Errorf("%.40s: %q, want %q", tt.prompt, got, tt.want)
		}
	}
	for _, u := range e.Updates(id) {
		if u, ok := u.(*acp.SessionInfoUpdate); ok && len(u.Meta) > 0 {
			t.Errorf("a client that does not know goals receives %v", u.Meta)
		}
	}
}

// A model that stops work before the goal is reached is reminded, at most as often as the settings say, and not if it has done nothing,
// asks, or has reported the end.
func TestGoal_Reminders(t *testing.T) {
	work := func(id string) providertest.Step {
		return providertest.Step{providertest.Call(id, "find", `{"paths":["*"]}`)}
	}
	say := func(text string) providertest.Step { return providertest.Step{providertest.Text(text)} }
	end := func(input string) providertest.Step {
		return providertest.Step{providertest.Call("end", "goal", input)}
	}
	for _, tt := range []struct {
		name      string
		most      int
		steps     []providertest.Step
		reminders int // in the last request
		status    string
		result    string // of the call of the goal tool
	}{
		{"bounded", 2, []providertest.Step{work("a"), say("stop"), work("b"), say("stop"), work("c"), say("stop")}, 2, "active", ""},
		{"off", 0, []providertest.Step{work("a"), say("stop")}, 0, "active", ""},
		{"a reason to stop", 2, []providertest.Step{work("a"), say("stop"), say("because")}, 1, "active", ""},
		{"nothing done", 2, []providertest.Step{say("hello")}, 0, "active", ""},
		{"a question", 2, []providertest.Step{work("a"), say("Which one?")}, 0, "active", ""},
		{"reached", 2, []providertest.Step{work("a"), end(`{"status":"complete","reason":"all pass"}`), say("done")}, 0, "complete (all pass)", "The goal is marked as complete. all pass"},
		{"blocked", 2, []providertest.Step{work("a"), say("stop"), end(`{"status":"blocked","reason":"no access"}`), say("sorry")}, 1, "blocked (no access)", "The goal is marked as blocked. no access"},
		{"no reason", 0, []providertest.Step{end(`{"status":"blocked","reason":" "}`), say("hm")}, 0, "active", "blocked needs a reason"},
		{"no status", 0, []providertest.Step{end(`{"status":"paused"}`), say("hm")}, 0, "active", "it must be complete or blocked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var script *providertest.Script
			e := start(t, goals(&script, tt.most, 0, tt.steps...))
			id := e.session()
			e.say(id, "/goal All tests pass", acp.StopReasonEndTurn)
			e.say(id, "go", acp.StopReasonEndTurn)
			requests := script.Requests()
			if len(requests) != len(tt.steps) {
				t.Fatalf("%d requests, want %d", len(requests), len(tt.steps))
			}
			want := []string{goalSet}
			for range tt.reminders {
				want = append(want, goalRemind)
			}
			if diff := cmp.Diff(want, reminders(requests[len(requests)-1])); diff != "" {
				t.Errorf("reminders (-want +got):\n%s", diff)
			}
			if got, _ := e.after(id, "/goal"); !strings.Contains(got, "Status: "+tt.status+"\n") {
				t.Errorf("/goal: %q", got)
			}
			if !offersTool(requests[0], "goal") || offersTool(requests[len(requests)-1], "goal") != (tt.status == "active") {
				t.Errorf("the goal tool is not offered exactly while the goal is active")
			}
			if got := strings.Join(results(script), "|"); !strings.Contains(got, tt.result) {
				t.Errorf("results %q", got)
			}
		})
	}
}

// The goal outlives a restart and a compaction, is in a fork and in the session of a handoff, and ends with /clear. A session without
// one does not offer the tool.
func TestGoal_IsKept(t *testing.T) {
	var script *providertest.Script
	say := func(text string) providertest.Step {
		return providertest.Step{providertest.Text(text), providertest.Use(providers.Usage{Input: 30, Output: 2})}
	}
	e := start(t, goals(&script, 1, 0, say("one"), say("SUMMARY"), say("two"), say("DOCUMENT"), say("three"), say("four")))
	id := e.session()
	e.say(id, "/goal All tests pass", acp.StopReasonEndTurn)
	e.say(id, "go", acp.StopReasonEndTurn)
	reload := func(id acp.SessionID) string {
		t.Helper()
		call[struct{}](e, "session/close", obj{"sessionId": id})
		call[struct{}](e, "session/resume", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
		text, _ := e.after(id, "/goal")
		return text
	}
	const active, used = "Goal: All tests pass\nStatus: active\n", "Used: 32 tokens"
	if got := reload(id); !containsAll(got, active, used) {
		t.Errorf("after a restart: %q", got)
	}
	fork := call[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}}).SessionID
	if got, _ := e.after(fork, "/goal"); !containsAll(got, active, used) {
		t.Errorf("in the fork: %q", got)
	}
	e.say(id, "/compact", acp.StopReasonEndTurn)
	if got := reload(id); !containsAll(got, active) {
		t.Errorf("after a compaction: %q", got)
	}
	e.say(id, "go on", acp.StopReasonEndTurn)
	requests := script.Requests()
	if first := requests[2].Messages[0].Text(); !containsAll(first, "SUMMARY", goalSet+" All tests pass") || !offersTool(requests[2], "goal") {
		t.Errorf("after the compaction the model sees %q", first)
	}
	text, _ := e.after(id, "/handoff")
	next := acp.SessionID(strings.Fields(text)[1])
	call[struct{}](e, "session/load", obj{"sessionId": next, "cwd": e.dir, "mcpServers": []any{}})
	if got, _ := e.after(next, "/goal"); !containsAll(got, active) {
		t.Errorf("after the handoff: %q", got)
	}
	e.say(next, "go on", acp.StopReasonEndTurn)
	if got := reminders(script.Requests()[4]); len(got) != 1 {
		t.Errorf("after the handoff the model sees %q", got)
	}
	e.say(id, "/clear", acp.StopReasonEndTurn)
	if got := reload(id); got != "There is no goal; /goal <text> sets one.\n" {
		t.Errorf("after /clear: %q", got)
	}
	e.say(id, "hello", acp.StopReasonEndTurn)
	if last := script.Requests()[5]; offersTool(last, "goal") || len(reminders(last)) > 0 {
		t.Error("after /clear the model sees the goal")
	}
}

// With the budget used, the goal is limited and there are no more reminders, until the user resumes it with another budget.
func TestGoal_Budget(t *testing.T) {
	var script *providertest.Script
	work := func(id string) providertest.Step {
		return providertest.Step{providertest.Call(id, "find", `{"paths":["*"]}`), providertest.Use(providers.Usage{Input: 60, Output: 1, CacheRead: 1000})}
	}
	say := func(text string) providertest.Step {
		return providertest.Step{providertest.Text(text), providertest.Use(providers.Usage{Input: 40, Output: 1})}
	}
	e := start(t, goals(&script, 3, 100, work("a"), say("stop"), work("b"), say("why"), say("hello")))
	id := e.session()
	e.say(id, "/goal All tests pass", acp.StopReasonEndTurn)
	e.say(id, "go", acp.StopReasonEndTurn)
	if got, _ := e.after(id, "/goal"); !containsAll(got, "Status: limited\nUsed: 102 tokens of 100 in ") {
		t.Errorf("/goal: %q", got)
	}
	if !slices.ContainsFunc(e.Updates(id), func(u acp.SessionUpdate) bool {
		n, ok := u.(*acp.Notice)
		return ok && strings.HasPrefix(n.Title, "The goal has used its token budget")
	}) {
		t.Error("the user does not see that the budget is used")
	}
	e.say(id, "/goal resume", acp.StopReasonEndTurn)
	if got, _ := e.after(id, "/goal"); !containsAll(got, "Status: active\nUsed: 102 tokens of 202 in ") {
		t.Errorf("/goal: %q", got)
	}
	e.say(id, "go", acp.StopReasonEndTurn)
	if got, _ := e.after(id, "/goal"); !containsAll(got, "Status: limited\nUsed: 204 tokens of 202 in ") {
		t.Errorf("/goal: %q", got)
	}
	e.say(id, "hello", acp.StopReasonEndTurn)
	if requests := script.Requests(); len(requests) != 5 || len(reminders(requests[4])) != 2 {
		t.Errorf("%d requests, the last with %q", len(requests), reminders(requests[len(requests)-1]))
	}
}

// airGoals returns the goals in updates, as JSON without times; "null" for none.
func airGoals(t *testing.T, updates []acp.SessionUpdate) []string {
	t.Helper()
	var all []string
	for _, u := range updates {
		info, ok := u.(*acp.SessionInfoUpdate)
		if !ok {
			continue
		}
		raw, ok := airIn(t, info.Meta)["goal"]
		if !ok {
			continue
		}
		var state map[string]any
		if err := jsonx.Unmarshal(raw, &state); err != nil {
			t.Fatal(err)
		}
		if state == nil {
			all = append(all, "null")
			continue
		}
		for _, name := range []string{"createdAt", "updatedAt"} {
			if ms, ok := state[name].(float64); !ok || ms < 1.6e12 {
				t.Errorf("%s is %v", name, state[name])
			}
			delete(state, name)
		}
		text, err := jsonx.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// JetBrains Air sees the goal, and changes it while a turn runs, too.
func TestGoal_Air(t *testing.T) {
	var script *providertest.Script
	gate := providertest.NewGate()
	defer gate.Open()
	e := start(t, goals(
		&script, 0, 500,
		providertest.Step{providertest.Call("a", "find", `{"paths":["*"]}`), gate.Hold(), providertest.Use(providers.Usage{Input: 30, Output: 2})},
		providertest.Step{providertest.Text("ok"), providertest.Use(providers.Usage{Input: 5, Output: 1})},
	), asAir(`{"version":1,"capabilities":[]}`))
	init, err := e.Initialize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"version":1,"controlMethod":"_session/goal","actions":["set","pause","resume","clear"]}`, string(airIn(t, init.Meta)["goal"])); diff != "" {
		t.Errorf("advertised (-want +got):\n%s", diff)
	}
	id := e.session()
	control := func(action, objective string) error {
		_, err := tryCall[obj](e, "_session/goal", obj{"sessionId": id, "action": action, "objective": objective})
		return err
	}
	wantCode(t, control("pause", ""), acp.ErrorCodeInvalidParams, "no goal")
	wantCode(t, control("set", " "), acp.ErrorCodeInvalidParams, "empty")
	wantCode(t, control("finish", ""), acp.ErrorCodeInvalidParams, "set, pause, resume and clear")
	_, err = tryCall[obj](e, "_session/goal", obj{"sessionId": "nowhere", "action": "clear"})
	wantCode(t, err, acp.ErrorCodeResourceNotFound)
	done := make(chan error, 1)
	go func() {
		_, err := e.Prompt(t.Context(), id, "go")
		done <- err
	}()
	<-gate.Reached()
	for _, c := range [][2]string{{"clear", ""}, {"set", "Ship it"}, {"resume", ""}, {"pause", ""}, {"resume", ""}} {
		if err := control(c[0], c[1]); err != nil {
			t.Errorf("%s: %v", c[0], err)
		}
	}
	gate.Open()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	requests := script.Requests()
	if got := reminders(requests[1]); !slices.Equal(got, []string{goalSet}) || !offersTool(requests[1], "goal") {
		t.Errorf("the model sees %q", got)
	}
	if err := control("clear", ""); err != nil {
		t.Error(err)
	}
	state := func(status string, used string) string {
		return `{"controlMethod":"_session/goal","objective":"Ship it","status":"` + status + `","timeUsedSeconds":0,"tokenBudget":500,"tokensUsed":` + used + `}`
	}
	want := []string{state("active", "0"), state("paused", "0"), state("active", "0"), state("active", "38"), "null"}
	if diff := cmp.Diff(want, airGoals(t, e.Updates(id))); diff != "" {
		t.Errorf("goals (-want +got):\n%s", diff)
	}
	// A session that is opened with a goal shows it.
	if err := control("set", "Ship it"); err != nil {
		t.Error(err)
	}
	call[struct{}](e, "session/close", obj{"sessionId": id})
	from := len(e.Updates(id))
	call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	e.say(id, "/goal", acp.StopReasonEndTurn)
	if diff := cmp.Diff([]string{state("active", "0")}, airGoals(t, e.Updates(id)[from:])); diff != "" {
		t.Errorf("after a load (-want +got):\n%s", diff)
	}

	other := start(t)
	_, err = tryCall[obj](other, "_session/goal", obj{"sessionId": other.session(), "action": "clear"})
	wantCode(t, err, acp.ErrorCodeMethodNotFound)
}
