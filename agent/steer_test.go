package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

func words(text string) []providers.Part { return []providers.Part{providers.Text{Text: text}} }

// A message steered in while the model finishes continues the turn. After the turn it is refused.
func TestSteer_AtTheEnd(t *testing.T) {
	run(t, nil, func(w *world) {
		gate := providertest.NewGate()
		w.script.Add(
			providertest.Step{providertest.Text("done?"), gate.Hold()},
			providertest.Step{providertest.Text("done.")},
		)
		turn := w.session.Prompt(agent.Prompt{Parts: words("begin")})
		synctest.Wait()
		if ok, err := w.session.Steer(words("one")); !ok || err != nil {
			t.Errorf("into a model that speaks: %v, %v", ok, err)
		}
		gate.Open()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopEndTurn {
			t.Errorf("result %+v", r)
		}
		if ok, err := w.session.Steer(words("late")); ok || err != nil {
			t.Errorf("into no turn: %v, %v", ok, err)
		}
		var users []string
		for _, m := range w.script.Requests()[1].Messages {
			if m.Role == providers.RoleUser {
				users = append(users, m.Text())
			}
		}
		if got := strings.Join(users, ","); got != "begin,one" {
			t.Errorf("the second request has the user's %q", got)
		}
	})
}

// A turn that answers a command cannot be steered.
func TestSteer_NotIntoACommand(t *testing.T) {
	run(t, nil, func(w *world) {
		release := make(chan struct{})
		turn := w.session.Prompt(agent.Prompt{Answer: func(_ context.Context, turn *agent.RunningTurn) error {
			<-release
			turn.Say("answer")
			return nil
		}})
		synctest.Wait()
		if ok, _ := w.session.Steer(words("x")); ok {
			t.Error("a command was steered")
		}
		close(release)
		turn.Wait(w.t.Context())
		w.wantStory("agent: answer", "info ")
	})
}

// If the log cannot be written, a steered turn ends with the log's error.
func TestSteer_DiskFull(t *testing.T) {
	run(t, nil, func(w *world) {
		gate := providertest.NewGate()
		w.script.Add(providertest.Step{providertest.Text("done?"), gate.Hold()}, providertest.Step{providertest.Text("never")})
		turn := w.session.Prompt(agent.Prompt{Parts: words("begin")})
		synctest.Wait()
		if ok, _ := w.session.Steer(words("one")); !ok {
			t.Error("not taken")
		}
		w.log.mu.Lock()
		w.log.failAt = len(w.log.entries) + 2 // after the answer
		w.log.mu.Unlock()
		gate.Open()
		if r := turn.Wait(w.t.Context()); !errors.Is(r.Err, errDiskFull) {
			t.Errorf("result %+v", r)
		}
	})
}

// users returns the user's messages in a request, each followed by a comma.
func users(req *providers.Request) string {
	var all []string
	for _, m := range req.Messages {
		if m.Role == providers.RoleUser {
			all = append(all, m.Text())
		}
	}
	return strings.Join(all, ",")
}

// A turn that would end continues for steered messages if it can still answer them.
func TestSteer_IsAnswered(t *testing.T) {
	ends := func(o *agent.Options) {
		o.Tools = agent.Tools{testTool("end", true, nil, func(context.Context, *input) (*agent.Result, error) {
			return &agent.Result{Text: "asked", Say: "Which?", EndTurn: true}, nil
		})}
	}
	for _, tt := range []struct {
		name   string
		change func(*agent.Options)
		first  []providertest.Action
	}{
		{"cut off", nil, []providertest.Action{providertest.Stop(providers.StopLength)}},
		{"cut off in a call", nil, []providertest.Action{providertest.Call("c1", "echo", `{}`), providertest.Stop(providers.StopLength)}},
		{"a tool ends the turn", ends, []providertest.Action{providertest.Call("c1", "end", `{}`)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, tt.change, func(w *world) {
				gate := providertest.NewGate()
				w.script.Add(append(providertest.Step{providertest.Text("x"), gate.Hold()}, tt.first...),
					providertest.Step{providertest.Call("c9", "unknown", `{}`)}, providertest.Step{providertest.Text("fine")})
				turn := w.session.Prompt(agent.Prompt{Parts: words("begin")})
				synctest.Wait()
				if ok, err := w.session.Steer(words("one")); !ok || err != nil {
					t.Fatalf("steered %v, %v", ok, err)
				}
				gate.Open()
				if r := turn.Wait(w.t.Context()); r.Stop != agent.StopEndTurn || r.Err != nil {
					t.Errorf("result %+v", r)
				}
				if reqs := w.script.Requests(); len(reqs) != 3 || users(reqs[1]) != "begin,one" {
					t.Errorf("%d requests, the last with %q", len(reqs), users(reqs[len(reqs)-1]))
				}
			})
		})
	}
}

