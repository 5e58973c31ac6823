package proc

import (
	"crypto/rand"
	"strings"
	"sync"
	"syscall"
	"time"
)

// markVariable holds a child's mark in the environment of the child and of all that it starts.
const markVariable = "GJC_CHILD"

// NewMark returns a unique mark. It begins with the identity of this process, so that a mark whose owner is dead
// can be told from others. A mark that continues another one with a dot is a part of it: [Sweep] of the whole ends it too.
func NewMark() string { return identity() + "." + rand.Text() }

// PartOf returns a new mark that is a part of another one.
func PartOf(mark string) string { return mark + "." + rand.Text() }

// identity names this process among all that run on the machine now or did before; empty where the system does not tell.
var identity = sync.OnceValue(ownIdentity)

// MarkEnv returns the environment entry by which a process that something else starts (an editor's terminal) counts as marked.
func MarkEnv(mark string) string { return markVariable + "=" + mark }

// Sweep kills what carries a mark, or a part of it, on this machine. It returns when two looks in a row have found nothing.
func Sweep(mark string) { sweep(&target{entry: MarkEnv(mark)}, sweepMost) }

// End asks what carries a mark, or a part of it, to end (SIGTERM), and kills what is left after grace. It returns when nothing is
// left.
func End(mark string, grace time.Duration) {
	entry := MarkEnv(mark)
	if askMarked(entry) {
		const step = 5 * time.Millisecond
		tick := time.NewTicker(step)
		defer tick.Stop()
		for begin := time.Now(); time.Since(begin) < grace && signalMarked(entry, 0) > 0; {
			<-tick.C
		}
	}
	Sweep(mark)
}

// SweepDead kills what carries the mark of a process that is no longer there, which had no chance to do that itself.
func SweepDead() { sweep(&target{deadOwners: true}, sweepMost) }

// sweepMost bounds a sweep against processes that are started faster than they are found.
const sweepMost = 500 * time.Millisecond

// target says which processes a sweep is for.
type target struct {
	// entry is a mark's environment entry; empty for none.
	entry string
	// groups are the ids of process groups and sessions.
	groups map[int]bool
	// deadOwners stands for all marks whose owner is dead.
	deadOwners bool
	// but is a process that is spared.
	but int
	// blank counts the looks that have found no environment in a process.
	blank map[int]int
}

// sweep kills what a target names until two looks in a row find nothing: each look may miss what is being started, and what
// another program is just executed in shows no environment.
func sweep(t *target, most time.Duration) {
	const step = 2 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	quiet := 0
	for end := time.Now().Add(most); quiet < 2 && time.Now().Before(end); {
		found, unsure := t.signal(syscall.SIGKILL)
		if quiet++; found+unsure > 0 {
			quiet = 0
		}
		if found > 0 {
			<-tick.C // dying takes a moment
		}
	}
}

// signalMarked sends a signal to the processes that carry a mark, or a part of it, and returns how many there were; signal 0
// only counts them.
func signalMarked(entry string, sig syscall.Signal) int {
	found, _ := (&target{entry: entry}).signal(sig)
	return found
}

// isMark reports whether an entry of an environment is a mark.
func isMark(entry string) bool { return strings.HasPrefix(entry, markVariable+"=") }

// names reports whether an entry of an environment is one of the target's.
func (t *target) names(field string) bool {
	if t.entry != "" && carries(field, t.entry) {
		return true
	}
	if !t.deadOwners {
		return false
	}
	mark, ok := strings.CutPrefix(field, markVariable+"=")
	if !ok {
		return false
	}
	owner, _, _ := strings.Cut(mark, ".")
	return isDead(owner)
}

// carries reports whether an entry of an environment is that of a mark, or of a part of it.
func carries(field, entry string) bool {
	rest, ok := strings.CutPrefix(field, entry)
	return ok && (rest == "" || rest[0] == '.')
}
