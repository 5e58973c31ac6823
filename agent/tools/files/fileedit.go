package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/agent/toolkit/lines"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

// fileEdit is the edit of one file by a call.
type fileEdit struct {
	kind lsp.OperationKind
	// path is absolute. newPath, if set, is the new path of a file that is moved, with or without edits.
	path, newPath string
	// content is the text of a new file.
	content string
	// place finds the changes to make in a text; nil if the text is unchanged. old is the text as the model knows it, or nil if
	// that is the same or unknown.
	place func(text, old *lines.Text) (placed, error)
}

// placed holds the positions of an edit.
type placed struct {
	splices []lines.Splice
	notes   []string
}

// fileEdits holds the edits of one call. Either all of them are made, or none.
type fileEdits struct {
	call     *agent.Call
	settings *EditSettings
	edits    []fileEdit

	// ops are the operations, notes are the notes for the model.
	ops   []lsp.FileOperation
	notes []string
	// at maps a path to the operation that writes or creates it, again holds the paths with several edits, gone those that are
	// moved or deleted.
	at    map[string]int
	again map[string]bool
	gone  map[string]string
}

// fileEditTool returns a tool whose input describes edits of files.
func fileEditTool[In any](s *EditSettings, parse func(in *In, ctx context.Context, call *agent.Call) ([]fileEdit, error), tool agent.ToolFuncs[In]) agent.Tool {
	tool.Plan = func(ctx context.Context, call *agent.Call, in *In) (*agent.CallPlan, error) {
		call = readsLocal(call)
		edits, err := parse(in, ctx, call)
		if err != nil {
			return nil, err
		}
		f := newFileEdits(call, s, edits)
		if local, err := f.local(); local || err != nil {
			title, kind := f.title()
			return &agent.CallPlan{Title: title, Kind: kind}, err
		}
		return f.plan(ctx), nil
	}
	tool.Run = func(ctx context.Context, call *agent.Call, in *In) (*agent.Result, error) {
		with := readsLocal(call)
		edits, err := parse(in, ctx, with)
		if err != nil {
			return nil, err
		}
		if local, err := newFileEdits(with, s, edits).local(); err != nil {
			return nil, err
		} else if local {
			return newFileEdits(with, s, edits).runLocal(ctx)
		}
		return newFileEdits(call, s, edits).run(ctx)
	}
	return agent.NewTool(tool)
}

func newFileEdits(call *agent.Call, s *EditSettings, edits []fileEdit) *fileEdits {
	return &fileEdits{call: call, settings: s, edits: edits, at: make(map[string]int), again: make(map[string]bool), gone: make(map[string]string)}
}

func (f *fileEdits) name(path string) string { return toolkit.Display(&f.call.Workspace, path) }

// plan returns the plan of the call. Its effects do not depend on the contents of the files.
func (f *fileEdits) plan(ctx context.Context) *agent.CallPlan {
	plan := new(agent.CallPlan)
	var asked []lsp.FileOperation
	for i := range f.edits {
		e := &f.edits[i]
		if e.kind != lsp.WriteFile || e.place != nil {
			asked = append(asked, lsp.FileOperation{Kind: e.kind, Path: e.path})
		}
		if e.newPath != "" {
			asked = append(asked, lsp.FileOperation{Kind: lsp.MoveFile, Path: e.path, NewPath: e.newPath})
		}
		if !slices.ContainsFunc(plan.Locations, func(l agent.Location) bool { return l.Path == e.path }) && len(plan.Locations) < edits.MaxFollowed {
			plan.Locations = append(plan.Locations, agent.Location{Path: e.path})
		}
	}
	plan.Title, plan.Kind = f.title()
	plan.Effects = (&edits.Operations{Call: f.call, Ops: asked}).Effects(plan.Title)
	ctx, cancel := context.WithTimeout(ctx, edits.PreviewTime)
	defer cancel()
	look := newFileEdits(f.call, f.settings, f.edits)
	look.settings = &EditSettings{Mode: f.settings.Mode, AllowGenerated: true}
	if look.workOut(ctx, true) == nil {
		plan.Content = (&edits.Operations{Call: f.call, Ops: look.ops}).Preview()
	}
	return plan
}

func (f *fileEdits) title() (string, agent.ToolKind) {
	first := &f.edits[0]
	name := f.name(first.path)
	for i := range f.edits {
		if f.edits[i].path != first.path {
			return "Edit " + text.Count(countPaths(f.edits), "file"), ""
		}
	}
	switch {
	case first.kind == lsp.RemoveFile:
		return "Delete " + name, agent.KindDelete
	case first.kind == lsp.MakeFile:
		return "Write " + name, ""
	case first.newPath != "" && first.place == nil:
		return "Rename " + name + " to " + f.name(first.newPath), agent.KindMove
	default:
		return "Edit " + name, ""
	}
}

func countPaths(edits []fileEdit) int {
	paths := make(map[string]bool)
	for i := range edits {
		paths[edits[i].path] = true
	}
	return len(paths)
}

