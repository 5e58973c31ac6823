package tools

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

// changeSet is what one call has changed, as what takes it back.
type changeSet struct {
	// what was done, as "Edit a.go".
	what string
	// ops take the change back, in the order to do them.
	ops []lsp.FileOperation
	// bytes are what deleted files held, modes the permissions that they had.
	bytes map[string][]byte
	modes map[string]fs.FileMode
	// never says why the change cannot be undone; empty where it can.
	never string
}

func (s *changeSet) size() int {
	n := 0
	for i := range s.ops {
		n += len(s.ops[i].Old) + len(s.ops[i].New)
	}
	for _, b := range s.bytes {
		n += len(b)
	}
	return n
}

// changeSets are the changes of a session that can be undone, the latest last.
type changeSets struct {
	mu   sync.Mutex // guards sets
	sets []*changeSet
}

func changeSetsOf(call *agent.Call) *changeSets {
	if call.Kept == nil {
		return new(changeSets)
	}
	return agent.Keep(call.Kept, func() *changeSets { return new(changeSets) })
}

// push keeps a change. The oldest ones go where there are too many, or too much text is in them.
func (c *changeSets) push(s *changeSet) {
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
		c.sets = []*changeSet{{what: s.what, never: "it is too large"}}
		return
	}
	c.sets = append([]*changeSet(nil), c.sets[from:]...)
}

func (c *changeSets) last() *changeSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sets) == 0 {
		return nil
	}
	return c.sets[len(c.sets)-1]
}

// drop takes the last change off, if it is s.
func (c *changeSets) drop(s *changeSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.sets); n > 0 && c.sets[n-1] == s {
		c.sets = c.sets[:n-1]
	}
}
