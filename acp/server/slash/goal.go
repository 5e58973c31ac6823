package slash

import (
	"errors"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/goal"
)

// errNoGoal is the error of a command for the goal of a session without one.
var errNoGoal = errors.New("there is no goal; /goal <text> sets one")

// setGoal runs /goal.
func setGoal(c *call) error {
	args := strings.TrimSpace(c.args)
	if args == "" {
		snap, err := c.session.Snapshot()
		return c.say(snap.Goal.String(), err)
	}
	var now *goal.Goal
	err := agent.ChangeGoal(c.session, func(old *goal.Goal, budget int, at time.Time) (_ *goal.Goal, err error) {
		now, err = editGoal(old, args, budget, at)
		return now, err
	})()
	switch {
	case err != nil:
		return c.fail(err)
	case now == nil:
		return c.say("The goal is dropped.", nil)
	case now.Status == goal.Active:
		return c.say("The goal is active. The model works towards it from the next prompt on; /goal done ends it.", nil)
	default:
		return c.say("The goal is "+string(now.Status)+".", nil)
	}
}

// editGoal returns the goal after a change by the user: done, drop, pause or resume, or else the text of a new goal. The result is nil
// for a goal that is dropped.
func editGoal(old *goal.Goal, change string, budget int, now time.Time) (*goal.Goal, error) {
	switch change {
	case "done", "drop", "clear", "pause", "resume":
	default:
		return goal.New(change, budget, now)
	}
	if old == nil {
		return nil, errNoGoal
	}
	switch change {
	case "done":
		return old.To(goal.Complete, "", now), nil
	case "pause":
		if old.Status != goal.Active {
			return nil, errors.New("the goal is " + string(old.Status) + "; only an active one can be paused")
		}
		return old.To(goal.Paused, "", now), nil
	case "resume":
		if old.Status == goal.Active {
			return nil, errors.New("the goal is active already")
		}
		return old.Resume(budget, now), nil
	default:
		return nil, nil //nolint:nilnil // no goal
	}
}
