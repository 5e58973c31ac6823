package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// Each prompt that is stored is reported once, with the ID of its message, before anything else of its turn; one that is not stored is not.
func TestTurn_PromptStored(t *testing.T) {
	run(t, nil, func(w *world) {
		var got []string
		w.onEvent = func(ev agent.Event) {
			switch ev := ev.(type) {
			case agent.PromptStored:
				all := w.log.all()
				got = append(got, fmt.Sprintf("%s after %s", ev.MessageID, all[len(all)-1]))
			case agent.MessageDelta:
				got = append(got, ev.Text)
			}
		}
		for _, p := range []agent.Prompt{{MessageID: "own"}, {}} {
			p.Parts = words("hi")
			w.session.Prompt(p).Wait(w.t.Context())
		}
		w.log.failAt = len(w.log.all()) + 1
		w.prompt("hi")
		if diff := cmp.Diff([]string{"own after user:hi", "one", "m3 after user:hi", "two"}, got); diff != "" {
			t.Errorf("reported (-want +got):\n%s", diff)
		}
	}, providertest.Step{providertest.Text("one")}, providertest.Step{providertest.Text("two")})
}

func TestTurn_TextToolText(t *testing.T) {
	run(t, nil, func(w *world) {
		w.usage = true
		r := w.prompt("  hello\nthere ")
		if r.Stop != agent.StopEndTurn || r.Err != nil || r.Usage.Output != 7 {
			t.Errorf("result %+v", r)
		}
		w.wantStory(
			"info hello", "thought: hm", "agent: let me see", "usage 15/1000",
			"start c1 echo one", "run c1", "end c1: one",
			"agent: done", "usage 22/1000", "info hello",
		)
		want := []string{"user:  hello\nthere ", "title:hello", "assistant:let me see +echo", "tool:one", "assistant:done"}
		if diff := cmp.Diff(want, w.log.all()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	},
		providertest.Step{
			providertest.Think("hm"), providertest.Text("let me"), providertest.Text(" see"), providertest.Call("c1", "echo", `{"say":`, `"one"}`),
			providertest.Use(providers.Usage{Input: 10, Output: 5}),
		},
		providertest.Step{
			providertest.Check(func(req *providers.Request) {
				last := req.Messages[len(req.Messages)-1]
				if last.Role != providers.RoleTool || last.ToolCallID != "c1" || last.Text() != "one" || last.IsError {
					t.Errorf("the model got %+v", last)
				}
				if !strings.Contains(req.System, "Working directory: /w") || len(req.Tools) != 1 {
					t.Errorf("system prompt %q with %d tools", req.System, len(req.Tools))
				}
			}),
			providertest.Text("done"), providertest.Use(providers.Usage{Input: 20, Output: 2}),
		})
}

func TestTurn_StopReasons(t *testing.T) {
	for stop, want := range map[providers.StopReason]agent.StopReason{
		providers.StopEnd: agent.StopEndTurn, providers.StopLength: agent.StopMaxTokens, providers.StopRefusal: agent.StopRefusal,
	} {
		run(t, nil, func(w *world) {
			if r := w.prompt("go"); r.Stop != want || r.Err != nil {
				t.Errorf("%s: result %+v, want %s", stop, r, want)
			}
		}, providertest.Step{providertest.Text("x"), providertest.Stop(stop)})
	}
}

func TestTurn_MaxRequests(t *testing.T) {
	var steps []providertest.Step
	for i := range 3 {
		steps = append(steps, providertest.Step{providertest.Call(fmt.Sprint("c", i), "echo", `{}`)})
	}
	run(t, func(o *agent.Options) { o.MaxRequests = 3 }, func(w *world) {
		if r := w.prompt("go"); r.Stop != agent.StopMaxTurnRequests {
			t.Errorf("result %+v", r)
		}
	}, steps...)
}

// A refused prompt and what followed it is not part of the next one.
func TestTurn_RefusalIsTakenBack(t *testing.T) {
	run(t, nil, func(w *world) {
		w.prompt("fine")
		if r := w.prompt("forbidden"); r.Stop != agent.StopRefusal {
			t.Errorf("result %+v", r)
		}
		w.prompt("again")
	},
		providertest.Step{providertest.Text("ok")},
		providertest.Step{providertest.Text("no"), providertest.Stop(providers.StopRefusal)},
		providertest.Step{providertest.Check(func(req *providers.Request) {
			var said []string
			for _, m := range req.Messages {
				said = append(said, m.Text())
			}
			if diff := cmp.Diff([]string{"fine", "ok", "again"}, said); diff != "" {
				t.Errorf("the model saw (-want +got):\n%s", diff)
			}
		}), providertest.Text("ok")})
}

func TestTurn_BadCallsAreResults(t *testing.T) {
	run(
		t, func(o *agent.Options) {
			o.Tools = append(o.Tools.(agent.Tools), testTool("boom", false, nil, func(context.Context, *input) (*agent.Result, error) { panic("kaboom") }))
		}, func(w *world) {
			w.prompt("go")
			var fails []string
			for _, line := range w.story() {
				if strings.HasPrefix(line, "fail") {
					fails = append(fails, line)
				}
			}
			want := []string{
				`fail c1: invalid tool input: unknown tool "nope"; the tools are echo, boom`,
				`fail c2: invalid tool input: the arguments of echo are not a JSON object: /say: the JSON ends unexpectedly (byte 7)`,
				`fail c3: invalid tool input for echo: /sey: unknown object member name (it takes say)`,
				`fail c4: internal error in the tool boom: kaboom`,
				`fail c5: invalid tool input for echo: /say: a number does not fit string (it takes say)`,
			}
			// They run concurrently, so they may end in any order.
			for _, f := range want {
				found := false
				for _, got := range fails {
					found = found || got == f
				}
				if !found {
					t.Errorf("no %q in\n%s", f, strings.Join(fails, "\n"))
				}
			}
		},
		providertest.Step{
			providertest.Call("c1", "nope", `{}`), providertest.Call("c2", "echo", `{"say":`), providertest.Call("c3", "echo", `{"sey":"x"}`),
			providertest.Call("c4", "boom", `{}`), providertest.Call("c5", "echo", `{"say":7}`),
		},
		providertest.Step{providertest.Text("ok")},
	)
}

func TestTurn_SharedSideBySideExclusiveAlone(t *testing.T) {
	var mu sync.Mutex
	running, most := 0, 0
	var order []string
	work := func(exclusive bool) func(context.Context, *input) (*agent.Result, error) {
		return func(_ context.Context, in *input) (*agent.Result, error) {
			mu.Lock()
			running++
			if exclusive && running != 1 {
				t.Errorf("%s runs beside another", in.Say)
			}
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second) // fake time
			mu.Lock()
			defer mu.Unlock()
			running--
			order = append(order, in.Say)
			return &agent.Result{Text: in.Say}, nil
		}
	}
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{testTool("shared", false, nil, work(false)), testTool("alone", true, nil, work(true))}
	}, func(w *world) {
		begin := time.Now()
		w.prompt("go")
		if d := time.Since(begin); d != 3*time.Second {
			t.Errorf("took %v, want 3s: two shared together, one alone, one shared", d)
		}
		if most != 2 || order[2] != "c" || order[3] != "d" {
			t.Errorf("at most %d together, order %q", most, order)
		}
	},
		providertest.Step{
			providertest.Call("1", "shared", `{"say":"a"}`), providertest.Call("2", "shared", `{"say":"b"}`),
			providertest.Call("3", "alone", `{"say":"c"}`), providertest.Call("4", "shared", `{"say":"d"}`),
		},
		providertest.Step{providertest.Check(func(req *providers.Request) {
			var got []string
			for _, m := range req.Messages {
				if m.Role == providers.RoleTool {
					got = append(got, m.ToolCallID)
				}
			}
			if strings.Join(got, "") != "1234" {
				t.Errorf("results in the order %v", got)
			}
		}), providertest.Text("ok")})
}

