package edits_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/lsp"
)

// applyOperations carries out operations on files as they are now.
func applyOperations(ctx context.Context, call *agent.Call, ops []lsp.FileOperation) (*edits.WorkspaceChange, error) {
	ctx = permit.With(ctx, permit.Own()) // no call has declared them
	return edits.ApplyOperations(ctx, call, ops, edits.SeenFiles(ctx, call, ops))
}

// everything returns a change with an operation of each kind, some on the results of others.
func everything(w *toolstest.World) []lsp.FileOperation {
	return []lsp.FileOperation{
		{Path: w.Path("a.txt"), Old: "a\n", New: "A\n"},
		{Kind: lsp.MakeFile, Path: w.Path("new/deep/b.txt"), New: "b\n"},
		{Kind: lsp.MoveFile, Path: w.Path("dir"), NewPath: w.Path("moved/dir"), Directory: true},
		{Path: w.Path("moved/dir/c.txt"), Old: "c\n", New: "C\n"},
		{Kind: lsp.RemoveFile, Path: w.Path("old"), Directory: true, Recursive: true},
		{Kind: lsp.RemoveFile, Path: w.Path("gone.txt"), Old: "gone\n"},
		{Kind: lsp.MoveFile, Path: w.Path("crlf.txt"), NewPath: w.Path("gone.txt")},
		{Path: w.Path("gone.txt"), Old: "1\r\n2\r\n", New: "1\r\n3\r\n"},
	}
}

func everythingFiles(t testing.TB) *toolstest.World {
	return toolstest.NewWorld(t, map[string]string{
		"a.txt": "a\n", "dir/c.txt": "c\n", "dir/sub/d.txt": "d\n", "old/e.txt": "e\n", "old/x/y": "\x00", "gone.txt": "gone\n",
		"crlf.txt": "\ufeff1\r\n2\r\n",
	})
}

func TestApplyOperations(t *testing.T) {
	w := everythingFiles(t)
	w.FS.Buffers[w.Path("a.txt")] = "a\n"
	got, err := applyOperations(t.Context(), w.Call(t, "lsp", "{}"), everything(w))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.txt": "A\n", "new/": "", "new/deep/": "", "new/deep/b.txt": "b\n", "moved/": "", "moved/dir/": "", "moved/dir/c.txt": "C\n",
		"moved/dir/sub/": "", "moved/dir/sub/d.txt": "d\n", "gone.txt": "\ufeff1\r\n3\r\n",
	}
	toolstest.Same(t, "the disk", toolstest.Tree(t, w), want)
	toolstest.Same(t, "the editor", w.FS.Buffers[w.Path("a.txt")], "A\n")
	diffs := make(map[string]string)
	for _, c := range got.Content {
		if d, ok := c.(agent.DiffContent); ok {
			old := "(new)"
			if d.Old != nil {
				old = *d.Old
			}
			name, _ := filepath.Rel(w.Dir, d.Path)
			diffs[filepath.ToSlash(name)] += old + "→" + d.New + ";"
		}
	}
	toolstest.Same(t, "diffs", diffs, map[string]string{
		"a.txt": "a\n→A\n;", "new/deep/b.txt": "(new)→b\n;", "moved/dir/c.txt": "c\n→C\n;", "gone.txt": "gone\n→;1\r\n2\r\n→1\r\n3\r\n;",
	})
	toolstest.Same(t, "changed", got.Changed, []string{w.Path("a.txt"), w.Path("new/deep/b.txt"), w.Path("moved/dir/c.txt"), w.Path("gone.txt")})
	toolstest.Same(t, "notes", got.Notes, nil)
}

// Whichever file operation fails once, all files are restored.
func TestApplyOperations_RollsBack(t *testing.T) {
	fails := 0
	const most = 1000 // there are fewer operations
	for n := range most {
		w := everythingFiles(t)
		before := toolstest.Tree(t, w)
		seen := 0
		w.FS.Fail = func(op, path string) error {
			if op == "stat" || op == "read" || op == "readdir" {
				return nil
			}
			seen++
			if seen == n+1 {
				return fmt.Errorf("%s: the disk is on fire", filepath.Base(path))
			}
			return nil
		}
		got, err := applyOperations(t.Context(), w.Call(t, "lsp", "{}"), everything(w))
		if err == nil && seen <= n {
			break // each operation has failed once
		}
		fails++
		if err == nil { // the last steps remove renamed files: too late for a rollback
			if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "still exists as .gjc-removed-") {
				t.Errorf("failure %d is not told: %q", n, got.Notes)
			}
			continue
		}
		if !strings.Contains(err.Error(), "on fire") || !strings.Contains(err.Error(), "All changes were undone") {
			t.Fatalf("failure %d: %v", n, err)
		}
		if d := cmp.Diff(before, toolstest.Tree(t, w)); d != "" {
			t.Errorf("after failure %d (-before +after):\n%s", n, d)
		}
	}
	if fails < 10 || fails == most {
		t.Errorf("%d failures were tried", fails)
	}
}

