package agent

// CompactionEvent returns the event of a compaction in a replay.
var CompactionEvent = compactionEvent
