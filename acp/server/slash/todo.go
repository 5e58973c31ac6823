package slash

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/text"
)

// todo runs /todo.
func todo(c *call) error {
	verb, rest, _ := strings.Cut(strings.TrimSpace(c.args), " ")
	rest = text.OneLine(rest)
	var edit func([]agent.PlanEntry) (*planEdit, error)
	switch {
	case verb == "":
		snap, err := c.session.Snapshot()
		return c.say(planLines(snap.Plan), err)
	case verb == "add" && rest != "":
		edit = func(plan []agent.PlanEntry) (*planEdit, error) { return addStep(plan, rest) }
	case verb == "done" && rest != "":
		edit = func(plan []agent.PlanEntry) (*planEdit, error) { return setSteps(plan, rest, agent.PlanCompleted) }
	case verb == "drop" && rest != "":
		edit = func(plan []agent.PlanEntry) (*planEdit, error) { return setSteps(plan, rest, agent.PlanAbandoned) }
	default:
		return c.say("Use /todo, /todo add <step>, /todo done <number or step> or /todo drop <number or step>.", nil)
	}
	var made *planEdit
	err := agent.EditPlan(c.turn, func(plan []agent.PlanEntry) ([]agent.PlanEntry, string, error) {
		var err error
		if made, err = edit(plan); err != nil {
			return nil, "", err
		}
		return made.plan, made.what, nil
	})
	if err != nil {
		return c.fail(err)
	}
	first, size := made.what[:1], len(made.plan)
	return c.say(fmt.Sprintf("%s%s. The plan has %s, %d open.", strings.ToUpper(first), made.what[1:], text.Count(size, "step"), openSteps(made.plan)), nil)
}

// planEdit is a changed plan and a description of the change.
type planEdit struct {
	plan []agent.PlanEntry
	what string
}

// planLines lists the steps of a plan with their numbers.
func planLines(plan []agent.PlanEntry) string {
	if len(plan) == 0 {
		return "There is no plan."
	}
	marks := map[agent.PlanStatus]string{agent.PlanPending: "[ ]", agent.PlanInProgress: "[>]", agent.PlanCompleted: "[x]", agent.PlanAbandoned: "[-]"}
	var s strings.Builder
	for i := range plan {
		fmt.Fprintf(&s, "%d. %s %s\n", i+1, marks[plan[i].Status], text.OneLine(plan[i].Text()))
	}
	return s.String()
}

func openSteps(plan []agent.PlanEntry) int {
	n := 0
	for i := range plan {
		if s := plan[i].Status; s == agent.PlanPending || s == agent.PlanInProgress {
			n++
		}
	}
	return n
}

// Limits of the plan that a user can write: characters of a step, and steps.
const (
	maxStep  = 1000
	maxSteps = 200
)

// addStep appends a step, which joins the phase of the last one.
func addStep(plan []agent.PlanEntry, step string) (*planEdit, error) {
	switch {
	case len([]rune(step)) > maxStep:
		return nil, fmt.Errorf("a step has at most %d characters", maxStep)
	case len(plan) >= maxSteps:
		return nil, fmt.Errorf("the plan already has %s", text.Count(len(plan), "step"))
	case slices.ContainsFunc(plan, func(e agent.PlanEntry) bool { return e.Content == step }):
		return nil, fmt.Errorf("the plan already has the step %q", step)
	}
	e := agent.PlanEntry{Content: step, Priority: agent.PriorityMedium, Status: agent.PlanPending}
	if n := len(plan); n > 0 {
		e.Phase = plan[n-1].Phase
	}
	return &planEdit{append(plan, e), fmt.Sprintf("added %q", step)}, nil
}

// setSteps sets the status of the steps that which names: numbers, or the text of a step or a part of it that no other step has.
func setSteps(plan []agent.PlanEntry, which string, to agent.PlanStatus) (*planEdit, error) {
	if len(plan) == 0 {
		return nil, errors.New("there is no plan; /todo add <step> begins one")
	}
	at, err := findSteps(plan, which)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, i := range at {
		if plan[i].Status == to {
			return nil, fmt.Errorf("step %d is already %s: %s", i+1, to, plan[i].Content)
		}
		names = append(names, strconv.Quote(text.OneLine(plan[i].Content)))
	}
	for _, i := range at {
		plan[i].Status = to
	}
	return &planEdit{plan, fmt.Sprintf("marked as %s: %s", to, strings.Join(names, ", "))}, nil
}

// findSteps returns the indexes of the steps that which names.
func findSteps(plan []agent.PlanEntry, which string) ([]int, error) {
	var at []int
	fields := strings.FieldsFunc(which, func(r rune) bool { return r == ' ' || r == ',' })
	for _, f := range fields {
		n, err := strconv.Atoi(f)
		if err != nil {
			return findStep(plan, which)
		}
		if n < 1 || n > len(plan) {
			return nil, fmt.Errorf("there is no step %d; the plan has %s", n, text.Count(len(plan), "step"))
		}
		if !slices.Contains(at, n-1) {
			at = append(at, n-1)
		}
	}
	if len(at) == 0 {
		return findStep(plan, which)
	}
	return at, nil
}

// findStep returns the index of the step with this text, or else of the only one that contains it, in any case.
func findStep(plan []agent.PlanEntry, which string) ([]int, error) {
	var part []int
	which = strings.ToLower(which)
	for i := range plan {
		content := strings.ToLower(text.OneLine(plan[i].Content))
		if content == which {
			return []int{i}, nil
		}
		if strings.Contains(content, which) {
			part = append(part, i)
		}
	}
	switch len(part) {
	case 0:
		return nil, fmt.Errorf("no step contains %q; /todo lists the steps with their numbers", which)
	case 1:
		return part, nil
	default:
		return nil, fmt.Errorf("%s contain %q; use a number, as /todo lists them", text.Count(len(part), "step"), which)
	}
}
