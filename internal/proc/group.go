package proc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Group owns the children of the program or of one session, and ends them together. Use [NewGroup] to create one.
type Group struct {
	parent *Group
	// guard is the guard of the outermost group; nil for none.
	guard *guard

	mu       sync.Mutex // guards the fields below
	children map[*Process]struct{}
	closed   bool
	// maxGrace bounds the grace of Terminate; zero for no bound.
	maxGrace time.Duration

	sweeps sync.WaitGroup
}

// NewGroup returns an empty group. Its children also belong to parent, if parent is not nil, so closing the program's group ends
// the children of all sessions.
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

// Len returns the number of children that have not ended. Background children that outlive their leader count as one.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.children)
}

// Close ends all children concurrently with [Process.Shutdown], without a goodbye, and refuses new ones. It returns when no process
// is left: within three times the longest Grace, or soon after ctx has ended. It waits two seconds longer for children that do not
// end after a kill. A guarded group also ends descendants that have left the groups of its children. Close may be called twice.
func (g *Group) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	children := slices.Collect(maps.Keys(g.children))
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

// Sweep calls the function [Sweep] in the background. Close waits for it.
func (g *Group) Sweep(mark string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.sweeps.Go(func() { Sweep(mark) })
	}
}

// Hasten limits the grace of [Process.Terminate] for all children of the group, including calls under way. It is for a program that
// is about to end.
func (g *Group) Hasten(limit time.Duration) {
	g.mu.Lock()
	g.maxGrace = limit
	g.mu.Unlock()
	time.AfterFunc(limit, func() {
		g.mu.Lock()
		children := slices.Collect(maps.Keys(g.children))
		g.mu.Unlock()
		for _, p := range children {
			if p.isTerminating() {
				p.Kill()
			}
		}
	})
}

// limitGrace applies the limits of the group and all parents to a grace.
func (g *Group) limitGrace(grace time.Duration) time.Duration {
	for ; g != nil; g = g.parent {
		g.mu.Lock()
		if g.maxGrace > 0 {
			grace = min(grace, g.maxGrace)
		}
		g.mu.Unlock()
	}
	return grace
}

// add adds p to the group and all parents. It returns false if one of them is closed. It does nothing for a nil group.
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
