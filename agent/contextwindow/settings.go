package contextwindow

// CompactionSettings configures automatic compactions. The zero value switches them off.
type CompactionSettings struct {
	// Enabled enables automatic compactions. Commands work without it.
	Enabled  bool
	Strategy Strategy
	// ReserveTokens is the least part of the window that stays free.
	ReserveTokens int
	// KeepRecentTokens is the approximate number of newest tokens that a compaction keeps.
	KeepRecentTokens int
	// AutoContinue asks the model to continue if a compaction interrupts its work.
	AutoContinue bool
	// RemoteEnabled lets RemoteEndpoint write the summaries, unless it is empty.
	RemoteEnabled  bool
	RemoteEndpoint string
	// ThresholdPercent and ThresholdTokens, if positive, determine how full the window may become before a compaction.
	// ThresholdTokens takes precedence.
	ThresholdPercent float64
	ThresholdTokens  int
	// IdleEnabled compacts a conversation of more than IdleThresholdTokens after IdleTimeoutSeconds without a prompt. It is off
	// by default, because it costs money without a prompt.
	IdleEnabled         bool
	IdleThresholdTokens int
	IdleTimeoutSeconds  int
	// HandoffSaveToDisk also saves the documents of [StrategyHandoff] as artifacts.
	HandoffSaveToDisk bool
}

// Strategy selects what replaces a conversation that has grown too long.
type Strategy string

// The strategies.
const (
	// StrategyContextFull replaces the older part with a summary.
	StrategyContextFull Strategy = "context-full"
	// StrategyHandoff replaces the conversation with a handoff document. If that fails, for example because the window is already
	// full, the conversation is compacted.
	StrategyHandoff Strategy = "handoff"
	// StrategyOff disables automatic compactions.
	StrategyOff Strategy = "off"
)

// Strategies lists all strategies.
func Strategies() []Strategy { return []Strategy{StrategyContextFull, StrategyHandoff, StrategyOff} }

// DefaultCompaction returns the settings of a session without a configuration.
func DefaultCompaction() CompactionSettings {
	return CompactionSettings{
		Enabled: true, Strategy: StrategyContextFull, ReserveTokens: 16_384, KeepRecentTokens: 20_000, AutoContinue: true,
		RemoteEnabled: true, ThresholdPercent: -1, ThresholdTokens: -1,
		IdleThresholdTokens: 200_000, IdleTimeoutSeconds: 300,
	}
}

// BranchSummarySettings configures summaries of branches that the conversation leaves.
type BranchSummarySettings struct {
	// Enabled makes the command that leaves a branch summarize it by default.
	Enabled bool
	// ReserveTokens is the part of the window that stays free when a branch is summarized.
	ReserveTokens int
}

// Automatic reports whether compactions run automatically.
func (c *CompactionSettings) Automatic() bool { return c.Enabled && c.Strategy != StrategyOff }

// Threshold returns how many tokens of a window may be filled before a compaction; zero for an unknown window.
func (c *CompactionSettings) Threshold(window int) int {
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
		// The reserve is meant for large windows. It would use up a small one, so half of the window is always available.
		return max(window-max(window*15/100, c.ReserveTokens), window/2)
	}
}

// FilledBy reports whether a model stopped an answer because the window was full, and not because of the limit on the length of its
// answers. A shorter conversation does not help against that limit.
func (c *CompactionSettings) FilledBy(window, maxOutput, used, output int) bool {
	if window <= 0 || used == 0 {
		return false
	}
	if maxOutput > 0 && output >= maxOutput {
		return false
	}
	return used >= c.Threshold(window) || maxOutput > 0 && used-output+maxOutput > window
}
