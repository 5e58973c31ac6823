package proc

import "time"

// markVariable holds [Options.Mark] in the environment of a child and of all that it starts.
const markVariable = "GJC_CHILD"

// MarkEnv is the entry of an environment by which a process that something else has started (an editor's terminal) counts as
// one of those that [Options.Mark] speaks of.
func MarkEnv(mark string) string { return markVariable + "=" + mark }

// sweep kills what carries a mark until nothing does, for a moment: each look may find what was started behind the last.
func sweep(mark string) {
	const step, most = 2 * time.Millisecond, 50
	tick := time.NewTicker(step)
	defer tick.Stop()
	for range most {
		if killMarked(MarkEnv(mark)) == 0 {
			return
		}
		<-tick.C
	}
}