// A write that fails partway is undone, too.
func TestApplyOperations_HalfAWrite(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	broken := true
	w.FS.Fail = func(op, path string) error {
		if op == "write" && filepath.Base(path) == "b.txt" && broken {
			broken = false
			w.Put(t, "b.txt", "half")
			return errors.New("no space")
		}
		return nil
	}
	_, err := applyOperations(t.Context(), w.Call(t, "lsp", "{}"), []lsp.FileOperation{
		{Path: w.Path("a.txt"), Old: "a\n", New: "A\n"}, {Path: w.Path("b.txt"), Old: "b\n", New: "B\n"},
	})
	if err == nil || !strings.Contains(err.Error(), "b.txt cannot be written: no space") {
		t.Error(err)
	}
	toolstest.Same(t, "the disk", toolstest.Tree(t, w), map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
}

// The error names the files that cannot be restored.
func TestApplyOperations_SaysWhatIsLeft(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	w.FS.Fail = func(op, path string) error {
		if op == "write" && w.Disk(t, "a.txt") == "A\n" {
			return fs.ErrPermission
		}
		return nil
	}
	_, err := applyOperations(t.Context(), w.Call(t, "lsp", "{}"), []lsp.FileOperation{
		{Path: w.Path("a.txt"), Old: "a\n", New: "A\n"}, {Path: w.Path("b.txt"), Old: "b\n", New: "B\n"},
	})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "could not be put back: the text of a.txt (permission denied)") {
		t.Error(err)
	}
}

func TestApplyOperations_Refuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		ops  func(w *toolstest.World) []lsp.FileOperation
		says string
	}{
		{"the text is another by now", func(w *toolstest.World) []lsp.FileOperation {
			return []lsp.FileOperation{{Path: w.Path("a.txt"), Old: "a\n", New: "A\n"}, {Path: w.Path("b.txt"), Old: "other\n", New: "B\n"}}
		}, "nothing was changed: b.txt: the file has changed since the edit was planned"},
		{"the file is gone", func(w *toolstest.World) []lsp.FileOperation {
			return []lsp.FileOperation{{Path: w.Path("a.txt"), Old: "a\n", New: "A\n"}, {Path: w.Path("none.txt"), Old: "b\n", New: "B\n"}}
		}, "nothing was changed: none.txt cannot be read"},
		{"the new file is there", func(w *toolstest.World) []lsp.FileOperation {
			return []lsp.FileOperation{{Path: w.Path("a.txt"), Old: "a\n", New: "A\n"}, {Kind: lsp.MakeFile, Path: w.Path("b.txt")}}
		}, "b.txt cannot be created: it exists already"},
		{"the new name is there", func(w *toolstest.World) []lsp.FileOperation {
			return []lsp.FileOperation{{Path: w.Path("a.txt"), Old: "a\n", New: "A\n"}, {Kind: lsp.MoveFile, Path: w.Path("a.txt"), NewPath: w.Path("b.txt")}}
		}, "a.txt cannot be renamed to b.txt: file already exists"},
		{"the directory is not empty", func(w *toolstest.World) []lsp.FileOperation {
			return []lsp.FileOperation{{Kind: lsp.RemoveFile, Path: w.Path("dir"), Directory: true}}
		}, "dir cannot be deleted: the directory is not empty"},
		{"the file is binary", func(w *toolstest.World) []lsp.FileOperation {
			return []lsp.FileOperation{{Path: w.Path("bin"), Old: "", New: "x"}}
		}, "bin cannot be changed with this tool: the file is binary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := toolstest.NewWorld(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", "dir/c": "", "bin": "\x00\x01"})
			before := toolstest.Tree(t, w)
			_, err := applyOperations(t.Context(), w.Call(t, "lsp", "{}"), tt.ops(w))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
			toolstest.Same(t, "the disk", toolstest.Tree(t, w), before)
		})
	}
}

func TestApplyOperations_ReadOnlyDirectory(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "a\n", "fixed/b.txt": "b\n"})
	if err := os.Chmod(w.Path("fixed"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(w.Path("fixed"), 0o755) })
	if os.WriteFile(w.Path("fixed/probe"), nil, 0o666) == nil {
		t.Skip("this user can write into read-only directories")
	}
	for _, o := range []lsp.FileOperation{
		{Kind: lsp.RemoveFile, Path: w.Path("fixed/b.txt")},
		{Kind: lsp.MoveFile, Path: w.Path("fixed/b.txt"), NewPath: w.Path("x/b.txt")},
		{Kind: lsp.MakeFile, Path: w.Path("fixed/c.txt")},
	} {
		_, err := applyOperations(t.Context(), w.Call(t, "lsp", "{}"), []lsp.FileOperation{{Path: w.Path("a.txt"), Old: "a\n", New: "A\n"}, o})
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v: %v", o, err)
		}
		toolstest.Same(t, "the disk", toolstest.Tree(t, w), map[string]string{"a.txt": "a\n", "fixed/": "", "fixed/b.txt": "b\n"})
	}
}

// A cancelled change is undone although its context has ended.
func TestApplyOperations_Cancelled(t *testing.T) {
	w := everythingFiles(t)
	before := toolstest.Tree(t, w)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stop now")
	w.FS.Fail = func(op, path string) error {
		if op == "rename" && filepath.Base(path) == "gone.txt" {
			cancel(cause)
		}
		return nil
	}
	if _, err := applyOperations(ctx, w.Call(t, "lsp", "{}"), everything(w)); !errors.Is(err, cause) {
		t.Errorf("err = %v", err)
	}
	toolstest.Same(t, "the disk", toolstest.Tree(t, w), before)
}
