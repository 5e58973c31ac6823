// Package permit carries the leave to act: what reads and changes files, starts programs and connects to hosts asks the permit of its
// context first. The zero Permit, and a context without one, permit nothing.
package permit

import (
	"context"
	"errors"
	"fmt"
)

// Action is a kind of effect.
type Action string

// The actions.
const (
	Read   Action = "read"
	Look   Action = "look" // at names and attributes, not at contents
	Change Action = "change"
	Run    Action = "run"
	Reach  Action = "reach"
)

// Effect describes what is about to happen.
type Effect struct {
	Action Action
	// Path is the absolute path that is read or changed, or the program that is started.
	Path string
	// Host names what is reached; empty for places that the one who asks does not know.
	Host string
}

// ErrNone is wrapped by the error for an effect without a permit.
var ErrNone = errors.New("nothing has permitted this step; this is a mistake in gjc, please report it")

// Holder decides on effects.
type Holder interface {
	// Check returns an error if the effect is not permitted.
	Check(e Effect) error
}

// Permit is the leave of a call, or of gjc's own work.
type Permit struct {
	holder Holder
	record *Record // nil for none
}

// New returns a permit on which a holder decides.
func New(h Holder) Permit { return Permit{holder: h} }

// Check returns an error if the effect is not permitted.
func (p Permit) Check(e Effect) error {
	if p.holder == nil {
		return fmt.Errorf("%s %s%s: %w", e.Action, e.Path, e.Host, ErrNone)
	}
	if err := p.holder.Check(e); err != nil {
		return err
	}
	if p.record != nil {
		p.record.add(e)
	}
	return nil
}

// Recorded returns the permit with a record of the effects that it permits.
func (p Permit) Recorded(r *Record) Permit {
	p.record = r
	return p
}

// Holder returns what decides on the permit; nil for the zero Permit.
func (p Permit) Holder() Holder { return p.holder }

// own permits everything.
type own struct{}

func (own) Check(Effect) error { return nil }

// Own returns a permit for what gjc does by itself and no model has chosen: reading its configuration, asking language servers, removing
// its temporary files.
func Own() Permit { return Permit{holder: own{}} }

// preparation is the leave of a call that has not been decided on.
type preparation struct{ helper func(path string) bool }

func (p preparation) Check(e Effect) error {
	if e.Action == Read || e.Action == Look || e.Action == Run && p.helper(e.Path) {
		return nil
	}
	return fmt.Errorf("%s %s%s while the call was planned: %w", e.Action, e.Path, e.Host, ErrNone)
}

// Preparation returns a permit for finding out what a call would do: reading, and running the programs that helper reports. What is read
// must not be shown before the call has been decided on.
func Preparation(helper func(path string) bool) Permit { return Permit{holder: preparation{helper}} }

type key struct{}

// With returns a context with a permit, which replaces that of ctx.
func With(ctx context.Context, p Permit) context.Context { return context.WithValue(ctx, key{}, p) }

// From returns the permit of a context.
func From(ctx context.Context) Permit {
	p, _ := ctx.Value(key{}).(Permit)
	return p
}

// Check asks the permit of a context.
func Check(ctx context.Context, e Effect) error { return From(ctx).Check(e) }
