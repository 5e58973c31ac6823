package edits

import (
	"io/fs"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

// Limits of the changes kept for undo: their number, and the bytes of all their texts.
const (
	maxUndone     = 20
	maxUndoneSize = 16 << 20
)

// ChangeSet holds the changes that one call made, as operations that reverse them.
type ChangeSet struct {
	// What names the change, such as "Edit a.go".
	What string
	// Ops reverse the change, in this order.
	Ops []lsp.FileOperation
	// Bytes are the contents of deleted files, and Modes are their permissions.
	Bytes map[string][]byte
	Modes map[string]fs.FileMode
	// Never is the reason why the change cannot be undone, or "".
	Never string
}

func (s *ChangeSet) size() int {
	n := 0
	for i := range s.Ops {
		n += len(s.Ops[i].Old) + len(s.Ops[i].New)
	}
	for _, b := range s.Bytes {
		n += len(b)
	}
	return n
}

// changeSets holds the changes of a session that can be undone, the latest last.
type changeSets struct {
	mu   sync.Mutex // guards sets
	sets []*ChangeSet
}

// ChangeSetsOf returns the changes of the session of call. For a call without a session it returns an empty list that is not kept.
func ChangeSetsOf(call *agent.Call) *changeSets {
	if call.Values == nil {
		return new(changeSets)
	}
	return agent.Value(call.Values, func() *changeSets { return new(changeSets) })
}

// Push adds a change. It drops the oldest ones if there are too many or their texts are too large.
func (c *changeSets) Push(s *ChangeSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sets = append(c.sets, s)
	size, from := 0, len(c.sets)
	for from > 0 && len(c.sets)-from < maxUndone {
		if size += c.sets[from-1].size(); size > maxUndoneSize {
			break
		}
		from--
	}
	if from == len(c.sets) { // a single change that is too large
		c.sets = []*ChangeSet{{What: s.What, Never: "it is too large"}}
		return
	}
	c.sets = append([]*ChangeSet(nil), c.sets[from:]...)
}

func (c *changeSets) Last() *ChangeSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sets) == 0 {
		return nil
	}
	return c.sets[len(c.sets)-1]
}

// Drop removes the last change if it is s.
func (c *changeSets) Drop(s *ChangeSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.sets); n > 0 && c.sets[n-1] == s {
		c.sets = c.sets[:n-1]
	}
}
