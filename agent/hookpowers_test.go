package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// at returns hooks that answer at one event.
func at(ev hooks.Event, answer func(in *hooks.Input) string) (*hookPrograms, *hooks.Hook) {
	p := &hookPrograms{play: func(in *hooks.Input) (string, int, error) { return answer(in), 0, nil }}
	return p, &hooks.Hook{Name: "h", Events: []hooks.Event{ev}}
}

// says returns a function that always gives the same answer.
func says(text string) func(*hooks.Input) string { return func(*hooks.Input) string { return text } }

// A hook can replace the input of a call, which is then judged as if the model had made it.
func TestHooks_ReplaceInput(t *testing.T) {
	p, h := at(hooks.ToolCall, says(`{"input":{"say":"replaced"}}`))
	run(t, withHooks(t, p, h), func(w *world) {
		w.prompt("go")
		got := w.script.Requests()[1].Messages[2].Text()
		if !strings.HasPrefix(got, "replaced") || !strings.Contains(got, `A hook has replaced the input of this call; it ran with:`+"\n"+`{"say":"replaced"}`) {
			t.Errorf("the result is %q", got)
		}
	}, providertest.Step{providertest.Call("1", "echo", `{"say":"hi"}`)}, providertest.Step{providertest.Text("ok")})
	for _, bad := range []string{`{"input":[1]}`, `{"input":{"say":5}}`} {
		p, h := at(hooks.ToolCall, says(bad))
		run(t, withHooks(t, p, h), func(w *world) {
			w.prompt("go")
			if got := w.script.Requests()[1].Messages[2]; !got.IsError {
				t.Errorf("%s: the result is %q", bad, got.Text())
			}
		}, providertest.Step{providertest.Call("1", "echo", `{"say":"hi"}`)}, providertest.Step{providertest.Text("ok")})
	}
}

