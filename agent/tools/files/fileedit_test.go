package files_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// A write that fails in the middle undoes the changes before it, to the byte.
func TestApplyPatch_RollsBack(t *testing.T) {
	texts := map[string]string{"a.txt": "\xEF\xBB\xBFone\r\ntwo\n", "b.txt": "b\n", "c.txt": "c\n", "d.txt": "d\n"}
	w := toolstest.NewWorld(t, texts)
	broken := errors.New("the disk is full")
	w.FS.Fail = func(op, path string) error {
		if op == "write" && filepath.Base(path) == "d.txt" {
			return broken
		}
		return nil
	}
	patch := "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Delete File: b.txt\n*** Update File: c.txt\n*** Move to: sub/moved.txt\n" +
		"*** Add File: new/deep/x.txt\n+x\n*** Update File: d.txt\n@@\n-d\n+D\n*** End Patch"
	editTool := editTool(t, files.EditApplyPatch)
	_, _, err := toolstest.Do(t.Context(), editTool, w.Call(t, "apply_patch", toolstest.Input{"input": patch}))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "All changes were undone") {
		t.Errorf("err = %v", err)
	}
	toolstest.Same(t, "the disk", toolstest.Tree(t, w), texts)
	if err := toolstest.Fails(t, w, "undo", toolstest.Input{}); !strings.Contains(err.Error(), "nothing to undo") {
		t.Errorf("a change that did not happen can be undone: %v", err)
	}
}

// The plan lists every path before anything is changed.
func TestApplyPatch_Effects(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a": "a\n", "b": "b\n", "c": "c\n"})
	outside := filepath.Join(t.TempDir(), "x")
	patch := "*** Begin Patch\n*** Update File: a\n@@\n-a\n+A\n*** Add File: new\n+x\n*** Delete File: b\n*** Update File: c\n*** Move to: " + outside + "\n*** End Patch"
	editTool := editTool(t, files.EditApplyPatch)
	p, err := toolstest.Plan(t.Context(), editTool, w.Call(t, "apply_patch", toolstest.Input{"input": patch}))
	if err != nil {
		t.Fatal(err)
	}
	move := "Rename c to " + filepath.ToSlash(outside)
	toolstest.Same(t, "effects", p.Effects, []approval.Effect{
		{Action: approval.ActionDelete, Path: w.Path("b"), Title: "Delete b"},
		{Action: approval.ActionMove, Paths: []string{w.Path("c"), outside}, Title: move},
		{Action: approval.ActionEdit, Paths: []string{w.Path("a"), w.Path("new")}, Title: "Edit 4 files (2 files)"},
	})
	toolstest.Same(t, "title", p.Title, "Edit 4 files")
	if len(p.Content) != 4 || len(w.FS.Writes) != 0 {
		t.Errorf("preview %v, writes %v", p.Content, w.FS.Writes)
	}
}

// Anchors follow lines that only moved, and are rejected if the lines themselves changed.
func TestEditHashline_Recovers(t *testing.T) {
	text := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"
	w := toolstest.NewWorld(t, map[string]string{"f": text})
	editTool := editTool(t, files.EditHashline)
	toolstest.Run(t, w, "read", toolstest.Input{"path": "f"})
	w.Put(t, "f", "new 1\nnew 2\n"+text)
	do := func(in string) (*agent.Result, error) {
		_, res, err := toolstest.Do(t.Context(), editTool, w.Call(t, "edit", toolstest.Input{"path": "f", "input": in}))
		return res, err
	}
	h := anchorOf(text, 8)
	res, err := do("≔" + h + "\nH")
	if err != nil || !strings.Contains(res.Text, "the anchors were matched") {
		t.Fatalf("%v: %v", res, err)
	}
	toolstest.Same(t, "the file", w.Disk(t, "f"), "new 1\nnew 2\n"+strings.Replace(text, "h", "H", 1))
	toolstest.Run(t, w, "read", toolstest.Input{"path": "f"})
	before := w.Disk(t, "f")
	w.Put(t, "f", strings.Replace(before, "e\n", "E\n", 1))
	_, err = do("≔" + anchorOf(before, 7) + "\nx")
	if err == nil || !strings.Contains(err.Error(), "different lines there") || !strings.Contains(err.Error(), anchorOf(w.Disk(t, "f"), 7)+"|E") {
		t.Errorf("err = %v", err)
	}
	if _, err := do("≔" + anchorOf(w.Disk(t, "f"), 7) + "\nx"); err != nil {
		t.Errorf("with the anchors of the error: %v", err)
	}
}

