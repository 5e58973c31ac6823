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

// GuardOptions say how the guard of a program's children is started. Path is required.
type GuardOptions struct {
	// Path and Args start a program that calls [RunGuard] with its stdin, and does nothing else. It gets no environment to speak of.
	Path string
	Args []string
	// Failed is called with the error of a guard that could not be started; the next child tries again. Optional.
	Failed func(error)
}

// guard is a process that ends the children of this one when this one is killed. It is started with the first child. It holds the
// reading end of a pipe whose other end only this process has, so it notices the end however that comes about. On
// Windows there is none: the system ends a job with its owner.
type guard struct {
	opts GuardOptions

	mu     sync.Mutex // guards what follows
	pipe   *os.File   // nil while no guard runs
	pid    int
	groups map[int]bool // of the children that have not ended
	ended  bool
	swept  bool // whether the children of dead owners have been looked for
	// reaper reaps orphans that this process has adopted; nil before the first child.
	reaper *reaper

	sweeping sync.WaitGroup
}

// NewGuardedGroup returns an empty group for all children of a program: should the program be killed, a guard ends them. Only
// one group of a program may be guarded, because its Close ends all descendants of the process.
func NewGuardedGroup(opts GuardOptions) *Group {
	g := NewGroup(nil)
	g.guard = &guard{opts: opts, groups: make(map[int]bool)}
	return g
}

// The words of the pipe, one a line. What comes after its end needs no word.
const (
	guardOwner = "owner " // the identity by which children are found
	guardAdd   = "+"      // a process group
	guardDrop  = "-"
	guardEnd   = "end" // nothing is left to end
)

// begin makes sure that the guard runs. A nil guard does nothing.
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
		g.sweeping.Go(SweepDead)
	}
}

// owns reports whether a process is a child that was started by this package and has not been reaped.
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
	_ = r.Close() // the guard has it
	if err != nil {
		_ = w.Close() // it has no reader
		return err
	}
	g.pipe = w
	g.sayLocked(guardOwner + identity())
	for id := range g.groups {
		g.sayLocked(guardAdd + strconv.Itoa(id))
	}
	return nil
}

// sayLocked writes a line. A guard that is stopped is not waited for; one that is gone is replaced with the next child.
func (g *guard) sayLocked(line string) {
	if g.pipe == nil {
		return
	}
	const patience = 10 * time.Millisecond
	_ = g.pipe.SetWriteDeadline(time.Now().Add(patience)) // best effort, as is the guard
	if _, err := io.WriteString(g.pipe, line+"\n"); err != nil && !os.IsTimeout(err) {
		_ = g.pipe.Close()
		g.pipe = nil
	}
}

// add and drop follow the process group of a child.
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

// end ends all descendants of this process, and the guard, which has nothing to do any more.
func (g *guard) end() {
	if g == nil || !hasGuard {
		return
	}
	g.mu.Lock()
	first, reaper, but := !g.ended, g.reaper, g.pid
	g.ended = true
	g.mu.Unlock()
	if !first || reaper == nil {
		return // there never was a child, or nothing is left
	}
	g.sweeping.Wait()
	killDescendants(but, sweepMost)
	reaper.stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sayLocked(guardEnd)
	if g.pipe != nil {
		_ = g.pipe.Close()
		g.pipe = nil
	}
}

// RunGuard is the guard's process. It returns when the owner of the other end of r has ended, in good order or not, and then
// nothing is left of what that owner has started, but for what has cleared its mark and left its process group.
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
	const most = 10 * time.Second // two seconds are aimed at; a busy machine may take longer
	sweep(&t, most)
}
