package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// hookPrograms are hooks whose output and exit code a test determines.
type hookPrograms struct {
	mu   sync.Mutex
	play func(in *hooks.Input) (stdout string, code int, err error)
	saw  []string
}

func (p *hookPrograms) LookPath(name string) (string, error) {
	if name == "missing" {
		return "", fs.ErrNotExist
	}
	return "/bin/" + name, nil
}

func (p *hookPrograms) Output(ctx context.Context, prog agent.Program, _ int) ([]byte, error) {
	if prog.Path == "/bin/hangs" {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	var in hooks.Input
	if err := jsonx.Unmarshal(prog.Stdin, &in); err != nil {
		return nil, err
	}
	p.mu.Lock()
	line := string(in.Event)
	if in.Tool != nil {
		line += " " + string(in.Tool.Input)
	}
	if in.Result != nil {
		line += fmt.Sprintf(" %q %v", in.Result.Text, in.Result.IsError)
	}
	p.saw = append(p.saw, strings.TrimSpace(line+" "+in.Prompt+in.Reason))
	p.mu.Unlock()
	out, code, err := p.play(&in)
	if err == nil && code != 0 {
		err = &agent.ExitError{Program: prog.Path, Code: code, Stderr: "stderr"}
	}
	return []byte(out), err
}

// withHooks configures user hooks for a session.
func withHooks(t *testing.T, p *hookPrograms, list ...*hooks.Hook) func(*agent.Options) {
	t.Helper()
	for i, h := range list {
		h.At = fmt.Sprintf("hooks.yml:%d", i+1)
		if h.Timeout == 0 {
			h.Timeout = time.Minute
		}
		if h.Command == nil {
			h.Command = []string{"hook"}
		}
	}
	return func(o *agent.Options) {
		o.Programs = p
		o.Hooks = func() *hooks.Set { return &hooks.Set{Hooks: list} }
	}
}

// Hooks see the whole session in order, and the model receives their output.
func TestHooks_Order(t *testing.T) {
	p := &hookPrograms{play: func(in *hooks.Input) (string, int, error) {
		return `{"context":"said at ` + string(in.Event) + `"}`, 0, nil
	}}
	run(t, withHooks(t, p, &hooks.Hook{Name: "all", Events: hooks.Events()}), func(w *world) {
		w.prompt("go")
		w.prompt("on")
		reqs := w.script.Requests()
		if got := reqs[0].Messages[1].Text(); !strings.Contains(got, "said at session_start\n</hook>") || !strings.Contains(got, `<hook name="all" event="prompt">`) {
			t.Errorf("after the prompt stands %q", got)
		}
		if got := reqs[1].Messages[3].Text(); !strings.HasPrefix(got, "hi<hook") || !strings.Contains(got, "said at tool_call") || !strings.Contains(got, "said at tool_result") {
			t.Errorf("the result is %q", got)
		}
	}, providertest.Step{providertest.Call("1", "echo", `{"say":"hi"}`)}, providertest.Step{providertest.Text("ok")}, providertest.Step{providertest.Text("ok")})
	want := []string{
		"session_start new", "prompt go", "turn_start", "context", "reply", `tool_call {"say":"hi"}`, `tool_result {"say":"hi"} "hi" false`, "context",
		"reply", "turn_end end_turn", "prompt on", "turn_start", "context", "reply", "turn_end end_turn", "session_end",
	}
	if diff := cmp.Diff(want, p.saw); diff != "" {
		t.Errorf("hooks saw (-want +got):\n%s", diff)
	}
}

// A hook can reject a call, and so does a blocking hook that fails. The failure of a non-blocking hook is reported once.
func TestHooks_Block(t *testing.T) {
	for _, tt := range []struct {
		name, out, command string
		code               int
		blocking           bool
		want, notice       string
	}{
		{"says no", `{"block":true,"reason":"not on Fridays"}`, "", 0, false, "forbids this call: h: not on Fridays", ""},
		{"ends with 2", "", "", 2, false, "forbids this call: h: stderr", ""},
		{"says yes", `{}`, "", 0, true, "", ""},
		{"fails", "", "", 1, false, "", "The hook h failed."},
		{"blocking fails", "", "", 1, true, "must approve the call, and it failed: it ended with exit code 1", ""},
		{"blocking prints nonsense", "yes!", "", 0, true, "not a JSON object", ""},
		{"blocking cannot start", "", "missing", 0, true, "cannot be started", ""},
		{"blocking hangs", "", "hangs", 0, true, "timed out after 1m0s", ""},
		{"hangs", "", "hangs", 0, false, "", "The hook h failed."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &hookPrograms{play: func(*hooks.Input) (string, int, error) { return tt.out, tt.code, nil }}
			h := &hooks.Hook{Name: "h", Events: []hooks.Event{hooks.ToolCall}, Tools: []string{"ec*"}, Blocking: tt.blocking}
			if tt.command != "" {
				h.Command = []string{tt.command}
			}
			ran := 0
			run(t, func(o *agent.Options) {
				withHooks(t, p, h)(o)
				o.Tools = agent.Tools{testTool("echo", true, nil, func(context.Context, *input) (*agent.Result, error) {
					ran++
					return &agent.Result{Text: "done"}, nil
				})}
			}, func(w *world) {
				w.prompt("go")
				got := w.script.Requests()[1].Messages[2]
				if tt.want == "" && (ran != 2 || got.IsError) || tt.want != "" && (ran != 0 || !got.IsError || !strings.Contains(got.Text(), tt.want)) {
					t.Errorf("ran %d times, the result is %q", ran, got.Text())
				}
				if diff := cmp.Diff(tt.notice, strings.Join(notices(w), "|")); diff != "" {
					t.Errorf("notices: %s", diff)
				}
			}, providertest.Step{providertest.Call("1", "echo", `{}`), providertest.Call("2", "echo", `{}`)}, providertest.Step{providertest.Text("ok")})
		})
	}
}

