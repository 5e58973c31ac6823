package sessions

import (
	"iter"
	"slices"
)

// maxWalk is the size of the parts in which a walk reads a file.
const maxWalk = 1 << 20

// Walk yields the entries of the conversation as it is at the call, the first one first: those of [Log.Branch], from the last
// [Log.Clear] on. It reads them from the disk part by part, so that a long session costs no more memory than a short one. An
// error ends the walk. What is appended meanwhile is not part of it.
func (l *Log) Walk() iter.Seq2[Entry, error] {
	l.mu.Lock()
	path := l.pathLocked(int32(len(l.nodes) - 1))
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

// part reads the first of some entries, at least one.
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
	return l.wholeLocked(places[:n])
}
