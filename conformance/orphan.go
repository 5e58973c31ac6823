package conformance

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A processInfo is one process of this machine.
type processInfo struct {
	pid, parent, group int
	start              string // distinguishes processes with the same PID
	command            string
	marked             bool // its environment has the trial's mark
	zombie             bool
}

// errNoTable reports that processes cannot be listed on this system.
var errNoTable = errors.New("the process table cannot be read here")

// descendants returns the living processes of the agent: its descendants, its process group, and those that have the trial's
// mark in their environment. It skips the check if they cannot be listed.
func (p *peer) descendants() []processInfo {
	pid := p.child.PID()
	all, err := processes(markVariable + "=" + filepath.Base(p.dir))
	if err == nil && pid == 0 {
		err = errNoTable
	}
	if err != nil {
		p.skipAs(ReasonNotPossible, "%v", err)
	}
	ours := map[int]bool{pid: true}
	for grown := true; grown; {
		grown = false
		for _, i := range all {
			if !ours[i.pid] && (ours[i.parent] || i.group == pid || i.marked) {
				ours[i.pid], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(i processInfo) bool { return !ours[i.pid] || i.pid == pid || i.zombie })
}

// gone checks that no process of the agent is left, except those in permitted, within the time that an agent may take to end.
// before has processes that existed when it was asked to end, which may have another parent now.
func (p *peer) gone(before, permitted []processInfo) {
	limit := time.NewTimer(p.suite.opts.Patience)
	defer limit.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		left := slices.DeleteFunc(p.left(before), func(i processInfo) bool { return slices.ContainsFunc(permitted, i.same) })
		if len(left) == 0 {
			return
		}
		select {
		case <-again.C:
			continue
		case <-limit.C:
		case <-p.ctx.Done():
		}
		var names []string
		for _, i := range left {
			names = append(names, fmt.Sprintf("%d %s", i.pid, i.command))
		}
		p.failf("processes are left: %s", strings.Join(names, "; "))
	}
}

func (p *peer) left(before []processInfo) []processInfo {
	found := p.descendants()
	all, err := processes("")
	if err != nil {
		p.skipAs(ReasonNotPossible, "%v", err)
	}
	for _, b := range before {
		alive := func(i processInfo) bool { return b.same(i) && !i.zombie }
		if slices.ContainsFunc(all, alive) && !slices.ContainsFunc(found, b.same) {
			found = append(found, b)
		}
	}
	return found
}

// same reports whether i and o are the same process.
func (i processInfo) same(j processInfo) bool { return i.pid == j.pid && i.start == j.start }
