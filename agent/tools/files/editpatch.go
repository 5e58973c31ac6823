package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/agent/toolkit/lines"
	"github.com/gajae-code/gjc/agent/toolkit/patch"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

//go:embed editpatch.md
var editPatchText string

//go:embed applypatch.md
var applyPatchText string

type editPatchInput struct {
	Path  string      `json:"path" jsonschema:"the file, relative to the working directory or absolute"`
	Edits []patchEdit `json:"edits" jsonschema:"what to do with the file, in order; usually one update"`
}

type patchEdit struct {
	Op     string `json:"op,omitzero" jsonschema:"create, delete or update; update if absent"`
	Rename string `json:"rename,omitzero" jsonschema:"for update: the new path of the file"`
	Diff   string `json:"diff,omitzero" jsonschema:"for update: hunks of a unified diff; for create: the text of the file"`
}

func editPatch(s *EditSettings) agent.Tool {
	return fileEditTool(s, (*editPatchInput).fileEdits, agent.ToolFuncs[editPatchInput]{
		Schemas: schemas,
		Name:    "edit", Description: toolkit.Description(editPatchText), Kind: agent.KindEdit, Exclusive: true, For: s.only(EditPatch),
		Uses: edits.Uses(),
	})
}

func (in *editPatchInput) fileEdits(_ context.Context, call *agent.Call) ([]fileEdit, error) {
	path, err := changePath(call, "edit", in.Path)
	if err != nil {
		return nil, err
	}
	if len(in.Edits) == 0 {
		return nil, fmt.Errorf("%w for edit: edits is empty", agent.ErrBadInput)
	}
	var all []fileEdit
	for i := range in.Edits {
		e, err := in.Edits[i].fileEdit(call, path)
		if err != nil {
			if len(in.Edits) > 1 {
				err = fmt.Errorf("edit %d of %d: %w", i+1, len(in.Edits), err)
			}
			return nil, fmt.Errorf("%w for edit: %w", agent.ErrBadInput, err)
		}
		all = append(all, *e)
	}
	return all, nil
}

func (e *patchEdit) fileEdit(call *agent.Call, path string) (*fileEdit, error) {
	switch e.Op {
	case "create":
		content, err := createdText(e.Diff)
		if e.Rename != "" {
			err = errors.New("rename needs the op update")
		}
		return &fileEdit{kind: lsp.MakeFile, path: path, content: content}, err
	case "delete":
		if e.Rename != "" || strings.TrimSpace(e.Diff) != "" {
			return nil, errors.New("delete takes neither diff nor rename")
		}
		return &fileEdit{kind: lsp.RemoveFile, path: path}, nil
	case "update", "":
	default:
		return nil, fmt.Errorf("unknown op %q; the ops are create, delete and update", e.Op)
	}
	f := &fileEdit{path: path}
	if e.Rename != "" {
		to, err := changePath(call, "edit", e.Rename)
		if err != nil {
			return nil, err
		}
		f.newPath = to
	}
	if strings.TrimSpace(e.Diff) == "" {
		if f.newPath == "" {
			return nil, errors.New("diff is empty")
		}
		return f, nil
	}
	hunks, err := patch.ParseUnified(e.Diff)
	if err != nil {
		return nil, err
	}
	f.place = placeHunks(hunks)
	return f, nil
}

// createdText returns the text of a file to create: its added lines, or the diff itself if it has no added lines.
func createdText(diff string) (string, error) {
	if strings.ContainsRune(diff, 0) {
		return "", errors.New("diff contains a NUL byte")
	}
	if !strings.HasPrefix(diff, "+") && !strings.HasPrefix(diff, "@@") && !strings.HasPrefix(diff, "--- /dev/null") {
		return diff, nil
	}
	hunks, err := patch.ParseUnified(diff)
	if err != nil || len(hunks) != 1 {
		return diff, nil //nolint:nilerr // a text that looks like a diff
	}
	var b strings.Builder
	for _, l := range hunks[0].Lines {
		if l.Op != '+' {
			return diff, nil
		}
		b.WriteString(l.Text + "\n")
	}
	if hunks[0].NewOpen {
		return strings.TrimSuffix(b.String(), "\n"), nil
	}
	return b.String(), nil
}

type applyPatchInput struct {
	Input string `json:"input" jsonschema:"the patch, from *** Begin Patch to *** End Patch"`
}

func applyPatch(s *EditSettings) agent.Tool {
	return fileEditTool(s, (*applyPatchInput).fileEdits, agent.ToolFuncs[applyPatchInput]{
		Schemas: schemas,
		Name:    "apply_patch", Description: toolkit.Description(applyPatchText), Kind: agent.KindEdit, Exclusive: true, For: s.only(EditApplyPatch),
		Uses: edits.Uses(),
	})
}

func (in *applyPatchInput) fileEdits(_ context.Context, call *agent.Call) ([]fileEdit, error) {
	files, err := patch.ParseEnvelope(in.Input)
	if err != nil {
		return nil, fmt.Errorf("%w for apply_patch: %w", agent.ErrBadInput, err)
	}
	var all []fileEdit
	for i := range files {
		f := &files[i]
		path, err := changePath(call, "apply_patch", f.Path)
		if err != nil {
			return nil, err
		}
		e := fileEdit{path: path, content: f.Content}
		switch f.Op {
		case patch.Add:
			e.kind = lsp.MakeFile
			if strings.ContainsRune(f.Content, 0) {
				return nil, fmt.Errorf("%w for apply_patch: the text of %s contains a NUL byte", agent.ErrBadInput, f.Path)
			}
		case patch.Delete:
			e.kind = lsp.RemoveFile
		default:
			if f.MoveTo != "" {
				if e.newPath, err = changePath(call, "apply_patch", f.MoveTo); err != nil {
					return nil, err
				}
			}
			if len(f.Hunks) > 0 {
				e.place = placeHunks(f.Hunks)
			}
		}
		all = append(all, e)
	}
	return all, nil
}

// placeHunks finds the places of hunks.
func placeHunks(hunks []patch.Hunk) func(now, old *lines.Text) (placed, error) {
	return func(now, _ *lines.Text) (placed, error) {
		res, err := patch.Apply(now, hunks)
		if err != nil {
			return placed{}, explainHunk(now, err)
		}
		p := placed{splices: res.Splices}
		switch len(res.Loose) {
		case 0:
		case 1:
			p.notes = []string{fmt.Sprintf("Hunk %d was not in the file exactly; it was applied at the only similar place.", res.Loose[0])}
		default:
			p.notes = []string{text.Count(len(res.Loose), "hunk") + " were not in the file exactly; each was applied at the only similar place."}
		}
		return p, nil
	}
}

// explainHunk adds the lines of a text that are most similar to those of a hunk.
func explainHunk(text *lines.Text, err error) error {
	e, ok := errors.AsType[*patch.HunkError](err)
	if !ok || len(e.Old) == 0 || !errors.Is(err, patch.ErrNoPlace) && !errors.Is(err, patch.ErrNoAnchor) {
		return err
	}
	if errors.Is(err, patch.ErrNoAnchor) {
		e.Old = e.Hunk.Anchors
	}
	if hint := nearestText(strings.Join(text.Lines(), "\n"), strings.Join(e.Old, "\n")); hint != "" {
		return fmt.Errorf("%w. %s", err, hint)
	}
	return fmt.Errorf("%w. No similar lines were found; read the file again", err)
}
