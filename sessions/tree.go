package sessions

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gajae-code/gjc/providers"
)

// Types of the [Custom] entries that [Log.Rewind] and [Log.Clear] append. Other programs support the second one.
const (
	customRewind = "gjc.rewind"
	customClear  = "context_clear"
)

// fromRoot is the [BranchSummary].FromID of a branch that starts before the first entry.
const fromRoot = "root"

// Leaf returns the ID of the last entry, or "".
func (l *Log) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaf()
}

// Rewind continues the conversation after the entry id, or from the start if id is empty. What followed it stays in the
// file as a branch. Rewind appends an entry, because the last entry of a file is the session's leaf. It returns
// [ErrNotFound] for an unknown ID.
func (l *Log) Rewind(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkEntry(id); err != nil {
		return err
	}
	_, err := l.append(Custom{CustomType: customRewind}, id)
	return err
}

// BranchWithSummary is like [Log.Rewind], but adds a summary of the branch that is left, which the model receives. It sets the
// summary's FromID and returns the ID of the summary's entry.
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

// Clear empties the conversation: [Log.Messages] and [Log.Branch] start after it. The earlier entries stay in the file,
// and the model, the mode and the rest of the [State] stay unchanged. It is a no-op for an empty conversation.
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

// SetLabel names an entry for users. An empty label deletes the name. It returns [ErrNotFound] for an unknown ID.
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

// Labels returns the names of entries by entry ID.
func (l *Log) Labels() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.labels)
}

// TreeNode is an entry with its descendants.
type TreeNode struct {
	Entry Entry
	// Children are the entries that follow, oldest first.
	Children []*TreeNode
	// Label is the entry's name; may be empty.
	Label string
	// Active reports whether the entry is part of the active branch.
	Active bool
}

// Tree returns the roots with their descendants, oldest first. An entry whose parent is missing is a root. It reads the
// whole file.
func (l *Log) Tree() ([]*TreeNode, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries, err := l.all()
	if err != nil {
		return nil, err
	}
	nodes := make([]*TreeNode, len(entries))
	var roots []*TreeNode
	for i, e := range entries {
		// If two entries have the same ID, the label belongs to the last one.
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

// ToNavigate returns the leaf at which the conversation continues when the user selects an entry of the tree: the entry
// itself or, for a message that is no answer, its parent. words are the parts of a message of the user, for editing. leaf is empty for the start.
func ToNavigate(e Entry) (leaf string, words []providers.Part) {
	switch e := e.(type) {
	case MessageEntry:
		if e.Role == roleUser {
			return e.ParentID, e.Message.Parts
		}
	case CustomMessage:
		if e.Attribution == "agent" {
			return e.ParentID, nil
		}
		return e.ParentID, e.Parts
	}
	return e.Ref().ID, nil
}

// Abandoned returns the entries of the active branch that are not on the path to a new leaf, oldest first. branch is the result of
// [Log.Branch], and target is the path to the new leaf.
func Abandoned(branch, target []Entry) []Entry {
	common := 0
	for common < len(branch) && common < len(target) && branch[common].Ref().ID == target[common].Ref().ID {
		common++
	}
	return branch[common:]
}

// PathTo returns the entries from the root to the entry id; none for an empty ID. It reads them from the disk.
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
