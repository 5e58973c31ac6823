package agent

import (
	"errors"
	"slices"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/budget"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// work holds the plan and the goal of a session.
type work struct {
	plan []PlanEntry
	// goal is nil for none. It is replaced, not changed.
	goal *goal.Goal
	// news is the text about a changed goal that the model has not received; empty for none.
	news string
}

// ChangeGoal changes the goal of a session for its user. edit returns the new goal, or nil to remove it; old is nil for none and must
// not be changed; if edit returns it, nothing changes. budget is the configured one. An error of edit leaves the goal unchanged, and
// the returned function returns it. The model learns of the change with its next request.
func ChangeGoal(s *Session, edit func(old *goal.Goal, budget int, now time.Time) (*goal.Goal, error)) Pending {
	return s.do(func(st *state) error {
		if st.turn != nil {
			countGoal(st, st.turn)
		}
		changed, err := edit(st.goal, s.settings.Goals.TokenBudget, s.opts.Clock())
		if err != nil {
			return err
		}
		if changed == st.goal {
			return nil
		}
		if changed != nil {
			hidden := *changed
			hidden.Objective = s.opts.Secrets.Hide(changed.Objective)
			changed = &hidden
		}
		if err := setGoal(st, changed); err != nil {
			return err
		}
		st.news = changed.News()
		if st.turn == nil || st.turn.prompt.Answer != nil {
			return giveNews(st)
		}
		return nil
	})
}

// setGoal records a changed goal.
func setGoal(st *state, g *goal.Goal) error {
	entry, err := g.Entry()
	if err != nil {
		return err
	}
	if _, err := st.session.opts.Log.Append(entry); err != nil {
		return st.unsaved(err)
	}
	showGoal(st, g)
	return nil
}

// showGoal makes g the goal of the session, and reports the change.
func showGoal(st *state, g *goal.Goal) {
	if st.goal == g {
		return
	}
	st.goal = g
	goalFlag(st.session).Store(g.IsActive())
	st.emit(GoalChanged{Goal: g})
}

// goalFlag returns the session's [goal.Flag].
func goalFlag(s *Session) *goal.Flag {
	return Value(s.opts.Values, func() *goal.Flag { return new(goal.Flag) })
}

// giveNews adds the text about a changed goal to the conversation.
func giveNews(st *state) error {
	if st.news == "" {
		return nil
	}
	news := st.news
	st.news = ""
	return st.remind("goal", news)
}

// followPlan takes the plan from a branch to whose end the conversation has moved.
func followPlan(st *state, branch []sessions.Entry) {
	if plan := PlanOf(branch); !slices.Equal(plan, st.plan) {
		st.plan = plan
		st.emit(PlanChanged{Entries: append([]PlanEntry{}, plan...)})
	}
}

// dropWork removes the plan and the goal, after the conversation has been cleared.
func dropWork(st *state) error {
	if st.plan != nil {
		st.emit(PlanChanged{Entries: []PlanEntry{}})
		st.plan = nil
	}
	if st.news = ""; st.goal == nil {
		return nil
	}
	return setGoal(st, nil)
}

// keepGoal records the goal in a branch that has another one, because the turn in which it was changed is no part of it.
func keepGoal(st *state, branch []sessions.Entry) {
	was := goal.Of(branch)
	if was == nil && st.goal == nil || was != nil && st.goal != nil && *was == *st.goal {
		return
	}
	if entry, err := st.goal.Entry(); err == nil {
		_, _ = st.session.opts.Log.Append(entry) // if the log fails here, the next prompt fails too
	}
	if was == nil || st.goal == nil || was.Status != st.goal.Status || was.Objective != st.goal.Objective {
		st.news = st.goal.News()
	}
}

// countGoal adds what a turn has used since the last call to an active goal. A goal that has used its budget is limited.
func countGoal(st *state, t *turnState) {
	s := st.session
	now := s.opts.Clock()
	used := goal.Use{Tokens: budget.Of(t.uses).Tokens, Milliseconds: now.Sub(t.before.time).Milliseconds()}
	more := goal.Use{Tokens: used.Tokens - t.counted.Tokens, Milliseconds: used.Milliseconds - t.counted.Milliseconds}
	t.counted = used
	if !st.goal.IsActive() || more.Tokens == 0 {
		return
	}
	changed := st.goal.Used(more, now)
	if changed.OverBudget() {
		_ = setGoal(st, changed.To(goal.Limited, "", now)) // if the log fails here, the next message fails too
		st.emit(Noticed{Severity: SeverityInfo, Title: "The goal has used its token budget; /goal resume continues with another one."})
		return
	}
	if entry, err := changed.UseEntry(); err == nil {
		_, _ = s.opts.Log.Append(entry)
	}
	showGoal(st, changed)
}

// endGoal implements [Planning.EndGoal].
func endGoal(t *RunningTurn, status goal.Status, reason string) error {
	s := t.session
	return t.do(func(st *state) error {
		if !st.goal.IsActive() {
			return errors.New("the session has no active goal: the user has ended or paused it")
		}
		countGoal(st, st.turn)
		return setGoal(st, st.goal.To(status, s.opts.Secrets.Hide(reason), s.opts.Clock()))
	})
}

// remindOfGoal reminds the model of an active goal, after msg, which would end the turn. It does not in the cases in which
// [remindOfPlan] does not. It reports whether it added a reminder and the model must be asked again.
func remindOfGoal(t *RunningTurn, msg *providers.Message) (again bool, err error) {
	r, s := &t.reminders, t.session
	if !r.worked || r.goals >= s.settings.Goals.MaxReminders || t.last || s.child || t.ctx.Err() != nil || endsWithQuestion(msg.Text()) ||
		find(t.tools.active, goal.Tool) == nil {
		return false, nil
	}
	err = t.do(func(st *state) error {
		if !st.goal.IsActive() || st.mode == approval.ModePlan || len(st.turn.steers) > 0 {
			return nil
		}
		used := st.goal.Used(goal.Use{Tokens: budget.Of(st.turn.uses).Tokens - st.turn.counted.Tokens}, st.goal.Updated)
		if used.OverBudget() {
			return nil // the end of the turn limits the goal
		}
		again = true
		return st.remind("goal-reminder", st.goal.Reminder())
	})
	again = again && err == nil
	if again {
		r.goals++
		r.worked = false
	}
	return again, err
}
