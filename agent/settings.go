package agent

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/budget"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/discovery"
	"github.com/gajae-code/gjc/agent/instructions"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// A Change changes a setting of a session. [ToMode], [ToModel], [ToThinking] and [ToServiceTier] return one.
type Change struct {
	apply func(*Session, *state) error
}

// Change queues a change. When the change is made, then, unless it is nil, is called in the same step of the session with the
// settings and whether they have changed. then must not wait for the session. If the change fails, then is not called and the
// session is unchanged.
func (s *Session) Change(c Change, then func(snap Snapshot, changed bool)) Pending {
	return s.do(func(st *state) error {
		before := st.settings()
		if c.apply != nil {
			if err := c.apply(s, st); err != nil {
				return err
			}
		}
		if then != nil {
			then(st.snapshot(), st.settings() != before)
		}
		return nil
	})
}

// settings holds what a [Change] can change.
type settings struct {
	mode     approval.Mode
	model    string
	thinking providers.ThinkingLevel
	tier     string
}

func (st *state) settings() settings {
	return settings{st.mode, st.model.Ref(), st.thinking, st.tier}
}

func (st *state) snapshot() Snapshot {
	return Snapshot{
		Mode: st.mode, Model: st.model, Thinking: st.thinking, ServiceTier: st.tier, Title: st.title, UpdatedAt: st.updated,
		Plan: st.plan, Goal: st.goal, Usage: st.window.Usage(), CostUSD: st.cost(), Messages: len(st.window.Messages), Busy: st.turn != nil || len(st.waiting) > 0,
	}
}

// ToMode changes the mode for calls that are judged from then on.
func ToMode(mode approval.Mode) Change {
	return Change{func(s *Session, st *state) error {
		if s.readOnly {
			mode = approval.ModePlan
		}
		if st.mode == mode {
			return nil
		}
		if _, err := s.opts.Log.Append(sessions.ModeChange{Mode: string(mode)}); err != nil {
			return err
		}
		st.mode = mode
		for _, child := range st.children {
			child.session.SetMode(mode) // the new mode applies to the child's later calls
		}
		return nil
	}}
}

// ToModel changes the model, from the next model request on. The session keeps the thinking level as far as the new
// model supports it, unless level is set.
func ToModel(info providers.ModelInfo, level providers.ThinkingLevel) Change {
	return Change{func(s *Session, st *state) error {
		if level == "" {
			level = st.thinking
		}
		level = info.ClampThinking(level)
		if info.Ref() != st.model.Ref() {
			if _, err := s.opts.Log.Append(sessions.ModelChange{Model: info.Ref()}); err != nil {
				return err
			}
			// Models count tokens differently, so the last measurement is only an estimate now.
			st.model = info
			st.window.ModelChanged()
		}
		return st.fitToModel(level)
	}}
}

// FromProvider returns a change that applies only if the session's model belongs to one of the providers.
func FromProvider(provider string, c Change) Change {
	return Change{func(s *Session, st *state) error {
		if st.model.Provider != provider || c.apply == nil {
			return nil
		}
		return c.apply(s, st)
	}}
}

// fitToModel limits the settings that depend on the model to those that the model supports.
func (st *state) fitToModel(level providers.ThinkingLevel) error {
	if !slices.Contains(st.model.ServiceTiers, st.tier) {
		if err := st.setTier(""); err != nil {
			return err
		}
	}
	return st.setThinking(st.model.ClampThinking(level))
}

// ErrThinkingLevel is wrapped by the error for a level that the model does not support.
var ErrThinkingLevel = errors.New("unknown thinking level")

// ToThinking changes the thinking level, from the next model request on.
func ToThinking(level providers.ThinkingLevel) Change {
	return Change{func(s *Session, st *state) error {
		if got := st.model.ClampThinking(level); got != level {
			return fmt.Errorf("%w %q for %s; it has %v", ErrThinkingLevel, level, st.model.Ref(), ThinkingLevels(st.model))
		}
		return st.setThinking(level)
	}}
}

// ErrServiceTier is wrapped by the error for a service tier that the model does not support.
var ErrServiceTier = errors.New("unknown service tier")

// ToServiceTier changes the service tier, from the next model request on; empty for the provider's default.
func ToServiceTier(tier string) Change {
	return Change{func(s *Session, st *state) error {
		if tier != "" && !slices.Contains(st.model.ServiceTiers, tier) {
			return fmt.Errorf("%w %q for %s; it has %v", ErrServiceTier, tier, st.model.Ref(), st.model.ServiceTiers)
		}
		return st.setTier(tier)
	}}
}

// SetMode calls [Session.Change] with [ToMode].
func (s *Session) SetMode(mode approval.Mode) Pending { return s.Change(ToMode(mode), nil) }

