package proc

import (
	"crypto/rand"
	"strings"
	"sync"
	"syscall"
	"time"
)

// markVariable is the environment variable with the mark of a child, which its descendants inherit.
const markVariable = "GJC_CHILD"

// NewMark returns a unique mark. It begins with the identity of this process, so that marks of dead owners can be recognized. A
// mark that consists of another one, a dot and more text is a part of that one: a [Sweep] of the whole includes its parts.
func NewMark() string { return identity() + "." + rand.Text() }

// PartOf returns a new mark that is a part of another one.
func PartOf(mark string) string { return mark + "." + rand.Text() }

// identity returns a unique identity of this process on the machine, also among earlier processes; "" if unknown.
var identity = sync.OnceValue(ownIdentity)

// MarkEnv returns the environment entry that marks a process which is started by other means, such as an editor's terminal.
func MarkEnv(mark string) string { return markVariable + "=" + mark }

// Sweep kills all processes with a mark or a part of it. It returns when two consecutive scans have found none.
func Sweep(mark string) { sweep(&target{entry: MarkEnv(mark)}, maxSweep) }

// End asks all processes with a mark or a part of it to end (SIGTERM), and kills the rest after grace. It returns when none is left.
func End(mark string, grace time.Duration) {
	entry := MarkEnv(mark)
	if terminateMarked(entry) {
		const step = 5 * time.Millisecond
		tick := time.NewTicker(step)
		defer tick.Stop()
		for begin := time.Now(); time.Since(begin) < grace && signalMarked(entry, 0) > 0; {
			<-tick.C
		}
	}
	Sweep(mark)
}

// sweepDead kills all processes whose mark belongs to an owner that ended without ending them.
func sweepDead() { sweep(&target{deadOwners: true}, maxSweep) }

// maxSweep bounds a sweep: processes may be started faster than they are found.
const maxSweep = 500 * time.Millisecond

// target selects the processes of a sweep.
type target struct {
	// entry is a mark's environment entry; empty for none.
	entry string
	// groups are the IDs of process groups and sessions.
	groups map[int]bool
	// deadOwners selects all marks whose owner has ended.
	deadOwners bool
	// but is a process to exclude.
	but int
	// blank counts the scans that have found no environment in a process.
	blank map[int]int
}

// sweep kills the processes of a target until two consecutive scans find none: a scan may miss processes that are being started, and a
// process that is executing another program shows no environment.
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
			<-tick.C // wait for them to end
		}
	}
}

// signalMarked sends a signal to the processes with a mark or a part of it, and returns their number. Signal 0 only counts them.
func signalMarked(entry string, sig syscall.Signal) int {
	found, _ := (&target{entry: entry}).signal(sig)
	return found
}

// isMark reports whether an entry of an environment is a mark.
func isMark(entry string) bool { return strings.HasPrefix(entry, markVariable+"=") }

// names reports whether an entry of an environment is a mark of the target.
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

// carries reports whether an entry of an environment has a mark or a part of it.
func carries(field, entry string) bool {
	rest, ok := strings.CutPrefix(field, entry)
	return ok && (rest == "" || rest[0] == '.')
}