// A hook runs after the permission check: it does not run for refused calls, and its approval allows nothing. A change to plan mode
// while it runs takes effect.
func TestHooks_AfterPermissions(t *testing.T) {
	gate := make(chan func(), 1)
	p := &hookPrograms{play: func(in *hooks.Input) (string, int, error) {
		if in.Event == hooks.ToolCall {
			(<-gate)()
		}
		return `{"block":false,"allow":true}`, 0, nil
	}}
	h := &hooks.Hook{Name: "h", Events: []hooks.Event{hooks.ToolCall}}
	run(t, func(o *agent.Options) {
		withHooks(t, p, h)(o)
		o.Tools = agent.Tools{testTool("run", true, []approval.Effect{{Action: approval.ActionCommand, Command: "make"}}, func(context.Context, *input) (*agent.Result, error) {
			t.Error("the call ran")
			return &agent.Result{}, nil
		})}
	}, func(w *world) {
		w.answer = func(context.Context, agent.Question) (agent.Decision, error) { return agent.RejectOnce, nil }
		w.prompt("go")
		if len(p.saw) != 0 {
			t.Errorf("a hook saw a call that was refused: %q", p.saw)
		}
		w.answer = nil
		gate <- func() { w.session.SetMode(approval.ModePlan) }
		w.prompt("go")
		reqs := w.script.Requests()
		last := reqs[len(reqs)-1].Messages
		if got := last[len(last)-1].Text(); !strings.Contains(got, "plan mode") || len(p.saw) != 1 {
			t.Errorf("the result is %q", got)
		}
	}, providertest.Step{providertest.Call("1", "run", `{}`)}, providertest.Step{providertest.Text("ok")},
		providertest.Step{providertest.Call("2", "run", `{}`)}, providertest.Step{providertest.Text("ok")})
}

// A call whose hook hangs ends with the turn.
func TestHooks_Cancel(t *testing.T) {
	p := new(hookPrograms)
	h := &hooks.Hook{Name: "h", Events: []hooks.Event{hooks.ToolCall}, Command: []string{"hangs"}, Blocking: true, Timeout: 10 * time.Minute}
	run(t, withHooks(t, p, h), func(w *world) {
		turn := w.session.Prompt(agent.Prompt{Parts: []providers.Part{providers.Text{Text: "go"}}})
		time.Sleep(time.Second) // fake time
		turn.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled {
			t.Errorf("%+v", r)
		}
	}, providertest.Step{providertest.Call("1", "echo", `{}`)})
}

