package agent

import "github.com/gajae-code/gjc/agent/contextwindow"

// Settings is how a session keeps its context. [DefaultSettings] is what holds where nothing is said; the zero value
// switches all of it off.
type Settings struct {
	Compaction    contextwindow.CompactionSettings
	BranchSummary contextwindow.BranchSummarySettings
	Rules         RuleSettings
	// ContextPromotion lets a session go over to a model with a larger window before its conversation is compacted.
	ContextPromotion bool
	// SummaryModels are asked for a summary, in this order, when the session's own model gives none: "provider/id". One
	// that there is not is left out.
	SummaryModels []string
	// Tasks bounds helper agents. Its zero value is a good one.
	Tasks TaskSettings
	// Instructions are texts of the configuration for every prompt, the user's first.
	Instructions []Instruction
}

// Instruction is a text for every prompt, and the file that has it.
type Instruction struct{ Path, Text string }

// TaskSettings bounds child sessions.
type TaskSettings struct {
	// MaxConcurrency is how many work at the same time below one session, at whatever depth; one that waits for its own children
	// does not count. If zero, 8.
	MaxConcurrency int
	// MaxDepth is how deep they go: with one, children start none of their own. If zero, 2.
	MaxDepth int
	// MaxTokens is what one child and those below it may use, read from a cache not counted. It is told to finish then, and
	// stopped if it does not. If zero, there is no bound.
	MaxTokens int
	// Disabled are the names of helpers that are not started.
	Disabled []string
}

// Defaults of [TaskSettings].
const (
	DefaultTaskConcurrency = 8
	DefaultTaskDepth       = 2
)

// DefaultSettings returns the settings of a session without a configuration.
func DefaultSettings() Settings {
	return Settings{
		Compaction:    contextwindow.DefaultCompaction(),
		BranchSummary: contextwindow.BranchSummarySettings{ReserveTokens: 16_384},
		Rules:         RuleSettings{Stream: true, Repeat: RepeatOnce, RepeatGap: 10},
		Tasks:         TaskSettings{MaxConcurrency: DefaultTaskConcurrency, MaxDepth: DefaultTaskDepth},
	}
}
