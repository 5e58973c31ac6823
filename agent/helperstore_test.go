package agent_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// addressTool returns a tool that reads the address of a helper.
func addressTool() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[input]{
		Name: "address", Kind: agent.KindRead,
		Run: func(ctx context.Context, call *agent.Call, in *input) (*agent.Result, error) {
			if name, ok := strings.CutPrefix(in.Say, "history://"); ok {
				c, err := call.Conversation(ctx, name)
				if err != nil {
					return nil, err
				}
				var all []string
				for _, m := range sessions.MessagesOf(c.Branch) {
					all = append(all, string(m.Role)+" "+m.Text())
				}
				return &agent.Result{Text: strings.Join(all, "; ")}, nil
			}
			text, err := call.Document(ctx, in.Say)
			return &agent.Result{Text: string(text)}, err
		},
	})
}

// lastResults returns the texts of the last messages of the last request to the model.
func lastResults(w *world, n int) []string {
	reqs := w.script.Requests()
	m := reqs[len(reqs)-1].Messages
	var all []string
	for i := range m[len(m)-n:] {
		all = append(all, m[len(m)-n+i].Text())
	}
	return all
}

// The conversations of helpers and of their helpers are stored with the session. After a restart their names are known, and their
// reports and conversations readable.
func TestHelper_Stored(t *testing.T) {
	store := sessions.NewStore(filepath.Join(t.TempDir(), "sessions"), nil)
	stored := func(log *sessions.Log) func(*agent.Options) {
		return func(o *agent.Options) {
			kinds(o)
			o.ID, o.Log, o.Children = log.ID(), log, log.Children()
			o.Tools = agent.Tools{tasksTool(), addressTool()}
			o.Model.ContextWindow = 100_000
		}
	}
	log, err := store.Create(t.Context(), sessions.Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	id := log.ID()
	var seen below
	runBelow(t, &seen, stored(log), func(w *world) {
		w.script.Add(
			providertest.Step{providertest.Call("c1", "task", `{"helper":"executor","names":["Scout"]}`)},
			providertest.Step{providertest.Call("c2", "task", `{"helper":"executor","names":["Reader"]}`)},
			providertest.Step{providertest.Text("read")},
			providertest.Step{providertest.Text("scouted")},
			providertest.Step{
				providertest.Call("c3", "address", `{"say":"agent://Scout"}`), providertest.Call("c4", "address", `{"say":"agent://Scout.Reader"}`),
				providertest.Call("c5", "address", `{"say":"history://Scout.Reader"}`),
			},
			providertest.Step{providertest.Text("done")},
		)
		if r := w.prompt("go"); r.Err != nil || r.Stop != agent.StopEndTurn {
			t.Fatalf("%+v", r)
		}
		want := []string{"scouted", "read", "user do Reader; assistant read"}
		if d := cmp.Diff(want, lastResults(w, 3)); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
	if page, err := store.List(t.Context(), sessions.ListOptions{}); err != nil || len(page.Sessions) != 1 || page.Sessions[0].ID != id {
		t.Errorf("the list is %+v, %v", page, err)
	}
	if log, err = store.Open(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	parents := map[string]string{}
	for _, name := range []string{"Scout", "Scout.Reader"} {
		child, err := log.Children().View(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		parents[child.ID()] = child.Header().ParentSession
	}
	var chain []string
	for at := seen.newest; at != ""; at = parents[at] {
		chain = append(chain, at)
	}
	if len(chain) != 3 || chain[2] != id {
		t.Errorf("the parents are %q", chain)
	}
	runBelow(t, new(below), stored(log), func(w *world) {
		w.script.Add(
			providertest.Step{providertest.Call("d1", "task", `{"helper":"limited","names":["Scout"]}`)},
			providertest.Step{providertest.Text("again")},
			providertest.Step{
				providertest.Call("d2", "address", `{"say":"agent://Scout"}`), providertest.Call("d3", "address", `{"say":"history://Scout.Reader"}`),
				providertest.Call("d4", "address", `{"say":"agent://Scout-2"}`), providertest.Call("d5", "address", `{"say":"agent://Nobody"}`),
			},
			providertest.Step{providertest.Text("done")},
		)
		w.prompt("go on")
		want := []string{
			"scouted", "user do Reader; assistant read", "again",
			`not found: no helper "Nobody"; the helpers of this session are Scout, Scout-2, Scout.Reader`,
		}
		if d := cmp.Diff(want, lastResults(w, 4)); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

// A helper that fails or is cancelled keeps its conversation. Its name is not given to another.
func TestHelper_KeptAfterFailure(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{tasksTool(), addressTool()}
		o.Model.ContextWindow = 100_000
	}, func(w *world) {
		w.script.Add(
			providertest.Step{providertest.Call("c1", "task", `{"names":["a"]}`)},
			providertest.Step{providertest.Text("part"), providertest.Call("c2", "address", `{"say":"agent://a"}`)},
			providertest.Step{providertest.Fail(errors.New("boom"))},
			providertest.Step{providertest.Call("c3", "task", `{"names":["a"]}`)},
			providertest.Step{providertest.Text("whole")},
			providertest.Step{providertest.Call("c4", "address", `{"say":"history://a"}`), providertest.Call("c5", "address", `{"say":"agent://a"}`), providertest.Call("c6", "address", `{"say":"agent://a-2"}`)},
			providertest.Step{providertest.Text("done")},
		)
		w.prompt("go")
		got := lastResults(w, 3)
		if !strings.HasPrefix(got[0], "user do a; assistant part; tool the helper a is still working and has no report yet") || got[1] != "part" || got[2] != "whole" {
			t.Errorf("got %q", got)
		}
	})
}

// A helper with a schema is reminded of it up to three times. Its report is the JSON value, or else its last answer.
func TestHelper_Output(t *testing.T) {
	const good = "Here:\n```json\n{\"n\": 1}\n```"
	for _, tt := range []struct {
		name    string
		answers []string
		want    string
	}{
		{"at once", []string{good}, `a: {"n": 1}`},
		{"after three reminders", []string{"hm", `{"m": 1}`, "[]", good}, `a: {"n": 1}`},
		{"never", []string{"hm", "hm", "hm", "still hm"}, "a: still hm invalid: it is not one JSON value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				o.Tools = agent.Tools{tasksTool(), addressTool()}
				o.Model.ContextWindow = 100_000
				o.Helpers = func(context.Context) []agent.Helper {
					return []agent.Helper{{Name: "executor", Output: jsonx.Raw(`{"type":"object","required":["n"]}`)}}
				}
			}, func(w *world) {
				w.script.Add(providertest.Step{providertest.Call("c1", "task", `{"names":["a"]}`)})
				for _, answer := range tt.answers {
					w.script.Add(providertest.Step{providertest.Text(answer)})
				}
				w.script.Add(providertest.Step{providertest.Call("c2", "address", `{"say":"agent://a"}`)}, providertest.Step{providertest.Text("done")})
				w.prompt("go")
				reqs := w.script.Requests()
				if n := len(tt.answers) + 3; len(reqs) != n {
					t.Fatalf("%d requests, want %d", len(reqs), n)
				}
				if first := reqs[1].Messages[0].Text(); !strings.HasPrefix(first, "do a\n") || !strings.Contains(first, `"required":["n"]`) {
					t.Errorf("the task is %q", first)
				}
				for i := 1; i < len(tt.answers); i++ {
					m := reqs[i+1].Messages
					if text := m[len(m)-1].Text(); !strings.HasPrefix(text, "Your last answer does not match the JSON Schema of the output: ") {
						t.Errorf("reminder %d is %q", i, text)
					}
				}
				m := reqs[len(reqs)-2].Messages
				if got := m[len(m)-1].Text(); !strings.HasPrefix(got, tt.want) {
					t.Errorf("the parent got %q, want %q", got, tt.want)
				}
				want := strings.TrimPrefix(tt.want, "a: ")
				want, _, _ = strings.Cut(want, " invalid")
				if got := lastResults(w, 1)[0]; got != want {
					t.Errorf("the stored report is %q, want %q", got, want)
				}
			})
		})
	}
}

// A helper that has ended goes on with its conversation, in memory and, after a restart, from the store. Its kind and its ID stay the
// same, and only its new requests are charged.
func TestHelper_FollowUp(t *testing.T) {
	store := sessions.NewStore(filepath.Join(t.TempDir(), "sessions"), nil)
	for _, stored := range []bool{false, true} {
		var log *sessions.Log
		var id string
		with := func(o *agent.Options) {
			kinds(o)
			if o.Tools = (agent.Tools{tasksTool(), addressTool(), kindTool("look", agent.KindRead), kindTool("change", agent.KindExecute)}); stored {
				o.ID, o.Log, o.Children = log.ID(), log, log.Children()
			}
			o.Model.ContextWindow, o.Model.Cost = 100_000, providers.Cost{Input: 1, Output: 1}
		}
		if stored {
			var err error
			if log, err = store.Create(t.Context(), sessions.Header{Cwd: "/w"}); err != nil {
				t.Fatal(err)
			}
			id = log.ID()
		}
		var seen below
		first := ""
		followUp := func(w *world) {
			before := len(w.script.Requests())
			w.script.Add(
				providertest.Step{providertest.Call("f1", "task", `{"to":"scout","names":["more"]}`), using(10, 1)},
				providertest.Step{providertest.Text("more of it"), using(10, 1)},
				providertest.Step{providertest.Call("f2", "address", `{"say":"agent://Scout"}`), providertest.Call("f3", "task", `{"to":"Nobody","names":["x"]}`), using(10, 1)},
				providertest.Step{providertest.Text("done"), using(10, 1)},
			)
			if r := w.prompt("ask it"); r.Err != nil || r.Usage.Input != 40 {
				t.Errorf("stored %v: %+v", stored, r)
			}
			child := w.script.Requests()[before+1]
			var all []string
			for _, m := range child.Messages {
				all = append(all, m.Text())
			}
			if d := cmp.Diff([]string{"do Scout", "scouted", "do more"}, all); d != "" {
				t.Errorf("stored %v (-want +got):\n%s", stored, d)
			}
			if !strings.HasSuffix(child.System, "You only read.") || toolNames(child) != "task address look" {
				t.Errorf("stored %v: the tools %q, the prompt ends %q", stored, toolNames(child), child.System[max(0, len(child.System)-50):])
			}
			if d := cmp.Diff([]string{"more of it", `x failed: not found: no helper "Nobody"; the helpers of this session are Scout`}, lastTexts(lastResults(w, 2))); d != "" {
				t.Errorf("stored %v (-want +got):\n%s", stored, d)
			}
			if seen.newest != first {
				t.Errorf("stored %v: the ID is %s, was %s", stored, seen.newest, first)
			}
		}
		runBelow(t, &seen, with, func(w *world) {
			w.script.Add(
				providertest.Step{providertest.Call("c1", "task", `{"helper":"reader","names":["Scout"]}`)},
				providertest.Step{providertest.Text("scouted"), using(5, 1)},
				providertest.Step{providertest.Text("done")},
			)
			w.prompt("go")
			if first = seen.newest; !stored {
				followUp(w)
			}
		})
		if !stored {
			continue
		}
		var err error
		if log, err = store.Open(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		runBelow(t, &seen, with, followUp)
	}
}

// lastTexts returns the texts without the names of the tasks that they are results of.
func lastTexts(all []string) []string {
	for i := range all {
		all[i] = strings.TrimPrefix(all[i], "more: ")
	}
	return all
}

// A helper that works cannot be asked to go on, not even by itself.
func TestHelper_FollowUpAtWork(t *testing.T) {
	run(t, func(o *agent.Options) {
		w, _ := o.Approver.(*world)
		o.Subagent = deep(w, new(below))
		o.Helpers = func(context.Context) []agent.Helper { return []agent.Helper{{Name: "executor", Spawns: []string{"*"}}} }
		o.Tools = agent.Tools{tasksTool()}
		o.Model.ContextWindow = 100_000
	}, func(w *world) {
		w.script.Add(
			providertest.Step{providertest.Call("c1", "task", `{"names":["a"]}`)},
			providertest.Step{providertest.Call("c2", "task", `{"to":"a","names":["x"]}`)},
			providertest.Step{providertest.Text("I see")},
			providertest.Step{providertest.Text("done")},
		)
		w.prompt("go")
		m := w.script.Requests()[2].Messages
		if got := m[len(m)-1].Text(); got != "x failed: the helper a is still working; wait for its report" {
			t.Errorf("got %q", got)
		}
	})
}

// Each budget of a child, and of all children of a session, makes the child finish early.
func TestHelper_Budgets(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*agent.TaskSettings)
		want string // the message to the child
	}{
		{"requests", func(set *agent.TaskSettings) { set.Each.Requests = 2 }, "You have used your budget of 2 requests. Call no more tools"},
		{"cost", func(set *agent.TaskSettings) { set.Each.Cost = 0.002 }, "You have used your budget of $0.002."},
		{"time", func(set *agent.TaskSettings) { set.Each.Time = 2 * time.Minute }, "You have used your budget of 2m0s."},
		{"all requests", func(set *agent.TaskSettings) { set.Total.Requests = 2 }, "The helpers of this session have used their budget of 2 requests."},
		{"all tokens", func(set *agent.TaskSettings) { set.Total.Tokens = 2000 }, "The helpers of this session have used their budget of 2000 tokens."},
		{"all time", func(set *agent.TaskSettings) { set.Total.Time = 2 * time.Minute }, "The helpers of this session have used their budget of 2m0s."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				set := agent.DefaultSettings()
				tt.set(&set.Tasks)
				o.Settings = &set
				o.Model.ContextWindow, o.Model.Cost = 100_000, providers.Cost{Input: 1, Output: 1}
				o.Tools = agent.Tools{tasksTool(), testTool("look", false, nil, func(context.Context, *input) (*agent.Result, error) {
					time.Sleep(time.Minute) // fake time
					return &agent.Result{Text: "seen"}, nil
				})}
			}, func(w *world) {
				used := using(990, 10)
				look := providertest.Step{providertest.Call("c", "look", `{}`), used}
				w.script.Add(
					providertest.Step{providertest.Call("c1", "task", `{"names":["a"]}`), used}, look, look,
					providertest.Step{providertest.Text("report"), used},
					providertest.Step{providertest.Call("c2", "task", `{"names":["b"]}`), used},
				)
				if refused := strings.HasPrefix(tt.name, "all"); !refused {
					w.script.Add(providertest.Step{providertest.Text("other"), used})
				}
				w.script.Add(providertest.Step{providertest.Text("done"), used})
				w.prompt("go")
				reqs := w.script.Requests()
				m := reqs[3].Messages
				if got := m[len(m)-1].Text(); !strings.HasPrefix(got, tt.want) {
					t.Errorf("the child got %q", got)
				}
				m = reqs[4].Messages
				if got := m[len(m)-1].Text(); got != "a: report over budget end_turn" {
					t.Errorf("the parent got %q", got)
				}
				want := "b: other"
				if name, ok := strings.CutPrefix(tt.want, "The helpers of this session"); ok {
					want = "b failed: the helpers of this session" + strings.TrimSuffix(name, ".") + "; do the work yourself"
				}
				if got := lastResults(w, 1)[0]; got != want {
					t.Errorf("then the parent got %q, want %q", got, want)
				}
			})
		})
	}
}

// A child that works on after its time is stopped, even during a call.
func TestHelper_TimeIsOver(t *testing.T) {
	run(t, func(o *agent.Options) {
		set := agent.DefaultSettings()
		set.Tasks.Each.Time = 10 * time.Minute
		o.Settings = &set
		o.Model.ContextWindow = 100_000
		o.Tools = agent.Tools{tasksTool(), testTool("wait", false, nil, func(ctx context.Context, _ *input) (*agent.Result, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})}
	}, func(w *world) {
		w.script.Add(
			providertest.Step{providertest.Call("c1", "task", `{"names":["a"]}`)},
			providertest.Step{providertest.Text("so far"), providertest.Call("c2", "wait", `{}`)},
			providertest.Step{providertest.Text("done")},
		)
		began := time.Now()
		if r := w.prompt("go"); r.Stop != agent.StopEndTurn || r.Err != nil {
			t.Fatalf("%+v", r)
		}
		if got := lastResults(w, 1)[0]; got != "a: so far over budget max_tokens" {
			t.Errorf("the parent got %q", got)
		}
		if took := time.Since(began); took != 11*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