// A hook cannot make a call run that the user would be asked about.
func TestHooks_ReplaceInput_Asks(t *testing.T) {
	p, h := at(hooks.ToolCall, says(`{"input":{"command":"rm b"}}`))
	var asked []string
	run(t, func(o *agent.Options) {
		withHooks(t, p, h)(o)
		o.Tools = agent.Tools{effectTool()}
	}, func(w *world) {
		w.answer = func(_ context.Context, q agent.Question) (agent.Decision, error) {
			asked = append(asked, q.Title)
			if len(asked) == 1 {
				return agent.AllowOnce, nil
			}
			return agent.RejectOnce, nil
		}
		w.prompt("go")
		if got := w.script.Requests()[1].Messages[2]; !got.IsError {
			t.Errorf("the call ran: %q", got.Text())
		}
	}, providertest.Step{providertest.Call("1", "does", `{"command":"ls a"}`)}, providertest.Step{providertest.Text("ok")})
	if diff := cmp.Diff([]string{"ls a", "rm b"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// effectTool returns a tool whose call is judged as the command in its input.
func effectTool() agent.Tool {
	type input struct {
		Command string `json:"command"`
	}
	return agent.NewTool(agent.ToolFuncs[input]{
		Name: "does", Description: "Does it.", Kind: agent.KindExecute,
		Plan: func(_ context.Context, _ *agent.Call, in *input) (*agent.CallPlan, error) {
			return &agent.CallPlan{Title: in.Command, Effects: []approval.Effect{{Action: approval.ActionCommand, Command: in.Command, Title: in.Command}}}, nil
		},
		Run: func(_ context.Context, _ *agent.Call, in *input) (*agent.Result, error) {
			return &agent.Result{Text: "did " + in.Command}, nil
		},
	})
}

// A hook can replace what the model receives of a result; a later hook sees that.
func TestHooks_ReplaceResult(t *testing.T) {
	n := 0
	p := &hookPrograms{play: func(in *hooks.Input) (string, int, error) {
		n++
		return fmt.Sprintf(`{"result":{"text":%q,"isError":%v}}`, strings.ReplaceAll(in.Result.Text, "secret", "hidden")+fmt.Sprint(n), n == 2), 0, nil
	}}
	one, two := &hooks.Hook{Name: "one", Events: []hooks.Event{hooks.ToolResult}}, &hooks.Hook{Name: "two", Events: []hooks.Event{hooks.ToolResult}}
	run(t, withHooks(t, p, one, two), func(w *world) {
		w.prompt("go")
		if got := w.script.Requests()[1].Messages[2]; got.Text() != "a hidden12" || !got.IsError {
			t.Errorf("the result is %q, an error: %v", got.Text(), got.IsError)
		}
	}, providertest.Step{providertest.Call("1", "echo", `{"say":"a secret"}`)}, providertest.Step{providertest.Text("ok")})
}

// A hook can rewrite the messages of a request; what cannot be sent is reported, and not sent.
func TestHooks_Context(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(in *hooks.Input) string
		want   []string
		notice string
	}{
		"rewritten":                 {says(`{"messages":[{"index":-1,"role":"user","text":"before"},{"index":0,"text":"other"},{"index":1},{"index":2}]}`), []string{"before", "other", "", "hi"}, ""},
		"nothing":                   {says(`{}`), []string{"go", "", "hi"}, ""},
		"a call without its result": {says(`{"messages":[{"index":0},{"index":1}]}`), []string{"go", "", "hi"}, "cannot be sent"},
		"a result without its call": {says(`{"messages":[{"index":0},{"index":2}]}`), []string{"go", "", "hi"}, "cannot be sent"},
		"the wrong order":           {says(`{"messages":[{"index":1},{"index":0}]}`), []string{"go", "", "hi"}, "cannot be sent"},
		"no such message":           {says(`{"messages":[{"index":9}]}`), []string{"go", "", "hi"}, "cannot be sent"},
		"nothing left":              {says(`{"messages":[]}`), []string{"go", "", "hi"}, "cannot be sent"},
		"a bad role":                {says(`{"messages":[{"index":-1,"role":"system","text":"x"}]}`), []string{"go", "", "hi"}, "cannot be sent"},
	} {
		t.Run(name, func(t *testing.T) {
			var saw [][]hooks.MessageInput
			p, h := at(hooks.Context, func(in *hooks.Input) string {
				if saw = append(saw, in.Messages); len(saw) == 1 {
					return "{}"
				}
				return c.answer(in)
			})
			run(t, withHooks(t, p, h), func(w *world) {
				w.prompt("go")
				var got []string
				for _, m := range w.script.Requests()[1].Messages {
					got = append(got, m.Text())
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if n := strings.Join(notices(w), "\n"); !strings.Contains(n, c.notice) || c.notice == "" && n != "" {
					t.Errorf("noticed %q, want %q", n, c.notice)
				}
			}, providertest.Step{providertest.Call("1", "echo", `{"say":"hi"}`)}, providertest.Step{providertest.Text("ok")})
			if last := saw[1]; len(last) != 3 || last[1].Calls[0].Name != "echo" || last[2].CallID != "1" || last[2].Role != "tool" {
				raw, _ := json.Marshal(last)
				t.Errorf("the hook saw %s", raw)
			}
		})
	}
}

// A hook can answer a question with no before the user is asked.
func TestHooks_Permission(t *testing.T) {
	for _, block := range []bool{true, false} {
		p, h := at(hooks.Permission, func(in *hooks.Input) string {
			if in.Question != "ls a" || in.Tool.Name != "does" {
				t.Errorf("the hook saw the question %q about %q", in.Question, in.Tool.Name)
			}
			return fmt.Sprintf(`{"block":%v,"reason":"never"}`, block)
		})
		asked := 0
		run(t, func(o *agent.Options) {
			withHooks(t, p, h)(o)
			o.Tools = agent.Tools{effectTool()}
		}, func(w *world) {
			w.answer = func(context.Context, agent.Question) (agent.Decision, error) {
				asked++
				return agent.AllowOnce, nil
			}
			w.prompt("go")
			got := w.script.Requests()[1].Messages[2]
			if got.IsError != block || block == (asked > 0) || block && !strings.Contains(got.Text(), "h: never") {
				t.Errorf("blocked %v: asked %d times, the result is %q", block, asked, got.Text())
			}
		}, providertest.Step{providertest.Call("1", "does", `{"command":"ls a"}`)}, providertest.Step{providertest.Text("ok")})
	}
}

// A hook can reject a prompt, so that no model sees it.
func TestHooks_BlockPrompt(t *testing.T) {
	p, h := at(hooks.Prompt, says(`{"block":true,"reason":"no secrets here"}`))
	run(t, withHooks(t, p, h), func(w *world) {
		r := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "my key"}}}).Wait(w.t.Context())
		if r.Err == nil || !strings.Contains(r.Err.Error(), "a hook rejects this prompt: h: no secrets here") {
			t.Errorf("%+v", r)
		}
		if n := len(w.script.Requests()); n > 0 {
			t.Errorf("%d requests were made", n)
		}
	})
}

