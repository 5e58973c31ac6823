package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// fileOps is which files the calls of a conversation have read and changed.
type fileOps struct {
	read, modified map[string]bool
}

// fileDetails is how an entry keeps them. A compaction has more of it; see [compactionDetails].
type fileDetails struct {
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
}

func newFileOps() *fileOps { return &fileOps{make(map[string]bool), make(map[string]bool)} }

// entries takes note of what calls among entries did, and of what summaries among them tell.
func (f *fileOps) entries(entries []sessions.Entry) {
	for i, e := range entries {
		switch e := e.(type) {
		case sessions.MessageEntry:
			for _, c := range e.Message.ToolCalls() {
				if !failedCall(entries[i+1:], c.ID) {
					f.call(c)
				}
			}
		case sessions.BranchSummary:
			f.details(e.Details, e.FromExtension)
		case sessions.Compaction:
			f.details(e.Details, e.FromExtension)
		default:
		}
	}
}

// failedCall reports whether the call of an answer failed; rest is what follows the answer. Some models give calls the
// same ids over and over.
func failedCall(rest []sessions.Entry, id string) bool {
	for _, e := range rest {
		m, ok := e.(sessions.MessageEntry)
		switch {
		case !ok:
		case m.Message.Role == providers.RoleAssistant:
			return false
		case m.Message.Role == providers.RoleTool && m.Message.ToolCallID == id:
			return m.Message.IsError
		}
	}
	return false
}

// details takes over what an earlier summary has noted. What an extension has written means what it likes.
func (f *fileOps) details(raw jsonx.Raw, fromExtension bool) {
	if fromExtension || len(raw) == 0 {
		return
	}
	var d fileDetails
	if jsonx.Unmarshal(raw, &d) != nil {
		return
	}
	for _, path := range d.ReadFiles {
		f.read[path] = true
	}
	for _, path := range d.ModifiedFiles {
		f.modified[path] = true
	}
}

// call takes note of one call. The names are those of the tools that take a path, here and in other programs.
func (f *fileOps) call(c providers.ToolCall) {
	var set map[string]bool
	switch c.Name {
	case "read":
		set = f.read
	case "write", "edit", "apply_patch", "multi_edit":
		set = f.modified
	default:
		return
	}
	var in struct {
		Path     string `json:"path"`
		FilePath string `json:"file_path"`
	}
	if jsonx.Unmarshal(c.Input, &in) != nil {
		return // a model broke off
	}
	path := strings.TrimSpace(in.Path)
	if path == "" {
		path = strings.TrimSpace(in.FilePath)
	}
	if c.Name == "read" {
		if strings.Contains(path, "://") {
			return // an artifact is no file
		}
		path = withoutSelector(path)
	}
	if path == "" || strings.ContainsAny(path, "\n<>") {
		return // such a path would break the list
	}
	set[path] = true
}

// withoutSelector takes the lines off a path that the read tool was asked for: "a.go:40-60".
func withoutSelector(path string) string {
	for range 2 {
		i := strings.LastIndexByte(path, ':')
		if i <= 0 {
			break
		}
		sel := path[i+1:]
		if sel != "raw" && (sel == "" || strings.Trim(sel, "0123456789-+,$") != "") {
			break
		}
		path = path[:i]
	}
	return path
}

// lists returns both sets, sorted. What was changed does not count as read.
func (f *fileOps) lists() fileDetails {
	d := fileDetails{ReadFiles: []string{}, ModifiedFiles: []string{}}
	for path := range f.read {
		if !f.modified[path] {
			d.ReadFiles = append(d.ReadFiles, path)
		}
	}
	for path := range f.modified {
		d.ModifiedFiles = append(d.ModifiedFiles, path)
	}
	slices.Sort(d.ReadFiles)
	slices.Sort(d.ModifiedFiles)
	return d
}

// maxListed bounds how many files a summary names; the details have all.
const maxListed = 20

// tag returns the files as they stand at the end of a summary: a tree with what was done to each. It is empty for no file.
// Modified files come before read ones where there are too many.
func (f *fileOps) tag() string {
	d := f.lists()
	all := slices.Concat(d.ModifiedFiles, d.ReadFiles)
	if len(all) == 0 {
		return ""
	}
	listed := all[:min(len(all), maxListed)]
	slices.Sort(listed)
	var root fileNode
	for _, path := range listed {
		root.add(path, f.access(path))
	}
	var b strings.Builder
	b.WriteString("\n\n<files>\n")
	root.write(&b, 1)
	if more := len(all) - len(listed); more > 0 {
		fmt.Fprintf(&b, "… (%d more files omitted)\n", more)
	}
	b.WriteString("</files>")
	return b.String()
}

// access returns what was done to a file.
func (f *fileOps) access(path string) string {
	switch {
	case !f.modified[path]:
		return "Read"
	case f.read[path]:
		return "RW"
	}
	return "Write"
}

// fileNode is a directory of the tree. The lines and names are in the order in which they were added.
type fileNode struct {
	lines, names []string
	dirs         map[string]*fileNode
}

func (n *fileNode) add(path, access string) {
	for {
		dir, rest, found := strings.Cut(path, "/")
		if !found || rest == "" {
			break
		}
		child := n.dirs[dir]
		if child == nil {
			if n.dirs == nil {
				n.dirs = make(map[string]*fileNode)
			}
			child = new(fileNode)
			n.names, n.dirs[dir] = append(n.names, dir), child
		}
		n, path = child, rest
	}
	n.lines = append(n.lines, path+" ("+access+")")
}

// write writes the files and then the directories of n, with a heading for each. A directory that holds nothing but one other
// shares its heading.
func (n *fileNode) write(b *strings.Builder, depth int) {
	for _, line := range n.lines {
		b.WriteString(line + "\n")
	}
	for _, name := range n.names {
		child := n.dirs[name]
		var heading strings.Builder
		heading.WriteString(name + "/")
		for len(child.lines) == 0 && len(child.names) == 1 {
			heading.WriteString(child.names[0] + "/")
			child = child.dirs[child.names[0]]
		}
		b.WriteString(strings.Repeat("#", depth) + " " + heading.String() + "\n")
		child.write(b, depth+1)
	}
}

// withoutTags takes file lists off a summary: those of a model's own making, and those of a summary that is gone on with.
func withoutTags(summary string) string {
	for _, name := range []string{"read-files", "modified-files", "files"} {
		for {
			before, rest, found := strings.Cut(summary, "<"+name+">")
			_, after, closed := strings.Cut(rest, "</"+name+">")
			if !found || !closed {
				break
			}
			summary = strings.TrimRight(before, "\n") + "\n" + strings.TrimLeft(after, "\n")
		}
	}
	return strings.TrimSpace(summary)
}