// scriptFS records which files are made executable.
type scriptFS struct {
	*toolstest.FS
	marked []string
}

func (f *scriptFS) MakeExecutable(_ context.Context, path string) error {
	f.marked = append(f.marked, filepath.Base(path))
	return nil
}

// A new script is made executable.
func TestWrite_MakesScriptsExecutable(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"old.sh": "#!/bin/sh\n"})
	fsys := &scriptFS{FS: w.FS}
	write := func(tool agent.Tool, name string, in toolstest.Input) {
		call := w.Call(t, name, in)
		call.FS = fsys
		if _, _, err := toolstest.Do(t.Context(), tool, call); err != nil {
			t.Error(err)
		}
	}
	write(toolstest.Tool(t, "write"), "write", toolstest.Input{"path": "run.sh", "content": "#!/bin/sh\n"})
	write(toolstest.Tool(t, "write"), "write", toolstest.Input{"path": "plain.txt", "content": "# text\n"})
	write(toolstest.Tool(t, "write"), "write", toolstest.Input{"path": "old.sh", "content": "#!/bin/bash\n"})
	write(editTool(t, files.EditApplyPatch), "apply_patch", toolstest.Input{"input": "*** Begin Patch\n*** Add File: added\n+#!/bin/sh\n*** End Patch"})
	toolstest.Same(t, "executable", fsys.marked, []string{"run.sh", "added"})
}

// All modes, including plan mode, judge by effects, so every tool that changes files must have some.
func TestEditTools_HaveEffects(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"f": "one\ntwo\n"})
	toolstest.Run(t, w, "write", toolstest.Input{"path": "made", "content": "x\n"})
	for _, tt := range []struct {
		mode files.EditMode
		tool string
		in   toolstest.Input
	}{
		{files.EditReplace, "edit", oneEdit("f", "one", "1")},
		{files.EditPatch, "edit", toolstest.Input{"path": "f", "edits": []any{toolstest.Input{"diff": "@@\n-one\n+1\n"}}}},
		{files.EditPatch, "edit", toolstest.Input{"path": "f", "edits": []any{toolstest.Input{"op": "delete"}}}},
		{files.EditPatch, "edit", toolstest.Input{"path": "new", "edits": []any{toolstest.Input{"op": "create", "diff": "x"}}}},
		{files.EditPatch, "edit", toolstest.Input{"path": "f", "edits": []any{toolstest.Input{"rename": "g"}}}},
		{files.EditApplyPatch, "apply_patch", toolstest.Input{"input": "*** Begin Patch\n*** Delete File: f\n*** End Patch"}},
		{files.EditHashline, "edit", toolstest.Input{"path": "f", "input": "»BOF\nzero"}},
		{files.EditHashline, "edit", toolstest.Input{"path": "new", "input": "»BOF\nzero"}},
		{files.EditReplace, "write", toolstest.Input{"path": "f", "content": "x"}},
		{files.EditReplace, "write", toolstest.Input{"path": "a.zip:f", "content": "x"}},
		{files.EditReplace, "undo", toolstest.Input{}},
	} {
		for _, tool := range tools.All(&tools.Settings{Edit: files.EditSettings{Mode: tt.mode}}) {
			if tool.Spec().Name != tt.tool {
				continue
			}
			p, err := toolstest.Plan(t.Context(), tool, w.Call(t, tt.tool, tt.in))
			if err != nil {
				t.Errorf("%s %v: %v", tt.mode, tt.in, err)
				continue
			}
			if len(p.Effects) == 0 || p.Effects[0].Action == approval.ActionRead {
				t.Errorf("%s %v: effects %v", tt.mode, tt.in, p.Effects)
			}
			if len(p.Content) == 0 && tt.in["edits"] == nil {
				t.Errorf("%s %v: nothing is shown before it happens", tt.mode, tt.in)
			}
		}
	}
	toolstest.Same(t, "the file", w.Disk(t, "f"), "one\ntwo\n")
}
