package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

func wrote(id, name, input string) sessions.Entry {
	return sessions.MessageEntry{Message: providers.Message{
		Role: providers.RoleAssistant, Parts: []providers.Part{providers.ToolCall{ID: id, Name: name, Input: []byte(input)}},
	}}
}

func came(id string, failed bool) sessions.Entry {
	return sessions.MessageEntry{Message: providers.Message{Role: providers.RoleTool, ToolCallID: id, IsError: failed, Parts: words("ok")}}
}

// phases returns a result written by another program, with the plan in its details.
func phases(id, details string) sessions.Entry {
	e := came(id, false).(sessions.MessageEntry)
	e.Message.ToolName, e.Message.Details = "todo_write", []byte(details)
	return e
}

// edited returns the user's edit of the plan, which then has one step.
func edited(step string) sessions.Entry {
	return sessions.CustomMessage{CustomType: "user_todo_edit", Details: []byte(`{"phases":[{"name":"","tasks":[{"content":"` + step + `","status":"pending"}]}]}`)}
}

func TestPlanIn(t *testing.T) {
	message := func(e sessions.Entry) providers.Message { return e.(sessions.MessageEntry).Message }
	said := providers.Message{Role: providers.RoleUser, Parts: words("hi")}
	planned := []providers.Message{said, message(wrote("1", "todo_write", `{"todos":[{"content":"one"}]}`)), message(came("1", false))}
	foreign := []providers.Message{said, message(wrote("1", "todo_write", `{"ops":[]}`)), message(came("1", false))}
	for _, tt := range []struct {
		name      string
		history   []providers.Message
		compacted bool
		plan      int
		ok        bool
	}{
		{"whole, without a plan", []providers.Message{said}, false, 0, true},
		{"whole, with one", planned, false, 1, true},
		{"compacted, with one after", planned, true, 1, true},
		{"compacted, without", []providers.Message{said}, true, 0, false},
		{"another program's", foreign, false, 0, false},
		{"edited by the user", append(planned[:len(planned):len(planned)], providers.Message{Role: providers.RoleUser, Parts: words("<system-reminder>\nThe user has edited the plan: x")}), false, 1, false},
	} {
		if plan, ok := agent.PlanIn(tt.history, tt.compacted); len(plan) != tt.plan || ok != tt.ok {
			t.Errorf("%s: %v, %t", tt.name, plan, ok)
		}
	}
}

func TestPlanOf(t *testing.T) {
	const one, two = `{"todos":[{"content":"one"}]}`, `{"todos":[{"content":"two"}]}`
	for _, tt := range []struct {
		name   string
		branch []sessions.Entry
		want   string
	}{
		{"nothing", nil, ""},
		{"one", []sessions.Entry{wrote("1", "todo_write", one), came("1", false)}, "one"},
		{"the last", []sessions.Entry{wrote("1", "todo_write", one), came("1", false), wrote("2", "todo_write", two), came("2", false)}, "two"},
		{"phases of another program", []sessions.Entry{wrote("1", "todo_write", `{"phases":[{"name":"A","tasks":[{"content":"one","status":"completed"}]}]}`), came("1", false)}, "one"},
		{"phases in the result", []sessions.Entry{wrote("1", "todo_write", `{"ops":[]}`), phases("1", `{"phases":[{"tasks":[{"content":"two"}]}]}`)}, "two"},
		{"the same id again", []sessions.Entry{wrote("1", "todo_write", one), came("1", false), wrote("1", "todo_write", two), came("1", false)}, "two"},
		{"failed", []sessions.Entry{wrote("1", "todo_write", one), came("1", false), wrote("2", "todo_write", two), came("2", true)}, "one"},
		{"interrupted", []sessions.Entry{wrote("1", "todo_write", one), came("1", false), wrote("2", "todo_write", two)}, "one"},
		{"interrupted, then another call", []sessions.Entry{wrote("1", "todo_write", one), wrote("1", "read", `{}`), came("1", false)}, ""},
		{"other tool", []sessions.Entry{wrote("1", "other", one), came("1", false)}, ""},
		{"compacted", []sessions.Entry{wrote("1", "todo_write", one), came("1", false), sessions.Compaction{Summary: "s"}}, "one"},
		{"cleared", []sessions.Entry{wrote("1", "todo_write", one), came("1", false), sessions.Custom{CustomType: "context_clear"}}, ""},
		{"edited", []sessions.Entry{wrote("1", "todo_write", one), came("1", false), edited("three")}, "three"},
		{"edited, then written", []sessions.Entry{edited("three"), wrote("1", "todo_write", one), came("1", false)}, "one"},
		{"edited, then cleared", []sessions.Entry{edited("three"), sessions.Custom{CustomType: "context_clear"}}, ""},
		{"another message", []sessions.Entry{edited("three"), sessions.CustomMessage{CustomType: "other", Details: []byte(`{"phases":[]}`)}}, "three"},
		{"emptied", []sessions.Entry{wrote("1", "todo_write", one), came("1", false), wrote("2", "todo_write", `{"todos":[]}`), came("2", false)}, ""},
	} {
		var got strings.Builder
		for _, e := range agent.PlanOf(tt.branch) {
			got.WriteString(e.Content)
		}
		if got.String() != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got.String(), tt.want)
		}
	}
}

