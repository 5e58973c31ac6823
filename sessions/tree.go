package sessions

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gajae-code/gjc/providers"
)

// The types of the [Custom] entries that [Log.Rewind] and [Log.Clear] leave. Other programs know the second one.
const (
	customRewind = "gjc.rewind"
	customClear  = "context_clear"
)

// fromRoot is [BranchSummary].FromID of a branch that begins before the first entry.
const fromRoot = "root"

// Leaf returns the id of the last entry, which the next one follows; empty for a session without entries.
func (l *Log) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaf()
}

// Rewind makes the conversation go on from the entry called id, or from the beginning where id is empty: what came
// behind it stays in the file as a branch of its own. It leaves an entry, because the last one of a file is where a
// session stands. An id that is not in the file gives an [ErrNotFound].
func (l *Log) Rewind(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkEntry(id); err != nil {
		return err
	}
	_, err := l.append(Custom{CustomType: customRewind}, id)
	return err
}

// BranchWithSummary is [Log.Rewind] with a summary of what is left, which a model sees. It returns the summary's id;
// its FromID is filled in.
func (l *Log) BranchWithSummary(id string, summary BranchSummary) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkEntry(id); err != nil {
		return "", err
	}
	if summary.FromID = id; id == "" {
		summary.FromID = fromRoot
	}
	return l.append(summary, id)
}

// Clear empties the conversation: [Log.Messages] and [Log.Branch] begin anew behind it. What was said stays in the
// file, and the model, the mode and all else that [Log.State] tells stay as they are. Where there is nothing to clear
// it does nothing.
func (l *Log) Clear() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.context()) == 0 {
		return l.checkWritable()
	}
	_, err := l.append(Custom{CustomType: customClear}, "")
	return err
}

func isClear(e Entry) bool {
	c, ok := e.(Custom)
	return ok && c.CustomType == customClear
}

// SetLabel names an entry for people, or takes the name away where label is empty. An id that is not in the file gives
// an [ErrNotFound].
func (l *Log) SetLabel(id, label string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.byID[id]; !ok {
		return fmt.Errorf("%w: it has no entry %.80q", ErrNotFound, id)
	}
	if l.labels[id] == label {
		return l.checkWritable()
	}
	_, err := l.append(Label{TargetID: id, Label: label}, l.leaf())
	return err
}

// Labels returns the names of entries, by id.
func (l *Log) Labels() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.labels)
}

// TreeNode is an entry with what follows it.
type TreeNode struct {
	Entry Entry
	// Children are what follows, oldest first.
	Children []*TreeNode
	// Label is the entry's name; empty for none.
	Label string
	// Active says that the entry is part of the active branch.
	Active bool
}

// Tree returns the entries that follow none, oldest first, with all that follow them. An entry that follows one that is
// not there is among them. It reads the whole file.
func (l *Log) Tree() ([]*TreeNode, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	places := make([]int32, len(l.nodes))
	for i := range places {
		places[i] = int32(i)
	}
	entries, err := l.whole(places)
	if err != nil {
		return nil, err
	}
	nodes := make([]*TreeNode, len(entries))
	var roots []*TreeNode
	for i, e := range entries {
		// Of two entries with one id the label is the last one's.
		nodes[i] = &TreeNode{Entry: e}
		if id := e.Ref().ID; l.byID[id] == int32(i) {
			nodes[i].Label = l.labels[id]
		}
		if p := l.nodes[i].parent; p >= 0 {
			nodes[p].Children = append(nodes[p].Children, nodes[i])
		} else {
			roots = append(roots, nodes[i])
		}
	}
	for _, i := range l.pathTo(int32(len(l.nodes) - 1)) {
		nodes[i].Active = true
	}
	oldestFirst(roots)
	for _, n := range nodes {
		oldestFirst(n.Children)
	}
	return roots, nil
}

func oldestFirst(nodes []*TreeNode) {
	slices.SortStableFunc(nodes, func(a, b *TreeNode) int { return a.Entry.Ref().Time.Compare(b.Entry.Ref().Time) })
}

// ToNavigate returns where the conversation goes on when a user picks an entry of the tree: behind it, or, where it is
// the user's words, before it, with them to be changed and sent again. leaf is empty for the very beginning.
func ToNavigate(e Entry) (leaf string, words []providers.Part) {
	switch e := e.(type) {
	case MessageEntry:
		if e.Role == roleUser {
			return e.ParentID, e.Message.Parts
		}
	case CustomMessage:
		return e.ParentID, e.Parts
	}
	return e.Ref().ID, nil
}

// Abandoned returns the entries that are left when the conversation goes on behind leaf: those of the active branch
// that do not lead to it, oldest first. The branch is that of [Log.Branch], target leads to leaf.
func Abandoned(branch, target []Entry) []Entry {
	common := 0
	for common < len(branch) && common < len(target) && branch[common].Ref().ID == target[common].Ref().ID {
		common++
	}
	return branch[common:]
}

// PathTo returns the entries from the root to the one called id, which is empty for none. It reads them from the disk.
func (l *Log) PathTo(id string) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkEntry(id); err != nil {
		return nil, err
	}
	leaf := int32(-1)
	if id != "" {
		leaf = l.byID[id]
	}
	return l.whole(l.pathTo(leaf))
}
