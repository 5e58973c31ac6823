package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/agent/toolkit/lines"
	"github.com/gajae-code/gjc/internal/ipynb"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed notebook.md
var notebookText string

type notebookInput struct {
	Path   string  `json:"path" jsonschema:"the notebook (.ipynb), relative to the working directory or absolute"`
	Action string  `json:"action" jsonschema:"replace, insert or delete"`
	Cell   int     `json:"cell" jsonschema:"number of the cell, from 0, as read shows it; a new cell is inserted before it"`
	Source *string `json:"source,omitzero" jsonschema:"the complete text of the cell, for replace and insert"`
	Type   string  `json:"type,omitzero" jsonschema:"of a new cell: code, markdown or raw; code if absent"`
}

// Notebook returns the tool "notebook", which replaces, inserts and deletes cells of a Jupyter notebook.
func Notebook(s *EditSettings) agent.Tool {
	return fileEditTool(s, (*notebookInput).fileEdits, agent.ToolFuncs[notebookInput]{
		Schemas: schemas,
		Name:    "notebook", Description: toolkit.Description(notebookText), Kind: agent.KindEdit, Exclusive: true,
		Uses: edits.Uses(),
	})
}

// fileEdits returns the edit of the file for an input.
func (in *notebookInput) fileEdits(_ context.Context, call *agent.Call) ([]fileEdit, error) {
	path, err := changePath(call, "notebook", in.Path)
	if err != nil {
		return nil, err
	}
	bad := func(reason string) ([]fileEdit, error) {
		return nil, fmt.Errorf("%w for notebook: %s", agent.ErrBadInput, reason)
	}
	edit := &ipynb.Edit{Action: ipynb.Action(in.Action), Cell: in.Cell, Type: in.Type}
	switch {
	case !strings.EqualFold(filepath.Ext(path), ".ipynb"):
		return bad("path must end in .ipynb; use edit for other files")
	case edit.Action != ipynb.Replace && edit.Action != ipynb.Insert && edit.Action != ipynb.Delete:
		return bad(fmt.Sprintf("unknown action %q; the actions are replace, insert and delete", in.Action))
	case edit.Action == ipynb.Delete && (in.Source != nil && *in.Source != "" || in.Type != ""):
		return bad("delete takes no source or type")
	case edit.Action != ipynb.Delete && in.Source == nil:
		return bad(in.Action + " needs the source of the cell")
	case in.Source != nil:
		edit.Source = *in.Source
	}
	return []fileEdit{{path: path, place: func(text, old *lines.Text) (placed, error) { return placeCell(edit, text, old) }}}, nil
}

// placeCell returns the splices for a change to a notebook.
func placeCell(edit *ipynb.Edit, read, old *lines.Text) (placed, error) {
	if old != nil {
		// Cells are identified by number: the same number may now be another cell.
		return placed{}, errors.New("the notebook has changed since you read it, and its cells may be numbered differently")
	}
	whole, err := read.Apply(nil)
	if err != nil {
		return placed{}, err
	}
	now, cells, err := ipynb.Edited([]byte(whole), edit)
	if err != nil {
		return placed{}, err
	}
	after := lines.Parse(string(now))
	p := placed{notes: []string{fmt.Sprintf("The notebook now has %s.", text.Count(cells, "cell"))}}
	for _, r := range lines.Changed(read, after) {
		s := lines.Splice{Start: r.OldStart, End: r.OldEnd}
		for i := r.Start; i < r.End; i++ {
			s.With = append(s.With, after.Line(i))
		}
		p.splices = append(p.splices, s)
	}
	return p, nil
}
