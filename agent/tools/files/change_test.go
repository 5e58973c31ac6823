package files_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

func oneEdit(path, from, to string) toolstest.Input {
	return toolstest.Input{"path": path, "edits": []any{toolstest.Input{"old_text": from, "new_text": to}}}
}

// The diff contains the whole file, exact to the byte, and is shown before the file is changed.
func TestChangeDiffs(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "one\r\ntwo\r\n"})
	path := w.Path("a.txt")
	old := "one\r\ntwo\r\n"
	want := []agent.Content{agent.DiffContent{Path: path, Old: &old, New: "one\r\n2\r\n"}}
	p, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "edit"), w.Call(t, "edit", oneEdit("a.txt", "two", "2")))
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Same(t, "preview", p.Content, want)
	toolstest.Same(t, "result", res.Content, want)
	toolstest.Same(t, "locations", res.Locations, []agent.Location{{Path: path, Line: 2}})
	toolstest.Same(t, "title", p.Title, "Edit a.txt")
	toolstest.Same(t, "effects", p.Effects, []approval.Effect{{Action: approval.ActionEdit, Path: path}})

	fresh := w.Path("d/new.txt")
	want = []agent.Content{agent.DiffContent{Path: fresh, New: "x"}}
	p, res, err = toolstest.Do(t.Context(), toolstest.Tool(t, "write"), w.Call(t, "write", toolstest.Input{"path": "d/new.txt", "content": "x"}))
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Same(t, "preview", p.Content, want)
	toolstest.Same(t, "result", res.Content, want)
	toolstest.Same(t, "title", p.Title, "Write d/new.txt")
	toolstest.Same(t, "effects", p.Effects, []approval.Effect{{Action: approval.ActionEdit, Path: fresh}})
	toolstest.Same(t, "writes", w.FS.Writes, []string{path, fresh})

	empty := ""
	w.Put(t, "empty", "")
	res = toolstest.Run(t, w, "write", toolstest.Input{"path": "empty", "content": "x"})
	toolstest.Same(t, "an empty file is no new file", res.Content, []agent.Content{agent.DiffContent{Path: w.Path("empty"), Old: &empty, New: "x"}})
}

// The model and the user see the text as the editor has saved it.
func TestFormatOnSave(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.go": "package a\n"})
	w.FS.Saved = func(_, text string) string { return strings.ReplaceAll(text, "x:=1", "x := 1") }
	old := "package a\n"
	res := toolstest.Run(t, w, "edit", oneEdit("a.go", "package a\n", "package a\n\nfunc f() { x:=1 }\n"))
	toolstest.Same(t, "content", res.Content, []agent.Content{agent.DiffContent{Path: w.Path("a.go"), Old: &old, New: "package a\n\nfunc f() { x := 1 }\n"}})
	if !strings.Contains(res.Text, "+func f() { x := 1 }") || !strings.Contains(res.Text, "The editor changed the text while saving") {
		t.Errorf("%s", res.Text)
	}
	res = toolstest.Run(t, w, "write", toolstest.Input{"path": "b.go", "content": "x:=1\n"})
	toolstest.Same(t, "content", res.Content, []agent.Content{agent.DiffContent{Path: w.Path("b.go"), New: "x := 1\n"}})
	if !strings.Contains(res.Text, "The editor changed the text while saving") {
		t.Errorf("%s", res.Text)
	}
}

// The buffer is edited, not the file on the disk.
func TestEditWorksOnTheBuffer(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "on disk\n"})
	w.FS.Buffers[w.Path("a.txt")] = "in the editor\n"
	toolstest.Run(t, w, "edit", oneEdit("a.txt", "in the editor", "changed"))
	toolstest.Same(t, "buffer", w.FS.Buffers[w.Path("a.txt")], "changed\n")
	if err := toolstest.Fails(t, w, "edit", oneEdit("a.txt", "on disk", "x")); !strings.Contains(err.Error(), "old_text is not in the file") {
		t.Errorf("%v", err)
	}
}

func TestChangeFailures(t *testing.T) {
	broken := errors.New("the editor said no")
	for _, op := range []string{"stat", "read", "write"} {
		w := toolstest.NewWorld(t, map[string]string{"a": "x"})
		w.FS.Fail = func(got, _ string) error {
			if got == op {
				return broken
			}
			return nil
		}
		for name, in := range map[string]toolstest.Input{"edit": oneEdit("a", "x", "y"), "write": {"path": "a", "content": "y"}} {
			if err := toolstest.Fails(t, w, name, in); !errors.Is(err, broken) {
				t.Errorf("%s, %s: %v", name, op, err)
			}
		}
		toolstest.Same(t, "file", w.Disk(t, "a"), "x")
	}
	// An edit whose text cannot be read back has succeeded: otherwise the model would try again.
	w := toolstest.NewWorld(t, map[string]string{"a": "x"})
	w.FS.Fail = func(op, _ string) error {
		if op == "read" && len(w.FS.Writes) > 0 {
			return broken
		}
		return nil
	}
	res := toolstest.Run(t, w, "edit", oneEdit("a", "x", "y"))
	if res.IsError || !strings.Contains(res.Text, "+y") || !strings.Contains(res.Text, "could not be read again: the editor said no") {
		t.Errorf("%s", res.Text)
	}
}

func TestChange_RefusesBinaryFiles(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"zero": "a\x00b", "latin": "caf\xE9 a", "halves": "\xFF\xFEa\x00\n\x00\x00\xD8\n\x00"})
	for name, want := range map[string]string{
		"zero":   "zero cannot be changed with this tool: the file is binary, not text",
		"latin":  "latin cannot be changed with this tool: the file is text in an encoding other than UTF-8 or UTF-16",
		"halves": "halves cannot be changed with this tool: the file is UTF-16 with halves of characters (lone surrogates), which would be lost; use a command",
	} {
		before := w.Disk(t, name)
		for tool, in := range map[string]toolstest.Input{"edit": oneEdit(name, "a", "b"), "write": {"path": name, "content": "b"}} {
			if err := toolstest.Fails(t, w, tool, in); err.Error() != want {
				t.Errorf("%s: %v", tool, err)
			}
		}
		toolstest.Same(t, name, w.Disk(t, name), before)
	}
	if err := toolstest.Fails(t, w, "edit", oneEdit("none", "a", "b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestLongDiffIsCut(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a": lines(2000, "line %d")})
	res := toolstest.Run(t, w, "edit", toolstest.Input{"path": "a", "edits": []any{toolstest.Input{"old_text": "line", "new_text": "row", "all": true}}})
	if len(res.Text) > 9<<10 || !strings.Contains(res.Text, "lines left out of the diff") {
		t.Errorf("%d bytes, ends %q", len(res.Text), res.Text[len(res.Text)-60:])
	}
	if d, ok := res.Content[0].(agent.DiffContent); !ok || strings.Count(d.New, "row") != 2000 {
		t.Error("the editor's diff is cut too")
	}
}

func TestLargeChangeHasNoPreview(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a": strings.Repeat("a line of text\n", 20_000) + "end\n"})
	p := toolstest.MustPlan(t, w, "edit", oneEdit("a", "end", "END"))
	if d := cmp.Diff([]agent.Content(nil), p.Content); d != "" {
		t.Error("a preview of 600 KB")
	}
}
