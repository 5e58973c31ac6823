package sessions

import (
	"hash/maphash"

	"github.com/gajae-code/gjc/providers"
)

// callIDs is the ids of all tool calls of a log, on all branches, as hashes. The zero value is empty.
type callIDs struct {
	seed   maphash.Seed
	hashes map[uint64]struct{}
}

func (c *callIDs) add(e Entry) {
	m, ok := e.(MessageEntry)
	if !ok {
		return
	}
	if m.Message.Role == providers.RoleTool {
		c.put(m.Message.ToolCallID) // its call may be missing
		return
	}
	for _, p := range m.Message.Parts {
		if call, ok := p.(providers.ToolCall); ok {
			c.put(call.ID)
		}
	}
}

func (c *callIDs) put(id string) {
	if c.hashes == nil {
		c.seed, c.hashes = maphash.MakeSeed(), make(map[uint64]struct{})
	}
	c.hashes[maphash.String(c.seed, id)] = struct{}{}
}

func (c *callIDs) has(id string) bool {
	if c.hashes == nil {
		return false
	}
	_, ok := c.hashes[maphash.String(c.seed, id)]
	return ok
}

// HasCall reports whether the log has a tool call of that id, on any branch, compacted or cleared since. It may report one
// that the log does not have, as rarely as hashes of 64 bits collide.
func (l *Log) HasCall(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls.has(id)
}
