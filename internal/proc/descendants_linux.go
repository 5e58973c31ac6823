package proc

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reaper makes this process the parent of all orphaned descendants (a subreaper, see prctl(2)), so that all can be found, and reaps them.
type reaper struct {
	// owned reports whether an owner waits for a child.
	owned   func(pid int) bool
	signals chan os.Signal
	quit    chan struct{}
	done    chan struct{}
}

func newReaper(owned func(pid int) bool) *reaper {
	r := &reaper{owned: owned, signals: make(chan os.Signal, 1), quit: make(chan struct{}), done: make(chan struct{})}
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // if it fails, orphans are found by their marks
	signal.Notify(r.signals, syscall.SIGCHLD)
	go r.run()
	return r
}

func (r *reaper) stop() {
	close(r.quit)
	<-r.done
	signal.Stop(r.signals)
}

// run reaps zombies that are not owned after some time, which is enough for the owners of children that were started by other means.
func (r *reaper) run() {
	defer close(r.done)
	const patience = time.Second
	look := time.NewTimer(patience)
	defer look.Stop()
	seen := make(map[int]string) // the zombies of the last scan, and their start times
	for {
		select {
		case <-r.signals:
			look.Reset(patience)
		case <-look.C:
			if seen = r.reapOld(seen); len(seen) > 0 {
				look.Reset(patience)
			}
		case <-r.quit:
			return
		}
	}
}

// reapOld reaps the children that were already zombies in the previous scan. It returns the other zombies that are not owned.
func (r *reaper) reapOld(before map[int]string) map[int]string {
	now := make(map[int]string)
	for pid := range processes() {
		s, ok := readStat(pid)
		if !ok || s.runs() || s.parent != os.Getpid() || r.owned(pid) {
			continue
		}
		if before[pid] == s.start {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // it may have been reaped
			continue
		}
		now[pid] = s.start
	}
	return now
}

// killDescendants kills all descendants of this process except one child, until two consecutive scans find none.
func killDescendants(but int, most time.Duration) {
	const step = time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	quiet := 0
	for end := time.Now().Add(most); quiet < 2 && time.Now().Before(end); {
		if quiet++; killDescendantsOnce(but) > 0 {
			quiet = 0
			<-tick.C
		}
	}
}

func killDescendantsOnce(but int) (found int) {
	children := make(map[int][]int)
	for pid := range processes() {
		if s, ok := readStat(pid); ok && s.runs() {
			children[s.parent] = append(children[s.parent], pid)
		}
	}
	next := children[os.Getpid()]
	for len(next) > 0 {
		pid := next[0]
		next = next[1:]
		if pid == but {
			continue
		}
		next = append(next, children[pid]...)
		found++
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			// The ID may belong to another process since the scan: check that the parent is a descendant.
			if s, ok := readStat(pid); ok && (s.parent == os.Getpid() || children[s.parent] != nil) {
				_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
			_ = unix.Close(fd)
		} else {
			_ = unix.Kill(pid, unix.SIGKILL) // an old kernel
		}
	}
	return found
}
