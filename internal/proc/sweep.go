package proc

import (
	"crypto/rand"
	"strings"
	"syscall"
	"time"
)

// markVariable holds [Options.Mark] in the environment of a child and of all that it starts.
const markVariable = "GJC_CHILD"

// NewMark returns a mark that nobody else has. A mark with a dot and more behind it is a part of it: who ends the one with
// [Sweep] ends the other.
func NewMark() string { return rand.Text() }

// MarkEnv is the entry of an environment by which a process that something else has started (an editor's terminal) counts as
// one of those that [Options.Mark] speaks of.
func MarkEnv(mark string) string { return markVariable + "=" + mark }

// Sweep kills what carries a mark, or a part of it.
func Sweep(mark string) { sweep(mark) }

// sweep kills what carries a mark until nothing does, for a moment: each look may find what was started behind the last.
func sweep(mark string) {
	const step, most = 2 * time.Millisecond, 50
	tick := time.NewTicker(step)
	defer tick.Stop()
	for range most {
		if signalMarked(MarkEnv(mark), syscall.SIGKILL) == 0 {
			return
		}
		<-tick.C
	}
}

// carries reports whether an entry of an environment is that of a mark, or of a part of it.
func carries(field, entry string) bool {
	rest, ok := strings.CutPrefix(field, entry)
	return ok && (rest == "" || rest[0] == '.')
}
