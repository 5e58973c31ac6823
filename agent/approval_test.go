package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/providers/providertest"
)

// An effect on several paths is one question, but each path is judged separately. A remembered rejection of one path forbids all.
// An "always" answer covers the directories of these files and nothing above them.
func TestApproval_SeveralPaths(t *testing.T) {
	edits := func(name string, paths ...string) agent.Tool {
		e := approval.Effect{Action: approval.ActionEdit, Title: name}
		if e.Paths = paths; len(paths) == 1 {
			e.Path, e.Paths = paths[0], nil
		}
		return testTool(name, true, []approval.Effect{e}, func(context.Context, *input) (*agent.Result, error) {
			return &agent.Result{Text: "ran " + name}, nil
		})
	}
	for _, tt := range []struct {
		name    string
		mode    approval.Mode
		calls   agent.Tools
		answers []agent.Decision
		always  []string // what an "always" answer to each question covers
		ran     string
		text    string
	}{
		{
			"a rejected one among allowed ones", approval.ModeStrict,
			agent.Tools{edits("a", "/w/sub/a"), edits("b", "/w/secrets/x"), edits("c", "/w/sub/b", "/w/secrets/x")},
			[]agent.Decision{agent.AllowAlways, agent.RejectAlways},
			[]string{"edits in sub", "edits in secrets"},
			"a", "rejected by the user (always, for edits in secrets)",
		},
		{
			"always is for these directories", approval.ModeStrict,
			agent.Tools{edits("a", "/w/x/1", "/w/x/2", "/w/y/1"), edits("b", "/w/x/3", "/w/y/4"), edits("c", "/w/1"), edits("d", "/w/z/1", "/w/x/1")},
			[]agent.Decision{agent.AllowAlways, agent.RejectOnce, agent.AllowOnce},
			[]string{"edits in x, y", "edits in .", "edits in z"},
			"abd", "rejected by the user: c",
		},
		{
			"rejecting always is for all of them", approval.ModeStrict,
			agent.Tools{edits("a", "/w/x/1", "/w/y/1"), edits("b", "/w/y/2")},
			[]agent.Decision{agent.RejectAlways},
			[]string{"edits in x, y"},
			"", "rejected by the user (always, for edits in y)",
		},
		{
			"one outside", approval.ModeDefault,
			agent.Tools{edits("a", "/w/x/1", "/other/2"), edits("b", "/w/x/1", "/w/y/1")},
			[]agent.Decision{agent.AllowOnce},
			[]string{"edits in /other"},
			"ab", "ran b",
		},
		{
			"plan mode", approval.ModePlan, agent.Tools{edits("a", "/w/x/1", "/w/y/1")}, nil, nil, "", "plan mode changes nothing",
		},
		{
			"many directories", approval.ModeStrict,
			agent.Tools{edits("a", "/w/1/a", "/w/2/a", "/w/3/a", "/w/4/a", "/w/5/a", "/w/6/a", "/w/7/a")},
			[]agent.Decision{agent.AllowOnce},
			[]string{"edits in 1, 2, 3, 4, 5 and 2 more directories of these files"},
			"a", "ran a",
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
				var always []string
				for _, q := range w.asked {
					always = append(always, q.Always)
				}
				story := strings.Join(w.story(), "\n")
				var ran strings.Builder
				for _, tool := range tt.calls {
					if strings.Contains(story, "ran "+tool.Spec().Name) {
						ran.WriteString(tool.Spec().Name)
					}
				}
				if strings.Join(always, "|") != strings.Join(tt.always, "|") || ran.String() != tt.ran || !strings.Contains(story, tt.text) {
					t.Errorf("asked about %q, ran %q\n%s", always, ran.String(), story)
				}
			})
		})
	}
}

