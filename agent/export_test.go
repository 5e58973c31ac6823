package agent

// Threshold is what [CompactionSettings] says of a window.
func Threshold(c CompactionSettings, window int) int { return c.threshold(window) }

// ShortSummary is the line that stands for a summary.
var ShortSummary = shortSummary

// CompactionEvent is what a replay tells of a compaction.
var CompactionEvent = compactionEvent
