package proc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Group owns children, of the whole program or of one session, and ends them together. The zero value is not ready;
// use [NewGroup].
type Group struct {
	parent *Group
	// guard is that of the outermost group; nil for none.
	guard *guard

	mu       sync.Mutex // guards what follows
	children map[*Process]struct{}
	closed   bool
	// most bounds what Terminate gives a child; zero for no bound.
	most time.Duration

	sweeps sync.WaitGroup
}

// NewGroup returns an empty group. A child of it belongs to parent too, which may be nil: the program's group holds
// what all session groups hold, so that its Close leaves nothing.
func NewGroup(parent *Group) *Group {
	g := &Group{parent: parent, children: make(map[*Process]struct{})}
	if parent != nil {
		g.guard = parent.guard
	}
	return g
}

// guarded returns the guard of a group, which may be nil.
func (g *Group) guarded() *guard {
	if g == nil {
		return nil
	}
	return g.guard
}

// Start is [Start] for a child of this group. After Close it fails with an error that wraps [os.ErrClosed].
func (g *Group) Start(ctx context.Context, opts *Options) (*Process, error) {
	return start(ctx, opts, g)
}

// Len returns how many children have not ended. Background children that outlive their leader count as one.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.children)
}

// Close ends all children side by side, each by [Process.Shutdown] without a goodbye, and refuses new ones. It returns
// when nothing is left: within three times the longest Grace, or soon after ctx has ended, whichever comes first. What does
// not die of a kill is waited for two seconds longer. A guarded group also ends what has got away from its children. It may be
// called twice.
func (g *Group) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	children := make([]*Process, 0, len(g.children))
	for p := range g.children {
		children = append(children, p)
	}
	g.mu.Unlock()

	errs := make([]error, len(children))
	var wg sync.WaitGroup
	for i, p := range children {
		wg.Go(func() { errs[i] = p.Shutdown(ctx, nil) })
	}
	wg.Wait()
	g.sweeps.Wait()
	if g.parent == nil {
		g.guard.end()
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > 0 {
		return fmt.Errorf("ending %d child processes: %w", len(children), errors.Join(errs...))
	}
	return nil
}

// Sweep is the function [Sweep] in the background. Close waits for it.
func (g *Group) Sweep(mark string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.sweeps.Go(func() { Sweep(mark) })
	}
}

// Hasten has no child of the group be given longer than most by [Process.Terminate] from now on, also by one that is under way:
// the program is about to end.
func (g *Group) Hasten(most time.Duration) {
	g.mu.Lock()
	g.most = most
	g.mu.Unlock()
	time.AfterFunc(most, func() {
		g.mu.Lock()
		children := make([]*Process, 0, len(g.children))
		for p := range g.children {
			children = append(children, p)
		}
		g.mu.Unlock()
		for _, p := range children {
			if p.isAsked() {
				p.Kill()
			}
		}
	})
}

// patience is what is left of a grace, here and in all parents.
func (g *Group) patience(grace time.Duration) time.Duration {
	for ; g != nil; g = g.parent {
		g.mu.Lock()
		if g.most > 0 {
			grace = min(grace, g.most)
		}
		g.mu.Unlock()
	}
	return grace
}

// add takes p in, here and in all parents, or reports false when one of them is closed. A nil group takes all.
func (g *Group) add(p *Process) bool {
	if g == nil {
		return true
	}
	if !g.parent.add(p) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		g.parent.remove(p)
		return false
	}
	g.children[p] = struct{}{}
	return true
}

func (g *Group) remove(p *Process) {
	for ; g != nil; g = g.parent {
		g.mu.Lock()
		delete(g.children, p)
		g.mu.Unlock()
	}
}