func TestTurn_QueueIsFIFO(t *testing.T) {
	run(t, nil, func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{gate.Hold(), providertest.Text("1")}, providertest.Step{providertest.Text("3")})
		var turns []*agent.Turn
		for _, text := range []string{"one", "two", "three"} {
			turns = append(turns, w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: text}}}))
		}
		<-gate.Reached()
		synctest.Wait()
		turns[1].Cancel() // a waiting turn
		gate.Open()
		for i, want := range []agent.StopReason{agent.StopEndTurn, agent.StopCancelled, agent.StopEndTurn} {
			if r := turns[i].Wait(w.t.Context()); r.Stop != want {
				t.Errorf("turn %d: %+v, want %s", i, r, want)
			}
		}
		if diff := cmp.Diff([]string{"user:one", "title:one", "assistant:1", "user:three", "assistant:3"}, w.log.all()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// complete returns a check that every call in a request has its result.
func complete(t *testing.T) func(*providers.Request) {
	return func(req *providers.Request) {
		calls := map[string]bool{}
		for _, m := range req.Messages {
			for _, c := range m.ToolCalls() {
				calls[c.ID] = true
			}
			delete(calls, m.ToolCallID)
		}
		if len(calls) > 0 {
			t.Errorf("calls without a result: %v", calls)
		}
	}
}

// Cancelling ends the model call and the tools, ends every call, and answers "cancelled". The session continues.
func TestCancel(t *testing.T) {
	tests := []struct {
		name  string
		tools func(ended chan<- error) []agent.Tool
		steps func(gate *providertest.Gate) providertest.Step
		want  []string
	}{
		{
			name: "while the model speaks",
			steps: func(g *providertest.Gate) providertest.Step {
				return providertest.Step{providertest.Text("half"), g.Hold()}
			},
			want: []string{"info go", "agent: half", "info go"},
		},
		{
			name: "while a tool runs",
			tools: func(ended chan<- error) []agent.Tool {
				return agent.Tools{testTool("wait", false, nil, func(ctx context.Context, _ *input) (*agent.Result, error) {
					<-ctx.Done()
					ended <- context.Cause(ctx)
					return nil, ctx.Err()
				})}
			},
			steps: func(*providertest.Gate) providertest.Step {
				return providertest.Step{providertest.Call("c1", "wait", `{}`), providertest.Call("c2", "wait", `{}`)}
			},
		},
		{
			name: "while a question is open",
			tools: func(chan<- error) []agent.Tool {
				return agent.Tools{testTool("cmd", true, []approval.Effect{{Action: approval.ActionCommand, Command: "ls"}}, nil)}
			},
			steps: func(*providertest.Gate) providertest.Step {
				return providertest.Step{providertest.Call("c1", "cmd", `{}`)}
			},
			want: []string{"info go", "start c1 cmd ", "fail c1: cancelled by the user", "info go"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var ended chan error
			run(t, func(o *agent.Options) {
				ended = make(chan error, 2)
				if tt.tools != nil {
					o.Tools = agent.Tools(tt.tools(ended))
				}
			}, func(w *world) {
				w.speak(tt.steps(providertest.NewGate()), providertest.Step{providertest.Check(complete(t)), providertest.Text("fine")})
				w.answer = func(ctx context.Context, _ agent.Question) (agent.Decision, error) {
					<-ctx.Done()
					return agent.RejectOnce, ctx.Err()
				}
				turn := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "go"}}})
				synctest.Wait()
				w.session.Cancel()
				if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled || r.Err != nil {
					t.Errorf("result %+v", r)
				}
				if tt.want != nil {
					w.wantStory(tt.want...)
				}
				open := map[string]bool{}
				for _, line := range w.story() {
					fields := strings.Fields(strings.ReplaceAll(line, ":", " "))
					switch fields[0] {
					case "start":
						open[fields[1]] = true
					case "end", "fail":
						delete(open, fields[1])
					}
				}
				if len(open) > 0 {
					t.Errorf("calls without an end: %v", open)
				}
				for range len(ended) {
					if err := <-ended; !errors.Is(err, agent.ErrCancelled) {
						t.Errorf("a tool's context ended with %v", err)
					}
				}
				// The next turn works, and sends a valid conversation.
				w.answer = nil
				if r := w.prompt("next"); r.Stop != agent.StopEndTurn {
					t.Errorf("the next turn: %+v", r)
				}
			})
		})
	}
}

