package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// tasks is the input of this file's test tool: children that run concurrently.
type tasks struct {
	Helper string   `json:"helper,omitzero"`
	Names  []string `json:"names"`
	// To names a helper that goes on.
	To string `json:"to,omitzero"`
}

func tasksTool() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[tasks]{
		Name: agent.TaskTool, Kind: agent.KindOther,
		Run: func(ctx context.Context, call *agent.Call, in *tasks) (*agent.Result, error) {
			texts := make([]string, len(in.Names))
			var wg sync.WaitGroup
			for i, name := range in.Names {
				wg.Go(func() {
					done, err := call.Task(ctx, agent.Task{Name: name, To: in.To, Helper: in.Helper, Title: name, Prompt: "do " + name})
					texts[i] = name + ": " + done.Text
					if err != nil {
						texts[i] = name + " failed: " + err.Error()
					}
					if done.Invalid != "" {
						texts[i] += " invalid: " + done.Invalid
					}
					if done.OverBudget {
						texts[i] += " over budget " + string(done.Stop)
					}
				})
			}
			wg.Wait()
			return &agent.Result{Text: strings.Join(texts, "\n")}, nil
		},
	})
}

// below records the events of the children, each with its child.
type below struct {
	lines []string
	// newest is the id of the child that was started last.
	newest string
}

// runBelow is run with children that can have children.
func runBelow(t *testing.T, seen *below, change func(*agent.Options), fn func(*world)) {
	run(t, func(o *agent.Options) {
		w, _ := o.Approver.(*world)
		o.Subagent = deep(w, seen)
		change(o)
	}, fn)
}

// deep returns surroundings in which children can have children.
func deep(w *world, seen *below) func(agent.Subagent) agent.Surroundings {
	var under func(prefix string) func(agent.Subagent) agent.Surroundings
	under = func(prefix string) func(agent.Subagent) agent.Surroundings {
		return func(about agent.Subagent) agent.Surroundings {
			w.mu.Lock()
			seen.newest = about.ID
			w.mu.Unlock()
			id := prefix + about.CallID + "/" + about.Name + "/"
			return agent.Surroundings{
				FS: noFiles{}, Approver: w, Subagent: under(id),
				Emit: func(ev agent.Event) {
					w.mu.Lock()
					defer w.mu.Unlock()
					switch ev := ev.(type) {
					case agent.ToolStarted:
						seen.lines = append(seen.lines, "start "+id+ev.CallID)
					case agent.ToolEnded:
						seen.lines = append(seen.lines, "end "+id+ev.CallID)
					case agent.SubagentChanged:
						seen.lines = append(seen.lines, fmt.Sprintf("child %s%s %v", id, ev.Name, ev.Running))
					}
				},
			}
		}
	}
	return under("")
}

var helperKinds = []agent.Helper{
	{Name: "executor", Description: "does", Spawns: []string{"*"}},
	{Name: "reader", Description: "reads", ReadOnly: true, Spawns: []string{"executor"}, Prompt: "You only read."},
	{Name: "limited", Description: "has few tools", Tools: []string{"look", "edit"}},
	{Name: "chief", Description: "starts readers", Spawns: []string{"reader"}, Models: []string{"x"}},
}

func kinds(o *agent.Options) {
	o.Helpers = func(context.Context) []agent.Helper { return helperKinds }
}

// kindTool returns a tool of the given kind that has no effects.
func kindTool(name string, kind agent.ToolKind) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[input]{Name: name, Kind: kind, Run: func(context.Context, *agent.Call, *input) (*agent.Result, error) {
		return &agent.Result{Text: "ok"}, nil
	}})
}