// Phases and abandoned steps are kept, from gjc's own calls and from those of another program.
func TestPlanOf_Phases(t *testing.T) {
	want := []agent.PlanEntry{
		{Content: "one", Phase: "Build it", Priority: agent.PriorityMedium, Status: agent.PlanAbandoned},
		{Content: "two", Priority: agent.PriorityMedium, Status: agent.PlanPending},
	}
	for name, input := range map[string]string{
		"own":     `{"todos":[{"content":"one","phase":" Build\nit ","status":"abandoned"},{"content":"two"}]}`,
		"foreign": `{"phases":[{"name":"Build it","tasks":[{"content":"one","status":"abandoned"}]},{"name":"","tasks":[{"content":"two","status":"pending"}]}]}`,
	} {
		got := agent.PlanOf([]sessions.Entry{wrote("1", "todo_write", input), came("1", false)})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// The log is on disk, and was compacted and cleared.
func TestPlanOf_Log(t *testing.T) {
	store := sessions.NewStore(t.TempDir(), nil)
	log, err := store.Create(t.Context(), sessions.Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	for _, e := range []sessions.Entry{wrote("1", "todo_write", `{"todos":[{"content":"one"}]}`), came("1", false)} {
		m := e.(sessions.MessageEntry).Message
		if _, err := log.AppendMessage(&m); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Append(sessions.Compaction{Summary: "s"}); err != nil {
		t.Fatal(err)
	}
	if plan := agent.PlanOf(branchOf(t, log)); len(plan) != 1 {
		t.Errorf("compacted: %+v", plan)
	}
	if err := log.Clear(); err != nil {
		t.Fatal(err)
	}
	if plan := agent.PlanOf(branchOf(t, log)); plan != nil {
		t.Errorf("cleared: %+v", plan)
	}
}

// Calls made by a command belong to the trace of its prompt.
func TestTrace_OfCommands(t *testing.T) {
	trace := agent.Trace{"traceparent": "00-1-2-01"}
	var seen []agent.Trace
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{agent.NewTool(agent.ToolFuncs[input]{
			Name: "look", Kind: agent.KindOther,
			Run: func(_ context.Context, call *agent.Call, _ *input) (*agent.Result, error) {
				seen = append(seen, call.Trace)
				return &agent.Result{Text: "ok"}, nil
			},
		})}
	}, func(w *world) {
		w.session.Prompt(agent.Prompt{Prepare: func(_ context.Context, turn *agent.RunningTurn) (agent.Prepared, error) {
			seen = append(seen, turn.Trace())
			return agent.Prepared{Parts: words("made")}, nil
		}, Trace: trace}).Wait(w.t.Context())
		w.session.Prompt(agent.Prompt{Answer: func(_ context.Context, turn *agent.RunningTurn) error {
			seen = append(seen, turn.Trace())
			return nil
		}, Trace: trace}).Wait(w.t.Context())
		if diff := cmp.Diff([]agent.Trace{trace, trace, trace}, seen); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	},
		providertest.Step{providertest.Call("c1", "look", `{}`)}, providertest.Step{providertest.Text("done")})
}

// A refused prompt is undone together with the plan that it made.
func TestTurn_RefusalRestoresThePlan(t *testing.T) {
	todo := agent.NewTool(agent.ToolFuncs[agent.PlanInput]{
		Name: "todo_write", Kind: agent.KindThink,
		Run: func(_ context.Context, call *agent.Call, in *agent.PlanInput) (*agent.Result, error) {
			plan, err := in.Entries()
			call.SetPlan(plan)
			return &agent.Result{Text: "ok"}, err
		},
	})
	run(t, func(o *agent.Options) { o.Tools = agent.Tools{todo} }, func(w *world) {
		w.prompt("one")
		if r := w.prompt("two"); r.Stop != agent.StopRefusal {
			t.Errorf("result %+v", r)
		}
		snap, err := w.session.Snapshot()
		if err != nil || len(snap.Plan) != 1 || snap.Plan[0].Content != "first" {
			t.Errorf("plan %v, %v", snap.Plan, err)
		}
		if story := w.story(); story[len(story)-2] != "plan 1" {
			t.Errorf("the client got last:\n%s", strings.Join(story, "\n"))
		}
	},
		providertest.Step{providertest.Call("1", "todo_write", `{"todos":[{"content":"first"}]}`)},
		providertest.Step{providertest.Text("fine")},
		providertest.Step{providertest.Call("2", "todo_write", `{"todos":[{"content":"second"},{"content":"third"}]}`)},
		providertest.Step{providertest.Text("no"), providertest.Stop(providers.StopRefusal)})
}

// todoTool is a todo_write that sets the plan.
func todoTool() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[agent.PlanInput]{
		Name: "todo_write", Kind: agent.KindThink,
		Run: func(_ context.Context, call *agent.Call, in *agent.PlanInput) (*agent.Result, error) {
			plan, err := in.Entries()
			call.SetPlan(plan)
			return &agent.Result{Text: "ok"}, err
		},
	})
}