// A tool that ignores its cancellation is disowned after the grace period: the turn is answered, the call ends, the session
// continues, and later output of the old turn is dropped.
func TestCancel_Overstay(t *testing.T) {
	var release chan struct{}
	run(t, func(o *agent.Options) {
		release = make(chan struct{})
		o.Tools = agent.Tools{testTool("stuck", false, nil, func(context.Context, *input) (*agent.Result, error) {
			<-release
			return &agent.Result{Text: "late"}, nil
		})}
	}, func(w *world) {
		turn := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "go"}}})
		synctest.Wait()
		begin := time.Now()
		w.session.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
			t.Errorf("result %+v", r)
		}
		if d := time.Since(begin); d != agent.DefaultCancelGrace {
			t.Errorf("answered after %v of fake time", d)
		}
		if r := w.prompt("next"); r.Stop != agent.StopEndTurn {
			t.Errorf("the next turn: %+v", r)
		}
		before := len(w.story())
		close(release)
		synctest.Wait()
		w.wantStory("info go", "start c1 stuck ", "run c1", "fail c1: The turn is over.", "info go", "agent: fine", "info go")
		if n := len(w.story()); n != before {
			t.Errorf("%d late events", n-before)
		}
		want := []string{"user:go", "title:go", "assistant: +stuck", "custom", "user:next", "assistant:fine"}
		if diff := cmp.Diff(want, w.log.all()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	},
		providertest.Step{providertest.Call("c1", "stuck", `{}`)},
		providertest.Step{providertest.Text("fine")})
}