// A hook can make the turn go on, a limited number of times.
func TestHooks_GoOn(t *testing.T) {
	stops := 0
	p, h := at(hooks.TurnEnd, func(in *hooks.Input) string {
		if stops++; in.Attempt != stops-1 {
			t.Errorf("attempt %d at stop %d", in.Attempt, stops)
		}
		return `{"block":true,"reason":"run the tests"}`
	})
	var steps []providertest.Step
	for range 6 {
		steps = append(steps, providertest.Step{providertest.Text("ok")})
	}
	run(t, withHooks(t, p, h), func(w *world) {
		if r := w.prompt("go"); r.Stop != agent.StopEndTurn || r.Err != nil {
			t.Errorf("%+v", r)
		}
		reqs := w.script.Requests()
		if last := reqs[1].Messages; len(reqs) != 6 || !strings.Contains(last[len(last)-1].Text(), "A hook asks you to go on: h: run the tests") {
			t.Errorf("%d requests; the second ends with %q", len(reqs), last[len(last)-1].Text())
		}
	}, steps...)
	if stops != 6 {
		t.Errorf("%d stops", stops)
	}
}

// A hook can cancel a compaction, or write its summary.
func TestHooks_Compaction(t *testing.T) {
	for _, cancel := range []bool{true, false} {
		p, h := at(hooks.BeforeCompact, func(*hooks.Input) string {
			if cancel {
				return `{"block":true,"reason":"not now"}`
			}
			return `{"summary":"All is well."}`
		})
		run(t, withHooks(t, p, h), func(w *world) {
			w.prompt("one")
			w.prompt("two")
			done, _, err := compact(w)
			if cancel && (err == nil || !strings.Contains(err.Error(), "a hook cancels the compaction: h: not now")) {
				t.Errorf("cancelled: %v", err)
			}
			if !cancel && (err != nil || done.Summary != "All is well.") {
				t.Errorf("supplied: %+v, %v", done, err)
			}
			w.prompt("three")
			reqs := w.script.Requests() // none is for a summary
			if got := strings.Join(said(reqs[2]), "\n"); len(reqs) != 3 || strings.Contains(got, "All is well.") == cancel {
				t.Errorf("cancelled %v: the last of %d requests has %q", cancel, len(reqs), got)
			}
		}, providertest.Step{providertest.Text("first")}, providertest.Step{providertest.Text("second")}, providertest.Step{providertest.Text("third")})
	}
}

// A hook can cancel a move in the conversation, or write the summary of what is left.
func TestHooks_Tree(t *testing.T) {
	for _, cancel := range []bool{true, false} {
		var events []hooks.Event
		p := &hookPrograms{play: func(in *hooks.Input) (string, int, error) {
			events = append(events, in.Event)
			if cancel {
				return `{"block":true,"reason":"stay"}`, 0, nil
			}
			return `{"summary":"We tried."}`, 0, nil
		}}
		h := &hooks.Hook{Name: "h", Events: []hooks.Event{hooks.BeforeTree, hooks.Tree}}
		with, store := realLog(t, nil)
		run(t, func(o *agent.Options) {
			with(o)
			withHooks(t, p, h)(o)
		}, func(w *world) {
			w.prompt("one")
			w.prompt("three")
			done, err := w.navigate(entryWith(t, store, "two"), agent.NavigateOptions{})
			if cancel && (err == nil || !strings.Contains(err.Error(), "a hook cancels the move: h: stay")) || !cancel && (err != nil || done.Summary != "We tried.") {
				t.Errorf("cancelled %v: %+v, %v", cancel, done, err)
			}
		}, providertest.Step{providertest.Text("two")}, providertest.Step{providertest.Text("four")})
		want := []hooks.Event{hooks.BeforeTree, hooks.Tree}
		if cancel {
			want = want[:1]
		}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
}

// Hooks observe failed requests, changes of the plan, and helpers.
func TestHooks_Observe(t *testing.T) {
	busy := &providers.Error{Kind: providers.KindOverloaded, Provider: "test", Message: "busy"}
	var saw []string
	p := &hookPrograms{play: func(in *hooks.Input) (string, int, error) {
		var line strings.Builder
		_, _ = fmt.Fprint(&line, in.Event, " ", in.Attempt)
		for _, step := range in.Todo {
			line.WriteString(" " + step.Content + "=" + step.Status)
		}
		for _, m := range in.Messages {
			_, _ = fmt.Fprintf(&line, " %s %q %d", m.Role, m.Text, len(m.Calls))
		}
		saw = append(saw, line.String())
		return `{"block":true,"notice":"noted"}`, 0, nil
	}}
	h := &hooks.Hook{Name: "h", Events: []hooks.Event{hooks.Retry, hooks.RetryEnd, hooks.Reply, hooks.Todo}}
	run(t, func(o *agent.Options) {
		withHooks(t, p, h)(o)
		o.Tools = agent.Tools{agent.NewTool(agent.ToolFuncs[struct{}]{
			Name: "plans", Description: "Plans.",
			Run: func(_ context.Context, call *agent.Call, _ *struct{}) (*agent.Result, error) {
				call.SetPlan([]agent.PlanEntry{{Content: "a", Status: agent.PlanPending}})
				return &agent.Result{Text: "ok"}, nil
			},
		})}
	}, func(w *world) {
		if r := w.prompt("go"); r.Err != nil {
			t.Errorf("%+v", r)
		}
		if n := strings.Join(notices(w), "\n"); !strings.Contains(n, "The hook h says: noted") {
			t.Errorf("noticed %q", n)
		}
	}, providertest.Step{providertest.Fail(busy)}, providertest.Step{providertest.Call("1", "plans", `{}`)}, providertest.Step{providertest.Text("ok")})
	if diff := cmp.Diff([]string{"retry 1", "retry_end 1", `reply 0 assistant "" 1`, "todo 0 a=pending", `reply 0 assistant "ok" 0`}, saw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A request that fails for good ends its retries with the reason.
func TestHooks_RetryEnd(t *testing.T) {
	busy := &providers.Error{Kind: providers.KindOverloaded, Provider: "test", Message: "busy"}
	var ends []string
	p, h := at(hooks.RetryEnd, func(in *hooks.Input) string {
		ends = append(ends, fmt.Sprint(in.Attempt, " ", in.Reason))
		return ""
	})
	var steps []providertest.Step
	for range 20 {
		steps = append(steps, providertest.Step{providertest.Fail(busy)})
	}
	run(t, withHooks(t, p, h), func(w *world) {
		r := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "go"}}}).Wait(w.t.Context())
		if n := len(w.script.Requests()); r.Err == nil || len(ends) != 1 || !strings.HasPrefix(ends[0], fmt.Sprint(n, " ")) || !strings.Contains(ends[0], "busy") {
			t.Errorf("%d requests, %v; the ends: %q", n, r.Err, ends)
		}
	}, steps...)
}

