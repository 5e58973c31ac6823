package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// GuardOptions configures the guard of a program's children. Path is required.
type GuardOptions struct {
	// Path and Args start a program that calls [RunGuard] with its stdin and does nothing else. Its environment is nearly empty.
	Path string
	Args []string
	// Failed is called with the error of a guard that cannot be started; the start of the next child retries. Optional.
	Failed func(error)
}

// guard is a process that ends the children of this process when this one is killed. It starts with the first child. It reads from a
// pipe whose other end only this process has, so it notices any end of it. Windows has none: there the system ends a job with
// its owner.
type guard struct {
	opts GuardOptions

	mu     sync.Mutex // guards the fields below
	pipe   *os.File   // nil if no guard runs
	pid    int
	groups map[int]bool // of the children that have not ended
	ended  bool
	swept  bool // the children of dead owners were searched for
	// reaper reaps the orphans of this process; nil before the first child.
	reaper *reaper

	sweeping sync.WaitGroup
}

// NewGuardedGroup returns an empty group for all children of a program. If the program is killed, a guard ends them. A program must have
// only one guarded group, because its Close ends all descendants of the process.
func NewGuardedGroup(opts GuardOptions) *Group {
	g := NewGroup(nil)
	g.guard = &guard{opts: opts, groups: make(map[int]bool)}
	return g
}

// The messages in the pipe, one per line.
const (
	guardOwner = "owner " // the identity that marks children
	guardAdd   = "+"      // a process group
	guardDrop  = "-"
	guardEnd   = "end" // no children are left
)

// begin starts the guard if it does not run. It does nothing for a nil guard.
func (g *guard) begin() {
	if g == nil || !hasGuard {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended || g.pipe != nil {
		return
	}
	if err := g.startLocked(); err != nil && g.opts.Failed != nil {
		g.opts.Failed(fmt.Errorf("starting the guard of child processes: %w", err))
	}
	if g.reaper == nil {
		g.reaper = newReaper(g.owns)
	}
	if !g.swept {
		g.swept = true
		g.sweeping.Go(sweepDead)
	}
}

// owns reports whether a process is a child of this package that is not reaped.
func (g *guard) owns(pid int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.groups[pid] || pid == g.pid
}

func (g *guard) startLocked() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	g.pid, err = startGuard(&g.opts, r)
	_ = r.Close() // the guard has a copy
	if err != nil {
		_ = w.Close() // the guard did not start
		return err
	}
	g.pipe = w
	g.sayLocked(guardOwner + identity())
	for id := range g.groups {
		g.sayLocked(guardAdd + strconv.Itoa(id))
	}
	return nil
}

// sayLocked writes a message. It does not wait for a stopped guard; one that has ended is replaced at the start of the next child.
func (g *guard) sayLocked(line string) {
	if g.pipe == nil {
		return
	}
	const patience = 10 * time.Millisecond
	_ = g.pipe.SetWriteDeadline(time.Now().Add(patience)) // best effort
	if _, err := io.WriteString(g.pipe, line+"\n"); err != nil && !os.IsTimeout(err) {
		_ = g.pipe.Close()
		g.pipe = nil
	}
}

// add registers the process group of a child with the guard; drop removes it.
func (g *guard) add(group int) {
	if g == nil || !hasGuard {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups[group] = true
	g.sayLocked(guardAdd + strconv.Itoa(group))
}

func (g *guard) drop(group int) {
	if g == nil || !hasGuard {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.groups, group)
	g.sayLocked(guardDrop + strconv.Itoa(group))
}

// end ends all descendants of this process, and the guard.
func (g *guard) end() {
	if g == nil || !hasGuard {
		return
	}
	g.mu.Lock()
	first, reaper, but := !g.ended, g.reaper, g.pid
	g.ended = true
	g.mu.Unlock()
	if !first || reaper == nil {
		return // no child was started, or none is left
	}
	g.sweeping.Wait()
	killDescendants(but, maxSweep)
	reaper.stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sayLocked(guardEnd)
	if g.pipe != nil {
		_ = g.pipe.Close()
		g.pipe = nil
	}
}

// RunGuard runs the guard. When the owner of the other end of r has ended, it ends all processes that the owner has started, except for
// those that have cleared their mark and left their process group, and returns.
func RunGuard(r io.Reader) {
	becomeGuard()
	t := target{groups: make(map[int]bool), but: os.Getpid()}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == guardEnd:
			return
		case strings.HasPrefix(line, guardOwner):
			if owner := strings.TrimPrefix(line, guardOwner); owner != "" {
				t.entry = MarkEnv(owner)
			}
		case strings.HasPrefix(line, guardAdd):
			if id, err := strconv.Atoi(line[len(guardAdd):]); err == nil {
				t.groups[id] = true
			}
		case strings.HasPrefix(line, guardDrop):
			if id, err := strconv.Atoi(line[len(guardDrop):]); err == nil {
				delete(t.groups, id)
			}
		}
	}
	const most = 10 * time.Second // usually less than two seconds; longer on a busy machine
	sweep(&t, most)
}
