package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A call that works out a change of a file outside the roots asks once, with the change. Whatever comes of it, the model does not see what
// is in the file without a yes, and a file with secrets is not read before.
func TestApproval_AskLater(t *testing.T) {
	const found = "the file says hello"
	for _, tt := range []struct {
		name, path string
		mode       approval.Mode
		fails      bool // whether the change cannot be worked out
		answer     agent.Decision
		asked      string
		worked     bool   // whether the file was read
		text       string // of the result
	}{
		{"a change", "/other/a", approval.ModeDefault, false, agent.AllowOnce, "the change", true, "changed"},
		{"a rejected change", "/other/a", approval.ModeDefault, false, agent.RejectOnce, "the change", true, "rejected by the user: the change"},
		{"a change inside", "/w/a", approval.ModeDefault, false, agent.RejectOnce, "", true, "changed"},
		{"a change inside, in strict mode", "/w/a", approval.ModeStrict, false, agent.AllowOnce, "the change", true, "changed"},
		{"no change", "/other/a", approval.ModeDefault, true, agent.AllowOnce, "rename", true, found},
		{"no change, rejected", "/other/a", approval.ModeDefault, true, agent.RejectOnce, "rename", true, "rejected by the user: rename"},
		{"secrets", "/other/.env", approval.ModeDefault, false, agent.RejectOnce, "rename", false, "rejected by the user: rename"},
		{"plan mode", "/other/a", approval.ModePlan, false, agent.AllowOnce, "", true, "plan mode changes nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			worked := false
			tool := agent.NewTool(agent.ToolFuncs[input]{
				Name: "rename", Kind: agent.KindEdit,
				Plan: func(context.Context, *agent.Call, *input) (*agent.CallPlan, error) {
					plan := &agent.CallPlan{Title: "rename", AskLater: true, Effects: []approval.Effect{{Action: approval.ActionRead, Path: tt.path}}}
					plan.Complete = func(context.Context) error {
						worked = true
						if tt.fails {
							return errors.New(found)
						}
						plan.Effects = []approval.Effect{{Action: approval.ActionEdit, Path: tt.path, Title: "the change"}}
						return nil
					}
					return plan, nil
				},
				Run: func(context.Context, *agent.Call, *input) (*agent.Result, error) {
					return &agent.Result{Text: "changed"}, nil
				},
			})
			run(t, func(o *agent.Options) { o.Mode, o.Tools = tt.mode, agent.Tools{tool} }, func(w *world) {
				w.answer = func(context.Context, agent.Question) (agent.Decision, error) { return tt.answer, nil }
				w.prompt("go")
				var asked []string
				for _, q := range w.asked {
					asked = append(asked, q.Title)
				}
				story := strings.Join(w.story(), "\n")
				if strings.Join(asked, ", ") != tt.asked || worked != tt.worked || !strings.Contains(story, tt.text) || tt.text != found && strings.Contains(story, found) {
					t.Errorf("asked %q, the file was read: %v\n%s", asked, worked, story)
				}
			}, providertest.Step{providertest.Call("1", "rename", `{}`)}, providertest.Step{providertest.Text("ok")})
		})
	}
}
