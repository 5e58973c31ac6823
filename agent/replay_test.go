package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers/providertest"
)

// replayed returns the events of a replay, one line each.
func replayed(w *world) []string {
	w.t.Helper()
	events, err := w.session.Replay()
	if err != nil {
		w.t.Fatal(err)
	}
	again := new(world)
	for ev := range unfailing(events) {
		again.emit(ev)
	}
	return again.story()
}

// A replay during tool calls shows the current state of each: ended calls with their end, running calls without it, and waiting
// calls not yet. Later live events continue it.
func TestReplay_OfRunningCalls(t *testing.T) {
	var release chan struct{}
	run(t, func(o *agent.Options) {
		release = make(chan struct{})
		slow := func(ctx context.Context, in *input) (*agent.Result, error) {
			<-release
			return &agent.Result{Text: "slow " + in.Say}, nil
		}
		reports := agent.NewTool(agent.ToolFuncs[input]{
			Name: "reports", Kind: agent.KindOther,
			Run: func(_ context.Context, call *agent.Call, _ *input) (*agent.Result, error) {
				call.Update(agent.Progress{Text: "half"})
				<-release
				return &agent.Result{Text: "whole"}, nil
			},
		})
		o.Tools = agent.Tools{echoTool(), reports, testTool("slow", false, nil, slow), testTool("alone", true, nil, slow)}
	}, func(w *world) {
		w.script.Add(
			providertest.Step{providertest.Call("c1", "echo", `{"say":"x"}`)},
			providertest.Step{
				providertest.Call("c1", "echo", `{"say":"y"}`), providertest.Call("c2", "slow", `{"say":"a"}`),
				providertest.Call("c3", "reports", `{}`), providertest.Call("c4", "alone", `{"say":"b"}`),
			},
			providertest.Step{providertest.Text("done")},
		)
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		got := replayed(w)
		want := []string{
			"user: go", "start c1 echo x", "end c1: x",
			"start c1 echo y", "end c1: y", "start c2 slow a", "run c2", "start c3 reports", "run c3",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("during the calls (-want +got):\n%s", diff)
		}
		close(release)
		turn.Wait(w.t.Context())
		want = append(want[:6:6], "end c2: slow a", "start c3 reports", "end c3: whole", "start c4 alone b", "end c4: slow b", "agent: done")
		if diff := cmp.Diff(want, replayed(w)); diff != "" {
			t.Errorf("after the turn (-want +got):\n%s", diff)
		}
	})
}

// Events of a running call during a replay follow those of the replay.
func TestReplay_HoldsTheSessionStill(t *testing.T) {
	var release chan struct{}
	run(t, func(o *agent.Options) {
		release = make(chan struct{})
		o.Tools = agent.Tools{testTool("slow", false, nil, func(context.Context, *input) (*agent.Result, error) {
			<-release
			return &agent.Result{Text: "done"}, nil
		})}
	}, func(w *world) {
		w.script.Add(providertest.Step{providertest.Call("c1", "slow", `{}`)}, providertest.Step{providertest.Text("ok")})
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		events, err := w.session.Replay()
		if err != nil {
			t.Fatal(err)
		}
		var steps []string
		for ev := range unfailing(events) {
			switch ev.(type) {
			case agent.ToolStarted:
				close(release)
				synctest.Wait() // the tool has returned
				steps = append(steps, "start")
			case agent.ToolProgress:
				steps = append(steps, "run")
			case agent.ToolEnded:
				steps = append(steps, "end")
			default:
				continue
			}
			if slices.Contains(w.story(), "end c1: done") {
				t.Errorf("the call's end is reported before the replay's %v", steps)
			}
		}
		if diff := cmp.Diff([]string{"start", "run"}, steps); diff != "" {
			t.Errorf("replayed (-want +got):\n%s", diff)
		}
		turn.Wait(w.t.Context())
	})
	// The call ends before the replay reaches it.
	run(t, func(o *agent.Options) {
		release = make(chan struct{})
		o.Tools = agent.Tools{testTool("slow", false, nil, func(context.Context, *input) (*agent.Result, error) {
			<-release
			return &agent.Result{Text: "done"}, nil
		})}
	}, func(w *world) {
		w.script.Add(providertest.Step{providertest.Call("c1", "slow", `{}`)}, providertest.Step{providertest.Text("ok")})
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		events, err := w.session.Replay()
		if err != nil {
			t.Fatal(err)
		}
		close(release)
		turn.Wait(w.t.Context())
		again := new(world)
		for ev := range unfailing(events) {
			again.emit(ev)
		}
		if diff := cmp.Diff([]string{"user: go", "start c1 slow ", "end c1: done"}, again.story()); diff != "" {
			t.Errorf("replayed (-want +got):\n%s", diff)
		}
	})
}

