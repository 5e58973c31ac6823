package dap

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// endError returns why requests under way fail when the adapter is gone.
func (a *adapter) endError() error {
	t := a.debuggee.tree
	t.mu.Lock()
	e, programOver := a.ending, a.programOver
	t.mu.Unlock()
	switch {
	case e.requested && e.reason != nil:
		return fmt.Errorf("%w: %w", ErrTerminated, e.reason)
	case e.requested, programOver:
		return ErrTerminated
	}
	return fmt.Errorf("%w: %s", ErrAdapterDied, a.describeEnd())
}

// describeEnd describes how the adapter ended.
func (a *adapter) describeEnd() string {
	p := a.transport.proc
	if p == nil {
		return "it closed the connection"
	}
	text := cmp.Or(p.Ended(), "it closed the connection")
	if tail := p.StderrTail(); tail != "" {
		text += "; its stderr ends:\n" + tail
	}
	return text
}

// explain replaces an error of the closed connection with the reason for its end.
func (a *adapter) explain(err error) error {
	lost := a.client.closeError()
	if err == nil || lost == nil {
		return err
	}
	if _, ok := errors.AsType[*RequestError](err); ok {
		return err
	}
	if errors.Is(err, lost) {
		return a.endError()
	}
	return err
}

// startError returns the error for an adapter that was not initialized.
func (a *adapter) startError(err error) error {
	name, path := "debug adapter", a.transport.address
	if spec := a.debuggee.start.Adapter; spec != nil && a.debuggee.start.Address == "" {
		name, path = "debug adapter "+spec.Name, strings.Join(append([]string{spec.Path}, spec.Args...), " ")
	}
	switch lost := a.client.closeError(); {
	case lost != nil && errors.Is(err, lost):
		err = errors.New(a.describeEnd())
	case a.transport.proc != nil:
		if tail := a.transport.proc.StderrTail(); tail != "" {
			err = fmt.Errorf("%w; its stderr ends:\n%s", err, tail)
		}
	}
	return fmt.Errorf("cannot start the %s (%s): %w", name, path, err)
}

func (a *adapter) logDropped(err error) {
	d := a.debuggee
	d.debugger.opts.Log.Debug().Str("debug_session", d.id).Err(err).Msg("dap: dropped a message")
}