func TestApproval(t *testing.T) {
	command := []approval.Effect{{Action: approval.ActionCommand, Command: "git status"}}
	ran := 0
	tools := func(o *agent.Options) {
		ran = 0
		o.Tools = agent.Tools{testTool("cmd", true, command, func(context.Context, *input) (*agent.Result, error) {
			ran++
			return &agent.Result{Text: "ran"}, nil
		})}
	}
	twice := []providertest.Step{
		{providertest.Call("c1", "cmd", `{}`)}, {providertest.Call("c2", "cmd", `{}`)}, {providertest.Text("ok")},
	}
	tests := []struct {
		name       string
		answer     agent.Decision
		err        error
		ran, asked int
		stop       agent.StopReason
		text       string
	}{
		{"allow once", agent.AllowOnce, nil, 2, 2, agent.StopEndTurn, "ran"},
		{"allow always", agent.AllowAlways, nil, 2, 1, agent.StopEndTurn, "ran"},
		{"reject once", agent.RejectOnce, nil, 0, 2, agent.StopEndTurn, "rejected by the user: cmd"},
		{"reject always", agent.RejectAlways, nil, 0, 1, agent.StopEndTurn, "rejected by the user (always, for git status commands here)"},
		{"cancelled", agent.Cancelled, nil, 0, 1, agent.StopCancelled, "cancelled by the user"},
		{"failed", agent.AllowOnce, errors.New("no answer"), 0, 2, agent.StopEndTurn, "asking for permission: no answer; the call did not run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run(t, tools, func(w *world) {
				w.answer = func(context.Context, agent.Question) (agent.Decision, error) { return tt.answer, tt.err }
				r := w.prompt("go")
				if r.Stop != tt.stop || ran != tt.ran || len(w.asked) != tt.asked {
					t.Errorf("stop %s, ran %d, asked %d; want %s, %d, %d", r.Stop, ran, len(w.asked), tt.stop, tt.ran, tt.asked)
				}
				if all := strings.Join(w.story(), "\n"); !strings.Contains(all, tt.text) {
					t.Errorf("no %q in\n%s", tt.text, all)
				}
				if q := w.asked[0]; q.ToolCallID != "c1" || q.Always != "git status commands here" || string(q.Input) != "{}" {
					t.Errorf("question %+v", q)
				}
			}, twice...)
		})
	}
}

