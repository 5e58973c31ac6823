package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

// operations are changes of files that a call is about to make, as they are told of.
type operations struct {
	call *agent.Call
	ops  []lsp.FileOperation
}

func (c *operations) name(path string) string { return display(&c.call.Workspace, path) }

// effects is what operations do, for the policy. Edits inside a root are one effect with all their paths: nobody wants to
// be asked for each file of a rename. What is outside is asked for one by one.
func (c *operations) effects(title string) []agent.Effect {
	var effects []agent.Effect
	add := func(e agent.Effect) {
		if !slices.ContainsFunc(effects, func(o agent.Effect) bool { return o.Action == e.Action && o.Path == e.Path && o.Title == e.Title }) {
			effects = append(effects, e)
		}
	}
	var edited []string
	for i := range c.ops {
		o := &c.ops[i]
		switch o.Kind {
		case lsp.WriteFile, lsp.MakeFile:
			if inside(c.call, o.Path) {
				edited = append(edited, o.Path)
				continue
			}
			add(agent.Effect{Action: agent.ActionEdit, Path: o.Path, Title: title + ": edit " + c.name(o.Path)})
		case lsp.MoveFile:
			title := fmt.Sprintf("Rename %s to %s", c.name(o.Path), c.name(o.NewPath))
			add(agent.Effect{Action: agent.ActionMove, Paths: []string{o.Path, o.NewPath}, Title: title})
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

// preview is the change as the user sees it before it is made, within bounds.
func (c *operations) preview() []agent.Content {
	var content []agent.Content
	size := 0
	var left []lsp.FileOperation
	for i := range c.ops {
		o := &c.ops[i]
		if size += len(o.Old) + len(o.New); size > maxPreview {
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
		rest := operations{call: c.call, ops: left}
		content = append(content, agent.TextContent{Text: "… and " + count(len(left), "more change") + ":\n" + rest.list()})
	}
	return content
}

// describe is an operation in a line.
func (c *operations) describe(o *lsp.FileOperation) string {
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

func (c *operations) list() string {
	var b strings.Builder
	for i := range c.ops {
		b.WriteString("  " + c.describe(&c.ops[i]) + "\n")
	}
	return b.String()
}

// places are where an editor can follow the change.
func (c *operations) places() []agent.Location {
	var list []agent.Location
	for i := range c.ops {
		if len(list) == maxFollowed {
			break
		}
		o := &c.ops[i]
		l := agent.Location{Path: o.Path}
		if o.Kind == lsp.WriteFile {
			l.Line = (&change{old: &textFile{text: o.Old}, now: o.New}).firstLine()
		}
		list = append(list, l)
	}
	return list
}

// diffText is the changed lines of the operations, for the model, within maxDiff.
func (c *operations) diffText() string {
	var b strings.Builder
	for i := range c.ops {
		o := &c.ops[i]
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