// A permission for an exact line applies to the directory in which it runs, a rejection to all directories.
func TestApproval_LineOfADirectory(t *testing.T) {
	runs := func(name, line, dir string) agent.Tool {
		return testTool(name, true, []approval.Effect{{Action: approval.ActionCommand, Command: line, Dir: dir}}, func(context.Context, *input) (*agent.Result, error) {
			return &agent.Result{Text: "ran " + name}, nil
		})
	}
	const line, other = "cp x $T", "rm -rf $B"
	calls := agent.Tools{
		runs("a", line, "/w"), runs("b", line, "/w/.git"), runs("c", line, "/w"), runs("d", line, ""),
		runs("e", other, "/w"), runs("f", other, "/w/sub"),
	}
	run(t, func(o *agent.Options) { o.Mode, o.Tools = approval.ModeDefault, calls }, func(w *world) {
		var asked []string
		w.answer = func(_ context.Context, q agent.Question) (agent.Decision, error) {
			asked = append(asked, q.ToolCallID)
			return []agent.Decision{agent.AllowAlways, agent.RejectOnce, agent.RejectAlways}[len(asked)-1], nil
		}
		for i, tool := range calls {
			w.script.Add(providertest.Step{providertest.Call(string(rune('1'+i)), tool.Spec().Name, `{}`)})
		}
		w.script.Add(providertest.Step{providertest.Text("ok")})
		w.prompt("go")
		story := strings.Join(w.story(), "\n")
		if strings.Join(asked, " ") != "1 2 5" || !strings.Contains(story, "ran c") || !strings.Contains(story, "ran d") || strings.Contains(story, "ran f") {
			t.Errorf("asked about %v\n%s", asked, story)
		}
	})
}

// The effects of a call that are the user's decision are one question, and its answer is for all of them. One that is forbidden refuses the
// call without a question.
func TestApproval_SeveralEffects(t *testing.T) {
	edit, move := approval.Effect{Action: approval.ActionEdit, Title: "Edit a", Path: "/w/x/a"}, approval.Effect{Action: approval.ActionMove, Title: "Move b", Path: "/w/y/b"}
	tool := func(name string, effects ...approval.Effect) agent.Tool {
		return testTool(name, true, effects, func(context.Context, *input) (*agent.Result, error) {
			return &agent.Result{Text: "ran " + name}, nil
		})
	}
	calls := agent.Tools{tool("a", edit, move), tool("b", edit), tool("c", move), tool("d", move, approval.Effect{Action: approval.ActionEdit, Path: "/w/y/forbidden"})}
	change := func(o *agent.Options) {
		o.Mode, o.Tools = approval.ModeStrict, calls
		rule, err := approval.ParseRule(approval.Deny, "edit(y/forbidden)")
		if err != nil {
			t.Fatal(err)
		}
		o.Policy.Rules = approval.Rules{rule}
	}
	run(t, change, func(w *world) {
		w.answer = func(context.Context, agent.Question) (agent.Decision, error) { return agent.AllowAlways, nil }
		for i, tool := range calls {
			w.script.Add(providertest.Step{providertest.Call(string(rune('1'+i)), tool.Spec().Name, `{}`)})
		}
		w.script.Add(providertest.Step{providertest.Text("ok")})
		w.prompt("go")
		story := strings.Join(w.story(), "\n")
		if len(w.asked) != 1 || w.asked[0].Always != "edits in x, moving in y" || strings.TrimSpace(w.asked[0].Title) != "a" || w.asked[0].Kind != agent.KindMove {
			t.Errorf("asked %+v", w.asked)
		}
		for _, name := range []string{"a", "b", "c"} {
			if !strings.Contains(story, "ran "+name) {
				t.Errorf("%s did not run\n%s", name, story)
			}
		}
		if strings.Contains(story, "ran d") {
			t.Errorf("what is forbidden ran\n%s", story)
		}
	})
}

// What a tool does to plan a call is not the call: it changes nothing, whatever the session's own leave is.
func TestApproval_PlanningChangesNothing(t *testing.T) {
	change := permit.Effect{Action: permit.Change, Path: "/w/a"}
	var planned, completed, ran error
	tool := agent.NewTool(agent.ToolFuncs[input]{
		Name: "edit", Kind: agent.KindEdit,
		Plan: func(ctx context.Context, _ *agent.Call, _ *input) (*agent.CallPlan, error) {
			planned = permit.Check(ctx, change)
			return &agent.CallPlan{
				Effects:  []approval.Effect{{Action: approval.ActionEdit, Path: "/w/a"}},
				Complete: func(ctx context.Context) error { completed = permit.Check(ctx, change); return nil },
			}, nil
		},
		Run: func(ctx context.Context, _ *agent.Call, _ *input) (*agent.Result, error) {
			ran = permit.Check(ctx, change)
			return &agent.Result{Text: "ran"}, nil
		},
	})
	run(t, func(o *agent.Options) { o.Tools = agent.Tools{tool} }, func(w *world) { w.prompt("go") },
		providertest.Step{providertest.Call("c1", "edit", `{}`)}, providertest.Step{providertest.Text("ok")})
	if !errors.Is(planned, permit.ErrNone) || !errors.Is(completed, permit.ErrNone) || ran != nil {
		t.Errorf("planning: %v; completing: %v; running: %v", planned, completed, ran)
	}
}
