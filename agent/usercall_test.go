package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A user's own call needs no approval that only the mode requires, but everything that applies in every mode applies to it too. The
// model receives the calls that ran, once.
func TestRunTool(t *testing.T) {
	edits := func(name, path string) agent.Tool {
		return testTool(name, true, []approval.Effect{{Action: approval.ActionEdit, Path: path}}, func(context.Context, *input) (*agent.Result, error) {
			return &agent.Result{Text: "ran " + name}, nil
		})
	}
	broken := testTool("broken", true, nil, func(context.Context, *input) (*agent.Result, error) { return nil, errors.New("it broke") })
	all := agent.Tools{edits("inside", "/w/a"), edits("outside", "/other/a"), edits("forbidden", "/w/b"), edits("hook", "/w/.git/hooks/pre-commit"), broken}
	for _, tt := range []struct {
		mode       approval.Mode
		tool, want string
		asked      int
	}{
		{approval.ModeDefault, "inside", "ran inside", 0},
		{approval.ModeStrict, "inside", "ran inside", 0},
		{approval.ModePlan, "inside", "error: plan mode changes nothing", 0},
		{approval.ModeStrict, "outside", "error: rejected by the user", 1},
		{approval.ModeAuto, "outside", "error: rejected by the user", 1},
		{approval.ModeDefault, "forbidden", "error: a rule of the user's forbids it", 0},
		{approval.ModeDefault, "hook", "error: rejected by the user", 1},
		{approval.ModeDefault, "broken", "error: it broke", 0},
		{approval.ModeDefault, "nothing", `error: invalid tool input: unknown tool "nothing"; the tools are inside`, 0},
	} {
		t.Run(string(tt.mode)+" "+tt.tool, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				o.Mode, o.Tools = tt.mode, all
				rule, err := approval.ParseRule(approval.Deny, "edit(b)")
				if err != nil {
					t.Fatal(err)
				}
				o.Policy.Rules = approval.Rules{rule}
			}, func(w *world) {
				w.answer = func(context.Context, agent.Question) (agent.Decision, error) { return agent.RejectOnce, nil }
				got := ""
				w.session.Prompt(agent.Prompt{Answer: func(_ context.Context, turn *agent.RunningTurn) error {
					text, err := turn.RunTool(tt.tool, jsonx.Raw("{}"))
					if got = text; err != nil {
						got = "error: " + err.Error()
					}
					return nil
				}}).Wait(w.t.Context())
				if !strings.HasPrefix(got, tt.want) || len(w.asked) != tt.asked {
					t.Errorf("%q, want %q; asked %d times, want %d", got, tt.want, len(w.asked), tt.asked)
				}
				var received []string
				for range 2 {
					w.script.Add(providertest.Step{providertest.Check(func(req *providers.Request) {
						received = append(received, req.Messages[len(req.Messages)-1].Text())
					}), providertest.Text("ok")})
					w.prompt("go on")
				}
				if ran := !strings.HasPrefix(tt.want, "error"); strings.Contains(received[0], "The user has called the tool "+tt.tool+":\n"+tt.want) != ran || received[1] != "go on" {
					t.Errorf("the model got %q", received)
				}
			})
		})
	}
}
