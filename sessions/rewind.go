package sessions

import "fmt"

// customRewind is the type of the [Custom] entries that [Log.Rewind] leaves.
const customRewind = "gjc.rewind"

// Leaf returns the id of the last entry, which the next one follows; empty for a session without entries.
func (l *Log) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.entries); n > 0 {
		return l.entries[n-1].Ref().ID
	}
	return ""
}

// Rewind makes the conversation go on from the entry called id, or from the beginning where id is empty: what came
// behind it stays in the file as a branch of its own. It leaves an entry, because the last one of a file is where a
// session stands. An id that is not in the file gives an [ErrNotFound].
func (l *Log) Rewind(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.byID[id]; !ok && id != "" {
		return fmt.Errorf("%w: it has no entry %.80q", ErrNotFound, id)
	}
	_, err := l.appendLocked(Custom{CustomType: customRewind}, id)
	return err
}
