package providers

import "slices"

// ThinkingMode says how a model's API is told a [ThinkingLevel], and what [ThinkingOff] means for it.
type ThinkingMode string

// The modes.
const (
	// ThinkingEffort sends the level as an effort. Off says nothing. It is the mode where none is given.
	ThinkingEffort ThinkingMode = "effort"
	// ThinkingEffortNone sends the level as an effort. The model reasons unless it is told not to, so off is said.
	ThinkingEffortNone ThinkingMode = "effort-none"
	// ThinkingEffortBetween is for a model that can leave out only the reasoning before its first word; off asks
	// for that.
	ThinkingEffortBetween ThinkingMode = "effort-between-tools"
	// ThinkingEffortAlways is for a model that can not be kept from reasoning; off is its lowest effort.
	ThinkingEffortAlways ThinkingMode = "effort-always"
	// ThinkingBudget sends the level as a number of tokens. Off says nothing.
	ThinkingBudget ThinkingMode = "budget"
)

// levels in rising order.
var levels = [...]ThinkingLevel{
	ThinkingOff, ThinkingMinimal, ThinkingLow, ThinkingMedium, ThinkingHigh, ThinkingXHigh, ThinkingMax,
}

// ThinkingLevels returns all levels, in rising order.
func ThinkingLevels() []ThinkingLevel { return slices.Clone(levels[:]) }

// ParseThinkingLevel returns the level called s.
func ParseThinkingLevel(s string) (level ThinkingLevel, ok bool) {
	level = ThinkingLevel(s)
	return level, slices.Contains(levels[:], level)
}

// ClampThinking returns the level that the model works with when want is asked for: want itself if the model knows
// it, else the next lower level that it knows, else its lowest. It is [ThinkingOff] for a model that cannot reason.
func (i ModelInfo) ClampThinking(want ThinkingLevel) ThinkingLevel {
	if want == "" || want == ThinkingOff || len(i.Thinking) == 0 {
		return ThinkingOff
	}
	rank := slices.Index(levels[:], want)
	best, lowest := ThinkingOff, ThinkingLevel("")
	for n, level := range levels {
		if !slices.Contains(i.Thinking, level) {
			continue
		}
		if lowest == "" {
			lowest = level
		}
		if n <= rank {
			best = level
		}
	}
	if best == ThinkingOff && lowest != "" {
		return lowest
	}
	return best
}
