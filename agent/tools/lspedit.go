package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

// preparedEdit is an edit that a server has worked out for a call: planned, so that the policy can judge what it does and
// the user can see it, and made when the call runs, if the files are as they were.
type preparedEdit struct {
	// what it is, for "Applied rename:".
	what string
	ops  []lsp.FileOperation
	// seen are the files that ops remove, as they were when the edit was planned.
	seen map[string][]byte
	// none is what there is to say where nothing is to be done.
	none string
	// preview shows the edit and does not make it.
	preview bool
	// diffs puts the changed lines into the text for the model.
	diffs bool
	notes []string
	// files are those that move with a directory: old and new path.
	files [][2]string
	// after runs when the files are changed, before anybody is asked about them; nil for nothing.
	after func(ctx context.Context)
}

// prepare takes an edit into the plan of its call: what it changes, for the policy, and the diffs, for the user.
func (c *lspCall) prepare(ctx context.Context, plan *agent.CallPlan, e *preparedEdit) {
	e.notes = append(e.notes, c.notes...)
	e.preview = e.preview || c.in.Apply != nil && !*c.in.Apply
	c.call.Prepared = prepared(e)
	if e.preview || len(e.ops) == 0 {
		return
	}
	e.seen = seenFiles(ctx, c.call, e.ops)
	plan.Effects = append(plan.Effects, c.effects(plan.Title, e.ops)...)
	plan.Content = c.previewDiffs(e.ops)
	plan.Locations = changedPlaces(e.ops)
}

// effects is what operations do, for the policy. Edits inside a root are one effect with all their paths: nobody wants to
// be asked for each file of a rename. What is outside is asked for one by one.
func (c *lspCall) effects(title string, ops []lsp.FileOperation) []agent.Effect {
	var effects []agent.Effect
	add := func(e agent.Effect) {
		if !slices.ContainsFunc(effects, func(o agent.Effect) bool { return o.Action == e.Action && o.Path == e.Path && o.Title == e.Title }) {
			effects = append(effects, e)
		}
	}
	var edited []string
	for i := range ops {
		o := &ops[i]
		switch o.Kind {
		case lsp.WriteFile, lsp.MakeFile:
			if inside(c.call, o.Path) {
				edited = append(edited, o.Path)
				continue
			}
			add(agent.Effect{Action: agent.ActionEdit, Path: o.Path, Title: title + ": edit " + c.name(o.Path)})
		case lsp.MoveFile:
			title := fmt.Sprintf("Rename %s to %s", c.name(o.Path), c.name(o.NewPath))
			add(agent.Effect{Action: agent.ActionMove, Path: o.Path, Title: title})
			if !inside(c.call, o.NewPath) {
				add(agent.Effect{Action: agent.ActionMove, Path: o.NewPath, Title: title})
			}
		case lsp.RemoveFile:
			add(agent.Effect{Action: agent.ActionDelete, Path: o.Path, Title: "Delete " + c.name(o.Path)})
		}
	}
	slices.Sort(edited)
	edited = slices.Compact(edited)
	for _, root := range append([]string{c.call.Workspace.Cwd}, c.call.Workspace.Additional...) {
		var here, elsewhere []string
		for _, path := range edited {
			if (&agent.Workspace{Cwd: root}).Contains(path) {
				here = append(here, path)
			} else {
				elsewhere = append(elsewhere, path)
			}
		}
		switch edited = elsewhere; len(here) {
		case 0:
		case 1:
			add(agent.Effect{Action: agent.ActionEdit, Path: here[0], Title: title})
		default:
			effects = append(effects, agent.Effect{Action: agent.ActionEdit, Paths: here, Title: fmt.Sprintf("%s (%s)", title, count(len(here), "file"))})
		}
	}
	return effects
}

// previewDiffs is the edit as the user sees it before it is made, within bounds.
func (c *lspCall) previewDiffs(ops []lsp.FileOperation) []agent.Content {
	var content []agent.Content
	size, left := 0, 0
	for i := range ops {
		o := &ops[i]
		if size += len(o.Old) + len(o.New); size > maxPreview {
			left++
			continue
		}
		switch o.Kind {
		case lsp.WriteFile:
			content = append(content, agent.DiffContent{Path: o.Path, Old: &o.Old, New: o.New})
		case lsp.MakeFile:
			content = append(content, agent.DiffContent{Path: o.Path, New: o.New})
		default:
			content = append(content, agent.TextContent{Text: c.describe(o)})
		}
	}
	if left > 0 {
		content = append(content, agent.TextContent{Text: "… and " + count(left, "more change") + ":\n" + c.list(ops[len(ops)-left:])})
	}
	return content
}

// describe is an operation in a line.
func (c *lspCall) describe(o *lsp.FileOperation) string {
	switch o.Kind {
	case lsp.WriteFile:
		return c.name(o.Path) + ": " + count(o.Edits, "edit")
	case lsp.MakeFile:
		return "CREATE " + c.name(o.Path)
	case lsp.MoveFile:
		return "RENAME " + c.name(o.Path) + " → " + c.name(o.NewPath)
	default:
		return "DELETE " + c.name(o.Path)
	}
}

