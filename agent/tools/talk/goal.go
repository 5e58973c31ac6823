package talk

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/agent/toolkit"
)

//go:embed goal.md
var goalText string

type goalInput struct {
	Status string `json:"status" jsonschema:"complete or blocked"`
	Reason string `json:"reason,omitzero" jsonschema:"how you know that it is reached, or why you cannot go on; required for blocked"`
}

// status checks the input and returns the status.
func (in *goalInput) status() (goal.Status, error) {
	switch s := goal.Status(in.Status); {
	case s != goal.Complete && s != goal.Blocked:
		return "", fmt.Errorf("%w for goal: the status is %q; it must be complete or blocked", agent.ErrBadInput, in.Status)
	case s == goal.Blocked && strings.TrimSpace(in.Reason) == "":
		return "", fmt.Errorf("%w for goal: blocked needs a reason", agent.ErrBadInput)
	default:
		return s, nil
	}
}

// Goal returns the tool "goal", with which the model reports that it has reached the session's goal or cannot. It is offered while
// there is an active goal.
func Goal() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[goalInput]{
		Schemas: schemas,
		Name:    goal.Tool, Description: toolkit.Description(goalText), Kind: agent.KindThink,
		Available: func(values *agent.Values) bool {
			flag, ok := agent.LookupValue[*goal.Flag](values)
			return ok && flag.Load()
		},
		Plan: func(_ context.Context, _ *agent.Call, in *goalInput) (*agent.CallPlan, error) {
			status, err := in.status()
			if err != nil {
				return nil, err
			}
			if status == goal.Complete {
				return &agent.CallPlan{Title: "The goal is reached"}, nil
			}
			return &agent.CallPlan{Title: "The goal is blocked"}, nil
		},
		Run: func(_ context.Context, call *agent.Call, in *goalInput) (*agent.Result, error) {
			status, err := in.status()
			if err != nil {
				return nil, err
			}
			if err := call.EndGoal(status, in.Reason); err != nil {
				return nil, err
			}
			text := fmt.Sprintf("The goal is marked as %s.", status)
			if reason := strings.TrimSpace(in.Reason); reason != "" {
				text += " " + reason
			}
			return &agent.Result{Text: text}, nil
		},
	})
}