// After the conversation was cleared, the hooks for the session's start run again, because the model has lost what they said.
func TestHooks_Clear(t *testing.T) {
	p, h := at(hooks.SessionStart, says(`{"context":"we use tabs"}`))
	with, _ := realLog(t, nil)
	run(t, func(o *agent.Options) {
		with(o)
		withHooks(t, p, h)(o)
	}, func(w *world) {
		w.prompt("one")
		r := w.session.Prompt(agent.Prompt{Answer: func(_ context.Context, t *agent.RunningTurn) error { return t.Clear() }}).Wait(w.t.Context())
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		w.prompt("two")
		w.prompt("three")
		if got := strings.Join(said(w.script.Requests()[1]), "\n"); !strings.Contains(got, "we use tabs") || strings.Contains(got, "one") {
			t.Errorf("the model received %q", got)
		}
	}, providertest.Step{providertest.Text("ok")}, providertest.Step{providertest.Text("ok")}, providertest.Step{providertest.Text("ok")})
	if diff := cmp.Diff([]string{"session_start new", "session_start clear"}, p.saw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A hook can cancel the copy of a session. One that fails or hangs does not hold it up for long, and is named once.
func TestHooks_Fork(t *testing.T) {
	for name, c := range map[string]struct {
		out, command, err, notice string
		made                      bool
	}{
		"cancels": {out: `{"block":true,"reason":"not here"}`, err: "a hook cancels the fork: h: not here"},
		"agrees":  {out: `{"notice":"copied"}`, notice: "The hook h says: copied", made: true},
		"fails":   {out: "nonsense", notice: "The hook h failed.", made: true},
		"hangs":   {command: "hangs", notice: "The hook h failed.", made: true},
	} {
		t.Run(name, func(t *testing.T) {
			var targets []string
			p := &hookPrograms{play: func(in *hooks.Input) (string, int, error) {
				targets = append(targets, string(in.Event)+" "+in.Target)
				return c.out, 0, nil
			}}
			h := &hooks.Hook{Name: "h", Events: []hooks.Event{hooks.BeforeFork, hooks.Fork}}
			if c.command != "" {
				h.Command = []string{c.command}
			}
			made := false
			run(t, withHooks(t, p, h), func(w *world) {
				err := agent.Fork(w.t.Context(), w.session, func() (string, error) { made = true; return "copy", nil })
				if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
					t.Errorf("%v", err)
				}
				synctest.Wait()
				if n := strings.Join(notices(w), "\n"); !strings.Contains(n, c.notice) || strings.Count(n, "failed") > 1 {
					t.Errorf("noticed %q", n)
				}
			})
			if made != c.made {
				t.Errorf("made: %v", made)
			}
			if c.made && c.command == "" && !cmp.Equal(targets, []string{"before_fork ", "fork copy"}) {
				t.Errorf("the hook saw %q", targets)
			}
		})
	}
}
