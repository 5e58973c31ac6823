package checkpoint_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/checkpoint"
)

// open returns a tree for dir, whose database is elsewhere.
func open(t testing.TB, dir string, edit ...func(*checkpoint.Options)) *checkpoint.Tree {
	t.Helper()
	opts := checkpoint.Options{Dir: filepath.Join(t.TempDir(), "checkpoints"), Git: git}
	for _, e := range edit {
		e(&opts)
	}
	tree := checkpoint.Open(dir, opts)
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

// git runs git with no settings but the repository's.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	return cmd.Output()
}

func record(t testing.TB, tree *checkpoint.Tree, kind checkpoint.Kind) *checkpoint.Point {
	t.Helper()
	p, err := tree.Record(t.Context(), checkpoint.Mark{Session: "s", Kind: kind, Title: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rewind restores the state of a point and returns what could not be restored.
func rewind(t testing.TB, tree *checkpoint.Tree, to *checkpoint.Point) []checkpoint.Problem {
	t.Helper()
	changes, err := tree.Changes(t.Context(), record(t, tree, checkpoint.Rewind), to)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := tree.Restore(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// snapshot returns everything in a directory but .git, by its relative path.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what = "-> " + target
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += " " + string(data)
		default:
		}
		rel, err := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = what
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same compares a directory with a state of before.
func same(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, snapshot(t, dir)); diff != "" {
		t.Errorf("the state differs (-want +got):\n%.4000s", diff)
	}
}

// TestRestore changes files in every way, and takes it back.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	for i := range 600 { // a directory that is stored in parts
		write(t, dir, fmt.Sprintf("many/f%03d", i), fmt.Sprint(i))
	}
	write(t, dir, "a.txt", "a\n")
	write(t, dir, "run.sh", "#!/bin/sh\n")
	write(t, dir, "gone/deep/b.txt", "b\n")
	write(t, dir, "file-to-dir", "f")
	write(t, dir, "dir-to-file/x", "x")
	write(t, dir, "large", strings.Repeat("0123456789abcdef\n", 100_000))
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.txt", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	want := snapshot(t, dir)
	tree := open(t, dir)
	before := record(t, tree, checkpoint.Prompt)

	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, dir, "a.txt", "changed\n")
	write(t, dir, "many/f100", "other")
	write(t, dir, "many/new", "new")
	do(os.Remove(at("many/f200")))
	do(os.Chmod(at("run.sh"), 0o755))
	do(os.RemoveAll(at("gone")))
	do(os.Remove(at("file-to-dir")))
	write(t, dir, "file-to-dir/y/z", "z")
	do(os.RemoveAll(at("dir-to-file")))
	write(t, dir, "dir-to-file", "now a file")
	do(os.Remove(at("link")))
	do(os.Symlink("elsewhere", at("link")))
	do(os.Remove(at("empty")))
	do(os.Mkdir(at("added"), 0o700))
	f, err := os.OpenFile(at("large"), os.O_RDWR, 0)
	do(err)
	_, err = f.WriteAt([]byte("in the middle"), 800_000)
	do(err)
	do(f.Close())
	after := snapshot(t, dir)

	if problems := rewind(t, tree, before); problems != nil {
		t.Errorf("problems: %v", problems)
	}
	same(t, dir, want)
	// The rewind can be taken back.
	points, err := tree.Points(t.Context(), "s")
	do(err)
	last := points[len(points)-1]
	if last.Kind != checkpoint.Rewind {
		t.Fatalf("the last point is %+v", last)
	}
	if problems := rewind(t, tree, &last); problems != nil {
		t.Errorf("problems: %v", problems)
	}
	same(t, dir, after)
}
