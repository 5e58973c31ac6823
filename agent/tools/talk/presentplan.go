package talk

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed presentplan.md
var presentPlanText string

// maxPlanTitle bounds the title of a plan, in characters.
const maxPlanTitle = 60

type presentInput struct {
	Title string `json:"title" jsonschema:"what the plan achieves, in a few words; it names the session"`
	Plan  string `json:"plan" jsonschema:"the whole plan, as Markdown"`
}

// PresentPlan returns the tool "present_plan", which stores a plan and asks the user to approve it.
func PresentPlan() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[presentInput]{
		Schemas: schemas,
		Name:    agent.PresentTool, Description: toolkit.Description(presentPlanText), Kind: agent.KindSwitchMode, Exclusive: true,
		Plan: func(_ context.Context, _ *agent.Call, in *presentInput) (*agent.CallPlan, error) {
			if strings.TrimSpace(in.Plan) == "" || planTitle(in.Title) == "" {
				return nil, fmt.Errorf("%w for present_plan: the title or the plan is empty", agent.ErrBadInput)
			}
			return &agent.CallPlan{Title: "Plan: " + planTitle(in.Title), Content: []agent.Content{agent.TextContent{Text: in.Plan}}}, nil
		},
		Run: presentPlan,
	})
}

// planTitle returns a title for people: models also write "migrate-the-loader".
func planTitle(title string) string {
	title = text.OneLine(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return ' '
		}
		return r
	}, title))
	first, size := utf8.DecodeRuneInString(title)
	if size == 0 {
		return ""
	}
	return text.Truncate(string(unicode.ToUpper(first))+title[size:], maxPlanTitle)
}

func presentPlan(ctx context.Context, call *agent.Call, in *presentInput) (*agent.Result, error) {
	if call.PlanMode == nil {
		return nil, errors.New("the session is not in plan mode: nothing is to be approved")
	}
	stored := ""
	if call.Local != nil {
		if err := call.Local.Write(ctx, agent.PlanAddress, []byte(strings.TrimRight(in.Plan, "\n")+"\n")); err != nil {
			return nil, fmt.Errorf("storing the plan: %w", err)
		}
		stored = " It is stored as " + agent.PlanAddress + "."
	}
	modes := []approval.Mode{call.PlanMode.Before}
	options := []string{fmt.Sprintf("Approve, and go on in mode %s", call.PlanMode.Before)}
	if more, ok := accepting(call.PlanMode.Before); ok {
		modes, options = append(modes, more), append(options, fmt.Sprintf("Approve, and accept edits (mode %s)", more))
	}
	options = append(options, "Revise: say what to change in the next message")
	if call.Elicitor == nil {
		return unapproved(stored), nil
	}
	title := planTitle(in.Title)
	i, action, err := call.Elicitor.Choose(ctx, agent.Choice{
		ToolCallID: call.ID, Title: "Approve the plan: " + title, Text: in.Plan, Options: options,
	})
	if err != nil && !errors.Is(err, agent.ErrNoElicitation) {
		return nil, err
	}
	if err != nil || action != agent.ElicitAccept || i >= len(modes) {
		return unapproved(stored), nil
	}
	if err := call.PlanMode.End(modes[i], title); err != nil {
		return nil, err
	}
	return &agent.Result{
		Text: fmt.Sprintf(agent.ApprovedPlan+"%s The mode is now %s. Carry the plan out now.", stored, modes[i]),
	}, nil
}

// accepting returns the mode in which less is asked about edits than in mode; false for none.
func accepting(mode approval.Mode) (approval.Mode, bool) {
	switch mode {
	case approval.ModeStrict:
		return approval.ModeDefault, true
	case approval.ModeAuto:
		return "", false
	default:
		return approval.ModeAuto, true
	}
}

// unapproved ends the turn with a plan that the user has not approved.
func unapproved(stored string) *agent.Result {
	return &agent.Result{
		Text:    "The plan is not approved." + stored + " The session stays in plan mode. The user's next message says what to change.",
		Say:     "The plan is not approved yet." + stored + " Write what to change, or choose another mode to have it carried out.",
		EndTurn: true,
	}
}
