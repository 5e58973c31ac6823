package air

import (
	"errors"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent/goal"
)

// ControlGoal is the method with which a client changes the goal of a session.
const ControlGoal = "_session/goal"

const goalMember = "goal"

// goalSupport describes what gjc serves of goals in the answer to initialize.
type goalSupport struct {
	Version       int      `json:"version"`
	ControlMethod string   `json:"controlMethod"`
	Actions       []string `json:"actions"`
}

// goalState is a goal as a client sees it. Times are in milliseconds since the beginning of 1970.
type goalState struct {
	Objective     string      `json:"objective"`
	Status        goal.Status `json:"status"`
	Created       int64       `json:"createdAt"`
	Updated       int64       `json:"updatedAt"`
	TokenBudget   *int        `json:"tokenBudget"` // null for none
	TokensUsed    int         `json:"tokensUsed"`
	SecondsUsed   int64       `json:"timeUsedSeconds"`
	ControlMethod string      `json:"controlMethod"`
}

// GoalUpdate returns the update about the goal of a session; nil is for a goal that was removed.
func GoalUpdate(g *goal.Goal) acp.SessionUpdate {
	u := new(acp.SessionInfoUpdate)
	if g == nil {
		Set(&u.Meta, goalMember, nil)
		return u
	}
	state := goalState{
		Objective: g.Objective, Status: g.Status, Created: g.Created.UnixMilli(), Updated: g.Updated.UnixMilli(),
		TokensUsed: g.Tokens, SecondsUsed: g.Milliseconds / 1000, ControlMethod: ControlGoal,
	}
	if g.Budget > 0 {
		state.TokenBudget = &g.Budget
	}
	Set(&u.Meta, goalMember, state)
	return u
}

// GoalChange holds the parameters of [ControlGoal].
type GoalChange struct {
	SessionID acp.SessionID `json:"sessionId"`
	Action    string        `json:"action"`
	Objective string        `json:"objective"`
}

// The actions of a [GoalChange].
const (
	setGoal    = "set"
	pauseGoal  = "pause"
	resumeGoal = "resume"
	clearGoal  = "clear"
)

// Apply returns the goal after a change; nil for none. A change that has been made already changes nothing.
func (c *GoalChange) Apply(old *goal.Goal, budget int, now time.Time) (*goal.Goal, error) {
	switch {
	case c.Action == setGoal:
		return goal.New(c.Objective, budget, now)
	case c.Action != pauseGoal && c.Action != resumeGoal && c.Action != clearGoal:
		return nil, fmt.Errorf("unknown action %q; the actions are set, pause, resume and clear", c.Action)
	case c.Action == clearGoal:
		return nil, nil //nolint:nilnil // no goal
	case old == nil:
		return nil, errors.New("the session has no goal; set one")
	case c.Action == pauseGoal && old.Status == goal.Active:
		return old.To(goal.Paused, "", now), nil
	case c.Action == resumeGoal && old.Status != goal.Active:
		return old.Resume(budget, now), nil
	default:
		return old, nil
	}
}
