package agent

import "github.com/gajae-code/gjc/agent/contextwindow"

// Settings configures the session's context. [DefaultSettings] returns the defaults; the zero value disables all of it.
type Settings struct {
	Compaction    contextwindow.CompactionSettings
	BranchSummary contextwindow.BranchSummarySettings
	Rules         RuleSettings
	// ContextPromotion allows a change to a model with a larger window before the conversation is compacted.
	ContextPromotion bool
	// SummaryModels lists the models, "provider/id", that are asked for a summary if the session's model gives none, in
	// order. Unknown models are skipped.
	SummaryModels []string
	// Tasks limits helper agents. The zero value has good defaults.
	Tasks TaskSettings
	// Instructions are texts of the configuration for every prompt, the user's first.
	Instructions []Instruction
}

// Instruction is a text for every prompt, and the file that has it.
type Instruction struct{ Path, Text string }

// TaskSettings bounds child sessions.
type TaskSettings struct {
	// MaxConcurrency is the maximum number of children of one session that work at the same time, at all depths. A
	// child that waits for its own children does not count. If zero, 8.
	MaxConcurrency int
	// MaxDepth is the maximum depth of child sessions: with 1, children start none. If zero, 2.
	MaxDepth int
	// MaxTokens is the token budget of a child and its descendants, without tokens read from a cache. A child that has
	// used it is asked to finish, and stopped if it does not. If zero, there is no limit.
	MaxTokens int
	// Disabled are the names of helpers that are not started.
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
		Compaction:    contextwindow.DefaultCompaction(),
		BranchSummary: contextwindow.BranchSummarySettings{ReserveTokens: 16_384},
		Rules:         RuleSettings{Stream: true, Repeat: RepeatOnce, RepeatGap: 10},
		Tasks:         TaskSettings{MaxConcurrency: defaultTaskConcurrency, MaxDepth: defaultTaskDepth},
	}
}
