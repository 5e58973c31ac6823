package files

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/isolation"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/worktree"
	"github.com/gajae-code/gjc/lsp"
)

//go:embed mergechanges.md
var mergeText string

type mergeInput struct {
	Name string `json:"name" jsonschema:"name of the helper"`
}

// MergeChanges returns the tool "merge_changes", which merges the changes of a helper with a worktree.
func MergeChanges() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[mergeInput]{
		Schemas: schemas,
		Name:    agent.MergeTool, Description: toolkit.Description(mergeText), Kind: agent.KindEdit, Exclusive: true,
		Uses: approval.Uses{Roots: true},
		Available: func(values *agent.Values) bool {
			_, ok := agent.LookupValue[*isolation.Trees](values)
			return ok
		},
		Plan: func(ctx context.Context, call *agent.Call, in *mergeInput) (*agent.CallPlan, error) {
			tree, err := treeOf(call, in)
			if err != nil {
				return nil, err
			}
			plan := &agent.CallPlan{Title: "Merge the changes of " + toolkit.CommandTitle(in.Name)}
			plan.Complete = func(ctx context.Context) error {
				m, err := newMerge(ctx, call, tree)
				if err != nil {
					return err
				}
				m.describe(plan)
				return nil
			}
			return plan, nil
		},
		Run: func(ctx context.Context, call *agent.Call, in *mergeInput) (*agent.Result, error) {
			tree, err := treeOf(call, in)
			if err != nil {
				return nil, err
			}
			m, err := newMerge(ctx, call, tree) // the user may have changed files while the question was open
			if err != nil {
				return nil, err
			}
			return m.run(ctx)
		},
	})
}

func treeOf(call *agent.Call, in *mergeInput) (*isolation.Tree, error) {
	trees, ok := agent.LookupValue[*isolation.Trees](call.Values)
	if !ok {
		return nil, errors.New("there are no worktrees here")
	}
	return trees.Of(in.Name)
}

// merge is the merge of a helper's changes into the workspace.
type merge struct {
	call *agent.Call
	tree *isolation.Tree
	all  []worktree.Merged
	// ops change the contents. raw has those that are no text, and seen the contents before, as the file system has them.
	ops       []lsp.FileOperation
	raw, seen map[string][]byte
	forms     map[string]textForm
	// modes are the files that become executable, or are no longer.
	modes map[string]bool
}

// newMerge works out a merge. It changes nothing.
func newMerge(ctx context.Context, call *agent.Call, tree *isolation.Tree) (*merge, error) {
	m := &merge{
		call: call, tree: tree, raw: make(map[string][]byte), seen: make(map[string][]byte), forms: make(map[string]textForm), modes: make(map[string]bool),
	}
	var err error
	if m.all, err = tree.Merge(ctx, func(path string) ([]byte, error) { return m.read(ctx, path) }); err != nil {
		return nil, err
	}
	for i := range m.all {
		m.add(&m.all[i])
	}
	return m, nil
}

// read returns the content of a file as its editor has it, in the form that it has on the disk.
func (m *merge) read(ctx context.Context, path string) ([]byte, error) {
	data, err := m.call.FS.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	m.seen[path] = data
	disk, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	form := formOf(data, disk)
	m.forms[path] = form
	return form.onDisk(data), nil
}

// textForm says what an editor leaves out of a text that the file on the disk has.
type textForm struct{ returns, mark bool }

var byteOrderMark = []byte("\ufeff")

func formOf(data, disk []byte) textForm {
	return textForm{
		returns: bytes.Contains(disk, []byte("\r\n")) && bytes.Contains(data, []byte("\n")) && !bytes.Contains(data, []byte("\r\n")),
		mark:    bytes.HasPrefix(disk, byteOrderMark) && !bytes.HasPrefix(data, byteOrderMark),
	}
}

// onDisk returns the content for the disk of one in the editor.
func (f textForm) onDisk(data []byte) []byte {
	if f.returns {
		data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
	}
	if f.mark {
		data = append(bytes.Clone(byteOrderMark), data...)
	}
	return data
}

