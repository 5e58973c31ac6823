package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

//go:embed undo.md
var undoText string

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
	// bytes are what deleted files held.
	bytes map[string][]byte
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

type undoInput struct{}

func undo() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[undoInput]{
		Name: "undo", Description: markdown(undoText), Kind: agent.KindEdit, Exclusive: true,
		Plan: func(_ context.Context, call *agent.Call, _ *undoInput) (*agent.CallPlan, error) {
			set, err := undoable(call)
			if err != nil {
				return nil, err
			}
			call.Prepared = set
			changes := operations{call, set.ops}
			plan := &agent.CallPlan{Title: "Undo: " + set.what, Content: changes.preview(), Locations: changes.places()}
			plan.Effects = changes.effects(plan.Title)
			return plan, nil
		},
		Run: runUndo,
	})
}

func undoable(call *agent.Call) (*changeSet, error) {
	set := changeSetsOf(call).last()
	switch {
	case set == nil:
		return nil, errors.New("there is nothing to undo: no change of this session's tools is left; changes by commands are not kept")
	case set.never != "":
		return nil, fmt.Errorf("the last change (%s) cannot be undone: %s", set.what, set.never)
	}
	return set, nil
}

func runUndo(ctx context.Context, call *agent.Call, _ *undoInput) (*agent.Result, error) {
	set, err := undoable(call)
	if err != nil {
		return nil, err
	}
	if planned, ok := call.Prepared.(*changeSet); ok && planned != set {
		return nil, errors.New("another change came in between; call the tool again")
	}
	if err := set.untouched(ctx, call); err != nil {
		return nil, fmt.Errorf("nothing was undone: %w", err)
	}
	w := newWorkspaceChange(call, set.ops, seenFiles(ctx, call, set.ops))
	w.raw, w.undoing = set.bytes, true
	done, err := w.apply(ctx)
	if err != nil {
		return nil, err
	}
	changeSetsOf(call).drop(set)
	changes := operations{call, set.ops}
	text := "Undone: " + set.what + ".\n" + strings.TrimSuffix(changes.list()+changes.diffText(), "\n")
	res := &agent.Result{Text: joinNotes(text, done.notes), Content: done.content, Locations: done.locations}
	diagnose(ctx, call, res, reportsEdits(call), done.before, done.changed, done.events...)
	return res, nil
}

// untouched fails if a file is not as the change left it.
func (s *changeSet) untouched(ctx context.Context, call *agent.Call) error {
	for i := range s.ops {
		o := &s.ops[i]
		before := s.ops[:i]
		touched := false
		for j := range before {
			touched = touched || touches(&before[j], o.Path)
		}
		if touched || o.Directory || o.Kind != lsp.WriteFile && o.Kind != lsp.RemoveFile {
			continue
		}
		file, err := openText(ctx, call, o.Path)
		if err != nil {
			return err
		}
		if file.text != o.Old {
			return fmt.Errorf("%s: %w; undoing the change would lose that. Look at the file and edit it in the usual way",
				display(&call.Workspace, o.Path), errChangedSince)
		}
	}
	return nil
}

// errChangedSince is wrapped by the refusal to undo a change in a file that has changed since.
var errChangedSince = errors.New("the file has changed since")