// Workspace hooks do not run without trust, and an untrusted blocking hook rejects nothing. The user is notified once.
func TestHooks_Untrusted(t *testing.T) {
	p := &hookPrograms{play: func(*hooks.Input) (string, int, error) { return "", 2, nil }}
	h := &hooks.Hook{Name: "h", Events: []hooks.Event{hooks.ToolCall, hooks.Prompt}, Command: []string{"x"}, Blocking: true, At: filepath.Join("/w", ".gjc", "hooks.yml") + ":2"}
	run(t, func(o *agent.Options) {
		o.Programs = p
		o.Hooks = func() *hooks.Set { return &hooks.Set{Untrusted: []*hooks.Hook{h}} }
	}, func(w *world) {
		w.prompt("go")
		if got := w.script.Requests()[1].Messages[2]; got.IsError || got.Text() != "hi" {
			t.Errorf("the result is %q", got.Text())
		}
		if got := notices(w); len(got) != 1 || !strings.Contains(got[0], "gjc trust add /w") || len(p.saw) > 0 {
			t.Errorf("noticed %q, ran %q", got, p.saw)
		}
	}, providertest.Step{providertest.Call("1", "echo", `{"say":"hi"}`)}, providertest.Step{providertest.Text("ok")})
}

// Questions about files of the workspace are asked one by one before the model is, each with its own call, and never again once they
// are answered.
func TestTrustQuestions(t *testing.T) {
	answers := trust.NewSession(nil)
	dir := t.TempDir()
	one := &trust.Subject{Path: dir, Files: []trust.File{trust.NewFile(".mcp.json", []byte("1"), "a: node a.js")}}
	two := &trust.Subject{Path: dir, Files: []trust.File{trust.NewFile(".vscode/mcp.json", []byte("2"), "b: node b.js")}}
	run(t, func(o *agent.Options) {
		o.TrustQuestions = func(context.Context) (all []*trust.Question) {
			for _, sub := range []*trust.Subject{one, two} {
				if q := answers.Question(sub); q != nil {
					q.Title, q.Text = "Trust "+sub.Files[0].Name+"?", "It names programs:"
					all = append(all, q)
				}
			}
			return all
		}
	}, func(w *world) {
		var asked []string
		w.answer = func(_ context.Context, q agent.Question) (agent.Decision, error) {
			if len(w.script.Requests()) > 0 {
				t.Error("asked after a request")
			}
			asked = append(asked, q.Title+" "+q.Content[0].(agent.TextContent).Text)
			if len(asked) == 1 {
				return agent.RejectOnce, nil
			}
			return agent.AllowOnce, nil
		}
		w.prompt("go")
		w.prompt("on")
		const end = "\n\nAllow only if you trust their source. Otherwise they do not run."
		want := []string{
			"Trust .mcp.json? It names programs:\n\n.mcp.json\n  a: node a.js" + end, "Trust .vscode/mcp.json? It names programs:\n\n.vscode/mcp.json\n  b: node b.js" + end,
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for sub, want := range map[*trust.Subject]trust.State{one: trust.Denied, two: trust.Trusted} {
			if v, err := answers.Look(sub); v.State != want || err != nil {
				t.Errorf("%s is %+v, %v", sub.Files[0].Name, v, err)
			}
		}
	}, providertest.Step{providertest.Text("ok")}, providertest.Step{providertest.Text("ok")})
}

// If the user cannot be asked, the files stay untrusted; there is one attempt and one notice.
func TestTrustQuestions_NoAnswer(t *testing.T) {
	answers := trust.NewSession(nil)
	sub := &trust.Subject{Path: "/w", Files: []trust.File{trust.NewFile(".mcp.json", []byte("1"))}}
	run(t, func(o *agent.Options) {
		o.TrustQuestions = func(context.Context) []*trust.Question {
			q := answers.Question(sub)
			q.Title = "Trust .mcp.json?"
			return []*trust.Question{q}
		}
	}, func(w *world) {
		asked := 0
		w.answer = func(context.Context, agent.Question) (agent.Decision, error) {
			asked++
			return 0, errors.New("no user")
		}
		w.prompt("go")
		w.prompt("on")
		if got := notices(w); asked != 1 || len(got) != 1 || !strings.Contains(got[0], "gjc trust add /w") {
			t.Errorf("asked %d times, noticed %q", asked, got)
		}
		if v, err := answers.Look(sub); v.State != trust.Unknown || err != nil {
			t.Errorf("%+v, %v", v, err)
		}
	}, providertest.Step{providertest.Text("ok")}, providertest.Step{providertest.Text("ok")})
}
