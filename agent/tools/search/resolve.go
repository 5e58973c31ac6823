package search

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

//go:embed resolve.md
var resolveText string

type resolveInput struct {
	Action string `json:"action" jsonschema:"apply or discard"`
	Reason string `json:"reason" jsonschema:"why, in a few words"`
}

// Resolve returns the tool "resolve". A session has it even without a pending edit, so that its tools stay the same.
func Resolve() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[resolveInput]{
		Schemas: schemas,
		Name:    "resolve", Description: toolkit.Description(resolveText), Kind: agent.KindEdit, Exclusive: true, Program: astProgram,
		Uses: edits.Uses(),
		Plan: planResolve, Run: runResolve,
	})
}

// stagedEdit is an edit that was shown but not made.
type stagedEdit struct {
	agent.Preview
	ops []lsp.FileOperation
	// edits is the number of replacements.
	edits int
}

// pendingEdit holds the last staged edit of a session.
type pendingEdit struct {
	mu   sync.Mutex // guards edit
	edit *stagedEdit
}

func newPendingEdit() *pendingEdit { return new(pendingEdit) }

// newStagedEdit returns an edit that the resolve tool applies or discards.
func newStagedEdit(title string, ops []lsp.FileOperation, edits int) *stagedEdit {
	return &stagedEdit{ops: ops, edits: edits, Preview: agent.Preview{
		Tool: "resolve", Title: title,
		Reminder: "The preview of " + title + " is pending: nothing has been changed yet. Call resolve with action apply or discard.",
	}}
}

// Preview implements [agent.PreviewHolder].
func (p *pendingEdit) Preview() *agent.Preview {
	if e := p.get(); e != nil {
		return &e.Preview
	}
	return nil
}

// put makes an edit the pending one and reports whether it replaced another.
func (p *pendingEdit) put(e *stagedEdit) (was bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was = p.edit != nil
	p.edit = e
	return was
}

func (p *pendingEdit) get() *stagedEdit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.edit
}

// take removes e and reports whether it was the pending edit.
func (p *pendingEdit) take(e *stagedEdit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.edit != e {
		return false
	}
	p.edit = nil
	return true
}

var errNothingPending = errors.New("there is no preview to apply or discard; call ast_edit first")

func planResolve(_ context.Context, call *agent.Call, in *resolveInput) (*agent.CallPlan, error) {
	if in.Action != "apply" && in.Action != "discard" {
		return nil, fmt.Errorf("%w for resolve: action is %q; it must be apply or discard", agent.ErrBadInput, toolkit.CutLine(in.Action, toolkit.MaxCommandTitle))
	}
	if strings.TrimSpace(in.Reason) == "" {
		return nil, fmt.Errorf("%w for resolve: reason is empty", agent.ErrBadInput)
	}
	e := agent.Value(call.Values, newPendingEdit).get()
	if e == nil {
		return nil, errNothingPending
	}
	call.Prepared = e
	if in.Action == "discard" {
		return &agent.CallPlan{Title: "Discard " + e.Title, Kind: agent.KindOther}, nil
	}
	title, changes := "Apply "+e.Title, &edits.Operations{Call: call, Ops: e.ops}
	return &agent.CallPlan{Title: title, Effects: changes.Effects(title), Content: changes.Preview(), Locations: changes.Places()}, nil
}

func runResolve(ctx context.Context, call *agent.Call, in *resolveInput) (*agent.Result, error) {
	e, ok := call.Prepared.(*stagedEdit)
	if !ok || !agent.Value(call.Values, newPendingEdit).take(e) { // it is not tried twice, whatever the result
		return nil, errNothingPending
	}
	if in.Action == "discard" {
		return &agent.Result{Text: "Discarded: " + e.Title + ". Nothing was changed."}, nil
	}
	done, err := edits.ApplyOperations(ctx, call, e.ops, nil)
	if err != nil {
		return nil, fmt.Errorf("the edit was not applied and is no longer pending: %w", err)
	}
	changes := &edits.Operations{Call: call, Ops: e.ops}
	var list strings.Builder
	for i := range e.ops {
		if list.Len() > toolkit.MaxDiff {
			fmt.Fprintf(&list, "  … and %s\n", text.Count(len(e.ops)-i, "more file"))
			break
		}
		list.WriteString("  " + changes.Name(e.ops[i].Path) + ": " + text.Count(e.ops[i].Edits, "replacement") + "\n")
	}
	text := fmt.Sprintf("Applied %s in %s:\n%s", text.Count(e.edits, "replacement"), text.Count(len(e.ops), "file"), list.String())
	res := &agent.Result{Text: toolkit.JoinNotes(strings.TrimSuffix(text, "\n"), done.Notes), Content: done.Content, Locations: done.Locations}
	edits.Diagnose(ctx, call, res, edits.ReportsEdits(call), done.Before, done.Changed, done.Events...)
	return res, nil
}
