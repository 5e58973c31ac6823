package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/lsp"
)

//go:embed undo.md
var undoText string

type undoInput struct{}

// Undo returns the tool "undo", which reverts the session's latest change to files.
func Undo() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[undoInput]{
		Schemas: schemas,
		Name:    "undo", Description: toolkit.Description(undoText), Kind: agent.KindEdit, Exclusive: true,
		Uses: approval.Uses{Roots: true}, // it looks for files that are gone in the editor, too
		Plan: func(ctx context.Context, call *agent.Call, _ *undoInput) (*agent.CallPlan, error) {
			p, err := planUndo(ctx, call)
			if err != nil {
				return nil, err
			}
			call.Prepared = p
			set, changes := p.set, edits.Operations{Call: call, Ops: p.ops}
			plan := &agent.CallPlan{Title: "Undo: " + set.What, Content: changes.Preview(), Locations: changes.Places()}
			plan.Effects = changes.Effects(plan.Title)
			return plan, nil
		},
		Run: runUndo,
	})
}

// undoPlan is the change to undo, and its remaining operations.
type undoPlan struct {
	set *edits.ChangeSet
	ops []lsp.FileOperation
	// gone are created files that have been removed since.
	gone []string
}

func planUndo(ctx context.Context, call *agent.Call) (*undoPlan, error) {
	set := edits.ChangeSetsOf(call).Last()
	switch {
	case set == nil:
		return nil, errors.New("nothing to undo: this session's tools have made no change that is left; changes by commands are not recorded")
	case set.Never != "":
		return nil, forget(call, set, fmt.Errorf("the last change (%s) cannot be undone: %s", set.What, set.Never))
	}
	p := &undoPlan{set: set}
	for i := range set.Ops {
		o := &set.Ops[i]
		if o.Kind == lsp.RemoveFile && !touchedBefore(set.Ops, i) && isGone(ctx, call, o.Path) {
			p.gone = append(p.gone, toolkit.Display(&call.Workspace, o.Path))
			continue
		}
		p.ops = append(p.ops, *o)
	}
	return p, nil
}

// isGone reports whether a file exists neither on the disk nor in the editor.
func isGone(ctx context.Context, call *agent.Call, path string) bool {
	if _, err := call.FS.Stat(ctx, path); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if !toolkit.Inside(call, path) {
		return true // editors show the workspace's files only
	}
	_, err := call.FS.ReadFile(ctx, path)
	return errors.Is(err, fs.ErrNotExist)
}

// touchedBefore reports whether an operation before the one at i changes its path.
func touchedBefore(ops []lsp.FileOperation, i int) bool {
	return slices.ContainsFunc(ops[:i], func(o lsp.FileOperation) bool { return edits.Touches(&o, ops[i].Path) })
}

// forget drops a change that cannot be undone, so that it does not block earlier ones, and returns an error about it.
func forget(call *agent.Call, set *edits.ChangeSet, err error) error {
	all := edits.ChangeSetsOf(call)
	all.Drop(set)
	next := "There is no other change to undo."
	if before := all.Last(); before != nil {
		next = "The next call of undo undoes the one before it (" + before.What + ")."
	}
	return fmt.Errorf("%w. This change can no longer be undone. %s", err, next)
}

func runUndo(ctx context.Context, call *agent.Call, _ *undoInput) (*agent.Result, error) {
	p, err := planUndo(ctx, call)
	if err != nil {
		return nil, err
	}
	set := p.set
	if planned, ok := call.Prepared.(*undoPlan); ok {
		if planned.set != set {
			return nil, errors.New("the file was changed meanwhile; call the tool again")
		}
		for _, name := range planned.gone {
			if !slices.Contains(p.gone, name) { // the user was not asked about it
				return nil, fmt.Errorf("%s, which was gone, exists again; read it and call the tool again", name)
			}
		}
	}
	var notes []string
	if len(p.gone) > 0 {
		notes = append(notes, "Gone already: "+strings.Join(p.gone, ", ")+".")
	}
	if len(p.ops) == 0 {
		edits.ChangeSetsOf(call).Drop(set)
		return &agent.Result{Text: toolkit.JoinNotes("Undone: "+set.What+". There was nothing left to do.", notes)}, nil
	}
	if err := p.untouched(ctx, call); err != nil {
		err = fmt.Errorf("nothing was undone: %w", err)
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, forget(call, set, err)
	}
	w := edits.NewWorkspaceChange(call, p.ops, edits.SeenFiles(ctx, call, p.ops))
	w.Raw, w.Modes, w.Undoing = set.Bytes, set.Modes, true
	done, err := w.Apply(ctx)
	if err != nil {
		return nil, err
	}
	edits.ChangeSetsOf(call).Drop(set)
	changes := edits.Operations{Call: call, Ops: p.ops}
	text := "Undone: " + set.What + ".\n" + strings.TrimSuffix(changes.List()+changes.DiffText(), "\n")
	res := &agent.Result{Text: toolkit.JoinNotes(text, append(notes, done.Notes...)), Content: done.Content, Locations: done.Locations}
	edits.Diagnose(ctx, call, res, edits.ReportsEdits(call), done.Before, done.Changed, done.Events...)
	return res, nil
}

// untouched returns an error if a file differs from what the change left.
func (p *undoPlan) untouched(ctx context.Context, call *agent.Call) error {
	for i := range p.ops {
		o := &p.ops[i]
		if touchedBefore(p.ops, i) || o.Directory || o.Kind != lsp.WriteFile && o.Kind != lsp.RemoveFile {
			continue
		}
		file, err := edits.OpenText(ctx, call, o.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s was deleted since; write it again if it is needed", toolkit.Display(&call.Workspace, o.Path))
		}
		if err != nil {
			return err
		}
		if file.Text != o.Old {
			return fmt.Errorf("%s: %w; undoing the change would lose that; read the file and edit it instead",
				toolkit.Display(&call.Workspace, o.Path), errChangedSince)
		}
	}
	return nil
}

// errChangedSince is wrapped by the error for undoing a change to a file that has changed since.
var errChangedSince = errors.New("the file has changed since")
