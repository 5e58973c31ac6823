package agent

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// lineage is what a session has from those above it. Of one that is no child all but tree is zero. It does not change, but for
// the budget, which is the actor's.
type lineage struct {
	tree *taskTree
	// parent is the turn that has started the session; depth counts those above.
	parent *Turn
	depth  int
	helper *Helper
	// kept is how the parent knows the session.
	kept *child
	// readOnly keeps it in plan mode.
	readOnly bool
	slot     *taskSlot
	// finishing says that the session was told that its budget is used up, left how many requests it has since.
	finishing bool
	left      int
}

// taskTree is what a session shares with all children below it.
type taskTree struct {
	slots chan struct{} // holds a token for each child that works

	mu   sync.Mutex // guards told
	told map[string]bool
}

func newTaskTree(set *TaskSettings) *taskTree {
	return &taskTree{slots: make(chan struct{}, cmp.Or(set.MaxConcurrency, DefaultTaskConcurrency)), told: make(map[string]bool)}
}

// first reports whether text has not been told yet.
func (t *taskTree) first(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.told[text]
	t.told[text] = true
	return first
}

// taskSlot is a child's place among those that work. A child that waits for its own children lends it: otherwise those that
// wait could hold all places, and nobody would work.
type taskSlot struct {
	tree *taskTree
	lock chan struct{} // holds a token while a place is given back or taken
	// lent counts the calls that wait; held says that the place is the child's. Both are for who has the lock.
	lent int
	held bool
}

// take waits for a place.
func (t *taskTree) take(ctx context.Context) (*taskSlot, error) {
	s := &taskSlot{tree: t, lock: make(chan struct{}, 1)}
	s.retake(ctx)
	if !s.held {
		return nil, context.Cause(ctx)
	}
	return s, nil
}

func (s *taskSlot) retake(ctx context.Context) {
	select {
	case s.tree.slots <- struct{}{}:
		s.held = true
	case <-ctx.Done():
	}
}

func (s *taskSlot) giveBack() {
	if s.held {
		<-s.tree.slots
		s.held = false
	}
}

// lend gives the place to others until it is taken back. A session that is no child has none to lend.
func (s *taskSlot) lend() {
	if s == nil {
		return
	}
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.lent++; s.lent == 1 {
		s.giveBack()
	}
}

// takeBack ends lend. Where ctx ends first the child goes on without a place: it is ending.
func (s *taskSlot) takeBack(ctx context.Context) {
	if s == nil {
		return
	}
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.lent--; s.lent == 0 {
		s.retake(ctx)
	}
}

// release ends the child's part in the work.
func (s *taskSlot) release() {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.giveBack()
}

// maxDepth is how deep children go below the outermost session.
func maxDepth(s *Session) int { return cmp.Or(s.settings.Tasks.MaxDepth, DefaultTaskDepth) }

// finishRequests is how many requests a child has to finish in.
const finishRequests = 3

// spentTokens is what a budget counts: what a model had to work through anew.
func spentTokens(uses []sessions.Use) int {
	u := usageOf(uses)
	return u.Input + u.CacheWrite + u.Output
}

// withinBudget reports whether a child may ask its model again. One that has used its budget is told to finish, and has a few
// requests for that.
func (t *requester) withinBudget() bool {
	s := t.session
	most := s.settings.Tasks.MaxTokens
	if !s.child || most <= 0 {
		return true
	}
	within := true
	_ = t.do(func(st *state) error { // a turn that is over ends by itself
		switch {
		case spentTokens(st.uses) < most:
		case !s.finishing:
			s.finishing, s.left = true, finishRequests-1
			st.turn.steers = append(st.turn.steers, []providers.Part{providers.Text{Text: fmt.Sprintf(
				"You have used your budget of %d tokens. Call no more tools: write your report now, with what you know and what is left to do.", most,
			)}})
		case s.left == 0:
			within = false
		default:
			s.left--
		}
		return nil
	})
	return within
}

// up runs fn where the outermost session tells its events, and waits, unless a turn above is over. Of the outermost session it
// must run on the actor.
func (s *Session) up(fn func()) {
	if s.parent == nil {
		fn()
		return
	}
	_ = s.parent.do(func(*state) error { // what is over has nothing to tell
		s.parent.session.up(fn)
		return nil
	})
}

// cancelAll ends the turn and those above that wait for it.
func (t *Turn) cancelAll() {
	for ; t != nil; t = t.session.parent {
		t.Cancel()
	}
}
