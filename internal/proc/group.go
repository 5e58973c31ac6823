package proc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Group owns children, of the whole program or of one session, and ends them together. The zero value is not ready;
// use [NewGroup].
type Group struct {
	parent *Group

	mu       sync.Mutex // guards what follows
	children map[*Process]struct{}
	closed   bool
}

// NewGroup returns an empty group. A child of it belongs to parent too, which may be nil: the program's group holds
// what all session groups hold, so that its Close leaves nothing.
func NewGroup(parent *Group) *Group {
	return &Group{parent: parent, children: make(map[*Process]struct{})}
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
// not die of a kill is waited for two seconds longer.
// It may be called twice.
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
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > 0 {
		return fmt.Errorf("ending %d child processes: %w", len(children), errors.Join(errs...))
	}
	return nil
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
