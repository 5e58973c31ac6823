package agent_test

import (
	"context"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers/providertest"
)

// stopper is an editor whose user cancels the turn instead of choosing.
type stopper struct{ agent.Elicitor }

func (stopper) Choose(context.Context, agent.Choice) (int, agent.ElicitAction, error) {
	return 0, agent.ElicitStop, nil
}

// chooseTool asks the user to choose.
func chooseTool(acted *agent.ElicitAction) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[input]{
		Name: "choose", Kind: agent.KindOther,
		Run: func(ctx context.Context, call *agent.Call, _ *input) (*agent.Result, error) {
			_, action, err := call.Elicitor.Choose(ctx, agent.Choice{ToolCallID: call.ID, Options: []string{"a"}})
			*acted = action
			if err != nil {
				return nil, err
			}
			return &agent.Result{Text: "chosen"}, nil
		},
	})
}

// A user who cancels the turn instead of choosing ends it, even from within a child.
func TestElicitor_StopEndsTheTurn(t *testing.T) {
	for name, first := range map[string][]providertest.Step{
		"turn":  nil,
		"child": {{providertest.Call("c0", "task", `{"say":"it"}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			var acted agent.ElicitAction
			run(t, func(o *agent.Options) {
				o.Elicitor = stopper{}
				o.Tools = agent.Tools{taskTool(), chooseTool(&acted)}
				inner := o.Subagent
				o.Subagent = func(about agent.Subagent) agent.Surroundings {
					around := inner(about)
					around.Elicitor = stopper{}
					return around
				}
			}, func(w *world) {
				w.script.Add(first...)
				w.script.Add(providertest.Step{providertest.Call("c1", "choose", `{}`)}, providertest.Step{providertest.Text("next")})
				if r := w.prompt("go"); r.Stop != agent.StopCancelled || r.Err != nil {
					t.Errorf("result %+v", r)
				}
				if acted != agent.ElicitStop {
					t.Errorf("the tool got %v", acted)
				}
				found := false
				for _, line := range w.story() {
					found = found || line == "fail c1: cancelled by the user"
				}
				if !found {
					t.Errorf("events %q", w.story())
				}
				if r := w.prompt("again"); r.Stop != agent.StopEndTurn {
					t.Errorf("the next turn: %+v", r)
				}
			})
		})
	}
}

// A child that cannot ask its question ends with that question, and its parent receives it.
func TestSubagent_Asks(t *testing.T) {
	child := false
	run(
		t, func(o *agent.Options) {
			o.Tools = agent.Tools{
				agent.NewTool(agent.ToolFuncs[input]{
					Name: agent.TaskTool, Kind: agent.KindOther,
					Run: func(ctx context.Context, call *agent.Call, _ *input) (*agent.Result, error) {
						done, err := call.Task(ctx, agent.Task{Title: "it", Prompt: "do it"})
						if err != nil {
							return nil, err
						}
						return &agent.Result{Text: done.Text + " / " + done.Question + " / " + string(done.Stop)}, nil
					},
				}),
				agent.NewTool(agent.ToolFuncs[input]{
					Name: "ask", Kind: agent.KindOther, Exclusive: true,
					Run: func(_ context.Context, call *agent.Call, in *input) (*agent.Result, error) {
						child = call.Child
						return &agent.Result{Text: "asked", Say: in.Say, EndTurn: true}, nil
					},
				}),
			}
		}, func(w *world) {
			if r := w.prompt("go"); r.Stop != agent.StopEndTurn || r.Err != nil {
				t.Errorf("result %+v", r)
			}
			reqs := w.script.Requests()
			last := reqs[len(reqs)-1].Messages
			if got := last[len(last)-1].Text(); got != "I wonder. / Which?\nAnd why? / end_turn" || !child {
				t.Errorf("the parent got %q; the child's call is one of a child: %v", got, child)
			}
		},
		providertest.Step{providertest.Call("c1", "task", `{}`)},
		providertest.Step{providertest.Text("I wonder."), providertest.Call("c2", "ask", `{"say":"Which?"}`), providertest.Call("c3", "ask", `{"say":"And why?"}`)},
		providertest.Step{providertest.Text("done")},
	)
}
