package agent

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// lineage links a session with its ancestors. In the outermost session only tree is set. It does not change, except for
// the budget, which belongs to the actor.
type lineage struct {
	tree *taskTree
	// parent is the turn that has started the session; depth counts those above.
	parent *Turn
	depth  int
	helper *Helper
	// kept is the parent's record of the session.
	kept *child
	// readOnly keeps it in plan mode.
	readOnly bool
	slot     *taskSlot
	// finishing reports that the session was asked to finish because its budget is used up; left counts the requests
	// that it has left.
	finishing bool
	left      int
}

// taskTree is shared by a session and all its descendants.
type taskTree struct {
	slots chan struct{} // holds a token for each child that works

	mu   sync.Mutex // guards told
	told map[string]bool
}

func newTaskTree(set *TaskSettings) *taskTree {
	return &taskTree{slots: make(chan struct{}, cmp.Or(set.MaxConcurrency, defaultTaskConcurrency)), told: make(map[string]bool)}
}

// first reports whether text has not been reported yet.
func (t *taskTree) first(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.told[text]
	t.told[text] = true
	return first
}

// taskSlot is a child's place among those that work. A child that waits for its own children lends its place; otherwise
// waiting children could hold all places.
type taskSlot struct {
	tree *taskTree
	lock chan struct{} // holds a token while a place is given back or taken
	// lent counts the calls that wait; held reports that the child has its place. The lock guards both.
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

// lend makes the place available until it is taken back. It is a no-op for a session that is no child.
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

// takeBack ends lend. If ctx ends first, the child continues without a place, because it is ending.
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

// release gives up the child's place.
func (s *taskSlot) release() {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.giveBack()
}

// maxDepth returns the maximum depth of children below the outermost session.
func maxDepth(s *Session) int { return cmp.Or(s.settings.Tasks.MaxDepth, defaultTaskDepth) }

// finishRequests is the number of requests that a child has to finish.
const finishRequests = 3

// spentTokens returns the tokens that count for a budget: those not read from a cache.
func spentTokens(uses []sessions.Use) int {
	u := usageOf(uses)
	return u.Input + u.CacheWrite + u.Output
}

// withinBudget reports whether a child may ask its model again. A child that has used its budget is asked to finish,
// and has a few requests for that.
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

// up runs fn on the goroutine that emits the outermost session's events, and waits, unless an ancestor's turn is over.
// In the outermost session the actor must call it.
func (s *Session) up(fn func()) {
	if s.parent == nil {
		fn()
		return
	}
	_ = s.parent.do(func(*state) error { // a turn that is over emits nothing
		s.parent.session.up(fn)
		return nil
	})
}

// cancelAll ends the turn and its ancestors' turns.
func (t *Turn) cancelAll() {
	for ; t != nil; t = t.session.parent {
		t.Cancel()
	}
}
