package sessions

import (
	"errors"
	"fmt"
	"slices"
)

// node is an entry of a log: its place in the tree and in the file, and what it says where that is needed often.
type node struct {
	id   string
	kind Kind
	// parent is the entry that this one follows; -1 for a root.
	parent int32
	span
	// entry is nil where only the file has it. That of a message lacks its details, but in a view.
	entry Entry
}

// span is where a line stands in a file, without its newline.
type span struct {
	at   int64
	size int32
}

// fill takes over what was read. It links the tree: a parent stands before its child, so there are no cycles.
func (l *Log) fill(c *content) {
	l.begin(c.header)
	l.notices, l.unended = c.notices, c.unended
	l.take(c.entries, c.spans)
}

// begin makes a log empty.
func (l *Log) begin(h Header) {
	l.header = h
	l.byID = make(map[string]int32)
	l.labels = make(map[string]string)
	l.about = aboutHeader(&l.header)
}

// take adds entries that were read.
func (l *Log) take(entries []Entry, spans []span) {
	for i, e := range entries {
		ref := e.Ref()
		if _, twice := l.byID[ref.ID]; twice {
			l.notices = append(l.notices, fmt.Sprintf("two entries are called %s; what follows them follows the second one", ref.ID))
		}
		if ref.ParentID != "" {
			if _, ok := l.byID[ref.ParentID]; !ok {
				l.notices = append(l.notices, fmt.Sprintf(
					"entry %s follows %s, which is not in the file before it; what came before it is not reachable", ref.ID, ref.ParentID,
				))
			}
		}
		l.link(e, spans[i])
	}
}

func (l *Log) link(e Entry, where span) {
	ref := e.Ref()
	n := node{id: ref.ID, kind: e.Kind(), parent: -1, span: where, entry: e}
	if i, ok := l.byID[ref.ParentID]; ok {
		n.parent = i
	}
	l.latest = later(l.latest, ref.Time)
	l.about.add(e)
	l.uses = addUse(l.uses, e)
	l.calls.add(e)
	if label, ok := e.(Label); ok {
		if label.Label == "" {
			delete(l.labels, label.TargetID)
		} else {
			l.labels[label.TargetID] = label.Label
		}
	}
	if l.readable() {
		n.entry = stripped(e)
	}
	l.byID[ref.ID] = int32(len(l.nodes))
	l.nodes = append(l.nodes, n)
}

// opened takes note of that the log can read its file from now on, and keeps no more in memory than it needs.
func (l *Log) opened(f File, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file, l.size = f, size
	for i := range l.nodes {
		l.nodes[i].entry = stripped(l.nodes[i].entry)
	}
	l.trimLocked()
}

// readable reports whether what is not in memory can be read from the file.
func (l *Log) readable() bool { return l.file != nil }

// stripped is a message without what only people are shown of it.
func stripped(e Entry) Entry {
	if m, ok := e.(MessageEntry); ok && m.Message.Details != nil {
		m.Message.Details = nil
		return m
	}
	return e
}

// staysInMemory reports whether an entry is kept whatever the model sees: it says how the session stands.
func staysInMemory(e Entry) bool {
	switch e := e.(type) {
	case ModelChange, ThinkingChange, ModeChange, ServiceTierChange, ToolSelection:
		return true
	case Custom:
		switch e.CustomType {
		case customRewind, customClear, CustomPruned:
			return true
		}
	}
	return false
}

// movesContext reports whether the context is another one behind e.
func movesContext(e Entry) bool {
	switch e := e.(type) {
	case Compaction:
		return true
	case Custom:
		return e.CustomType == customRewind || e.CustomType == customClear
	case BranchSummary:
		return true
	}
	return false
}

// trimLocked drops what can be read from the file again and what no model sees.
func (l *Log) trimLocked() {
	if !l.readable() {
		return
	}
	keep := make([]bool, len(l.nodes))
	for _, i := range l.contextLocked() {
		keep[i] = true
	}
	for i := range l.nodes {
		n := &l.nodes[i]
		if n.entry != nil && !keep[i] && !staysInMemory(n.entry) {
			n.entry = nil
		}
	}
}

// entryLocked returns an entry, without a message's details.
func (l *Log) entryLocked(i int32) (Entry, error) {
	if e := l.nodes[i].entry; e != nil {
		return e, nil
	}
	all, err := l.readLocked([]int32{i})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// wholeLocked returns entries as the file has them. The places are in ascending order.
func (l *Log) wholeLocked(places []int32) ([]Entry, error) {
	if l.readable() {
		return l.readLocked(places)
	}
	all := make([]Entry, len(places))
	for k, i := range places {
		all[k] = l.nodes[i].entry
	}
	return all, nil
}

// maxRead is how much of a file is read at once, where entries stand side by side.
const maxRead = 8 << 20

// readLocked reads entries from the file. The places are in ascending order.
func (l *Log) readLocked(places []int32) ([]Entry, error) {
	if l.closed {
		return nil, ErrClosed
	}
	all := make([]Entry, 0, len(places))
	for len(places) > 0 {
		first := l.nodes[places[0]].span
		n := 1
		for n < len(places) && l.nodes[places[n]].end()-first.at <= maxRead {
			n++
		}
		buf := make([]byte, l.nodes[places[n-1]].end()-first.at)
		if _, err := l.file.ReadAt(buf, first.at); err != nil {
			return nil, fmt.Errorf("reading %s: %w", l.path, err)
		}
		lines := make([]line, n)
		for k, i := range places[:n] {
			s := l.nodes[i].span
			from := s.at - first.at
			lines[k] = line{text: buf[from : from+int64(s.size)], at: s.at}
		}
		entries, _, err := decodeLines(lines, l.store.readBlob)
		if err == nil {
			err = l.sameLocked(entries, places[:n])
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: it was changed by another program, open the session again: %w", l.path, err)
		}
		all = append(all, entries...)
		places = places[n:]
	}
	return all, nil
}

func (s span) end() int64 { return s.at + int64(s.size) }

var errOther = errors.New("another entry stands there")

func (l *Log) sameLocked(entries []Entry, places []int32) error {
	for k, e := range entries {
		if e.Ref().ID != l.nodes[places[k]].id {
			return errOther
		}
	}
	return nil
}

// Entries returns all entries of the file, oldest first, those of left branches too. It reads them from the disk.
func (l *Log) Entries() ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	places := make([]int32, len(l.nodes))
	for i := range places {
		places[i] = int32(i)
	}
	return l.wholeLocked(places)
}

// Branch returns the active branch: the last entry and all that lead to it, the root first. It reads them from the
// disk.
func (l *Log) Branch() ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wholeLocked(l.pathLocked(int32(len(l.nodes) - 1)))
}

// pathLocked returns the places of the entries from the root to leaf, which is -1 for none.
func (l *Log) pathLocked(leaf int32) []int32 {
	var path []int32
	for i := leaf; i >= 0; i = l.nodes[i].parent {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}
