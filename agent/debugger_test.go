package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/providers/providertest"
)

// An answer to a debugger's question covers only one subject: it permits no other subject, no command, and no other tool.
func TestApproval_Debugger(t *testing.T) {
	debug := func(name, subject string) agent.Tool {
		return testTool(name, true, []approval.Effect{{Action: approval.ActionDebug, Subject: subject, Covers: "launches of " + subject, Title: name}}, ran(name))
	}
	command := testTool("cmd", true, []approval.Effect{{Action: approval.ActionCommand, Command: "app", Title: "cmd"}}, ran("cmd"))
	bare := testTool("bare", true, []approval.Effect{{Action: approval.ActionDebug, Title: "bare"}}, ran("bare"))
	outside := testTool("out", true, []approval.Effect{{Action: approval.ActionDebug, Path: "/bin/sh", Subject: "sh", Covers: "launches of sh", Title: "out"}}, ran("out"))
	resume := testTool("resume", true, []approval.Effect{{Action: approval.ActionResume}}, ran("resume"))
	step := func(name string, where approval.Where) agent.Tool {
		return testTool(name, true, []approval.Effect{{Action: approval.ActionDebug, Subject: name, Covers: name, Title: name, Where: where}}, ran(name))
	}
	for _, tt := range []struct {
		name    string
		mode    approval.Mode
		calls   agent.Tools
		answers []agent.Decision
		always  []string
		ran     string
	}{
		{"asks as a command", approval.ModeDefault, agent.Tools{debug("a", "app")}, []agent.Decision{agent.RejectOnce}, []string{"launches of app"}, ""},
		{"strict asks", approval.ModeStrict, agent.Tools{debug("a", "app")}, []agent.Decision{agent.AllowOnce}, []string{"launches of app"}, "a"},
		{"auto does not", approval.ModeAuto, agent.Tools{debug("a", "app"), resume}, nil, nil, "a resume"},
		{"nor for a program outside of the roots", approval.ModeAuto, agent.Tools{outside}, nil, nil, "out"},
		{"auto asks about a program outside the boundary", approval.ModeAuto, agent.Tools{step("in", approval.Inside), step("out", approval.Outside)}, []agent.Decision{agent.RejectOnce}, []string{"out"}, "in"},
		{
			"an answer about a program outside the boundary is remembered", approval.ModeAuto,
			agent.Tools{step("out", approval.Outside), step("out", approval.Outside)},
			[]agent.Decision{agent.AllowAlways},
			[]string{"out"},
			"out out",
		},
		{"outside of the roots it is one question", approval.ModeDefault, agent.Tools{outside}, []agent.Decision{agent.AllowOnce}, []string{"launches of sh"}, "out"},
		{"plan refuses", approval.ModePlan, agent.Tools{debug("a", "app"), resume, outside}, nil, nil, ""},
		{"to run on asks nowhere", approval.ModeStrict, agent.Tools{resume}, nil, nil, "resume"},
		{
			"always is for the subject", approval.ModeDefault,
			agent.Tools{debug("a", "app"), debug("b", "app"), debug("c", "other"), command},
			[]agent.Decision{agent.AllowAlways, agent.RejectOnce, agent.RejectOnce},
			[]string{"launches of app", "launches of other", "app commands here"},
			"a b",
		},
		{
			"never is for the subject", approval.ModeDefault,
			agent.Tools{debug("a", "app"), debug("b", "app"), debug("c", "other")},
			[]agent.Decision{agent.RejectAlways, agent.AllowOnce},
			[]string{"launches of app", "launches of other"},
			"c",
		},
		{
			"without a subject nothing is remembered", approval.ModeDefault,
			agent.Tools{bare, bare, debug("a", "app")},
			[]agent.Decision{agent.AllowAlways, agent.AllowAlways, agent.RejectOnce},
			[]string{"this exact step", "this exact step", "launches of app"},
			"bare bare",
		},
		{
			"a command's answer is no debugger's", approval.ModeDefault,
			agent.Tools{command, debug("a", "app")},
			[]agent.Decision{agent.AllowAlways, agent.RejectOnce},
			[]string{"app commands here", "launches of app"},
			"cmd",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) { o.Mode, o.Tools = tt.mode, tt.calls }, func(w *world) {
				w.answer = func(context.Context, agent.Question) (agent.Decision, error) {
					if len(w.asked) > len(tt.answers) {
						t.Fatalf("asked about %q", w.asked[len(w.asked)-1].Always)
					}
					return tt.answers[len(w.asked)-1], nil
				}
				for i, tool := range tt.calls {
					w.script.Add(providertest.Step{providertest.Call(string(rune('1'+i)), tool.Spec().Name, `{}`)})
				}
				w.script.Add(providertest.Step{providertest.Text("ok")})
				w.prompt("go")
				var always, did []string
				for _, q := range w.asked {
					always = append(always, q.Always)
				}
				for _, line := range w.story() {
					if _, what, ok := strings.Cut(line, ": ran "); ok {
						did = append(did, what)
					}
				}
				if strings.Join(always, "|") != strings.Join(tt.always, "|") || strings.Join(did, " ") != tt.ran {
					t.Errorf("asked about %q, ran %q\n%s", always, did, strings.Join(w.story(), "\n"))
				}
			})
		})
	}
}

