package dap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// death is why what was under way has failed, where the adapter is gone.
func (l *life) death() error {
	s := l.session
	s.tree.mu.Lock()
	wanted, why, over := l.wanted, l.why, l.over
	s.tree.mu.Unlock()
	switch {
	case wanted && why != nil:
		return fmt.Errorf("%w: %w", ErrTerminated, why)
	case wanted, over:
		return ErrTerminated
	}
	return fmt.Errorf("%w: %s", ErrAdapterDied, l.describe())
}

// describe says how the adapter ended.
func (l *life) describe() string {
	p := l.link.proc
	if p == nil {
		return "it closed the connection"
	}
	settle := time.NewTimer(exitSettles)
	defer settle.Stop()
	text := "it closed the connection"
	select {
	case <-p.Done():
		state, _ := p.Wait(context.Background()) // it has ended
		text = "its process " + state.String()
	case <-settle.C:
	}
	if c := complaints(p); c != "" {
		text += "; its stderr ends:\n" + c
	}
	return text
}

// explain words the end of the connection.
func (l *life) explain(err error) error {
	if err == nil || l.client.lost() == nil {
		return err
	}
	if _, ok := errors.AsType[*RequestError](err); ok {
		return err
	}
	if errors.Is(err, l.client.lost()) {
		return l.death()
	}
	return err
}

// explainStart words why an adapter was not initialized.
func (l *life) explainStart(err error) error {
	name, path := "debug adapter", l.link.address
	if spec := l.session.start.Adapter; spec != nil && l.session.start.Address == "" {
		name, path = "debug adapter "+spec.Name, strings.Join(append([]string{spec.Path}, spec.Args...), " ")
	}
	switch lost := l.client.lost(); {
	case lost != nil && errors.Is(err, lost):
		err = errors.New(l.describe())
	case l.link.proc != nil:
		if c := complaints(l.link.proc); c != "" {
			err = fmt.Errorf("%w; its stderr ends:\n%s", err, c)
		}
	}
	return fmt.Errorf("the %s (%s) could not be started: %w", name, path, err)
}

func (l *life) dropped(err error) {
	l.session.debugger.opts.Log.Debug().Str("session", l.session.id).Err(err).Msg("dap: a message was dropped")
}
