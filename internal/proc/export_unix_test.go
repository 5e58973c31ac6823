//go:build unix

package proc

import "syscall"

// WatchSignals calls seen for each signal that is sent to p's group.
func WatchSignals(p *Process, seen func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	send := p.leader.send
	p.leader.send = func(pid int, sig syscall.Signal) error {
		seen()
		return send(pid, sig)
	}
}