// Where debuggers cannot run inside the boundary, auto mode asks, each time if there should be one.
func TestApproval_DebuggerWithoutBoundary(t *testing.T) {
	debug := testTool("a", true, []approval.Effect{{Action: approval.ActionDebug, Subject: "app", Covers: "launches of app", Title: "a"}}, ran("a"))
	none := func() (string, error) { return "", errors.New("none") }
	landlock := func() (string, error) { return "Landlock", nil }
	for _, tt := range []struct {
		name  string
		use   boundary.Use
		find  func() (string, error)
		asked int
		ran   string
	}{
		{"no boundary", boundary.Auto, none, 2, "a a"},
		{"no boxes", boundary.Auto, landlock, 2, "a a"},
		{"off", boundary.Off, none, 1, "a a"},
		{"required, no boxes", boundary.Require, landlock, 0, ""},
		{"required, none", boundary.Require, none, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				o.Mode, o.Tools, o.Policy.Boundary = approval.ModeAuto, agent.Tools{debug}, boundary.Settings{Use: tt.use, Find: tt.find}
			}, func(w *world) {
				w.answer = func(context.Context, agent.Question) (agent.Decision, error) { return agent.AllowAlways, nil }
				for _, id := range []string{"1", "2"} {
					w.script.Add(providertest.Step{providertest.Call(id, "a", `{}`)})
				}
				w.script.Add(providertest.Step{providertest.Text("ok")})
				w.prompt("go")
				var did []string
				for _, line := range w.story() {
					if _, what, ok := strings.Cut(line, ": ran "); ok {
						did = append(did, what)
					}
				}
				if len(w.asked) != tt.asked || strings.Join(did, " ") != tt.ran {
					t.Errorf("asked %d times, ran %q\n%s", len(w.asked), did, strings.Join(w.story(), "\n"))
				}
			})
		})
	}
}

func ran(name string) func(context.Context, *input) (*agent.Result, error) {
	return func(context.Context, *input) (*agent.Result, error) { return &agent.Result{Text: "ran " + name}, nil }
}

// An action that the mode forbids is refused before the tool completes its plan or the user is asked.
func TestToolRun_RefusedBeforeItIsWorkedOut(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Mode = approval.ModePlan
		o.Tools = agent.Tools{agent.NewTool(agent.ToolFuncs[input]{
			Name: "debug", Kind: agent.KindExecute,
			Plan: func(_ context.Context, call *agent.Call, _ *input) (*agent.CallPlan, error) {
				return &agent.CallPlan{
					Title: "Debug", Effects: []approval.Effect{{Action: approval.ActionDebug}},
					Complete: func(ctx context.Context) error {
						t.Error("it was worked out")
						_, err := call.Consent(ctx, agent.Consent{Title: "Trust it?"})
						return err
					},
				}, nil
			},
			Run: func(context.Context, *agent.Call, *input) (*agent.Result, error) { return nil, nil }, //nolint:nilnil // never run
		})}
	}, func(w *world) {
		w.prompt("go")
		if all := strings.Join(w.story(), "\n"); !strings.Contains(all, "plan mode changes nothing") || len(w.asked) != 0 {
			t.Errorf("%d questions\n%s", len(w.asked), all)
		}
	}, providertest.Step{providertest.Call("c1", "debug", `{}`)}, providertest.Step{providertest.Text("ok")})
}

// A tool is offered if the session has the value that it needs, and its calls get that value.
func TestOffered_Available(t *testing.T) {
	type debugger struct{}
	type languages struct{}
	for _, there := range []bool{false, true} {
		want := new(debugger)
		run(t, func(o *agent.Options) {
			if o.Values = agent.NewValues(nil); there {
				agent.SetValue(o.Values, want)
			}
			o.Tools = agent.Tools{
				agent.NewTool(agent.ToolFuncs[input]{Name: "debug", Available: has[*debugger], Run: func(_ context.Context, call *agent.Call, _ *input) (*agent.Result, error) {
					if got, _ := agent.LookupValue[*debugger](call.Values); got != want {
						t.Errorf("the call has %v", got)
					}
					return &agent.Result{Text: "ran"}, nil
				}}),
				agent.NewTool(agent.ToolFuncs[input]{Name: "lsp", Available: has[*languages], Run: func(context.Context, *agent.Call, *input) (*agent.Result, error) {
					return &agent.Result{Text: "ran"}, nil
				}}),
				testTool("other", false, nil, nil),
			}
		}, func(w *world) {
			w.prompt("go")
			var names []string
			for _, tool := range w.script.Requests()[0].Tools {
				names = append(names, tool.Name)
			}
			offered := "other"
			if there {
				offered = "debug other"
			}
			if strings.Join(names, " ") != offered {
				t.Errorf("offered: %v", names)
			}
		}, providertest.Step{providertest.Call("c1", "debug", `{}`)}, providertest.Step{providertest.Text("ok")})
	}
}

func has[T any](v *agent.Values) bool {
	_, ok := agent.LookupValue[T](v)
	return ok
}

// The location where a program stops during a call is reported, so that the editor follows.
func TestToolRun_ProgressHasLocations(t *testing.T) {
	at := []agent.Location{{Path: "/w/a.go", Line: 7}}
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{agent.NewTool(agent.ToolFuncs[input]{
			Name: "debug", Kind: agent.KindExecute,
			Run: func(_ context.Context, call *agent.Call, _ *input) (*agent.Result, error) {
				call.Update(agent.Progress{Locations: at})
				return &agent.Result{Text: "ok"}, nil
			},
		})}
	}, func(w *world) {
		w.prompt("go")
		for _, ev := range w.events {
			if p, ok := ev.(agent.ToolProgress); ok && len(p.Locations) == 1 && p.Locations[0] == at[0] {
				return
			}
		}
		t.Errorf("not reported:\n%s", strings.Join(w.story(), "\n"))
	}, providertest.Step{providertest.Call("c1", "debug", `{}`)}, providertest.Step{providertest.Text("ok")})
}
