package sessions

import (
	"fmt"
	"iter"
	"slices"
)

// fill adds what was read to the log. A parent precedes its children in the file, so there are no cycles.
func (l *logState) fill(c *content) {
	l.begin(c.header)
	l.notices, l.unended = c.notices, c.unended
	l.take(c.entries, c.spans, l.readable())
}

// setFile sets the file from which the log reads entries, and drops those that need not be in memory.
func (l *logState) setFile(f File, size int64) {
	l.file, l.size = f, size
	for i := range l.nodes {
		l.nodes[i].entry = stripped(l.nodes[i].entry)
	}
	l.trim()
}

// stripped returns a message without its details, and any other entry unchanged.
func stripped(e Entry) Entry {
	if m, ok := e.(MessageEntry); ok && m.Message.Details != nil {
		m.Message.Details = nil
		return m
	}
	return e
}

// staysInMemory reports whether an entry stays in memory because the [State] depends on it.
func staysInMemory(e Entry) bool {
	switch e := e.(type) {
	case ModelChange, ThinkingChange, ModeChange, ServiceTierChange, ToolSelection:
		return true
	case Custom:
		switch e.CustomType {
		case customRewind, customClear, CustomPruned, CustomGoal, CustomGoalUse:
			return true
		}
	}
	return false
}

// movesContext reports whether e changes which entries the model receives.
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

// trim drops entries that the model does not receive and that can be read from the file.
func (l *logState) trim() {
	if !l.readable() {
		return
	}
	keep := make([]bool, len(l.nodes))
	for _, i := range l.context() {
		keep[i] = true
	}
	for i := range l.nodes {
		n := &l.nodes[i]
		if n.entry != nil && !keep[i] && !staysInMemory(n.entry) {
			n.entry = nil
		}
	}
}

// entry returns an entry, without a message's details.
func (l *logState) entry(i int32) (Entry, error) {
	if e := l.nodes[i].entry; e != nil {
		return e, nil
	}
	all, err := l.read([]int32{i})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// whole returns entries with their details. places holds their indexes in ascending order.
func (l *logState) whole(places []int32) ([]Entry, error) {
	if l.readable() {
		return l.read(places)
	}
	all := make([]Entry, len(places))
	for k, i := range places {
		all[k] = l.nodes[i].entry
	}
	return all, nil
}

// maxRead is the maximum number of bytes that are read at once from adjacent entries.
const maxRead = 8 << 20

// read reads entries from the file. places holds their indexes in ascending order.
func (l *logState) read(places []int32) ([]Entry, error) {
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
			err = l.checkPlaces(entries, places[:n])
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: it was changed by another program, open the session again: %w", l.path, err)
		}
		all = append(all, entries...)
		places = places[n:]
	}
	return all, nil
}

// Entries returns all entries of the file, oldest first, of all branches. It reads them from the disk.
func (l *Log) Entries() ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all()
}

// all returns all entries of the file with their details.
func (l *logState) all() ([]Entry, error) {
	places := make([]int32, len(l.nodes))
	for i := range places {
		places[i] = int32(i)
	}
	return l.whole(places)
}

// Branch returns the active branch, root first. It reads it from the disk.
func (l *Log) Branch() ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whole(l.pathTo(int32(len(l.nodes) - 1)))
}

// maxWalk is the size of the parts in which Walk reads a file.
const maxWalk = 1 << 20

// Walk returns an iterator over the entries of the conversation at the time of the call, oldest first: those of
// [Log.Branch], starting at the last [Log.Clear]. It reads them from the disk in parts, so its memory use does not
// depend on the session's length. It stops after an error. It does not yield entries that are appended meanwhile.
func (l *Log) Walk() iter.Seq2[Entry, error] {
	l.mu.Lock()
	path := l.pathTo(int32(len(l.nodes) - 1))
	for k, i := range slices.Backward(path) {
		if isClear(l.nodes[i].entry) {
			path = path[k:]
			break
		}
	}
	l.mu.Unlock()
	return func(yield func(Entry, error) bool) {
		for rest := path; len(rest) > 0; {
			part, err := l.part(rest)
			if err != nil {
				yield(nil, err)
				return
			}
			rest = rest[len(part):]
			for _, e := range part {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// part reads as many of the given entries as fit into one chunk, from the first, but at least one.
func (l *Log) part(places []int32) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, size := 1, int64(l.nodes[places[0]].size)
	for n < len(places) {
		if size += int64(l.nodes[places[n]].size); size > maxWalk {
			break
		}
		n++
	}
	return l.whole(places[:n])
}