// Questions are asked one at a time, and the answer "always" settles those that wait.
func TestApproval_OneAtATime(t *testing.T) {
	open := 0
	run(t, func(o *agent.Options) {
		effect := []approval.Effect{{Action: approval.ActionRead, Path: "/etc/hosts"}}
		o.Tools = agent.Tools{testTool("peek", false, effect, func(context.Context, *input) (*agent.Result, error) {
			return &agent.Result{Text: "seen"}, nil
		})}
	}, func(w *world) {
		w.answer = func(context.Context, agent.Question) (agent.Decision, error) {
			if open++; open > 1 {
				t.Error("two questions are open")
			}
			time.Sleep(time.Second) // fake time
			open--
			return agent.AllowAlways, nil
		}
		w.prompt("go")
		if len(w.asked) != 1 {
			t.Errorf("asked %d times", len(w.asked))
		}
	},
		providertest.Step{providertest.Call("1", "peek", `{}`), providertest.Call("2", "peek", `{}`), providertest.Call("3", "peek", `{}`)},
		providertest.Step{providertest.Text("ok")})
}

func TestPlanMode(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Mode = approval.ModePlan
		o.Tools = agent.Tools{testTool("edit", true, []approval.Effect{{Action: approval.ActionEdit, Path: "/w/a"}}, nil)}
	}, func(w *world) {
		w.prompt("go")
		if all := strings.Join(w.story(), "\n"); !strings.Contains(all, "fail c1: plan mode changes nothing") || len(w.asked) > 0 {
			t.Errorf("asked %d, events\n%s", len(w.asked), all)
		}
		if err := w.session.SetMode(approval.ModeAuto)(); err != nil {
			t.Error(err)
		}
	},
		providertest.Step{
			providertest.Check(func(req *providers.Request) {
				if !strings.Contains(req.System, "You are in plan mode") {
					t.Error("the model does not learn of plan mode")
				}
			}),
			providertest.Call("c1", "edit", `{}`),
		},
		providertest.Step{providertest.Text("ok")})
}