// SetModel calls [Session.Change] with [ToModel].
func (s *Session) SetModel(info providers.ModelInfo, level providers.ThinkingLevel) Pending {
	return s.Change(ToModel(info, level), nil)
}

// ThinkingLevels lists the thinking levels that a model supports, off first.
func ThinkingLevels(info providers.ModelInfo) []providers.ThinkingLevel {
	return append([]providers.ThinkingLevel{providers.ThinkingOff}, info.Thinking...)
}

func (st *state) setThinking(level providers.ThinkingLevel) error {
	s := st.session
	if level == st.thinking {
		return nil
	}
	if _, err := s.opts.Log.Append(sessions.ThinkingChange{Level: level}); err != nil {
		return err
	}
	st.thinking = level
	return nil
}

func (st *state) setTier(tier string) error {
	s := st.session
	if st.tier == tier {
		return nil
	}
	change := sessions.ServiceTierChange{}
	if tier != "" {
		raw, err := jsonx.Marshal(tier)
		if err != nil {
			return err
		}
		change.ServiceTier = raw
	}
	if _, err := s.opts.Log.Append(change); err != nil {
		return err
	}
	st.tier = tier
	return nil
}

// Settings configures the session's context. [DefaultSettings] returns the defaults; the zero value disables all of it.
type Settings struct {
	Compaction    contextwindow.CompactionSettings
	BranchSummary contextwindow.BranchSummarySettings
	Rules         RuleSettings
	// ContextPromotion allows a change to a model with a larger window before the conversation is compacted.
	ContextPromotion bool
	// SummaryModels lists the models, "provider/id", that are tried in order for a summary if the session's model returns none.
	// Unknown models are skipped.
	SummaryModels []string
	// Tasks limits helper agents. The zero value selects good defaults.
	Tasks TaskSettings
	// Todo configures the plan of todo_write.
	Todo TodoSettings
	// Goals configures the goal of a session.
	Goals GoalSettings
	// Discovery determines which tools are held back until the model finds them.
	Discovery discovery.Mode
	// Instructions are the configured texts for every prompt, the user's first.
	Instructions []Instruction
	// InstructionLimits bounds the instructions in a prompt. The zero value selects [instructions.DefaultLimits].
	InstructionLimits instructions.Limits
}

// Instruction is a text for every prompt, and the path of its file.
type Instruction struct{ Path, Text string }

// TodoSettings configures the plan that the model keeps with todo_write.
type TodoSettings struct {
	// Reminders lets a model that ends its turn with open steps go on; MaxReminders is the maximum number of such reminders in a turn.
	Reminders    bool
	MaxReminders int
}

// reminders returns the maximum number of reminders in a turn.
func (s *TodoSettings) reminders() int {
	if !s.Reminders {
		return 0
	}
	return s.MaxReminders
}

// GoalSettings configures the goal of a session.
type GoalSettings struct {
	// MaxReminders is the maximum number of times in a turn that a model which ends the turn before the goal is reached goes on.
	MaxReminders int
	// TokenBudget bounds the tokens for a goal; zero for no bound. With the budget used, there are no more reminders.
	TokenBudget int
}

// TaskSettings bounds child sessions.
type TaskSettings struct {
	// MaxConcurrency is the maximum number of children of one session that work at the same time, at all depths. A
	// child that waits for its own children does not count. If zero, 8.
	MaxConcurrency int
	// MaxDepth is the maximum depth of child sessions: with 1, children start none. If zero, 2.
	MaxDepth int
	// Each is the budget of a child and its descendants. A child that has used it is asked to finish, and stopped if it does not.
	Each budget.Limits
	// Total is the budget of all children of a session, at all depths, since it was opened.
	Total budget.Limits
	// Check is the command line that judges attempts at a task. If empty, one is found by the files of the project.
	Check string
	// Disabled lists the names of helpers that are not started.
	Disabled []string
}

// Defaults of [TaskSettings].
const (
	defaultTaskConcurrency = 8
	defaultTaskDepth       = 2
)

// DefaultSettings returns the settings of a session without a configuration.
func DefaultSettings() Settings {
	return Settings{
		Compaction:        contextwindow.DefaultCompaction(),
		BranchSummary:     contextwindow.BranchSummarySettings{ReserveTokens: 16_384},
		Rules:             RuleSettings{Stream: true, Repeat: RepeatOnce, RepeatGap: 10},
		InstructionLimits: instructions.DefaultLimits(),
		Tasks:             TaskSettings{MaxConcurrency: defaultTaskConcurrency, MaxDepth: defaultTaskDepth},
		Todo:              TodoSettings{Reminders: true, MaxReminders: 3},
		Goals:             GoalSettings{MaxReminders: 5},
		Discovery:         discovery.Auto,
	}
}
