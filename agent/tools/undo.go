package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

//go:embed undo.md
var undoText string

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
			set, changes := p.set, operations{call: call, ops: p.ops}
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
	changes := operations{call: call, ops: p.ops}
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
