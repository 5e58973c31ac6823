package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
)

//go:embed edit.md
var editText string

type editInput struct {
	Path  string     `json:"path" jsonschema:"the file, relative to the working directory or absolute"`
	Edits []textEdit `json:"edits" jsonschema:"the replacements, in order"`
}

type textEdit struct {
	OldText string `json:"old_text" jsonschema:"the exact text to replace; unique in the file unless all is true"`
	NewText string `json:"new_text" jsonschema:"the replacement text; empty to delete"`
	All     bool   `json:"all,omitzero" jsonschema:"replace every occurrence"`
}

func edit(s *EditSettings) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[editInput]{
		Schemas: schemas,
		Name:    "edit", Description: toolkit.Description(editText), Kind: agent.KindEdit, Exclusive: true, For: s.only(EditReplace),
		Uses: edits.Uses(),
		Plan: func(ctx context.Context, call *agent.Call, in *editInput) (*agent.CallPlan, error) {
			path, err := changePath(call, "edit", in.Path)
			if err == nil {
				err = checkEdits(in.Edits)
			}
			if err != nil || isLocal(path) {
				return &agent.CallPlan{Title: "Edit " + path}, err
			}
			return &agent.CallPlan{
				Title:     "Edit " + toolkit.Display(&call.Workspace, path),
				Locations: []agent.Location{{Path: path}},
				Content: edits.Preview(ctx, call, path, func(old *edits.TextFile) (string, error) {
					if old == nil {
						return "", fs.ErrNotExist
					}
					text, _, err := applyEdits("", old.Text, in.Edits)
					return text, err
				}),
				Effects: []approval.Effect{{Action: approval.ActionEdit, Path: path}},
			}, nil
		},
		Run: func(ctx context.Context, call *agent.Call, in *editInput) (*agent.Result, error) {
			return runEdit(ctx, call, in, s)
		},
	})
}

// checkEdits returns an error for edits that are invalid for any file.
func checkEdits(edits []textEdit) error {
	if len(edits) == 0 {
		return fmt.Errorf("%w for edit: edits is empty", agent.ErrBadInput)
	}
	for i := range edits {
		switch e := &edits[i]; {
		case e.OldText == "":
			return fmt.Errorf("%w for edit: %sold_text is empty; to make a file or replace all of one, use write", agent.ErrBadInput, editName(edits, i))
		case strings.ContainsRune(e.NewText, 0):
			return fmt.Errorf("%w for edit: %snew_text contains a NUL byte", agent.ErrBadInput, editName(edits, i))
		case toolkit.LineFeeds(e.OldText) == toolkit.LineFeeds(e.NewText):
			return fmt.Errorf("%w for edit: %sold_text and new_text are the same", agent.ErrBadInput, editName(edits, i))
		}
	}
	return nil
}

// editName returns the name of one of several edits for messages.
func editName(edits []textEdit, i int) string {
	if len(edits) == 1 {
		return ""
	}
	return fmt.Sprintf("edit %d of %d: ", i+1, len(edits))
}

func runEdit(ctx context.Context, call *agent.Call, in *editInput, s *EditSettings) (*agent.Result, error) {
	path, err := changePath(call, "edit", in.Path)
	if err == nil {
		err = checkEdits(in.Edits)
	}
	if err != nil {
		return nil, err
	}
	if isLocal(path) {
		return editLocal(ctx, call, path, in.Edits)
	}
	name := toolkit.Display(&call.Workspace, path)
	if edits.ReportsEdits(call) { // before the file is read: the user may type while the question is open
		if err := toolkit.TrustWorkspace(ctx, call, path); err != nil {
			return nil, err
		}
	}
	old, err := edits.OpenText(ctx, call, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, toolkit.Missing(ctx, call, path)
	}
	if err == nil {
		err = s.checkGenerated(call, path, old.Text)
	}
	if err != nil {
		return nil, err
	}
	text, loose, err := applyEdits(name, old.Text, in.Edits)
	stale := edits.StaleRegions(call, path, old.Text)
	if err != nil {
		if len(stale) > 0 {
			return nil, fmt.Errorf("%w\n%w", err, s.changedError(call, path, old.Text, stale, edits.ByOthers))
		}
		return nil, err
	}
	if hit := edits.Touched(stale, edits.AsSplices(old.Text, text)); len(hit) > 0 {
		return nil, s.changedError(call, path, old.Text, hit, edits.RightThere)
	}
	c := edits.Change{Call: call, Path: path, Old: old}
	if err := c.Write(ctx, toolkit.EncodeText(text, old.Encoding), text); err != nil {
		return nil, err
	}
	c.Done()
	var notes []string
	if len(loose) > 0 {
		notes = append(notes, looseNote(loose, len(in.Edits)))
	}
	if len(stale) > 0 {
		notes = append(notes, edits.ChangedElsewhere)
	}
	res := &agent.Result{
		Text:      toolkit.JoinNotes("Edited "+name+".\n"+toolkit.ShortDiff(name, toolkit.LineFeeds(old.Text), toolkit.LineFeeds(c.Now)), append(notes, c.Notes...)),
		Content:   []agent.Content{c.Diff()},
		Locations: []agent.Location{{Path: path, Line: c.FirstLine()}},
	}
	edits.DiagnoseChange(ctx, &c, res, edits.ReportsEdits(call))
	return res, nil
}

// looseNote returns a note on the edits that matched only when white space was ignored.
func looseNote(loose []int, edits int) string {
	what := "old_text was"
	if edits > 1 {
		what = strings.TrimSuffix(fmt.Sprintln("The old_text of edit", strings.Trim(fmt.Sprint(loose), "[]"), "was"), "\n")
	}
	return what + " in the file once with different white space; the lines there were replaced, and the new ones have the same indent."
}