// A model that stops with open steps is reminded, at most as often as the settings allow, and only after it has worked.
func TestPlan_Reminders(t *testing.T) {
	const begun, done = `{"todos":[{"content":"one","status":"completed"},{"content":"two","phase":"Later"},{"content":"three","status":"abandoned"}]}`,
		`{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"completed"}]}`
	plan := func(input string) providertest.Step {
		return providertest.Step{providertest.Call("p", "todo_write", input)}
	}
	work, stop := providertest.Step{providertest.Call("e", "echo", `{"say":"x"}`)}, providertest.Step{providertest.Text("I stop.")}
	for _, tt := range []struct {
		name   string
		change func(*agent.Options)
		steps  []providertest.Step
		want   int
		stop   agent.StopReason
	}{
		{"goes on and finishes", nil, []providertest.Step{plan(begun), stop, plan(done), stop}, 1, ""},
		{"does nothing about it", nil, []providertest.Step{plan(begun), stop, stop}, 1, ""},
		{"works, but never finishes", nil, []providertest.Step{plan(begun), stop, work, stop, work, stop, work, stop}, 3, ""},
		{"one is enough", func(o *agent.Options) { o.Settings.Todo.MaxReminders = 1 }, []providertest.Step{plan(begun), stop, work, stop}, 1, ""},
		{"turned off", func(o *agent.Options) { o.Settings.Todo.Reminders = false }, []providertest.Step{plan(begun), stop}, 0, ""},
		{"asks the user", nil, []providertest.Step{plan(begun), {providertest.Text("Shall I go on **now?**")}}, 0, ""},
		{"a proposal", nil, []providertest.Step{plan(`{"todos":[{"content":"one"},{"content":"two"}]}`), stop}, 0, ""},
		{"finished", nil, []providertest.Step{plan(done), stop}, 0, ""},
		{"plan mode", func(o *agent.Options) { o.Mode = approval.ModePlan }, []providertest.Step{plan(begun), stop}, 0, ""},
		{"refused", nil, []providertest.Step{plan(begun), {providertest.Text("no"), providertest.Stop(providers.StopRefusal)}}, 0, agent.StopRefusal},
		{"cut off", nil, []providertest.Step{plan(begun), {providertest.Text("I was"), providertest.Stop(providers.StopLength)}}, 0, agent.StopMaxTokens},
		{"the last request", func(o *agent.Options) { o.MaxRequests = 2 }, []providertest.Step{plan(begun), stop}, 0, ""},
		{"a tool ends the turn", nil, []providertest.Step{plan(begun), {providertest.Call("q", "question", `{"say":"which?"}`)}}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				question := testTool("question", true, nil, func(_ context.Context, in *input) (*agent.Result, error) {
					return &agent.Result{Text: "asked", Say: in.Say, EndTurn: true}, nil
				})
				o.Tools, o.Settings = agent.Tools{todoTool(), echoTool(), question}, new(agent.DefaultSettings())
				if tt.change != nil {
					tt.change(o)
				}
			}, func(w *world) {
				want := tt.stop
				if want == "" {
					want = agent.StopEndTurn
				}
				if r := w.prompt("go"); r.Stop != want || r.Err != nil {
					t.Fatalf("result %+v, want %s", r, want)
				}
				requests := w.script.Requests()
				if len(requests) != len(tt.steps) {
					t.Errorf("%d requests, want %d", len(requests), len(tt.steps))
				}
				var got []string
				for _, m := range requests[len(requests)-1].Messages {
					if text := m.Text(); strings.HasPrefix(text, "<system-reminder>") {
						got = append(got, text)
					}
				}
				if len(got) != tt.want {
					t.Fatalf("%d reminders, want %d: %q", len(got), tt.want, got)
				}
				for _, text := range got {
					if !strings.Contains(text, "- Later: two (pending)\n") || strings.Contains(text, "- one") || strings.Contains(text, "- three") {
						t.Errorf("the reminder is\n%s", text)
					}
				}
			}, tt.steps...)
		})
	}
}