func toolNames(req *providers.Request) string {
	var names []string
	for _, tool := range req.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// A helper has those tools of its parent that its kind, its mode and its depth permit.
func TestHelper_Tools(t *testing.T) {
	for _, tt := range []struct {
		name, helper string
		mode         approval.Mode
		grandchild   string
		want         []string // the tools of parent, child and grandchild
	}{
		{"all", "executor", approval.ModeDefault, "", []string{"task look change apply_patch think", "task look change apply_patch think"}},
		{"plan mode", "executor", approval.ModePlan, "", []string{"task look change apply_patch think", "task look think"}},
		{"reads only", "reader", approval.ModeDefault, "executor", []string{"task look change apply_patch think", "task look think", "look think"}},
		{"named tools", "limited", approval.ModeDefault, "", []string{"task look change apply_patch think", "look apply_patch"}},
		{"too deep", "executor", approval.ModeDefault, "limited", []string{"task look change apply_patch think", "task look change apply_patch think", "look apply_patch"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen below
			runBelow(t, &seen, func(o *agent.Options) {
				kinds(o)
				o.Mode = tt.mode
				o.Tools = agent.Tools{
					tasksTool(), kindTool("look", agent.KindRead), kindTool("change", agent.KindExecute),
					kindTool("apply_patch", agent.KindEdit), kindTool("think", agent.KindThink),
				}
			}, func(w *world) {
				child := providertest.Step{providertest.Text("report")}
				steps := []providertest.Step{{providertest.Call("c1", "task", `{"helper":"`+tt.helper+`","names":["a"]}`)}}
				if tt.grandchild != "" {
					steps = append(steps, providertest.Step{providertest.Call("c2", "task", `{"helper":"`+tt.grandchild+`","names":["b"]}`)}, child)
				}
				w.script.Add(append(steps, child, providertest.Step{providertest.Text("done")})...)
				if r := w.prompt("go"); r.Err != nil || r.Stop != agent.StopEndTurn {
					t.Fatalf("%+v", r)
				}
				var got []string
				for _, req := range w.script.Requests()[:len(tt.want)] {
					got = append(got, toolNames(req))
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("tools (-want +got):\n%s", d)
				}
			})
		})
	}
}

// A model sees the helpers that it may start, and a helper its own prompt.
func TestHelper_Prompts(t *testing.T) {
	var seen below
	runBelow(t, &seen, func(o *agent.Options) {
		kinds(o)
		o.Tools = agent.Tools{tasksTool()}
		set := agent.DefaultSettings()
		set.Tasks.Disabled = []string{"limited"}
		o.Settings = &set
	}, func(w *world) {
		w.script.Add(
			providertest.Step{providertest.Call("c1", "task", `{"helper":"reader","names":["a"]}`), providertest.Call("c2", "task", `{"helper":"limited","names":["b"]}`)},
			providertest.Step{providertest.Call("c3", "task", `{"helper":"chief","names":["b"]}`)},
			providertest.Step{providertest.Text("report")},
			providertest.Step{providertest.Text("done")},
		)
		w.prompt("go")
		reqs := w.script.Requests()
		parent, child := reqs[0], reqs[1]
		if d := parent.Tools[0].Description; !strings.Contains(d, "- executor: does\n- reader: reads (only reads)\n- chief: starts readers") || strings.Contains(d, "limited") {
			t.Errorf("the parent got %q", d)
		}
		if d := child.Tools[0].Description; !strings.Contains(d, "- executor: does") || strings.Contains(d, "reader") {
			t.Errorf("the child got %q", d)
		}
		if !strings.HasSuffix(child.System, "\n\nYou only read.") || strings.Contains(parent.System, "You only read.") {
			t.Errorf("the child's prompt is %q", child.System)
		}
		story := fmt.Sprint(reqs[2].Messages[2].Text(), reqs[3].Messages[3].Text())
		for _, want := range []string{`no helper agent "chief"; the helper agents are executor`, `no helper agent "limited"`, "the helper agents are executor, reader, chief"} {
			if !strings.Contains(story, want) {
				t.Errorf("%q is missing in %s", want, story)
			}
		}
	})
}

// Children of one call and their children are distinguished, and each change of the mode reaches all of them except
// read-only ones.
func TestHelper_Below(t *testing.T) {
	var seen below
	runBelow(t, &seen, func(o *agent.Options) {
		kinds(o)
		o.Tools = agent.Tools{tasksTool(), testTool("touch", true, []approval.Effect{{Action: approval.ActionMCP, Title: "touch"}}, func(context.Context, *input) (*agent.Result, error) {
			return &agent.Result{Text: "touched"}, nil
		})}
		o.Mode = approval.ModeAuto
		o.Model.Cost, o.Model.ContextWindow = providers.Cost{Input: 1, Output: 1}, 100_000
	}, func(w *world) {
		gate := providertest.NewGate()
		used := using(1000, 10)
		w.script.Add(
			providertest.Step{providertest.Call("c", "task", `{"helper":"executor","names":["a"]}`), used},
			providertest.Step{providertest.Call("c", "task", `{"helper":"executor","names":["b"]}`), used},
			providertest.Step{providertest.Call("c", "touch", `{}`), used},
			providertest.Step{providertest.Text("hm"), gate.Hold(), providertest.Call("d", "touch", `{}`), used},
			providertest.Step{providertest.Text("below"), used},
			providertest.Step{providertest.Text("middle"), used},
			providertest.Step{providertest.Text("top"), used},
		)
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		if err := w.session.SetMode(approval.ModePlan)(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the change is passed down from session to session
		gate.Open()
		r := turn.Wait(w.t.Context())
		if r.Stop != agent.StopEndTurn || r.Usage.Input != 7000 {
			t.Errorf("result %+v", r)
		}
		spent, err := w.session.Spending()
		if err != nil || len(spent.Models) != 1 || spent.Models[0].Requests != 7 || spent.Models[0].Usage.Input != 7000 {
			t.Errorf("spent %+v, %v", spent, err)
		}
		reqs := w.script.Requests()
		last := func(i int) string { m := reqs[i].Messages; return m[len(m)-1].Text() }
		if !strings.Contains(last(4), "plan mode changes nothing") {
			t.Errorf("the grandchild's second touch: %q", last(4))
		}
		if last(5) != "b: below" || last(6) != "a: middle" {
			t.Errorf("reports %q, %q", last(5), last(6))
		}
		want := []string{
			"start c/a/c", "child c/a/b true", "start c/a/c/b/c", "end c/a/c/b/c", "start c/a/c/b/d", "end c/a/c/b/d", "child c/a/b false", "end c/a/c",
		}
		if d := cmp.Diff(want, seen.lines); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

// The number of children that work at the same time is limited, whatever their depth. Children that wait for their own do not
// count: with one slot a grandchild can still work.
func TestHelper_Concurrency(t *testing.T) {
	var seen below
	running, most, ran := 0, 0, 0
	var mu sync.Mutex
	runBelow(t, &seen, func(o *agent.Options) {
		kinds(o)
		set := agent.DefaultSettings()
		set.Tasks.MaxConcurrency = 2
		o.Settings = &set
		o.Models = answering{func(req *providers.Request) []providertest.Step {
			text := req.Messages[0].Text()
			last := req.Messages[len(req.Messages)-1]
			switch {
			case last.Role == providers.RoleTool:
				return []providertest.Step{{providertest.Text("done")}}
			case text == "go":
				return []providertest.Step{{providertest.Call("c1", "task", `{"helper":"executor","names":["a1","a2","a3","a4","a5"]}`)}}
			case strings.HasPrefix(text, "do a"):
				return []providertest.Step{{providertest.Call("c2", "task", `{"helper":"limited","names":["b1","b2"]}`)}}
			default:
				return []providertest.Step{{providertest.Call("c3", "look", `{}`)}}
			}
		}}
		o.Tools = agent.Tools{tasksTool(), testTool("look", false, nil, func(context.Context, *input) (*agent.Result, error) {
			mu.Lock()
			running++
			ran++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Minute) // fake time
			mu.Lock()
			running--
			mu.Unlock()
			return &agent.Result{Text: "seen"}, nil
		})}
	}, func(w *world) {
		if r := w.prompt("go"); r.Stop != agent.StopEndTurn || r.Err != nil {
			t.Fatalf("%+v", r)
		}
		if ran != 10 || most != 2 {
			t.Errorf("%d grandchildren worked, up to %d at the same time", ran, most)
		}
	})
}

// A cancellation ends all sessions, including those that wait for a slot. A question that is answered with a stop ends the turns
// above.
func TestHelper_Cancelled(t *testing.T) {
	for _, how := range []string{"session", "question", "grandchild"} {
		t.Run(how, func(t *testing.T) {
			var seen below
			runBelow(t, &seen, func(o *agent.Options) {
				kinds(o)
				set := agent.DefaultSettings()
				set.Tasks.MaxConcurrency = 1
				o.Settings = &set
				o.Tools = agent.Tools{tasksTool(), testTool("touch", true, []approval.Effect{{Action: approval.ActionMCP, Title: "touch"}}, func(context.Context, *input) (*agent.Result, error) {
					return &agent.Result{Text: "touched"}, nil
				})}
			}, func(w *world) {
				asked := make(chan struct{})
				w.answer = func(ctx context.Context, _ agent.Question) (agent.Decision, error) {
					close(asked)
					if how == "question" {
						return agent.Cancelled, nil
					}
					<-ctx.Done()
					return agent.RejectOnce, context.Cause(ctx)
				}
				w.script.Add(
					providertest.Step{providertest.Call("c1", "task", `{"names":["a"]}`)},
					providertest.Step{providertest.Call("c2", "task", `{"names":["b","waits"]}`)},
					providertest.Step{providertest.Call("c3", "touch", `{}`)},
				)
				if how == "grandchild" {
					w.script.Add(providertest.Step{providertest.Text("the other one")}, providertest.Step{providertest.Text("middle")}, providertest.Step{providertest.Text("top")})
				}
				turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
				<-asked
				synctest.Wait()
				switch how {
				case "session":
					w.session.Cancel()
				case "grandchild":
					w.mu.Lock()
					id := seen.newest
					w.mu.Unlock()
					w.session.CancelChild(id)
				}
				r := turn.Wait(w.t.Context())
				if how != "grandchild" {
					if r.Stop != agent.StopCancelled {
						t.Errorf("%+v", r)
					}
					return
				}
				if r.Stop != agent.StopEndTurn || r.Err != nil {
					t.Errorf("%+v", r)
				}
				reqs := w.script.Requests()
				m := reqs[4].Messages
				if got := m[len(m)-1].Text(); !strings.Contains(got, "failed: the user cancelled this task") || !strings.Contains(got, "the other one") {
					t.Errorf("the child got %q", got)
				}
			})
		})
	}
}

// A grandchild that does not stop is reported as ended with the turn above, and none of its later events are emitted.
func TestHelper_GrandchildOutlivesTurn(t *testing.T) {
	var seen below
	runBelow(t, &seen, func(o *agent.Options) {
		kinds(o)
		o.Tools = agent.Tools{tasksTool(), testTool("stuck", true, nil, func(context.Context, *input) (*agent.Result, error) {
			time.Sleep(time.Hour) // fake time; ignores its context
			return &agent.Result{Text: "late"}, nil
		})}
	}, func(w *world) {
		w.script.Add(
			providertest.Step{providertest.Call("c1", "task", `{"names":["a"]}`)},
			providertest.Step{providertest.Call("c2", "task", `{"names":["b"]}`)},
			providertest.Step{providertest.Call("c3", "stuck", `{}`)},
		)
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		w.session.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
			t.Errorf("%+v", r)
		}
		w.mu.Lock()
		ended := slices.Clone(seen.lines)
		w.mu.Unlock()
		want := []string{"start c1/a/c2", "child c1/a/b true", "start c1/a/c2/b/c3", "end c1/a/c2/b/c3", "child c1/a/b false", "end c1/a/c2"}
		if d := cmp.Diff(want, ended); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		time.Sleep(2 * time.Hour)
		w.mu.Lock()
		defer w.mu.Unlock()
		if d := cmp.Diff(ended, seen.lines); d != "" {
			t.Errorf("emitted later:\n%s", d)
		}
	})
}

// A child that has used its tokens is asked to finish, and stopped if it continues.
func TestHelper_Budget(t *testing.T) {
	for _, tt := range []struct {
		name    string
		goesOn  int
		want    string
		request int
	}{
		{"finishes", 0, "a: report over budget end_turn", 4},
		{"goes on", 9, "a: hm over budget max_tokens", 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				set := agent.DefaultSettings()
				set.Tasks.Each.Tokens = 1500
				o.Settings = &set
				o.Model.ContextWindow = 100_000
				o.Tools = agent.Tools{tasksTool(), kindTool("look", agent.KindRead)}
			}, func(w *world) {
				used := using(990, 10)
				look := providertest.Step{providertest.Text("hm"), providertest.Call("c", "look", `{}`), used}
				w.script.Add(providertest.Step{providertest.Call("c1", "task", `{"names":["a"]}`), used}, look, look)
				for range min(tt.goesOn, 3) {
					w.script.Add(look)
				}
				if tt.goesOn == 0 {
					w.script.Add(providertest.Step{providertest.Text("report"), used})
				}
				w.script.Add(providertest.Step{providertest.Text("done")})
				w.prompt("go")
				reqs := w.script.Requests()
				m := reqs[3].Messages
				if !strings.Contains(m[len(m)-1].Text(), "used your budget of 1500 tokens") {
					t.Errorf("the child got %q", m[len(m)-1].Text())
				}
				if len(reqs) != tt.request+1 {
					t.Errorf("%d requests", len(reqs))
				}
				m = reqs[len(reqs)-1].Messages
				if got := m[len(m)-1].Text(); got != tt.want {
					t.Errorf("the parent got %q", got)
				}
			})
		})
	}
}

