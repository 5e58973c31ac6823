package talk

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed todowrite.md
var todoWriteText string

// TodoWrite returns the tool "todo_write", which replaces the plan that the editor shows.
func TodoWrite() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[agent.PlanInput]{
		Schemas: schemas,
		Name:    "todo_write", Description: toolkit.Description(todoWriteText), Kind: agent.KindThink,
		Plan: func(_ context.Context, _ *agent.Call, in *agent.PlanInput) (*agent.CallPlan, error) {
			if _, err := in.Entries(); err != nil {
				return nil, err
			}
			return &agent.CallPlan{Title: "Update the plan"}, nil
		},
		Run: runTodoWrite,
	})
}

func runTodoWrite(_ context.Context, call *agent.Call, in *agent.PlanInput) (*agent.Result, error) {
	entries, err := in.Entries()
	if err != nil {
		return nil, err
	}
	if call.SetPlan != nil {
		call.SetPlan(entries)
	}
	if len(entries) == 0 {
		return &agent.Result{Text: "The plan is now empty."}, nil
	}
	counts := make(map[agent.PlanStatus]int)
	for _, e := range entries {
		counts[e.Status]++
	}
	text := fmt.Sprintf("The plan has %s: %d completed, %d in progress, %d pending", text.Count(len(entries), "step"),
		counts[agent.PlanCompleted], counts[agent.PlanInProgress], counts[agent.PlanPending])
	if n := counts[agent.PlanAbandoned]; n > 0 {
		text += fmt.Sprintf(", %d abandoned", n)
	}
	text += "."
	if counts[agent.PlanInProgress] > 1 {
		text += " Keep one step in progress at a time."
	}
	return &agent.Result{Text: text}, nil
}
