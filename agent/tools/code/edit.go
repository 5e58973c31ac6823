package code

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
	"github.com/gajae-code/gjc/lsp"
)

// preparedEdit is an edit that a server has computed for a call. It is planned, so that its effects can be judged and the user can
// see it. It is made when the call runs, if the files have not changed.
type preparedEdit struct {
	// what names the edit, for "Applied rename:".
	what string
	ops  []lsp.FileOperation
	// seen holds the contents, at planning time, of the files that ops remove.
	seen map[string][]byte
	// none is the result text if there is nothing to do.
	none string
	// preview reports that the edit is shown but not made.
	preview bool
	// diffs reports that the text for the model includes the changed lines.
	diffs bool
	notes []string
	// files are the old and new paths of files that move with a directory.
	files [][2]string
	// after runs when the files have been changed, before servers are asked about them; it may be nil.
	after func(ctx context.Context)
}

// prepare adds an edit to the plan of its call: its effects, and the diffs for the user.
func (c *lspCall) prepare(ctx context.Context, plan *agent.CallPlan, e *preparedEdit) {
	e.notes = append(e.notes, c.notes...)
	e.preview = e.preview || c.in.Apply != nil && !*c.in.Apply
	c.call.Prepared = prepared(e)
	if e.preview || len(e.ops) == 0 {
		return
	}
	e.seen = edits.SeenFiles(ctx, c.call, e.ops)
	changes := edits.Operations{Call: c.call, Ops: e.ops}
	addEffects(plan, c.path, changes.Effects(plan.Title)...)
	plan.Content = changes.Preview()
	plan.Locations = changes.Places()
}

// addEffects adds effects to the plan of a call about path. One that edits path covers reading it, so that the user is asked once.
func addEffects(plan *agent.CallPlan, path string, effects ...approval.Effect) {
	plan.Effects = append(plan.Effects, effects...)
	if edited(plan, path) {
		plan.Effects = slices.DeleteFunc(plan.Effects, func(e approval.Effect) bool { return e.Action == approval.ActionRead && e.Path == path })
	}
}

// edited reports whether a plan edits path.
func edited(plan *agent.CallPlan, path string) bool {
	return slices.ContainsFunc(plan.Effects, func(e approval.Effect) bool {
		return e.Action == approval.ActionEdit && (e.Path == path || slices.Contains(e.Paths, path))
	})
}

func runEditAction(context.Context, *lspCall) (*agent.Result, error) {
	return nil, errors.New("the edit was not planned; call the tool again")
}

func (e *preparedEdit) run(ctx context.Context, c *lspCall) (*agent.Result, error) {
	c.notes = append(c.notes, e.notes...)
	changes := edits.Operations{Call: c.call, Ops: e.ops}
	switch {
	case len(e.ops) == 0:
		return c.result(ctx, e.none), nil
	case e.preview:
		text := capital(e.what) + " preview:\n" + changes.List() + changes.DiffText()
		res := c.result(ctx, text)
		res.Content, res.Locations = changes.Preview(), changes.Places()
		return res, nil
	}
	done, err := edits.ApplyOperations(ctx, c.call, e.ops, e.seen)
	if err != nil {
		return nil, err
	}
	if e.after != nil {
		e.after(ctx)
	}
	text := "Applied " + e.what + ":\n" + changes.List()
	if e.diffs {
		text += changes.DiffText()
	}
	return c.applied(ctx, text, done, e.files), nil
}

// applied returns the result of a finished change, with the servers' diagnostics.
func (c *lspCall) applied(ctx context.Context, text string, done *edits.WorkspaceChange, files [][2]string) *agent.Result {
	c.notes = append(c.notes, done.Notes...)
	res := c.result(ctx, text)
	res.Content, res.Locations = done.Content, done.Locations
	events := done.Events
	for _, f := range files {
		events = append(events, lsp.FileEvent{Path: f[0], Type: lsp.FileDeleted}, lsp.FileEvent{Path: f[1], Type: lsp.FileCreated})
	}
	edits.Diagnose(ctx, c.call, res, true, done.Before, done.Changed, events...)
	return res
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

const (
	// maxRounds bounds how often a server is asked again because it had not seen an unsaved text.
	maxRounds = 3
	// maxHeld bounds the number of documents that are open in a server for one edit.
	maxHeld = 200
)

// workOut requests an edit from a server, and plans it. A server reads files that are not open from the disk. If the editor has
// unsaved text of a file that the edit changes, workOut opens that text in the server and asks again. The caller keeps and closes
// the documents in held.
func (c *lspCall) workOut(ctx context.Context, s *lsp.Server, held []*lsp.Document, ask func(ctx context.Context) (*lsp.WorkspaceEdit, error)) (*lsp.WorkspaceEdit, []lsp.FileOperation, error) {
	docs := make(map[string]*lsp.Document)
	for _, doc := range held {
		docs[doc.Path] = doc
	}
	var own []*lsp.Document
	defer func() {
		for _, doc := range own {
			doc.Release()
		}
	}()
	for round := 1; ; round++ {
		edit, err := ask(ctx)
		if err != nil {
			return nil, nil, err
		}
		again := false
		for _, path := range editedPaths(edit) {
			if docs[path] != nil || len(own) == maxHeld || !c.unsaved(ctx, path) {
				continue
			}
			doc, err := c.w.Hold(ctx, s, path)
			if err != nil {
				return nil, nil, err
			}
			docs[path], own, again = doc, append(own, doc), true
		}
		if again && round < maxRounds {
			continue
		}
		ops, err := edit.Plan(c.surroundings(ctx, s.Encoding(), docs))
		return edit, ops, err
	}
}

// editedPaths returns the files whose text an edit changes.
func editedPaths(edit *lsp.WorkspaceEdit) []string {
	var paths []string
	for _, change := range edit.Changes {
		if e, ok := change.(*lsp.TextDocumentEdit); ok {
			if path, err := pathOf(e.URI); err == nil {
				paths = append(paths, filepath.Clean(path))
			}
		}
	}
	return paths
}

// unsaved reports whether the editor's text of a file differs from the one on the disk.
func (c *lspCall) unsaved(ctx context.Context, path string) bool {
	shown, err := c.call.FS.ReadFile(ctx, path)
	if err != nil {
		return false
	}
	saved, err := walk.ReadFile(path, toolkit.MaxReadFile)
	return err != nil || !bytes.Equal(shown, saved)
}

// surroundings provides access to the files as the servers and the editor have them.
func (c *lspCall) surroundings(ctx context.Context, e lsp.Encoding, docs map[string]*lsp.Document) lsp.EditSurroundings {
	return lsp.EditSurroundings{
		Encoding: e, GOOS: runtime.GOOS,
		Kind: func(path string) (lsp.FileKind, error) { return edits.FileKind(ctx, c.call, path) },
		Read: func(path string) (string, error) {
			if doc := docs[path]; doc != nil {
				return doc.Text.String(), nil
			}
			file, err := edits.OpenText(ctx, c.call, path)
			if err != nil {
				return "", err
			}
			return file.Text, nil
		},
		Version: func(path string) (int32, bool) {
			if doc := docs[path]; doc != nil {
				return doc.Version, true
			}
			return 0, false
		},
	}
}
