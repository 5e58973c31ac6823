package edits

import (
	"io/fs"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

// How many changes are kept to be undone, and how many bytes of text in all.
const (
	maxUndone     = 20
	maxUndoneSize = 16 << 20
)

// ChangeSet is what one call has changed, as what takes it back.
type ChangeSet struct {
	// What was done, as "Edit a.go".
	What string
	// Ops take the change back, in the order to do them.
	Ops []lsp.FileOperation
	// Bytes are what deleted files held, modes the permissions that they had.
	Bytes map[string][]byte
	Modes map[string]fs.FileMode
	// Never says why the change cannot be undone; empty where it can.
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

// changeSets are the changes of a session that can be undone, the latest last.
type changeSets struct {
	mu   sync.Mutex // guards sets
	sets []*ChangeSet
}

func ChangeSetsOf(call *agent.Call) *changeSets {
	if call.Values == nil {
		return new(changeSets)
	}
	return agent.Value(call.Values, func() *changeSets { return new(changeSets) })
}

// Push keeps a change. The oldest ones go where there are too many, or too much text is in them.
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
	if from == len(c.sets) { // one that is larger than all may be
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

// Drop takes the last change off, if it is s.
func (c *changeSets) Drop(s *ChangeSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.sets); n > 0 && c.sets[n-1] == s {
		c.sets = c.sets[:n-1]
	}
}