// workOut computes the operations of the edits. It changes no file. look is set for a preview, which must not record what the model knows.
func (f *fileEdits) workOut(ctx context.Context, look bool) error {
	names := make(map[string]string)
	for i := range f.edits {
		e := &f.edits[i]
		if e.place != nil { // two names of a file would overwrite each other's changes
			real := f.call.FS.RealPath(e.path)
			if other, known := names[real]; known && other != e.path {
				return fmt.Errorf("%w: %s and %s are the same file; use one of the names", agent.ErrBadInput, f.name(other), f.name(e.path))
			}
			names[real] = e.path
		}
		if where := f.gone[e.path]; where != "" {
			return fmt.Errorf("%w: this call already %[3]s %[2]s", agent.ErrBadInput, f.name(e.path), where)
		}
		var err error
		switch e.kind {
		case lsp.MakeFile:
			err = f.create(ctx, e)
		case lsp.RemoveFile:
			err = f.remove(ctx, e, look)
		default:
			if e.place != nil {
				err = f.update(ctx, e, look)
			}
			if err == nil && e.newPath != "" {
				err = f.move(ctx, e)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := f.stillKnown(look); err != nil {
		return err
	}
	f.ops = slices.DeleteFunc(f.ops, func(o lsp.FileOperation) bool { return o.Kind == lsp.WriteFile && o.Old == o.New })
	if len(f.ops) == 0 {
		return errors.New("nothing to change: the files already have these contents")
	}
	return nil
}

// stillKnown returns an error if files with several edits have changed at the positions of the edits. The later edits are made for
// a text that the model has not read, so all are checked together.
func (f *fileEdits) stillKnown(look bool) error {
	for i := range f.ops {
		o := &f.ops[i]
		if look || o.Kind != lsp.WriteFile || !f.again[o.Path] {
			continue
		}
		if hit := edits.Touched(edits.StaleRegions(f.call, o.Path, o.Old), edits.AsSplices(o.Old, o.New)); len(hit) > 0 {
			return f.settings.changedError(f.call, o.Path, o.Old, hit, edits.RightThere)
		}
	}
	return nil
}

func (f *fileEdits) create(ctx context.Context, e *fileEdit) error {
	if _, twice := f.at[e.path]; twice {
		return fmt.Errorf("%w: this call creates or changes %s twice", agent.ErrBadInput, f.name(e.path))
	}
	switch kind, err := edits.FileKind(ctx, f.call, e.path); {
	case err != nil:
		return err
	case kind == lsp.Directory:
		return fmt.Errorf("%s is a directory; give the path of a file in it", f.name(e.path))
	case kind != lsp.NoFile:
		return fmt.Errorf("%s cannot be created: %w; update it, or replace it with write", f.name(e.path), fs.ErrExist)
	}
	f.at[e.path] = len(f.ops)
	f.ops = append(f.ops, lsp.FileOperation{Kind: lsp.MakeFile, Path: e.path, New: e.content, Edits: 1})
	return nil
}

func (f *fileEdits) remove(ctx context.Context, e *fileEdit, look bool) error {
	if _, twice := f.at[e.path]; twice {
		return fmt.Errorf("%w: this call changes and deletes %s", agent.ErrBadInput, f.name(e.path))
	}
	switch kind, err := edits.FileKind(ctx, f.call, e.path); {
	case err != nil:
		return err
	case kind == lsp.Directory:
		return fmt.Errorf("%s is a directory; only files can be deleted", f.name(e.path))
	case kind == lsp.NoFile:
		return toolkit.Missing(ctx, f.call, e.path)
	}
	op := lsp.FileOperation{Kind: lsp.RemoveFile, Path: e.path}
	if file, err := edits.OpenText(ctx, f.call, e.path); err == nil {
		if regions := edits.StaleRegions(f.call, e.path, file.Text); len(regions) > 0 && !look {
			return f.settings.changedError(f.call, e.path, file.Text, regions, edits.ByOthers)
		}
		op.Old = file.Text
	}
	f.gone[e.path] = "deleted"
	f.ops = append(f.ops, op)
	return nil
}

func (f *fileEdits) move(ctx context.Context, e *fileEdit) error {
	if e.place == nil {
		if kind, err := edits.FileKind(ctx, f.call, e.path); err != nil {
			return err
		} else if kind == lsp.NoFile {
			return toolkit.Missing(ctx, f.call, e.path)
		}
	}
	if e.newPath == e.path {
		return nil
	}
	switch kind, err := edits.FileKind(ctx, f.call, e.newPath); {
	case err != nil:
		return err
	case kind != lsp.NoFile && f.gone[e.newPath] == "":
		return fmt.Errorf("%s cannot become %s: %w", f.name(e.path), f.name(e.newPath), fs.ErrExist)
	}
	f.gone[e.path] = "moved"
	f.ops = append(f.ops, lsp.FileOperation{Kind: lsp.MoveFile, Path: e.path, NewPath: e.newPath})
	return nil
}

func (f *fileEdits) update(ctx context.Context, e *fileEdit, look bool) error {
	if i, again := f.at[e.path]; again { // based on the result of the previous edit
		f.again[e.path] = true
		p, err := e.place(lines.Parse(f.ops[i].New), nil)
		if err == nil {
			f.ops[i].New, err = lines.Parse(f.ops[i].New).Apply(p.splices)
			f.ops[i].Edits += len(p.splices)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name(e.path), err)
		}
		f.remark(e.path, p.notes)
		return nil
	}
	file, err := edits.OpenText(ctx, f.call, e.path)
	if err != nil && isLocal(e.path) {
		return missingLocal(ctx, f.call, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return toolkit.Missing(ctx, f.call, e.path)
	}
	if err == nil {
		err = f.settings.checkGenerated(f.call, e.path, file.Text)
	}
	if err != nil {
		return err
	}
	text := lines.Parse(file.Text)
	regions := edits.StaleRegions(f.call, e.path, file.Text)
	var old *lines.Text
	if known, ok := edits.KnownOf(f.call).Get(e.path); ok && len(regions) > 0 {
		old = lines.Parse(known)
	}
	p, err := e.place(text, old)
	if err != nil {
		if len(regions) > 0 && !look {
			return fmt.Errorf("%w\n%w", err, f.settings.changedError(f.call, e.path, file.Text, regions, edits.ByOthers))
		}
		return fmt.Errorf("%s: %w", f.name(e.path), err)
	}
	if hit := edits.Touched(regions, p.splices); len(hit) > 0 && !look {
		return f.settings.changedError(f.call, e.path, file.Text, hit, edits.RightThere)
	} else if len(regions) > 0 && len(hit) == 0 {
		p.notes = append(p.notes, edits.ChangedElsewhere)
	}
	now, err := text.Apply(p.splices)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name(e.path), err)
	}
	if strings.ContainsRune(now, 0) {
		return fmt.Errorf("%w: the new text of %s contains a NUL byte", agent.ErrBadInput, f.name(e.path))
	}
	f.remark(e.path, p.notes)
	f.at[e.path] = len(f.ops)
	f.ops = append(f.ops, lsp.FileOperation{Path: e.path, Old: file.Text, New: now, Edits: len(p.splices)})
	return nil
}

func (f *fileEdits) remark(path string, notes []string) {
	for _, n := range notes {
		if len(f.edits) > 1 {
			n = f.name(path) + ": " + n
		}
		f.notes = append(f.notes, n)
	}
}

// run makes the edits.
func (f *fileEdits) run(ctx context.Context) (*agent.Result, error) {
	if edits.ReportsEdits(f.call) { // before the files are read: the user may type while the question is open
		if err := toolkit.TrustWorkspace(ctx, f.call, f.edits[0].path); err != nil {
			return nil, err
		}
	}
	if err := f.workOut(ctx, false); err != nil {
		if len(f.edits) > 1 {
			return nil, fmt.Errorf("nothing was changed: %w", err)
		}
		return nil, err
	}
	done, err := edits.ApplyOperations(ctx, f.call, f.ops, edits.SeenFiles(ctx, f.call, f.ops))
	if err != nil {
		return nil, err
	}
	res := &agent.Result{
		Text:    toolkit.JoinNotes(f.text(done), append(f.notes, done.Notes...)),
		Content: done.Content, Locations: done.Locations,
	}
	edits.Diagnose(ctx, f.call, res, edits.ReportsEdits(f.call), done.Before, done.Changed, done.Events...)
	return res, nil
}

// text returns the text for the model about the changes made.
func (f *fileEdits) text(done *edits.WorkspaceChange) string {
	var b strings.Builder
	for i := range f.ops {
		o := &f.ops[i]
		switch o.Kind {
		case lsp.MoveFile:
			fmt.Fprintf(&b, "Renamed %s to %s.\n", f.name(o.Path), f.name(o.NewPath))
			continue
		case lsp.RemoveFile:
			fmt.Fprintf(&b, "Deleted %s.\n", f.name(o.Path))
			continue
		case lsp.MakeFile:
			fmt.Fprintf(&b, "Created %s (%s).\n", f.name(o.Path), text.Count(lines.Parse(o.New).Len(), "line"))
			continue
		default:
		}
		now := o.New
		for _, c := range done.Content { // the text as saved by the editor
			if d, ok := c.(agent.DiffContent); ok && d.Path == o.Path && d.Old != nil {
				now = d.New
			}
		}
		fmt.Fprintf(&b, "Edited %s.\n", f.name(o.Path))
		if b.Len() > toolkit.MaxDiff {
			continue
		}
		b.WriteString(f.shown(o.Path, o.Old, now) + "\n")
	}
	return b.String()
}

// shown returns the changed lines of a file: as a diff, or with the anchors for the next edit.
func (f *fileEdits) shown(path, old, now string) string {
	if f.settings.anchors(&f.call.Model) {
		return edits.FreshLines(now, lines.Changed(lines.Parse(old), lines.Parse(now)), true)
	}
	return strings.TrimSuffix(toolkit.ShortDiff(f.name(path), toolkit.LineFeeds(old), toolkit.LineFeeds(now)), "\n")
}
