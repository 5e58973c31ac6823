package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// recordedEvents returns the ended calls, by ID, and the plan that a new process would replay from the log.
func recordedEvents(t *testing.T, log agent.Log) (ended map[string]bool, plan []agent.PlanEntry) {
	t.Helper()
	branch, err := log.Branch()
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, e := range branch {
		switch e := e.(type) {
		case sessions.MessageEntry:
			if e.Message.Role == providers.RoleTool {
				known[e.Message.ToolCallID] = true
			}
		case sessions.Custom:
			var call struct{ ID string }
			if e.CustomType == "gjc.user_call" && json.Unmarshal(e.Data, &call) == nil {
				known[call.ID] = true
			}
		default:
		}
	}
	ended = make(map[string]bool)
	for _, ev := range agent.Replay(branch, nil) {
		switch ev := ev.(type) {
		case agent.ToolEnded:
			if known[ev.CallID] {
				ended[ev.CallID] = ev.Failed
			}
		case agent.PlanChanged:
			plan = ev.Entries
		default:
		}
	}
	return ended, plan
}

// Everything shown as completed is already in the log: a result, even of a call that ends while others still run, a plan, a title.
func TestEvents_AreRecordedFirst(t *testing.T) {
	var hold chan struct{}
	slow := testTool("slow", false, nil, func(context.Context, *input) (*agent.Result, error) {
		<-hold
		return &agent.Result{Text: "at last"}, nil
	})
	planner := agent.NewTool(agent.ToolFuncs[planInput]{
		Name: "todo_write", Kind: agent.KindThink,
		Plan: func(context.Context, *agent.Call, *planInput) (*agent.CallPlan, error) {
			return &agent.CallPlan{Title: "Plan"}, nil
		},
		Run: func(_ context.Context, call *agent.Call, in *planInput) (*agent.Result, error) {
			var entries []agent.PlanEntry
			for _, todo := range in.Todos {
				entries = append(entries, agent.PlanEntry{Content: todo.Content, Priority: "medium", Status: agent.PlanPending})
			}
			call.SetPlan(entries)
			return &agent.Result{Text: "planned"}, nil
		},
	})
	quick := false
	run(t, func(o *agent.Options) {
		hold = make(chan struct{}) // must be created in the bubble
		o.Tools = agent.Tools{echoTool(), slow, planner}
	}, func(w *world) {
		w.onEvent = func(ev agent.Event) {
			ended, plan := recordedEvents(w.t, w.log)
			switch ev := ev.(type) {
			case agent.ToolEnded:
				if failed, ok := ended[ev.CallID]; !ok || failed != ev.Failed {
					t.Errorf("call %s was shown to end before its result was recorded", ev.CallID)
				}
				if ev.CallID == "quick" {
					quick = true
					if _, ok := ended["slow"]; ok {
						t.Error("the slow call has ended: the test tests nothing")
					}
					close(hold)
				}
			case agent.PlanChanged:
				if diff := cmp.Diff(ev.Entries, plan); diff != "" {
					t.Errorf("a plan was shown before it was recorded (-shown +recorded):\n%s", diff)
				}
			case agent.InfoChanged:
				if ev.Title != "" && !slices.ContainsFunc(w.log.all(), func(e string) bool { return strings.Contains(e, ev.Title) && strings.HasPrefix(e, "title") }) {
					t.Errorf("the title %q was shown before it was recorded: %q", ev.Title, w.log.all())
				}
			default:
			}
		}
		if r := w.prompt("go"); r.Err != nil || !quick {
			t.Fatalf("%+v, quick call ended: %v", r, quick)
		}
		if err := w.session.Prompt(agent.Prompt{Answer: func(_ context.Context, t *agent.RunningTurn) error {
			_, err := t.RunTool("echo", []byte(`{"say":"by the user"}`))
			return err
		}}).Wait(w.t.Context()).Err; err != nil {
			t.Fatal(err)
		}
		// The model receives the results in the order of its calls, whichever ended first.
		var results []string
		for _, m := range w.script.Requests()[1].Messages {
			if m.Role == providers.RoleTool {
				results = append(results, m.Text())
			}
		}
		if diff := cmp.Diff([]string{"at last", "at once", "planned"}, results); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	},
		providertest.Step{
			providertest.Call("slow", "slow", `{}`), providertest.Call("quick", "echo", `{"say":"at once"}`),
			providertest.Call("plan", "todo_write", `{"todos":[{"content":"A","status":"pending"}]}`),
		},
		providertest.Step{providertest.Text("done")})
}

type planInput struct {
	Todos []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"todos"`
}

// A result that cannot be recorded is not shown as completed, no further call runs, and the next prompt works once the log
// does.
func TestUnsaved_ResultIsNotShown(t *testing.T) {
	ran := 0
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{testTool("count", true, nil, func(context.Context, *input) (*agent.Result, error) {
			ran++
			return &agent.Result{Text: fmt.Sprint(ran)}, nil
		})}
	}, func(w *world) {
		full := 0
		w.onEvent = func(ev agent.Event) {
			if ev, ok := ev.(agent.ToolStarted); ok && ev.CallID == "1" {
				w.log.mu.Lock()
				w.log.failAt = len(w.log.entries) + 1
				w.log.mu.Unlock()
			}
			if ev, ok := ev.(agent.ToolEnded); ok && !ev.Failed {
				t.Errorf("call %s is shown as completed", ev.CallID)
			}
			if _, ok := ev.(agent.Noticed); ok {
				full++
			}
		}
		r := w.prompt("go")
		var unsaved *agent.UnsavedError
		if !errors.As(r.Err, &unsaved) || !errors.Is(r.Err, errDiskFull) || ran != 1 {
			t.Fatalf("%+v after %d calls", r, ran)
		}
		w.onEvent, w.log.failAt = nil, 0
		if r := w.prompt("again"); r.Err != nil || r.Stop != agent.StopEndTurn {
			t.Errorf("%+v", r)
		}
		last := w.script.Requests()[1].Messages
		var results []string
		for _, m := range last {
			if m.Role == providers.RoleTool {
				results = append(results, m.ToolCallID+": "+m.Text())
			}
		}
		const lost = "The call was interrupted; it is not known whether it took effect."
		if diff := cmp.Diff([]string{"1: " + lost, "2: " + lost}, results); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	},
		providertest.Step{providertest.Call("1", "count", `{}`), providertest.Call("2", "count", `{}`)},
		providertest.Step{providertest.Text("done")})
}
