package sessions

import (
	"fmt"
	"slices"
)

// The types of the [Custom] entries that [Log.Rewind] and [Log.Clear] leave. Other programs know the second one.
const (
	customRewind = "gjc.rewind"
	customClear  = "context_clear"
)

// Leaf returns the id of the last entry, which the next one follows; empty for a session without entries.
func (l *Log) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leafLocked()
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

// Clear empties the conversation: [Log.Messages] and [Log.Branch] begin anew behind it. What was said stays in the
// file, and the model, the mode and all else that [Log.State] tells stay as they are. Where there is nothing to clear
// it does nothing.
func (l *Log) Clear() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.branchLocked(), inContext) {
		return l.writableLocked()
	}
	_, err := l.appendLocked(Custom{CustomType: customClear}, "")
	return err
}

// inContext reports whether a model sees anything of e.
func inContext(e Entry) bool {
	_, compacted := e.(Compaction)
	_, message := contextMessage(e)
	return compacted || message
}

func isClear(e Entry) bool {
	c, ok := e.(Custom)
	return ok && c.CustomType == customClear
}