// A child's calls are shown with the call that started the child, both live and in a replay.
func TestReplay_OfChildren(t *testing.T) {
	for _, tt := range []struct {
		calls int
		want  []string
	}{
		{0, []string{"start c1 task", "end c1: child: the report"}},
		{1, []string{"start c1 task", "end c1: child: the report: 1 call:\n- AmberBadger: echo 0 ✓"}},
		{3, []string{"start c1 task", "end c1: child: the report: 3 calls:\n- AmberBadger: echo 0 ✓\n- AmberBadger: echo 1 ✓\n- AmberBadger: nope ✗"}},
		{60, nil},
	} {
		t.Run(fmt.Sprint(tt.calls), func(t *testing.T) {
			run(t, func(o *agent.Options) { o.Tools = append(o.Tools.(agent.Tools), taskTool()) }, func(w *world) {
				w.script.Add(providertest.Step{providertest.Call("c1", "task", `{"say":"it"}`)})
				for i := range tt.calls {
					name := "echo"
					if i == 2 {
						name = "nope"
					}
					w.script.Add(providertest.Step{providertest.Call("n", name, fmt.Sprintf(`{"say":"%d"}`, i))})
				}
				w.script.Add(providertest.Step{providertest.Text("the report")}, providertest.Step{providertest.Text("done")})
				if r := w.prompt("go"); r.Stop != agent.StopEndTurn {
					t.Fatalf("result %+v", r)
				}
				ofTask := func(story []string) (kept []string) {
					for _, line := range story {
						if strings.HasPrefix(line, "start c1") || strings.HasPrefix(line, "end c1") {
							kept = append(kept, line)
						}
					}
					return kept
				}
				live, again := ofTask(w.story()), ofTask(replayed(w))
				if diff := cmp.Diff(live, again); diff != "" {
					t.Errorf("replayed (-live +replayed):\n%s", diff)
				}
				if tt.want == nil {
					end := live[len(live)-1]
					if n := strings.Count(end, "\n- "); n != 51 || !strings.Contains(end, "60 calls:") || !strings.HasSuffix(end, "\n- and 10 more") {
						t.Errorf("%d lines: %s", n, end)
					}
				} else if diff := cmp.Diff(tt.want, live); diff != "" {
					t.Errorf("got (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Some models give the calls of one answer the same ID: each starts and ends once.
func TestReplay_OfCallsWithOneID(t *testing.T) {
	run(t, nil, func(w *world) {
		w.prompt("go")
		for name, story := range map[string][]string{"live": w.story(), "replayed": replayed(w)} {
			n := 0
			for _, line := range story {
				if strings.HasPrefix(line, "start c1") || strings.HasPrefix(line, "end c1") {
					n++
				}
			}
			if n != 4 {
				t.Errorf("%s: %q", name, story)
			}
		}
	},
		providertest.Step{providertest.Call("c1", "echo", `{"say":"a"}`), providertest.Call("c1", "echo", `{"say":"b"}`)},
		providertest.Step{providertest.Text("done")})
}