// An open plan of an earlier turn does not make the model work on it when it only answers.
func TestPlan_NoReminderForAnAnswer(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Tools, o.Plan = agent.Tools{todoTool()}, []agent.PlanEntry{{Content: "one", Status: agent.PlanInProgress}}
	}, func(w *world) {
		w.prompt("What time is it?")
		if n := len(w.script.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	}, providertest.Step{providertest.Text("Late.")})
}

// An edit belongs to its branch: a move to before it takes it back. A rejected edit changes nothing.
func TestEditPlan_Branches(t *testing.T) {
	withLog, _ := realLog(t, nil)
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{todoTool()}
		withLog(o)
	}, func(w *world) {
		w.prompt("plan")
		branch, err := w.session.Branch()
		if err != nil {
			t.Fatal(err)
		}
		before := branch[len(branch)-1].Ref().ID
		edit := func(plan []agent.PlanEntry, err error) error {
			return w.session.Prompt(agent.Prompt{Answer: func(_ context.Context, turn *agent.RunningTurn) error {
				return agent.EditPlan(turn, func(old []agent.PlanEntry) ([]agent.PlanEntry, string, error) {
					old[0].Content = "changed in place" // the session's plan is not affected
					return plan, "a change", err
				})
			}}).Wait(w.t.Context()).Err
		}
		plan := func() string {
			snap, err := w.session.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, e := range snap.Plan {
				all = append(all, e.Text()+" "+string(e.Status))
			}
			return strings.Join(all, "; ")
		}
		refused := errors.New("no")
		if err := edit(nil, refused); !errors.Is(err, refused) || plan() != "one pending" {
			t.Errorf("a rejected edit: %v, plan %q", err, plan())
		}
		if err := edit([]agent.PlanEntry{{Content: "two", Phase: "B", Status: agent.PlanAbandoned}}, nil); err != nil || plan() != "B: two abandoned" {
			t.Errorf("an edit: %v, plan %q", err, plan())
		}
		w.session.Prompt(agent.Prompt{Answer: func(ctx context.Context, turn *agent.RunningTurn) error {
			_, err := turn.Navigate(ctx, before, agent.NavigateOptions{})
			return err
		}}).Wait(w.t.Context())
		if plan() != "one pending" {
			t.Errorf("before the edit: plan %q", plan())
		}
	}, providertest.Step{providertest.Call("1", "todo_write", `{"todos":[{"content":"one"}]}`)}, providertest.Step{providertest.Text("fine")})
}
