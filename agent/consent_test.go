package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A slow plan is completed after the announcement and may ask for consent. Its findings are emitted and judged.
func TestToolRun_PlanThatTakesTime(t *testing.T) {
	steps := []providertest.Step{{providertest.Call("c1", "slow", `{}`)}, {providertest.Text("ok")}}
	for _, tt := range []struct {
		name    string
		consent agent.Decision
		fails   error
		want    []string
		asked   []string
	}{
		{"found", agent.AllowOnce, nil, []string{"start c1 Slow", "run c1", "run c1", "run c1", "end c1: done as found (0)"}, []string{"Trust it?", "Edit it"}},
		{"not found", agent.AllowOnce, errors.New("no server"), []string{"start c1 Slow", "run c1", "fail c1: no server"}, []string{"Trust it?"}},
		{"rejected", agent.RejectOnce, nil, []string{"start c1 Slow", "run c1", "run c1", "run c1", "end c1: done as found (1)"}, []string{"Trust it?", "Edit it"}},
		{"not needed", agent.Unasked, nil, []string{"start c1 Slow", "run c1", "run c1", "end c1: done as found (2)"}, []string{"Edit it"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			consented := ""
			run(t, func(o *agent.Options) {
				o.Tools = agent.Tools{agent.NewTool(agent.ToolFuncs[input]{
					Name: "slow", Kind: agent.KindSearch, Exclusive: true,
					Plan: func(_ context.Context, call *agent.Call, _ *input) (*agent.CallPlan, error) {
						plan := &agent.CallPlan{Title: "Slow", Kind: agent.KindEdit}
						plan.Complete = func(ctx context.Context) error {
							d, err := call.Consent(ctx, agent.Consent{Title: "Trust it?", Needed: func() bool { return tt.consent != agent.Unasked }})
							if err != nil {
								return err
							}
							consented = map[agent.Decision]string{agent.AllowOnce: "0", agent.RejectOnce: "1", agent.Unasked: "2"}[d]
							plan.Content = []agent.Content{agent.TextContent{Text: "as found"}}
							plan.Locations = []agent.Location{{Path: "/w/a.go", Line: 7}}
							plan.Effects = []approval.Effect{{Action: approval.ActionDelete, Path: "/w/a.go", Title: "Edit it"}}
							return tt.fails
						}
						return plan, nil
					},
					Run: func(context.Context, *agent.Call, *input) (*agent.Result, error) {
						return &agent.Result{Text: "done as found (" + consented + ")"}, nil
					},
				})}
			}, func(w *world) {
				w.answer = func(_ context.Context, q agent.Question) (agent.Decision, error) {
					if q.Title == "Trust it?" {
						return tt.consent, nil
					}
					if len(q.Locations) != 1 || len(q.Content) != 1 || q.Kind != agent.KindDelete {
						t.Errorf("the question does not have what was found: %+v", q)
					}
					return agent.AllowOnce, nil
				}
				w.prompt("go")
				story := w.story()
				from := slices.IndexFunc(story, func(s string) bool { return strings.HasPrefix(s, "start") })
				to := slices.IndexFunc(story, func(s string) bool { return strings.Contains(s, " c1: ") })
				for i, line := range story[from : to+1] {
					if rest, ok := strings.CutPrefix(line, "end c1: as found: "); ok {
						line = "end c1: " + rest
					}
					story[from+i] = line
				}
				if got := strings.Join(story[from:to+1], "\n"); got != strings.Join(tt.want, "\n") {
					t.Errorf("got:\n%s", got)
				}
				var asked []string
				for _, q := range w.asked {
					asked = append(asked, q.Title)
				}
				if !slices.Equal(asked, tt.asked) {
					t.Errorf("asked %q", asked)
				}
				for _, ev := range w.events {
					if s, ok := ev.(agent.ToolStarted); ok && (s.Kind != agent.KindEdit || s.Content != nil) {
						t.Errorf("announced as %+v", s)
					}
				}
			}, steps...)
		})
	}
}

// A user can stop the turn instead of answering.
func TestConsent_Cancelled(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{agent.NewTool(agent.ToolFuncs[input]{
			Name: "ask", Kind: agent.KindOther,
			Run: func(ctx context.Context, call *agent.Call, _ *input) (*agent.Result, error) {
				d, err := call.Consent(ctx, agent.Consent{Title: "Trust it?"})
				if d != agent.Cancelled || !errors.Is(err, agent.ErrCancelled) {
					t.Errorf("%v, %v", d, err)
				}
				return nil, err
			},
		})}
	}, func(w *world) {
		w.answer = func(context.Context, agent.Question) (agent.Decision, error) { return agent.Cancelled, nil }
		if r := w.prompt("go"); r.Stop != agent.StopCancelled {
			t.Errorf("the turn ended with %s", r.Stop)
		}
	}, providertest.Step{providertest.Call("c1", "ask", `{}`)})
}

// A tool that is not available is not offered, and a call of it fails.
func TestOffered_Unavailable(t *testing.T) {
	run(t, func(o *agent.Options) {
		o.Tools = agent.Tools{
			agent.NewTool(agent.ToolFuncs[input]{Name: "lsp", Available: func(*agent.Values) bool { return false }, Run: func(context.Context, *agent.Call, *input) (*agent.Result, error) {
				return &agent.Result{Text: "ran"}, nil
			}}),
			testTool("other", false, nil, nil),
		}
	}, func(w *world) {
		w.prompt("go")
		req := w.script.Requests()[0]
		if len(req.Tools) != 1 || req.Tools[0].Name != "other" {
			t.Errorf("offered: %+v", req.Tools)
		}
		if all := strings.Join(w.story(), "\n"); !strings.Contains(all, `unknown tool "lsp"`) {
			t.Errorf("a call of it:\n%s", all)
		}
	}, providertest.Step{providertest.Call("c1", "lsp", `{}`)}, providertest.Step{providertest.Text("ok")})
}