// A message steered into a turn that can no longer answer stays for the next one, also after a refusal.
func TestSteer_IsKept(t *testing.T) {
	for name, last := range map[string][]providertest.Action{
		"refusal":        {providertest.Stop(providers.StopRefusal)},
		"refusal, calls": {providertest.Call("c1", "echo", `{}`), providertest.Stop(providers.StopRefusal)},
		"failure":        {providertest.Fail(&providers.Error{Kind: providers.KindAuth, Provider: "test", Message: "no"})},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(w *world) {
				gate := providertest.NewGate()
				w.script.Add(append(providertest.Step{gate.Hold()}, last...), providertest.Step{providertest.Text("fine")})
				turn := w.session.Prompt(agent.Prompt{Parts: words("begin")})
				synctest.Wait()
				if ok, err := w.session.Steer(words("one")); !ok || err != nil {
					t.Fatalf("steered %v, %v", ok, err)
				}
				gate.Open()
				turn.Wait(w.t.Context())
				w.prompt("two")
				reqs := w.script.Requests()
				if got := users(reqs[len(reqs)-1]); len(reqs) != 2 || !strings.HasSuffix(got, "one,two") {
					t.Errorf("%d requests, the last with %q", len(reqs), got)
				}
			})
		})
	}
}

// A turn accepts no message that it could not answer: during its last allowed request, and until its prompt is ready.
func TestSteer_NotTaken(t *testing.T) {
	run(t, func(o *agent.Options) { o.MaxRequests = 2 }, func(w *world) {
		first, last := providertest.NewGate(), providertest.NewGate()
		w.script.Add(
			providertest.Step{first.Hold(), providertest.Call("c1", "echo", `{}`)},
			providertest.Step{last.Hold(), providertest.Call("c2", "echo", `{}`)},
		)
		turn := w.session.Prompt(agent.Prompt{Parts: words("begin")})
		synctest.Wait()
		if ok, _ := w.session.Steer(words("one")); !ok {
			t.Error("not taken before the last request")
		}
		first.Open()
		synctest.Wait()
		if ok, _ := w.session.Steer(words("two")); ok {
			t.Error("taken during the last request")
		}
		last.Open()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopMaxTurnRequests {
			t.Errorf("result %+v", r)
		}
	})
	for name, fails := range map[string]error{"failing": errors.New("no such file"), "empty": nil} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(w *world) {
				release := make(chan struct{})
				turn := w.session.Prompt(agent.Prompt{Prepare: func(context.Context, *agent.RunningTurn) (agent.Prepared, error) {
					<-release
					return agent.Prepared{}, fails
				}})
				synctest.Wait()
				if ok, _ := w.session.Steer(words("x")); ok {
					t.Error("a prompt that is yet to be made was steered")
				}
				close(release)
				turn.Wait(w.t.Context())
			})
		})
	}
	run(t, nil, func(w *world) {
		gate := providertest.NewGate()
		w.script.Add(providertest.Step{gate.Hold()}, providertest.Step{providertest.Text("fine")})
		turn := w.session.Prompt(agent.Prompt{Prepare: func(context.Context, *agent.RunningTurn) (agent.Prepared, error) {
			return agent.Prepared{Parts: words("made")}, nil
		}})
		synctest.Wait()
		if ok, _ := w.session.Steer(words("x")); !ok {
			t.Error("a prompt that was made is not steered")
		}
		gate.Open()
		turn.Wait(w.t.Context())
	})
}

