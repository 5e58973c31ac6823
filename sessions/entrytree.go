package sessions

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// entryTree holds the entries of a session in memory.
type entryTree struct {
	header  Header
	nodes   []node
	byID    map[string]int32  // index of the last entry with that ID
	labels  map[string]string // by entry ID
	about   about
	uses    []Use
	calls   callIDs
	latest  time.Time // time of the latest entry
	notices []string
}

// history returns the branch that ends with leaf. If the branch begins with a [Log.Clear], the result includes the branch before
// that.
func (l *entryTree) history(leaf int32) []int32 {
	var history []int32
	for i := leaf; i >= 0; {
		history = append(history, i)
		if l.nodes[i].parent < 0 && isClear(l.nodes[i].entry) {
			i-- // a clear directly follows the leaf at the time of the call
		} else {
			i = l.nodes[i].parent
		}
	}
	slices.Reverse(history)
	return history
}

func (l *entryTree) leaf() string {
	if n := len(l.nodes); n > 0 {
		return l.nodes[n-1].id
	}
	return ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// newID returns an entry ID that does not occur in the file.
func (l *entryTree) newID() string {
	for {
		id := randomHex(4)
		if _, taken := l.byID[id]; !taken {
			return id
		}
	}
}

// node is an entry of a log: its place in the tree and in the file, and the entry itself if it is in memory.
type node struct {
	id   string
	kind Kind
	// parent is the index of the parent; -1 for a root.
	parent int32
	span
	// entry is nil if it is only in the file. A message lacks its details, except in a view.
	entry Entry
}

// span is the position of a line in a file, without its newline.
type span struct {
	at   int64
	size int32
}

// begin resets the tree to an empty one.
func (l *entryTree) begin(h Header) {
	l.header = h
	l.byID = make(map[string]int32)
	l.labels = make(map[string]string)
	l.about = aboutHeader(&l.header)
}

// take adds entries that were read from the file. See link for strip.
func (l *entryTree) take(entries []Entry, spans []span, strip bool) {
	for i, e := range entries {
		ref := e.Ref()
		if _, twice := l.byID[ref.ID]; twice {
			l.notices = append(l.notices, fmt.Sprintf("two entries have the ID %s; entries after them follow the second one", ref.ID))
		}
		if ref.ParentID != "" {
			if _, ok := l.byID[ref.ParentID]; !ok {
				l.notices = append(l.notices, fmt.Sprintf(
					"entry %s follows %s, which does not precede it in the file; earlier entries are unreachable", ref.ID, ref.ParentID,
				))
			}
		}
		l.link(e, spans[i], strip)
	}
}

// link adds an entry to the tree. With strip, a message is kept without its details.
func (l *entryTree) link(e Entry, where span, strip bool) {
	ref := e.Ref()
	n := node{id: ref.ID, kind: e.Kind(), parent: -1, span: where, entry: e}
	if i, ok := l.byID[ref.ParentID]; ok {
		n.parent = i
	}
	l.latest = later(l.latest, ref.Time)
	l.about.add(e)
	l.uses = AddEntry(l.uses, e)
	l.calls.add(e)
	if label, ok := e.(Label); ok {
		if label.Label == "" {
			delete(l.labels, label.TargetID)
		} else {
			l.labels[label.TargetID] = label.Label
		}
	}
	if strip {
		n.entry = stripped(e)
	}
	l.byID[ref.ID] = int32(len(l.nodes))
	l.nodes = append(l.nodes, n)
}

func (s span) end() int64 { return s.at + int64(s.size) }

var errOther = errors.New("unexpected entry in its place")

func (l *entryTree) checkPlaces(entries []Entry, places []int32) error {
	for k, e := range entries {
		if e.Ref().ID != l.nodes[places[k]].id {
			return errOther
		}
	}
	return nil
}

// pathTo returns the places of the entries from the root to leaf. A leaf of -1 stands for none.
func (l *entryTree) pathTo(leaf int32) []int32 {
	var path []int32
	for i := leaf; i >= 0; i = l.nodes[i].parent {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

// checkEntry returns [ErrNotFound] for an unknown entry ID. An empty ID stands for the start of the session.
func (l *entryTree) checkEntry(id string) error {
	if _, ok := l.byID[id]; !ok && id != "" {
		return fmt.Errorf("%w: it has no entry %.80q", ErrNotFound, id)
	}
	return nil
}

// callIDs is the set of the IDs of all tool calls of a log, in all branches, as hashes. The zero value is empty.
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
		c.put(m.Message.ToolCallID) // the call itself may be missing
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

// HasCall reports whether the log has a tool call with this ID, in any branch, including compacted and cleared ones.
// Since IDs are compared by 64-bit hashes, a false positive is possible but very unlikely.
func (l *Log) HasCall(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls.has(id)
}
