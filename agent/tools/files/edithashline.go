package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/agent/toolkit/hashline"
	"github.com/gajae-code/gjc/agent/toolkit/lines"
	"github.com/gajae-code/gjc/lsp"
)

//go:embed edithashline.md
var editHashlineText string

type hashlineInput struct {
	Input string `json:"input" jsonschema:"sections and operations, as described"`
	Path  string `json:"path,omitzero" jsonschema:"the file for operations before the first section"`
}

func editHashline(s *EditSettings) agent.Tool {
	return fileEditTool(s, (*hashlineInput).fileEdits, agent.ToolFuncs[hashlineInput]{
		Schemas: schemas,
		Name:    "edit", Description: toolkit.Description(editHashlineText), Kind: agent.KindEdit, Exclusive: true, For: s.only(EditHashline),
		Uses: edits.Uses(),
	})
}

func (in *hashlineInput) fileEdits(ctx context.Context, call *agent.Call) ([]fileEdit, error) {
	sections, err := hashline.Parse(in.Input, strings.TrimSpace(in.Path))
	if err != nil {
		return nil, fmt.Errorf("%w for edit: %w", agent.ErrBadInput, err)
	}
	var all []fileEdit
	for i := range sections {
		section := &sections[i]
		path, err := changePath(call, "edit", section.Path)
		if err != nil {
			return nil, err
		}
		if section.Creates() {
			if _, err := call.FS.ReadFile(ctx, path); errors.Is(err, fs.ErrNotExist) {
				res, err := hashline.Apply(lines.Parse(""), nil, section.Ops)
				if err != nil {
					return nil, err
				}
				text, err := lines.Parse("").Apply(res.Splices)
				if err != nil {
					return nil, err
				}
				all = append(all, fileEdit{kind: lsp.MakeFile, path: path, content: text})
				continue
			}
		}
		all = append(all, fileEdit{path: path, place: func(text, old *lines.Text) (placed, error) {
			return placeOps(text, old, section.Ops)
		}})
	}
	return all, nil
}

// placeOps finds the positions of operations.
func placeOps(text, old *lines.Text, ops []hashline.Op) (placed, error) {
	res, err := hashline.Apply(text, old, ops)
	if e, ok := errors.AsType[*hashline.MismatchError](err); ok {
		return placed{}, anchorError(text, e)
	}
	if err != nil {
		return placed{}, err
	}
	p := placed{splices: res.Splices}
	if res.Moved {
		p.notes = []string{"Lines were added or removed since you read the file; the anchors were matched to their lines' new positions."}
	}
	return p, nil
}

// anchorError shows the lines at which anchors do not match.
func anchorError(text *lines.Text, e *hashline.MismatchError) error {
	var regions []lines.Region
	for _, n := range e.Lines {
		regions = append(regions, lines.Region{Start: n - 1, End: n})
	}
	return fmt.Errorf("%w. Nothing was changed. The lines there, with their anchors:\n%s", e, edits.FreshLines(strings.Join(text.Lines(), "\n"), regions, true))
}
