package agent_test

import (
	"context"
	"slices"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A notice says where commands run, before the first one of a session, also if that asks or is refused. No other step shows it.
func TestIntroduce(t *testing.T) {
	t.Parallel()
	none := boundary.Settings{Use: boundary.Require}
	for _, tt := range []struct {
		name   string
		policy approval.Policy
		want   []string
	}{
		{"asks", approval.Policy{Boundary: fakeBoundary()}, []string{"start c1 edit ", "start c2 cmd ", "notice where", "asked", "start c3 cmd ", "asked"}},
		{"refused", approval.Policy{Boundary: none}, []string{"start c1 edit ", "start c2 cmd ", "notice where", "start c3 cmd "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			change := func(o *agent.Options) {
				tool := func(name string, e approval.Effect) agent.Tool {
					return testTool(name, true, []approval.Effect{e}, func(context.Context, *input) (*agent.Result, error) { return &agent.Result{Text: "ran"}, nil })
				}
				o.Tools = agent.Tools{tool("edit", approval.Effect{Action: approval.ActionEdit, Path: "/w/a"}), tool("cmd", approval.Effect{Action: approval.ActionCommand, Command: "make"})}
				o.Policy = tt.policy
				o.Policy.Introduce = func() (title, detail string) { return "where", "why" }
			}
			run(t, change, func(w *world) {
				var order []string
				seen := 0
				look := func() {
					story := w.story()
					for _, line := range story[seen:] {
						if slices.Contains(tt.want, line) {
							order = append(order, line)
						}
					}
					seen = len(story)
				}
				w.answer = func(context.Context, agent.Question) (agent.Decision, error) {
					look()
					order = append(order, "asked")
					return agent.AllowOnce, nil
				}
				w.prompt("go")
				look()
				if !slices.Equal(order, tt.want) {
					t.Errorf("%q, want %q", order, tt.want)
				}
			},
				providertest.Step{providertest.Call("c1", "edit", `{}`)}, providertest.Step{providertest.Call("c2", "cmd", `{}`)},
				providertest.Step{providertest.Call("c3", "cmd", `{}`)}, providertest.Step{providertest.Text("ok")})
		})
	}
}
