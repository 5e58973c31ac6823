package providers

import "slices"

// ThinkingMode says how requests express a [ThinkingLevel], and what [ThinkingOff] means for a model.
type ThinkingMode string

// The modes.
const (
	// ThinkingEffort sends the level as an effort, and nothing for off. It is the default.
	ThinkingEffort ThinkingMode = "effort"
	// ThinkingEffortNone sends the level as an effort, and an effort of none for off, because the model reasons by default.
	ThinkingEffortNone ThinkingMode = "effort-none"
	// ThinkingEffortBetween is for a model that can omit only the reasoning before its first word, which is what off requests.
	ThinkingEffortBetween ThinkingMode = "effort-between-tools"
	// ThinkingEffortAlways is for a model that always reasons; off is its lowest effort.
	ThinkingEffortAlways ThinkingMode = "effort-always"
	// ThinkingBudget sends the level as a number of tokens, and nothing for off.
	ThinkingBudget ThinkingMode = "budget"
)

// levels holds all levels in ascending order.
var levels = [...]ThinkingLevel{
	ThinkingOff, ThinkingMinimal, ThinkingLow, ThinkingMedium, ThinkingHigh, ThinkingXHigh, ThinkingMax,
}

// ThinkingLevels returns all levels in ascending order.
func ThinkingLevels() []ThinkingLevel { return slices.Clone(levels[:]) }

// ParseThinkingLevel returns the level with the name s.
func ParseThinkingLevel(s string) (level ThinkingLevel, ok bool) {
	level = ThinkingLevel(s)
	return level, slices.Contains(levels[:], level)
}

// ClampThinking returns the level that the model uses when want is requested: want if the model supports it, else the next
// lower level that it supports, else its lowest. It returns [ThinkingOff] for a model that cannot reason.
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