// Temporary errors are retried visibly, permanent errors are reported at once, and no output is lost.
func TestTurn_ModelErrors(t *testing.T) {
	overloaded := &providers.Error{Kind: providers.KindOverloaded, Provider: "test", Message: "busy"}
	denied := &providers.Error{Kind: providers.KindAuth, Provider: "test", Message: "wrong key"}
	noJitter := func(o *agent.Options) { o.Retry.Jitter = func() float64 { return 0 } }
	run(t, noJitter, func(w *world) {
		if r := w.prompt("go"); r.Stop != agent.StopEndTurn {
			t.Errorf("result %+v", r)
		}
		w.wantStory("info go", "agent: ha", "notice The model call failed; trying again in 2s (attempt 2 of 4).", "agent: all of it", "info go")
	}, providertest.Step{providertest.Text("ha"), providertest.Fail(overloaded)}, providertest.Step{providertest.Text("all of it")})

	run(t, nil, func(w *world) {
		r := w.prompt("go")
		if !errors.Is(r.Err, denied) || r.Stop != "" {
			t.Errorf("result %+v", r)
		}
		if diff := cmp.Diff([]string{"user:go", "title:go", "assistant:half", "custom"}, w.log.all()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if r := w.prompt("again"); r.Stop != agent.StopEndTurn {
			t.Errorf("the next turn: %+v", r)
		}
	}, providertest.Step{providertest.Text("half"), providertest.Fail(denied)}, providertest.Step{providertest.Text("ok")})
}

// A full disk ends the turn with an error that says so, whichever write fails. The next prompt fails the same way.
func TestTurn_DiskFull(t *testing.T) {
	for failAt := 1; failAt <= 5; failAt++ {
		if failAt == 2 {
			continue // losing the title does not matter
		}
		run(t, nil, func(w *world) {
			w.log.failAt = failAt
			for range 2 {
				if r := w.prompt("go"); !errors.Is(r.Err, errDiskFull) {
					t.Errorf("append %d fails: result %+v", failAt, r)
				}
			}
		},
			providertest.Step{providertest.Call("c1", "echo", `{}`)}, providertest.Step{providertest.Text("ok")},
			providertest.Step{providertest.Text("ok")})
	}
}

func TestClose_WhileATurnRuns(t *testing.T) {
	run(t, nil, func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{gate.HoldAll()})
		running := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "one"}}})
		waiting := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "two"}}})
		<-gate.Reached()
		if err := w.session.Close(w.t.Context()); err != nil {
			t.Error(err)
		}
		for _, turn := range []*agent.Turn{running, waiting} {
			if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
				t.Errorf("result %+v", r)
			}
		}
		if r := w.prompt("late"); !errors.Is(r.Err, agent.ErrSessionClosed) {
			t.Errorf("a prompt after Close: %+v", r)
		}
		if _, err := w.session.Snapshot(); !errors.Is(err, agent.ErrSessionClosed) {
			t.Errorf("a snapshot after Close: %v", err)
		}
	})
}

// A loaded session looks like the live one.
func TestReplay_LooksLikeTheLiveSession(t *testing.T) {
	run(t, func(o *agent.Options) {
		diff := testTool("diff", false, nil, func(context.Context, *input) (*agent.Result, error) {
			old := "a"
			return &agent.Result{
				Text: "changed", Content: []agent.Content{agent.DiffContent{Path: "/w/f", Old: &old, New: "b"}, agent.TextContent{Text: "ok"}},
				Locations: []agent.Location{{Path: "/w/f", Line: 3}}, Raw: map[string]int{"n": 1},
			}, nil
		})
		fail := testTool("fail", false, nil, func(context.Context, *input) (*agent.Result, error) { return nil, errors.New("broken") })
		o.Tools = append(o.Tools.(agent.Tools), diff, fail)
	}, func(w *world) {
		w.prompt("go")
		events, err := w.session.Replay()
		if err != nil {
			t.Fatal(err)
		}
		keep := func(evs []agent.Event) (kept []agent.Event) {
			for _, ev := range evs {
				switch ev := ev.(type) {
				case agent.MessageDelta:
					if ev.Speaker != agent.SpeakerUser {
						kept = append(kept, ev)
					}
				case agent.ToolStarted, agent.ToolEnded:
					kept = append(kept, ev)
				}
			}
			return kept
		}
		var replayed []agent.Event
		for ev := range unfailing(events) {
			replayed = append(replayed, ev)
		}
		if first, ok := replayed[0].(agent.MessageDelta); !ok || first.Speaker != agent.SpeakerUser || first.Text != "go" {
			t.Errorf("the replay begins with %+v", replayed[0])
		}
		compare := cmp.Options{cmp.Comparer(func(a, b jsonx.Raw) bool { return string(a) == string(b) })}
		if diff := cmp.Diff(keep(w.events), keep(replayed), compare); diff != "" {
			t.Errorf("replayed (-live +replayed):\n%s", diff)
		}
	},
		providertest.Step{providertest.Think("t"), providertest.Text("a"), providertest.Call("c1", "diff", `{"say":"x"}`)},
		providertest.Step{providertest.Call("c2", "fail", `{}`)},
		providertest.Step{providertest.Text("b")})
}