// around returns the surroundings of child sessions in a test.
func around(w *world) func(agent.Subagent) agent.Surroundings {
	return func(about agent.Subagent) agent.Surroundings {
		return agent.Surroundings{FS: noFiles{}, Approver: w, Emit: func(ev agent.Event) {
			if m, ok := ev.(agent.MessageDelta); ok {
				m.MessageID = about.Title + m.MessageID
				ev = m
			}
			w.emit(ev)
		}}
	}
}

// taskTool starts a child for each call.
func taskTool() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[input]{
		Name: agent.TaskTool, Kind: agent.KindOther,
		Run: func(ctx context.Context, call *agent.Call, in *input) (*agent.Result, error) {
			done, err := call.Task(ctx, agent.Task{Title: in.Say, Prompt: "do " + in.Say})
			if err != nil {
				return nil, err
			}
			return &agent.Result{Text: "child: " + done.Text}, nil
		},
	})
}

// A child has its parent's tools except the one that starts children, its own conversation, and its parent's remembered answers. A
// change of the parent's mode applies to it.
func TestSubagent(t *testing.T) {
	effect := []approval.Effect{{Action: approval.ActionMCP, Title: "touch"}}
	touched := 0
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{taskTool(), testTool("touch", true, effect, func(context.Context, *input) (*agent.Result, error) {
			touched++
			return &agent.Result{Text: "touched"}, nil
		})}
	}, func(w *world) {
		gate := providertest.NewGate()
		w.script.Add(
			providertest.Step{providertest.Call("c1", "task", `{"say":"it"}`)},
			providertest.Step{providertest.Call("c2", "touch", `{}`)},
			providertest.Step{providertest.Call("c3", "touch", `{}`)},
			providertest.Step{providertest.Text("hm"), gate.Hold(), providertest.Call("c4", "touch", `{}`)},
			providertest.Step{providertest.Text("the report")},
			providertest.Step{providertest.Text("done")},
		)
		w.answer = func(context.Context, agent.Question) (agent.Decision, error) { return agent.AllowAlways, nil }
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait() // the child has called touch twice, and its model is blocked
		if len(w.asked) != 1 || touched != 2 {
			t.Errorf("asked %d times, touched %d", len(w.asked), touched)
		}
		if err := w.session.SetMode(approval.ModePlan)(); err != nil {
			t.Fatal(err)
		}
		gate.Open()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopEndTurn || r.Err != nil {
			t.Errorf("result %+v", r)
		}
		if touched != 2 {
			t.Error("the child changes things though its parent is in plan mode")
		}
		reqs := w.script.Requests()
		child := reqs[1]
		if len(child.Tools) != 1 || child.Tools[0].Name != "touch" || child.Messages[0].Text() != "do it" || len(child.Messages) != 1 {
			t.Errorf("the child's request: tools %v, messages %+v", child.Tools, child.Messages)
		}
		last := reqs[len(reqs)-1].Messages
		if got := last[len(last)-1].Text(); got != "child: the report" {
			t.Errorf("the parent got %q", got)
		}
		for _, line := range w.log.all() {
			if strings.Contains(line, "do it") {
				t.Errorf("the parent's log has the child's %q", line)
			}
		}
	})
}

