package edits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/lsp"
)

// Operations describes changes of files that a call is about to make.
type Operations struct {
	Call *agent.Call
	Ops  []lsp.FileOperation
}

// Name returns how path is shown to the model and the user.
func (c *Operations) Name(path string) string { return toolkit.Display(&c.Call.Workspace, path) }

// Effects returns the effects of the operations. Edits inside a root are one effect with all their paths, so that the user answers
// one question for a rename. Each edit outside the roots is a separate effect.
func (c *Operations) Effects(title string) []approval.Effect {
	var effects []approval.Effect
	add := func(e approval.Effect) {
		if !slices.ContainsFunc(effects, func(o approval.Effect) bool { return o.Action == e.Action && o.Path == e.Path && o.Title == e.Title }) {
			effects = append(effects, e)
		}
	}
	var edited []string
	for i := range c.Ops {
		o := &c.Ops[i]
		switch o.Kind {
		case lsp.WriteFile, lsp.MakeFile:
			if toolkit.Inside(c.Call, o.Path) {
				edited = append(edited, o.Path)
				continue
			}
			add(approval.Effect{Action: approval.ActionEdit, Path: o.Path, Title: title + ": edit " + c.Name(o.Path)})
		case lsp.MoveFile:
			title := fmt.Sprintf("Rename %s to %s", c.Name(o.Path), c.Name(o.NewPath))
			add(approval.Effect{Action: approval.ActionMove, Paths: []string{o.Path, o.NewPath}, Title: title})
		case lsp.RemoveFile:
			add(approval.Effect{Action: approval.ActionDelete, Path: o.Path, Title: "Delete " + c.Name(o.Path)})
		}
	}
	slices.Sort(edited)
	edited = slices.Compact(edited)
	for _, root := range append([]string{c.Call.Workspace.Cwd}, c.Call.Workspace.Additional...) {
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
			add(approval.Effect{Action: approval.ActionEdit, Path: here[0], Title: title})
		default:
			effects = append(effects, approval.Effect{Action: approval.ActionEdit, Paths: here, Title: fmt.Sprintf("%s (%s)", title, text.Count(len(here), "file"))})
		}
	}
	return effects
}

// Preview returns the change as the user sees it before it is made, at most MaxPreview.
func (c *Operations) Preview() []agent.Content {
	var content []agent.Content
	size := 0
	var left []lsp.FileOperation
	for i := range c.Ops {
		o := &c.Ops[i]
		if size += len(o.Old) + len(o.New); size > MaxPreview {
			left = append(left, *o)
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
	if len(left) > 0 {
		rest := Operations{Call: c.Call, Ops: left}
		content = append(content, agent.TextContent{Text: "… and " + text.Count(len(left), "more change") + ":\n" + rest.List()})
	}
	return content
}

// describe returns one line about an operation.
func (c *Operations) describe(o *lsp.FileOperation) string {
	switch o.Kind {
	case lsp.WriteFile:
		return c.Name(o.Path) + ": " + text.Count(o.Edits, "edit")
	case lsp.MakeFile:
		return "CREATE " + c.Name(o.Path)
	case lsp.MoveFile:
		return "RENAME " + c.Name(o.Path) + " → " + c.Name(o.NewPath)
	default:
		return "DELETE " + c.Name(o.Path)
	}
}

// List describes the operations, one per line.
func (c *Operations) List() string {
	var b strings.Builder
	for i := range c.Ops {
		b.WriteString("  " + c.describe(&c.Ops[i]) + "\n")
	}
	return b.String()
}

// Places returns the locations of the changes, so that editors can follow them.
func (c *Operations) Places() []agent.Location {
	var list []agent.Location
	for i := range c.Ops {
		if len(list) == MaxFollowed {
			break
		}
		o := &c.Ops[i]
		l := agent.Location{Path: o.Path}
		if o.Kind == lsp.WriteFile {
			l.Line = (&Change{Old: &TextFile{Text: o.Old}, Now: o.New}).FirstLine()
		}
		list = append(list, l)
	}
	return list
}

// DiffText returns the changed lines of the operations for the model, at most MaxDiff.
func (c *Operations) DiffText() string {
	var b strings.Builder
	for i := range c.Ops {
		o := &c.Ops[i]
		if o.Kind != lsp.WriteFile && o.Kind != lsp.MakeFile {
			continue
		}
		if b.Len() > toolkit.MaxDiff {
			b.WriteString("… more files changed\n")
			break
		}
		name := c.Name(o.Path)
		fmt.Fprintf(&b, "%s\n%s\n", name, strings.TrimSuffix(toolkit.ShortDiff(name, toolkit.LineFeeds(o.Old), toolkit.LineFeeds(o.New)), "\n"))
	}
	return b.String()
}
