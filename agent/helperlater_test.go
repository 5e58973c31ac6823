package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// later runs helpers in the background and reports their ends, as jobs do.
type later struct {
	ctx  context.Context
	end  context.CancelFunc
	done chan struct{}
	text string
}

func (l *later) Close(context.Context) {
	l.end()
	<-l.done
}

func (l *later) Report() agent.Report {
	select {
	case <-l.done:
		text := l.text
		l.text = ""
		return agent.Report{Text: text}
	default:
		return agent.Report{}
	}
}

// laterTool returns a tool that starts a helper in the background, and returns its name.
func laterTool() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[input]{
		Name: "later", Kind: agent.KindOther,
		Run: func(ctx context.Context, call *agent.Call, in *input) (*agent.Result, error) {
			l := agent.Value(call.Values, func() *later {
				ctx, end := context.WithCancel(context.WithoutCancel(ctx))
				return &later{ctx: ctx, end: end, done: make(chan struct{})}
			})
			started := make(chan string, 1)
			refused := make(chan error, 1)
			go func() {
				defer close(l.done)
				done, err := call.Task(l.ctx, agent.Task{Name: in.Say, Title: in.Say, Prompt: "do " + in.Say, Background: true, Started: func(name string) { started <- name }})
				if l.text = "late: " + done.Text; err != nil {
					l.text = "late error: " + err.Error()
				}
				refused <- err
			}()
			select {
			case name := <-started:
				return &agent.Result{Text: "started " + name}, nil
			case err := <-refused:
				return nil, err
			}
		},
	})
}

// runLater is run with a model that answers as a function of the request.
func runLater(t *testing.T, answer func(req *providers.Request, last string) providertest.Step, fn func(w *world), change ...func(*agent.Options)) {
	run(t, func(o *agent.Options) {
		w, _ := o.Approver.(*world)
		o.Subagent = deep(w, new(below))
		o.Model.ContextWindow, o.Model.Cost = 100_000, providers.Cost{Input: 1, Output: 1}
		o.Mode = approval.ModeAuto
		o.Tools = agent.Tools{tasksTool(), laterTool(), testTool("nap", false, nil, func(ctx context.Context, _ *input) (*agent.Result, error) {
			select {
			case <-time.After(time.Hour): // fake time
				return &agent.Result{Text: "slept"}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})}
		for _, c := range change {
			c(o)
		}
	}, func(w *world) {
		w.script.Else(func(req *providers.Request) providertest.Step {
			return append(answer(req, req.Messages[len(req.Messages)-1].Text()), using(100, 1))
		})
		fn(w)
	})
}

// A helper in the background works on after its turn. The next turn gets its report and its cost, and a task for it in between is a
// message.
func TestHelper_Background(t *testing.T) {
	var child []string
	runLater(t, func(req *providers.Request, last string) providertest.Step {
		switch {
		case strings.HasPrefix(req.Messages[0].Text(), "do a"):
			child = append(child, last)
			if last == "do a" {
				return providertest.Step{providertest.Call("n1", "nap", `{}`)}
			}
			return providertest.Step{providertest.Text("the report")}
		case last == "go":
			return providertest.Step{providertest.Call("c1", "later", `{"say":"a"}`)}
		case last == "tell it":
			return providertest.Step{providertest.Call("c2", "task", `{"to":"a","names":["hurry"]}`)}
		default:
			return providertest.Step{providertest.Text("heard " + last)}
		}
	}, func(w *world) {
		if r := w.prompt("go"); r.Stop != agent.StopEndTurn || r.Err != nil {
			t.Fatalf("%+v", r)
		}
		synctest.Wait()
		if snap, err := w.session.Snapshot(); err != nil || snap.Busy {
			t.Errorf("after the turn: %+v, %v", snap, err)
		}
		if r := w.prompt("tell it"); r.Stop != agent.StopEndTurn || r.Err != nil {
			t.Fatalf("%+v", r)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if d := cmp.Diff([]string{"do a", "do hurry"}, child); d != "" {
			t.Errorf("the helper got (-want +got):\n%s", d)
		}
		spent, err := w.session.Spending()
		if err != nil || spent.Models[0].Requests != 6 {
			t.Errorf("spent %+v, %v", spent, err)
		}
		w.prompt("and now?")
		m, err := w.session.Context()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for i := range m {
			all = append(all, m[i].Text())
		}
		text := strings.Join(all, "; ")
		for _, want := range []string{"heard started a", "hurry: ", "late: the report"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in %q", want, text)
			}
		}
	})
}

// The user's stop of a turn does not end a helper in the background; a stop of the helper and the end of the session do. The hooks for
// its end run, unless the session has ended.
func TestHelper_BackgroundEnds(t *testing.T) {
	for _, how := range []string{"turn", "helper", "session"} {
		t.Run(how, func(t *testing.T) {
			var l *later
			var hooked []string
			p, h := at(hooks.SubagentEnd, func(in *hooks.Input) string {
				hooked = append(hooked, in.Subagent.Name+": "+in.Subagent.Result)
				return `{"block":true,"reason":"too late","notice":"noted"}`
			})
			runLater(t, func(req *providers.Request, last string) providertest.Step {
				switch last {
				case "go":
					return providertest.Step{providertest.Call("c1", "later", `{"say":"a"}`)}
				case "slept":
					return providertest.Step{providertest.Text("the report")}
				default:
					return providertest.Step{providertest.Call("n1", "nap", `{}`)}
				}
			}, func(w *world) {
				turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
				synctest.Wait()
				w.session.Cancel()
				if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
					t.Errorf("%+v", r)
				}
				l, _ = agent.LookupValue[*later](w.session.Values())
				synctest.Wait()
				select {
				case <-l.done:
					t.Fatal("the helper has ended with the turn")
				default:
				}
				switch how {
				case "turn":
					time.Sleep(2 * time.Hour)
				case "helper":
					var id string
					w.mu.Lock()
					for _, ev := range w.events {
						if ev, ok := ev.(agent.SubagentChanged); ok {
							id = ev.ID
						}
					}
					w.mu.Unlock()
					w.session.CancelChild(id)
				default:
					return
				}
				<-l.done
			}, withHooks(t, p, h))
			want := map[string]string{"turn": "late: the report", "helper": "late error: " + agent.ErrTaskCancelled.Error(), "session": "late error: context canceled"}[how]
			if l.text != want {
				t.Errorf("the helper ended with %q, want %q", l.text, want)
			}
			var ends []string
			if how != "session" {
				ends = append(ends, "a: "+strings.TrimPrefix(strings.TrimPrefix(want, "late: "), "late error: "))
			}
			if diff := cmp.Diff(ends, hooked); diff != "" {
				t.Errorf("hooks (-want +got):\n%s", diff)
			}
		})
	}
}
