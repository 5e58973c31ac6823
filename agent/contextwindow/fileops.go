package contextwindow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// fileOps records the files that the calls of a conversation have read and changed.
type fileOps struct {
	read, modified map[string]bool
}

// fileDetails is the form of fileOps in the details of an entry. Those of a compaction are [compactionDetails].
type fileDetails struct {
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
}

func newFileOps() *fileOps { return &fileOps{make(map[string]bool), make(map[string]bool)} }

// entries records the successful calls in entries, and the files listed in the summaries in entries.
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

// failedCall reports whether a call of an answer failed. rest are the entries that follow the answer: some models reuse the IDs of
// calls in later answers.
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

// details records the files in the details of an earlier summary. The details of an extension have no known form, so they are
// ignored.
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

// call records one call. It supports the tools that have a path parameter, of gjc and of other programs.
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
		return // the model's output was interrupted
	}
	path := strings.TrimSpace(in.Path)
	if path == "" {
		path = strings.TrimSpace(in.FilePath)
	}
	if c.Name == "read" {
		if strings.Contains(path, "://") {
			return // for example an artifact
		}
		path = withoutSelector(path)
	}
	if path == "" || strings.ContainsAny(path, "\n<>") {
		return // such a path would break the list
	}
	set[path] = true
}

// withoutSelector removes the line selector from a path of the read tool, such as "a.go:40-60".
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

// lists returns both sets, sorted. A modified file does not count as read.
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

// maxListed is the maximum number of files that a summary names. The details of the entry list all of them.
const maxListed = 20

// tag returns the list of files for the end of a summary, as a tree; empty for no files. If there are too many, it prefers modified
// files.
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

// access returns how a file was used.
func (f *fileOps) access(path string) string {
	switch {
	case !f.modified[path]:
		return "Read"
	case f.read[path]:
		return "RW"
	}
	return "Write"
}

// fileNode is a directory of the tree. Lines and names are in the order in which they were added.
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

// write writes the files of n and then its directories, each with a heading. A directory that only contains one other directory
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

// withoutLists removes the lists that gjc appends from a summary, those of a previous summary and those that a model invented: lists
// of files and the open work.
func withoutLists(summary string) string {
	for _, name := range []string{"read-files", "modified-files", "files", openWorkTag} {
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
