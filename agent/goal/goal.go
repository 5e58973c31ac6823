// Package goal implements the goal of a session: what the user wants to have reached, its state, and the texts about it for models and
// users.
package goal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/sessions"
)

// Tool is the name of the tool with which a model reports the end of a goal.
const Tool = "goal"

// Status is the state of a goal.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Paused   Status = "paused"   // by the user
	Blocked  Status = "blocked"  // by the model, which cannot go on
	Limited  Status = "limited"  // the budget is used up
	Complete Status = "complete" // reached, according to the model or the user
)

// Goal is the goal of a session. The functions that return a changed goal leave the original unchanged.
type Goal struct {
	Objective string `json:"objective"`
	Status    Status `json:"status"`
	// Reason is the model's reason for the status; empty for none.
	Reason string `json:"reason,omitzero"`
	// Budget bounds the tokens of Use; zero for no bound.
	Budget  int       `json:"tokenBudget,omitzero"`
	Created time.Time `json:"createdAt"`
	Updated time.Time `json:"updatedAt"`
	Use
}

// Use holds the amounts that the turns of a session have used while its goal was active.
type Use struct {
	// Tokens excludes those read from a cache.
	Tokens int `json:"tokens,omitzero"`
	// Milliseconds is the duration of the turns.
	Milliseconds int64 `json:"milliseconds,omitzero"`
}

// Limits of the texts in a goal, in characters.
const (
	maxObjective = 2000
	maxReason    = 1000
)

// New returns an active goal. The error explains to the user why the objective is invalid. A budget of zero is none.
func New(objective string, budget int, now time.Time) (*Goal, error) {
	objective = strings.TrimSpace(objective)
	switch {
	case objective == "":
		return nil, errors.New("the goal is empty")
	case utf8.RuneCountInString(objective) > maxObjective:
		return nil, fmt.Errorf("the goal has %d characters; it has at most %d", utf8.RuneCountInString(objective), maxObjective)
	}
	return &Goal{Objective: objective, Status: Active, Budget: budget, Created: now, Updated: now}, nil
}

// To returns the goal with another status and the reason for it.
func (g *Goal) To(status Status, reason string, now time.Time) *Goal {
	changed := *g
	changed.Status, changed.Reason, changed.Updated = status, text.Truncate(strings.TrimSpace(reason), maxReason), now
	return &changed
}

// Resume returns the goal as an active one. A goal that has used its budget gets another one of the same size.
func (g *Goal) Resume(budget int, now time.Time) *Goal {
	changed := g.To(Active, "", now)
	if g.OverBudget() {
		changed.Budget = g.Tokens + budget
	}
	return changed
}

// Used returns the goal after a turn with that use.
func (g *Goal) Used(u Use, now time.Time) *Goal {
	changed := *g
	changed.Tokens, changed.Milliseconds, changed.Updated = g.Tokens+u.Tokens, g.Milliseconds+u.Milliseconds, now
	return &changed
}

// IsActive reports whether the model is to work towards the goal. It is false for nil.
func (g *Goal) IsActive() bool { return g != nil && g.Status == Active }

// OverBudget reports whether the goal has used its budget.
func (g *Goal) OverBudget() bool { return g.Budget > 0 && g.Tokens >= g.Budget }

// Entry returns the entry for the log of a changed goal; nil stands for a goal that was removed.
func (g *Goal) Entry() (sessions.Custom, error) {
	raw, err := jsonx.Marshal(g)
	return sessions.Custom{CustomType: sessions.CustomGoal, Data: raw}, err
}

// UseEntry returns the entry for the log of a goal whose use alone has changed.
func (g *Goal) UseEntry() (sessions.Custom, error) {
	raw, err := jsonx.Marshal(g.Use)
	return sessions.Custom{CustomType: sessions.CustomGoalUse, Data: raw}, err
}

// Load returns the goal in stored data, that of the last [Goal.Entry] and that of the last [Goal.UseEntry] after it; nil for none, and
// if the data is not valid.
func Load(stored, use jsonx.Raw) *Goal {
	var g *Goal
	if len(stored) == 0 || jsonx.Unmarshal(stored, &g) != nil || g == nil || g.Objective == "" {
		return nil
	}
	switch g.Status {
	case Active, Paused, Blocked, Limited, Complete:
	default:
		return nil
	}
	if len(use) > 0 {
		var u Use
		if jsonx.Unmarshal(use, &u) == nil {
			g.Use = u
		}
	}
	return g
}

// Of returns the goal at the end of a branch; nil for none.
func Of(branch []sessions.Entry) *Goal {
	var use jsonx.Raw
	for _, e := range slices.Backward(branch) {
		c, ok := e.(sessions.Custom)
		switch {
		case !ok:
		case c.CustomType == sessions.CustomGoal:
			return Load(c.Data, use)
		case c.CustomType == sessions.CustomGoalUse && use == nil:
			use = c.Data
		}
	}
	return nil
}

// Flag reports whether a session has an active goal. It is one of the values that the session's calls share.
type Flag struct{ atomic.Bool }

// how explains the tool to a model.
const how = "When it is reached, call " + Tool + " with the status complete. If you cannot go on, call it with the status blocked and the reason."

// News returns the text for the model about a goal that the user has changed; nil stands for a goal that was removed.
func (g *Goal) News() string {
	switch {
	case g == nil:
		return "The user has dropped the goal of this session. Do not work towards it any more."
	case g.Status == Active:
		return "The user has set the goal of this session:\n\n" + g.Objective + "\n\nWork towards it in each turn until it is reached. " + how
	case g.Status == Complete:
		return "The user considers the goal of this session reached. Do not work towards it any more."
	default:
		return "The user has paused the goal of this session. Do not work towards it until the user resumes it."
	}
}

// Reminder returns the text for a model that ends its turn although the goal is active.
func (g *Goal) Reminder() string {
	return "The turn would end now, but the goal of this session is not reached:\n\n" + g.Objective + "\n\nGo on with it, or say in one sentence why you stop. " + how
}

// Item describes an active goal in a summary of the conversation; empty for others.
func (g *Goal) Item() string {
	if !g.IsActive() {
		return ""
	}
	return "The user has set the goal of this session: " + text.OneLine(g.Objective) + "\n" + how
}

// String describes the goal to the user, in lines.
func (g *Goal) String() string {
	if g == nil {
		return "There is no goal; /goal <text> sets one."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Goal: %s\nStatus: %s", g.Objective, g.Status)
	if g.Reason != "" {
		b.WriteString(" (" + text.OneLine(g.Reason) + ")")
	}
	fmt.Fprintf(&b, "\nUsed: %s", text.Count(g.Tokens, "token"))
	if g.Budget > 0 {
		fmt.Fprintf(&b, " of %d", g.Budget)
	}
	fmt.Fprintf(&b, " in %s", (time.Duration(g.Milliseconds) * time.Millisecond).Round(time.Second))
	return b.String()
}
