package dap

import (
	"cmp"
	"time"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// event handles an event of the adapter. It runs in the client's reader and must not block. The members of a body that
// cannot be decoded have their zero values.
func (a *adapter) event(name string, body jsonx.Raw) {
	if name == "output" {
		a.outputEvent(body)
		return
	}
	d := a.debuggee
	d.tree.mu.Lock()
	defer d.tree.mu.Unlock()
	switch name {
	case "initialized":
		a.initializedEventLocked()
	case "stopped":
		var b godap.StoppedEventBody
		a.decode(body, &b)
		d.stopLocked(a, &b)
	case "continued":
		var b godap.ContinuedEventBody
		a.decode(body, &b)
		d.continueLocked(a, &b)
	case "exited":
		a.exitedEventLocked(body)
	case "terminated":
		a.terminatedEventLocked(body)
	case "thread":
		var b godap.ThreadEventBody
		a.decode(body, &b)
		if b.Reason == "exited" {
			delete(d.exec.threads, b.ThreadId)
		} else {
			d.exec.addThread(b.ThreadId)
		}
	case "process":
		var b godap.ProcessEventBody
		a.decode(body, &b)
		d.pid = b.SystemProcessId
	case "breakpoint":
		var b godap.BreakpointEventBody
		a.decode(body, &b)
		d.tree.breakpoints.update(&b)
	case "capabilities":
		if caps := jsonx.Lookup(body, "capabilities"); caps != nil {
			d.caps = d.caps.with(caps.Clone())
		}
	case "invalidated":
		d.exec.invalidate()
	case "module", "loadedSource", "memory", "progressStart", "progressUpdate", "progressEnd":
	default:
		d.addEventLocked(name, body)
	}
}

// decode decodes the body of an event, and logs an error.
func (a *adapter) decode(body jsonx.Raw, v any) {
	if jsonx.IsNull(body) {
		return
	}
	if err := jsonx.Unmarshal(body, v); err != nil {
		a.logDropped(err)
	}
}

// outputEvent has only the members that gjc needs, because an adapter may send very many of these events.
func (a *adapter) outputEvent(body jsonx.Raw) {
	var b struct {
		Category string `json:"category"`
		Output   string `json:"output"`
	}
	if err := jsonx.Unmarshal(body, &b); err != nil {
		a.logDropped(err)
		return
	}
	b.Category = cmp.Or(b.Category, "console")
	a.print(b.Category, b.Output)
}

// initializedEventLocked configures the adapter; after a restart it must receive all breakpoints again.
func (a *adapter) initializedEventLocked() {
	d := a.debuggee
	a.initOnce.Do(func() { close(a.initialized) })
	if a.configured && !a.configuring && (a.restarting || d.state == StateRunning) {
		a.restarting, a.configuring, d.exitCode = false, true, nil
		d.state = StateConfiguring
		d.debugger.work.start(a.configureAgain)
	}
}

func (a *adapter) exitedEventLocked(body jsonx.Raw) {
	var b godap.ExitedEventBody
	a.decode(body, &b)
	a.debuggee.exitCode = &b.ExitCode
	if a.exitTimer == nil && !a.restarting {
		a.exitTimer = time.AfterFunc(terminatedAfter, a.stopAfterExit)
	}
}

func (a *adapter) terminatedEventLocked(body jsonx.Raw) {
	var b struct {
		Restart jsonx.Raw `json:"restart"`
	}
	a.decode(body, &b)
	if a.programOver {
		return
	}
	if !jsonx.IsNull(b.Restart) && string(b.Restart) != "false" {
		a.restartData = b.Restart.Clone()
	}
	a.setProgramOverLocked()
}

// stopAfterExit ends an adapter that has sent exited and no terminated event.
func (a *adapter) stopAfterExit() {
	t := a.debuggee.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.exitTimer = nil; a.programOver || a.restarting {
		return
	}
	a.setProgramOverLocked()
}

func (a *adapter) setProgramOverLocked() {
	a.programOver = true
	close(a.terminated)
	a.stop()
}