// A helper uses the model that HelperModel returns. The reason for using the parent's model is reported once.
func TestHelper_Model(t *testing.T) {
	own := providers.ModelInfo{Provider: "test", ID: "own", ContextWindow: 1000, Thinking: []providers.ThinkingLevel{"low", "high"}}
	var opened []string
	run(t, func(o *agent.Options) {
		kinds(o)
		o.Tools = agent.Tools{tasksTool()}
		o.Models = noting{o.Approver.(*world), &opened}
		o.HelperModel = func(h *agent.Helper) (providers.ModelInfo, providers.ThinkingLevel, error) {
			if h.Name == "chief" {
				return own, "high", nil
			}
			return providers.ModelInfo{}, "", errors.New("no key")
		}
	}, func(w *world) {
		w.script.Add(
			providertest.Step{providertest.Call("c1", "task", `{"helper":"chief","names":["a"]}`), providertest.Call("c2", "task", `{"helper":"reader","names":["b"]}`)},
			providertest.Step{providertest.Text("report")}, providertest.Step{providertest.Text("report")},
			providertest.Step{providertest.Call("c3", "task", `{"helper":"reader","names":["b"]}`)},
			providertest.Step{providertest.Text("report")}, providertest.Step{providertest.Text("done")},
		)
		w.prompt("go")
		slices.Sort(opened)
		if d := cmp.Diff([]string{"own", "script", "script", "script", "script", "script"}, opened); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		notices := 0
		for _, line := range w.story() {
			if strings.HasPrefix(line, "notice") {
				notices++
				if !strings.Contains(line, "The helper reader uses its parent's model") {
					t.Error(line)
				}
			}
		}
		if notices != 1 {
			t.Errorf("reported %d times", notices)
		}
	})
}

// noting records which models are opened.
type noting struct {
	*world
	opened *[]string
}

func (o noting) Open(_ context.Context, info providers.ModelInfo) (providers.Model, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*o.opened = append(*o.opened, info.ID)
	return o.script, nil
}

// answering is a model that computes each answer from the request.
type answering struct {
	answer func(*providers.Request) []providertest.Step
}

func (answering) Find(string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	return providers.ModelInfo{}, "", errors.New("no model")
}
func (answering) Lookup(string) (providers.ModelInfo, bool) { return providers.ModelInfo{}, false }
func (a answering) Open(_ context.Context, info providers.ModelInfo) (providers.Model, error) {
	return answeringModel{a, info}, nil
}

type answeringModel struct {
	answering
	info providers.ModelInfo
}

func (m answeringModel) Info() providers.ModelInfo { return m.info }

func (m answeringModel) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	return providertest.NewScript(m.info, m.answer(req)...).Stream(ctx, req)
}
