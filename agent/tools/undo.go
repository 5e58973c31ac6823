package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
	// bytes are what deleted files held, modes the permissions that they had.
	bytes map[string][]byte
	modes map[string]fs.FileMode
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
		Schema: schema[undoInput],
		Name:   "undo", Description: markdown(undoText), Kind: agent.KindEdit, Exclusive: true,
		Plan: func(ctx context.Context, call *agent.Call, _ *undoInput) (*agent.CallPlan, error) {
			p, err := planUndo(ctx, call)
			if err != nil {
				return nil, err
			}
			call.Prepared = p
			set, changes := p.set, operations{call, p.ops}
			plan := &agent.CallPlan{Title: "Undo: " + set.what, Content: changes.preview(), Locations: changes.places()}
			plan.Effects = changes.effects(plan.Title)
			return plan, nil
		},
		Run: runUndo,
	})
}

// undoPlan is the change to take back, and what of it is left to do.
type undoPlan struct {
	set *changeSet
	ops []lsp.FileOperation
	// gone are made files that somebody else has removed since.
	gone []string
}

func planUndo(ctx context.Context, call *agent.Call) (*undoPlan, error) {
	set := changeSetsOf(call).last()
	switch {
	case set == nil:
		return nil, errors.New("there is nothing to undo: no change of this session's tools is left; changes by commands are not kept")
	case set.never != "":
		return nil, forget(call, set, fmt.Errorf("the last change (%s) cannot be undone: %s", set.what, set.never))
	}
	p := &undoPlan{set: set}
	for i := range set.ops {
		o := &set.ops[i]
		if o.Kind == lsp.RemoveFile && !touchedBefore(set.ops, i) && isGone(ctx, call, o.Path) {
			p.gone = append(p.gone, display(&call.Workspace, o.Path))
			continue
		}
		p.ops = append(p.ops, *o)
	}
	return p, nil
}

// isGone reports whether there is no file, in the editor neither.
func isGone(ctx context.Context, call *agent.Call, path string) bool {
	if _, err := call.FS.Stat(ctx, path); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err := call.FS.ReadFile(ctx, path)
	return errors.Is(err, fs.ErrNotExist)
}

// touchedBefore reports whether an operation before the one at i is about its path.
func touchedBefore(ops []lsp.FileOperation, i int) bool {
	return slices.ContainsFunc(ops[:i], func(o lsp.FileOperation) bool { return touches(&o, ops[i].Path) })
}

// forget gives up on a change that cannot be undone, so that it does not stand before the others for ever, and says so.
func forget(call *agent.Call, set *changeSet, err error) error {
	all := changeSetsOf(call)
	all.drop(set)
	next := "There is no other change to undo."
	if before := all.last(); before != nil {
		next = "The next call of undo takes back the one before it (" + before.what + ")."
	}
	return fmt.Errorf("%w. This change is not kept any more. %s", err, next)
}

func runUndo(ctx context.Context, call *agent.Call, _ *undoInput) (*agent.Result, error) {
	p, err := planUndo(ctx, call)
	if err != nil {
		return nil, err
	}
	set := p.set
	if planned, ok := call.Prepared.(*undoPlan); ok {
		if planned.set != set {
			return nil, errors.New("another change came in between; call the tool again")
		}
		for _, name := range planned.gone {
			if !slices.Contains(p.gone, name) { // nobody was asked about it
				return nil, fmt.Errorf("%s, which was gone, is there again; look at it and call the tool again", name)
			}
		}
	}
	var notes []string
	if len(p.gone) > 0 {
		notes = append(notes, "Gone already: "+strings.Join(p.gone, ", ")+".")
	}
	if len(p.ops) == 0 {
		changeSetsOf(call).drop(set)
		return &agent.Result{Text: joinNotes("Undone: "+set.what+". There was nothing left to do.", notes)}, nil
	}
	if err := p.untouched(ctx, call); err != nil {
		err = fmt.Errorf("nothing was undone: %w", err)
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, forget(call, set, err)
	}
	w := newWorkspaceChange(call, p.ops, seenFiles(ctx, call, p.ops))
	w.raw, w.modes, w.undoing = set.bytes, set.modes, true
	done, err := w.apply(ctx)
	if err != nil {
		return nil, err
	}
	changeSetsOf(call).drop(set)
	changes := operations{call, p.ops}
	text := "Undone: " + set.what + ".\n" + strings.TrimSuffix(changes.list()+changes.diffText(), "\n")
	res := &agent.Result{Text: joinNotes(text, append(notes, done.notes...)), Content: done.content, Locations: done.locations}
	diagnose(ctx, call, res, reportsEdits(call), done.before, done.changed, done.events...)
	return res, nil
}

// untouched fails if a file is not as the change left it.
func (p *undoPlan) untouched(ctx context.Context, call *agent.Call) error {
	for i := range p.ops {
		o := &p.ops[i]
		if touchedBefore(p.ops, i) || o.Directory || o.Kind != lsp.WriteFile && o.Kind != lsp.RemoveFile {
			continue
		}
		file, err := openText(ctx, call, o.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s was deleted since; write it anew if it is wanted", display(&call.Workspace, o.Path))
		}
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
