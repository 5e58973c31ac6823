// Package isolation keeps the worktrees in which helper agents work, until their changes are merged or stored in branches.
package isolation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/internal/worktree"
)

// Trees holds the worktrees of a session's helpers, as one of its values. At the end of the session, the changes in those that are left
// become branches. It is safe for concurrent use.
type Trees struct {
	notice func(title, detail string)

	alone chan struct{} // holds a token while changes are merged

	mu  sync.Mutex // guards all, and the field works of each
	all []*Tree
}

// NewTrees returns the worktrees of a session, which has none. notice receives texts for the user; it may be nil.
func NewTrees(notice func(title, detail string)) *Trees {
	return &Trees{notice: notice, alone: make(chan struct{}, 1)}
}

// Add adds the worktree of a helper that begins to work. title describes its task. disposable says that changes that are not merged need not
// be kept when the session ends.
func (s *Trees) Add(t *Tree, name, title string, disposable bool) {
	t.trees, t.name, t.title, t.works, t.disposable = s, name, title, true, disposable
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, t)
}

// Rest records that the helper of a worktree has ended.
func (s *Trees) Rest(t *Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.works = false
}

// Resume returns the worktree in which a helper has ended, for more work; nil if there is none.
func (s *Trees) Resume(name string) *Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		if strings.EqualFold(t.name, name) && !t.works {
			t.works = true
			return t
		}
	}
	return nil
}

// Alone waits until no other call of Alone lasts. The caller must call over.
func (s *Trees) Alone(ctx context.Context) (over func(), err error) {
	select {
	case s.alone <- struct{}{}:
		return func() { <-s.alone }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Trees) drop(t *Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(other *Tree) bool { return other == t })
}

// list returns the worktrees, the oldest first.
func (s *Trees) list() []*Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// Of returns the worktree of the helper with a name, which has ended. The error lists the helpers that have one.
func (s *Trees) Of(name string) (*Tree, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, t := range s.all {
		switch {
		case !strings.EqualFold(t.name, name):
			names = append(names, t.name)
		case t.works:
			return nil, fmt.Errorf("the helper %s is still working; wait for its report", t.name)
		default:
			return t, nil
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no changes of the helper %q are to be merged: there is no worktree; its changes have been merged, or are on a branch", text.Truncate(name, 60))
	}
	return nil, fmt.Errorf("no changes of the helper %q are to be merged; these have a worktree: %s", text.Truncate(name, 60), strings.Join(names, ", "))
}

// Notify shows a text to the user.
func (s *Trees) Notify(title, detail string) {
	if s.notice != nil {
		s.notice(title, detail)
	}
}

// store stores the changes of a helper in a branch, and notifies the user.
func (s *Trees) store(ctx context.Context, t *Tree) {
	about, err := t.Branch(ctx)
	switch {
	case err != nil:
		s.Notify("The changes of the helper "+t.name+" are not merged.", err.Error())
	case about != "":
		s.Notify("The changes of the helper "+t.name+" are not merged, but on a branch.", about)
	}
}

// Close implements [agent.ValueCloser].
func (s *Trees) Close(ctx context.Context) {
	for _, t := range s.list() {
		if !t.disposable {
			s.store(ctx, t)
		} else if err := t.Remove(ctx); err != nil {
			s.Notify("The worktree of the helper "+t.name+" is not removed.", err.Error())
		}
	}
}

// Leftover describes the worktree of a process that was killed.
func Leftover(l *worktree.Left) string {
	path, source := trust.Printable(l.Path), trust.Printable(l.Source)
	if l.Err != nil {
		return fmt.Sprintf("the worktree %s is left of an earlier run and cannot be removed: %v", path, l.Err)
	}
	return fmt.Sprintf("an earlier run has left %s in the worktree %s of %s; when you need it no longer, remove it: git -C %s worktree remove --force %s",
		text.Count(l.Changed, "changed file"), path, source, source, path)
}
