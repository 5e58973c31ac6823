package conformance

import (
	"errors"
	"fmt"
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

// family returns the living processes of the agent: its descendants, its process group, and those that have the trial's
// mark in their environment.
func (p *peer) family() ([]processInfo, error) {
	mark := ""
	for _, e := range p.env {
		if strings.HasPrefix(e, markVariable+"=") {
			mark = e
		}
	}
	all, err := processes(mark)
	if err != nil {
		return nil, err
	}
	pid := p.child.PID()
	ours := map[int]bool{pid: true}
	for grown := true; grown; {
		grown = false
		for _, i := range all {
			if !ours[i.pid] && (ours[i.parent] || i.group == pid || i.marked) {
				ours[i.pid], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(i processInfo) bool { return !ours[i.pid] || i.pid == pid || i.zombie }), nil
}

// descendants returns the agent's current processes. It skips the check if they cannot be listed.
func descendants(p *peer) []processInfo {
	found, err := p.family()
	if err != nil || p.child.PID() == 0 {
		p.t.skipAs(ReasonNotPossible, "%v", cmpErr(err))
	}
	return found
}

func cmpErr(err error) error {
	if err == nil {
		return errNoTable
	}
	return err
}

// leavesNothing checks that no process of the agent is left. before are those that existed when it was asked to end,
// which may have another parent now.
func (p *peer) leavesNothing(before []processInfo) {
	p.gone(func(left processInfo) bool { return true }, before)
}

// leavesOnly checks that no process of the agent is left, except those in before.
func (p *peer) leavesOnly(before []processInfo) {
	p.gone(func(left processInfo) bool {
		return !slices.ContainsFunc(before, func(b processInfo) bool { return b.pid == left.pid && b.start == left.start })
	}, nil)
}

// gone waits until no relevant process is left, for as long as an agent may take to end.
func (p *peer) gone(counts func(processInfo) bool, before []processInfo) {
	limit := time.NewTimer(p.t.suite.opts.Patience)
	defer limit.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		left := slices.DeleteFunc(p.left(before), func(i processInfo) bool { return !counts(i) })
		if len(left) == 0 {
			return
		}
		select {
		case <-again.C:
		case <-limit.C:
			var names []string
			for _, i := range left {
				names = append(names, fmt.Sprintf("%d %s", i.pid, i.command))
			}
			p.t.failf("processes are left behind: %s", strings.Join(names, "; "))
		case <-p.t.ctx.Done():
			p.t.failf("processes are left behind")
		}
	}
}

func (p *peer) left(before []processInfo) []processInfo {
	found, err := p.family()
	if err != nil {
		p.t.skipAs(ReasonNotPossible, "%v", err)
	}
	all, err := processes("")
	if err != nil {
		p.t.skipAs(ReasonNotPossible, "%v", err)
	}
	for _, b := range before {
		same := func(i processInfo) bool { return i.pid == b.pid && i.start == b.start }
		if slices.ContainsFunc(all, func(i processInfo) bool { return same(i) && !i.zombie }) && !slices.ContainsFunc(found, same) {
			found = append(found, b)
		}
	}
	return found
}