// inEditor returns the content for the editor of one on the disk.
func (f textForm) inEditor(data []byte) []byte {
	if f.mark {
		data = bytes.TrimPrefix(data, byteOrderMark)
	}
	if f.returns {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return data
}

// add adds the operation for one file.
func (m *merge) add(f *worktree.Merged) {
	was, is := &f.Old, &f.New
	if f.Outcome == worktree.Refused {
		return
	}
	if was.Link || is.Link {
		if was.Exists != is.Exists || was.Link != is.Link || !bytes.Equal(was.Content, is.Content) {
			f.Outcome, f.Reason = worktree.Refused, "it is a symbolic link; make it with a command"
		}
		return
	}
	op := lsp.FileOperation{Path: f.Path, Edits: 1}
	before := m.seen[f.Path]
	after := m.forms[f.Path].inEditor(is.Content)
	old, oldForm, oldErr := toolkit.DecodeText(before)
	now, nowForm, nowErr := toolkit.DecodeText(after)
	binary := nowErr != nil || len(after) > toolkit.MaxReadFile
	if !binary {
		op.New = now
	}
	switch {
	case !is.Exists && was.Exists:
		op.Kind, op.New = lsp.RemoveFile, ""
		if oldErr == nil {
			op.Old = old
		}
	case !is.Exists:
		return
	case !was.Exists:
		if op.Kind = lsp.MakeFile; binary || nowForm != toolkit.PlainUTF8 {
			m.raw[f.Path] = is.Content
		}
	case binary || oldErr != nil || oldForm != nowForm || len(before) > toolkit.MaxReadFile:
		op.Kind = lsp.WriteFile
		m.raw[f.Path] = is.Content
	default:
		op.Kind, op.Old = lsp.WriteFile, old
	}
	if is.Exists && is.Executable != was.Executable {
		m.modes[f.Path] = is.Executable
	}
	if !was.Exists || !bytes.Equal(before, after) {
		m.ops = append(m.ops, op)
	}
}

// describe completes the plan of the call.
func (m *merge) describe(plan *agent.CallPlan) {
	asked := m.ops[:len(m.ops):len(m.ops)]
	for path := range m.modes {
		asked = append(asked, lsp.FileOperation{Kind: lsp.WriteFile, Path: path})
	}
	all := edits.Operations{Call: m.call, Ops: asked}
	plan.Effects, plan.Locations = all.Effects(plan.Title), all.Places()
	var texts []lsp.FileOperation
	for i := range m.ops {
		if o := &m.ops[i]; m.raw[o.Path] == nil {
			texts = append(texts, *o)
		}
	}
	plan.Content = append((&edits.Operations{Call: m.call, Ops: texts}).Preview(), agent.TextContent{Text: m.list(nil)})
}

// list lists the files with what becomes of each, and the addresses of the conflicts.
func (m *merge) list(conflicts map[string][]int) string {
	var b strings.Builder
	for i := range m.all {
		f := &m.all[i]
		name := toolkit.Display(&m.call.Workspace, f.Path)
		switch f.Outcome {
		case worktree.Refused:
			fmt.Fprintf(&b, "  not merged: %s: %s\n", name, f.Reason)
		case worktree.Conflict:
			var line strings.Builder
			fmt.Fprintf(&line, "  %s %s, with conflicts", f.Kind, name)
			for _, n := range conflicts[f.Path] {
				line.WriteString(" " + conflictScheme + strconv.Itoa(n))
			}
			b.WriteString(line.String() + "\n")
		default:
			fmt.Fprintf(&b, "  %s %s\n", f.Kind, name)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// run makes the changes. It removes the worktree, or, if some changes are not merged, stores all of them in a branch.
func (m *merge) run(ctx context.Context) (*agent.Result, error) {
	done := edits.NewWorkspaceChange(m.call, m.ops, m.seen)
	done.Raw, done.Unseen = m.raw, true
	if len(m.ops) > 0 {
		if _, err := done.Apply(ctx); err != nil {
			return nil, err
		}
	}
	for path, on := range m.modes {
		done.Notes = append(done.Notes, edits.SetExecutable(ctx, m.call, path, on)...)
	}
	conflicts, refused := m.conflicts(done), false
	for i := range m.all {
		refused = refused || m.all[i].Outcome == worktree.Refused
	}
	what := "Merged the changes of " + m.tree.Name() + ":\n" + m.list(conflicts)
	if len(m.all) == 0 {
		what = m.tree.Name() + " has changed no files."
	}
	if len(conflicts) > 0 {
		done.Notes = append(done.Notes, "Resolve each conflict with write to its address; read FILE:conflicts shows them.")
	}
	finish := func(ctx context.Context) (string, error) { return "", m.tree.Remove(ctx) }
	if refused {
		finish = m.tree.Branch
	}
	if about, err := finish(context.WithoutCancel(ctx)); err != nil {
		done.Notes = append(done.Notes, err.Error())
	} else if about != "" {
		done.Notes = append(done.Notes, about)
	}
	res := &agent.Result{Text: toolkit.JoinNotes(what, done.Notes), Content: done.Content, Locations: done.Locations}
	res.Content = append(res.Content, agent.TextContent{Text: res.Text})
	edits.Diagnose(ctx, m.call, res, edits.ReportsEdits(m.call), done.Before, done.Changed, done.Events...)
	return res, nil
}

// conflicts returns the numbers of the conflicts in the merged files, as they are saved.
func (m *merge) conflicts(done *edits.WorkspaceChange) map[string][]int {
	all := make(map[string][]int)
	for i := range m.all {
		f := &m.all[i]
		if f.Outcome != worktree.Conflict {
			continue
		}
		text := string(f.New.Content)
		for _, c := range done.Content {
			if d, ok := c.(agent.DiffContent); ok && d.Path == f.Path {
				text = d.New
			}
		}
		_, bare := bareLines(text)
		found, _ := findConflicts(bare)
		all[f.Path] = conflictsOf(m.call).number(f.Path, bare, found)
	}
	return all
}
