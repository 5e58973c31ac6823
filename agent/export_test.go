package agent

import "github.com/gajae-code/gjc/providers"

// CompactionEvent returns the event of a compaction in a replay.
var CompactionEvent = compactionEvent

// LeakIn finds what a model has leaked of its protocol.
var LeakIn = leakIn

// Repeats reports whether a text that streams in pieces of n bytes is cut off.
func Repeats(text string, n int) bool {
	var w repetitionWatch
	for len(text) > 0 {
		piece := text[:min(n, len(text))]
		if w.add(providers.TextDelta{Text: piece}) > 0 {
			return true
		}
		text = text[len(piece):]
	}
	return false
}