// A cancelled parent cancels its child, and a child that fails is a failed call.
func TestSubagent_Ends(t *testing.T) {
	run(t, func(o *agent.Options) { o.Tools = agent.Tools{taskTool()} }, func(w *world) {
		gate := providertest.NewGate()
		defer gate.Open()
		w.script.Add(
			providertest.Step{providertest.Call("c1", "task", `{"say":"it"}`)},
			providertest.Step{providertest.Text("hm"), gate.HoldAll()},
		)
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		w.session.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
			t.Errorf("result %+v", r)
		}
	})
	run(
		t, func(o *agent.Options) { o.Tools = agent.Tools{taskTool()} }, func(w *world) {
			w.prompt("go")
			last := w.script.Requests()[2].Messages
			if m := last[len(last)-1]; !m.IsError || !strings.Contains(m.Text(), "the task failed") {
				t.Errorf("the parent got %+v", m)
			}
		},
		providertest.Step{providertest.Call("c1", "task", `{"say":"it"}`)},
		providertest.Step{providertest.Fail(&providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"})},
		providertest.Step{providertest.Text("done")},
	)
}

// A child that does not stop is ended with the turn that started it: its calls, the child, and the call that it belongs to. Its
// later output is not reported, and it is closed when it finishes.
func TestSubagent_DoesNotStop(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{taskTool(), testTool("stuck", true, nil, func(context.Context, *input) (*agent.Result, error) {
			time.Sleep(time.Hour) // fake time; ignores its context
			return &agent.Result{Text: "late"}, nil
		})}
	}, func(w *world) {
		w.script.Add(
			providertest.Step{providertest.Call("c1", "task", `{"say":"it"}`)},
			providertest.Step{providertest.Call("c2", "stuck", `{}`)},
			providertest.Step{providertest.Text("next")},
		)
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		w.session.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
			t.Errorf("result %+v", r)
		}
		var ends []string
		w.mu.Lock()
		for _, ev := range w.events {
			switch ev := ev.(type) {
			case agent.ToolEnded:
				ends = append(ends, ev.CallID)
			case agent.SubagentChanged:
				ends = append(ends, fmt.Sprintf("child %v %s", ev.Running, ev.Stop))
			}
		}
		emitted := len(w.events)
		w.mu.Unlock()
		if got := strings.Join(ends, ","); got != "child true ,c2,child false cancelled,c1" {
			t.Errorf("got %s", got)
		}
		if err := w.session.SetMode(approval.ModePlan)(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		w.mu.Lock()
		if len(w.events) != emitted {
			t.Errorf("emitted later: %+v", w.events[emitted:])
		}
		w.mu.Unlock()
		if r := w.prompt("again"); r.Stop != agent.StopEndTurn {
			t.Errorf("the next turn: %+v", r)
		}
	})
}

// The same if the parent gives up on its turn before the child gives up on its own.
func TestSubagent_OutlivesTurn(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{taskTool(), testTool("stuck", true, nil, func(context.Context, *input) (*agent.Result, error) {
			time.Sleep(time.Hour) // fake time; ignores its context
			return &agent.Result{Text: "late"}, nil
		})}
	}, func(w *world) {
		w.script.Add(providertest.Step{providertest.Call("c1", "task", `{"say":"it"}`)}, providertest.Step{providertest.Call("c2", "stuck", `{}`)})
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		now, cancel := context.WithCancel(w.t.Context())
		cancel()
		if err := w.session.Close(now); err != nil {
			t.Error(err)
		}
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
			t.Errorf("result %+v", r)
		}
		time.Sleep(2 * time.Hour) // the bubble detects goroutines that the child leaves
		var ends []string
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, ev := range w.events {
			switch ev := ev.(type) {
			case agent.ToolEnded:
				ends = append(ends, ev.CallID)
			case agent.SubagentChanged:
				ends = append(ends, fmt.Sprintf("child %v %s", ev.Running, ev.Stop))
			}
		}
		if got := strings.Join(ends, ","); got != "child true ,c2,child false cancelled,c1" {
			t.Errorf("got %s", got)
		}
	})
}

// Parts that were compacted, cleared or shown differently are replayed as the user saw them.
func TestReplay_OfWhatCommandsDid(t *testing.T) {
	run(t, nil, func(w *world) {
		for _, e := range []sessions.Entry{
			sessions.MessageEntry{Message: providers.Message{ID: "m1", Role: providers.RoleUser, Parts: words("before")}},
			sessions.Compaction{Summary: "SUM"},
			sessions.Custom{CustomType: "gjc.shown", Data: []byte(`"/review x"`)},
			sessions.MessageEntry{Message: providers.Message{ID: "m2", Role: providers.RoleUser, Parts: words("a long text")}},
			sessions.MessageEntry{Message: providers.Message{ID: "m3", Role: providers.RoleUser, Parts: words("after")}},
		} {
			if _, err := w.log.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		events, err := w.session.Replay()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for ev := range unfailing(events) {
			switch ev := ev.(type) {
			case agent.MessageDelta:
				got = append(got, ev.MessageID+" "+ev.Text)
			case agent.CompactionChanged:
				got = append(got, string(ev.Status)+" "+ev.Summary)
			}
		}
		if s := strings.Join(got, "|"); s != "m1 before|completed SUM|m2 /review x|m3 after" {
			t.Errorf("replayed %q", s)
		}
	})
}