func (c *lspCall) list(ops []lsp.FileOperation) string {
	var b strings.Builder
	for i := range ops {
		b.WriteString("  " + c.describe(&ops[i]) + "\n")
	}
	return b.String()
}

func changedPlaces(ops []lsp.FileOperation) []agent.Location {
	var list []agent.Location
	for i := range ops {
		if len(list) == maxFollowed {
			break
		}
		o := &ops[i]
		l := agent.Location{Path: o.Path}
		if o.Kind == lsp.WriteFile {
			l.Line = (&change{old: &textFile{text: o.Old}, now: o.New}).firstLine()
		}
		list = append(list, l)
	}
	return list
}

// diffText is the changed lines of the operations, for the model, within maxDiff.
func (c *lspCall) diffText(ops []lsp.FileOperation) string {
	var b strings.Builder
	for i := range ops {
		o := &ops[i]
		if o.Kind != lsp.WriteFile && o.Kind != lsp.MakeFile {
			continue
		}
		if b.Len() > maxDiff {
			b.WriteString("… more files changed\n")
			break
		}
		name := c.name(o.Path)
		fmt.Fprintf(&b, "%s\n%s\n", name, strings.TrimSuffix(shortDiff(name, lineFeeds(o.Old), lineFeeds(o.New)), "\n"))
	}
	return b.String()
}

func runEditAction(context.Context, *lspCall) (*agent.Result, error) {
	return nil, errors.New("the edit was not planned; call the tool again")
}

func (e *preparedEdit) run(ctx context.Context, c *lspCall) (*agent.Result, error) {
	c.notes = append(c.notes, e.notes...)
	switch {
	case len(e.ops) == 0:
		return c.result(ctx, e.none), nil
	case e.preview:
		text := capital(e.what) + " preview:\n" + c.list(e.ops) + c.diffText(e.ops)
		res := c.result(ctx, text)
		res.Content, res.Locations = c.previewDiffs(e.ops), changedPlaces(e.ops)
		return res, nil
	}
	done, err := applyOperations(ctx, c.call, e.ops, e.seen)
	if err != nil {
		return nil, err
	}
	if e.after != nil {
		e.after(ctx)
	}
	text := "Applied " + e.what + ":\n" + c.list(e.ops)
	if e.diffs {
		text += c.diffText(e.ops)
	}
	return c.applied(ctx, text, done, e.files), nil
}

// applied is the result of a change that was made, with what the servers say of it.
func (c *lspCall) applied(ctx context.Context, text string, done *workspaceChange, files [][2]string) *agent.Result {
	c.notes = append(c.notes, done.notes...)
	res := c.result(ctx, text)
	res.Content, res.Locations = done.content, done.locations
	events := done.events
	for _, f := range files {
		events = append(events, lsp.FileEvent{Path: f[0], Type: lsp.FileDeleted}, lsp.FileEvent{Path: f[1], Type: lsp.FileCreated})
	}
	diagnose(ctx, c.call, res, true, done.before, done.changed, events...)
	return res
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

const (
	// maxRounds is how often a server is asked again because it did not know an unsaved text.
	maxRounds = 3
	// maxHeld bounds the documents that are held for one edit.
	maxHeld = 200
)

// workOut has a server make an edit, and plans it. A server knows of the files that are not open what the disk has; where
// the editor has another, unsaved text of a file that the edit changes, the server gets that and is asked again. held are
// the documents that the caller holds; they stay the caller's.
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

// editedPaths are the files whose text an edit changes.
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

// unsaved reports whether the editor has another text of a file than the disk.
func (c *lspCall) unsaved(ctx context.Context, path string) bool {
	shown, err := c.call.FS.ReadFile(ctx, path)
	if err != nil {
		return false
	}
	saved, err := disk{}.readFile(path, maxReadFile)
	return err != nil || !bytes.Equal(shown, saved)
}

// surroundings are the files as the servers and the editor have them.
func (c *lspCall) surroundings(ctx context.Context, e lsp.Encoding, docs map[string]*lsp.Document) lsp.EditSurroundings {
	return lsp.EditSurroundings{
		Encoding: e, GOOS: runtime.GOOS,
		Kind: func(path string) (lsp.FileKind, error) { return fileKind(ctx, c.call, path) },
		Read: func(path string) (string, error) {
			if doc := docs[path]; doc != nil {
				return doc.Text.String(), nil
			}
			file, err := openText(ctx, c.call, path)
			if err != nil {
				return "", err
			}
			return file.text, nil
		},
		Version: func(path string) (int32, bool) {
			if doc := docs[path]; doc != nil {
				return doc.Version, true
			}
			return 0, false
		},
	}
}
