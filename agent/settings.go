package agent

// Settings is how a session keeps its context. [DefaultSettings] is what holds where nothing is said; the zero value
// switches all of it off.
type Settings struct {
	Compaction    CompactionSettings
	BranchSummary BranchSummarySettings
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

// CompactionSettings says when a conversation is compacted by itself, and how.
type CompactionSettings struct {
	// Enabled is for what happens by itself. [Turn.Compact] works without it.
	Enabled  bool
	Strategy CompactionStrategy
	// ReserveTokens is what at least stays free of the window.
	ReserveTokens int
	// KeepRecentTokens is about how much of the newest conversation a compaction leaves as it is.
	KeepRecentTokens int
	// AutoContinue tells the model to go on where a compaction came between it and work that is not done.
	AutoContinue bool
	// RemoteEnabled lets RemoteEndpoint, if there is one, write the summaries.
	RemoteEnabled  bool
	RemoteEndpoint string
	// ThresholdPercent and ThresholdTokens, if positive, say how full the window gets before a compaction. Of both the
	// tokens count.
	ThresholdPercent float64
	ThresholdTokens  int
	// IdleEnabled compacts a conversation of more than IdleThresholdTokens that nobody has gone on with for
	// IdleTimeoutSeconds. It is off by default: it costs money while nobody looks.
	IdleEnabled         bool
	IdleThresholdTokens int
	IdleTimeoutSeconds  int
	// HandoffSaveToDisk keeps the documents of [StrategyHandoff] as artifacts too.
	HandoffSaveToDisk bool
}

// CompactionStrategy is what takes the place of a conversation that has grown too long.
type CompactionStrategy string

// The strategies.
const (
	// StrategyContextFull puts a summary in the place of the older part.
	StrategyContextFull CompactionStrategy = "context-full"
	// StrategyHandoff begins the conversation anew with a document for whoever takes over. Where that cannot be, as when
	// the window is full already, the conversation is compacted.
	StrategyHandoff CompactionStrategy = "handoff"
	// StrategyOff compacts nothing by itself.
	StrategyOff CompactionStrategy = "off"
)

// CompactionStrategies lists all strategies.
func CompactionStrategies() []CompactionStrategy {
	return []CompactionStrategy{StrategyContextFull, StrategyHandoff, StrategyOff}
}

// BranchSummarySettings is for summaries of branches that are left.
type BranchSummarySettings struct {
	// Enabled is the caller's to look at: [Turn.SummarizeBranch] works without it.
	Enabled bool
	// ReserveTokens is what stays free of the window when a branch is summarised.
	ReserveTokens int
}

// DefaultSettings returns the settings of a session that is told none.
func DefaultSettings() Settings {
	return Settings{
		Compaction: CompactionSettings{
			Enabled: true, Strategy: StrategyContextFull, ReserveTokens: 16_384, KeepRecentTokens: 20_000, AutoContinue: true,
			RemoteEnabled: true, ThresholdPercent: -1, ThresholdTokens: -1,
			IdleThresholdTokens: 200_000, IdleTimeoutSeconds: 300,
		},
		BranchSummary: BranchSummarySettings{ReserveTokens: 16_384},
		Rules:         RuleSettings{Stream: true, Repeat: RepeatOnce, RepeatGap: 10},
		Tasks:         TaskSettings{MaxConcurrency: DefaultTaskConcurrency, MaxDepth: DefaultTaskDepth},
	}
}

// auto reports whether anything is compacted without being asked for.
func (c *CompactionSettings) auto() bool { return c.Enabled && c.Strategy != StrategyOff }

// threshold is how much of a window may be filled before there is a compaction; zero for a window that is not known.
func (c *CompactionSettings) threshold(window int) int {
	switch {
	case c.ThresholdTokens > 0:
		if window > 0 {
			return min(c.ThresholdTokens, window)
		}
		return c.ThresholdTokens
	case window <= 0:
		return 0
	case c.ThresholdPercent > 0:
		return int(float64(window) * min(c.ThresholdPercent, 100) / 100)
	default:
		// The reserve is made for large windows. Of a small one it would leave nothing; half is the conversation's in any case.
		return max(window-max(window*15/100, c.ReserveTokens), window/2)
	}
}
