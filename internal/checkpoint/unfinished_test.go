package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/checkpoint"
)

// TestGit_Unfinished records and restores files in the middle of a merge, a rebase and a cherry-pick, and while the index is locked. What git
// knows of the operation stays, so that the user can finish it.
func TestGit_Unfinished(t *testing.T) {
	for name, do := range map[string][]string{
		"merge":       {"merge", "other"},
		"rebase":      {"rebase", "other"},
		"cherry-pick": {"cherry-pick", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "both.txt", "base\n")
			write(t, dir, "kept.txt", "kept\n")
			repository(t, dir)
			run(t, dir, "checkout", "-q", "-b", "other")
			write(t, dir, "both.txt", "theirs\n")
			run(t, dir, "commit", "-qam", "theirs")
			run(t, dir, "checkout", "-q", "-")
			write(t, dir, "both.txt", "ours\n")
			run(t, dir, "commit", "-qam", "ours")
			if _, err := git(t.Context(), dir, do...); err == nil {
				t.Fatal("there is no conflict")
			}
			if data, err := os.ReadFile(filepath.Join(dir, "both.txt")); err != nil || !strings.Contains(string(data), "<<<<<<<") {
				t.Fatalf("both.txt has %q, %v", data, err)
			}
			write(t, dir, ".git/index.lock", "")
			before, files := inside(t, dir), snapshot(t, dir)
			tree := open(t, dir)
			p := record(t, tree, checkpoint.Prompt)
			write(t, dir, "both.txt", "resolved\n")
			write(t, dir, "new.txt", "new\n")
			if err := os.Remove(filepath.Join(dir, "kept.txt")); err != nil {
				t.Fatal(err)
			}
			if problems := rewind(t, tree, p); problems != nil {
				t.Error(problems)
			}
			same(t, dir, files)
			if diff := cmp.Diff(before, inside(t, dir)); diff != "" {
				t.Errorf("git's files have changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestGit_Fails records with a git that is too old, or that fails: only tracked files that are also ignored are missing then.
func TestGit_Fails(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".gitignore", "ignored.txt\n")
	write(t, dir, "tracked.txt", "one\n")
	repository(t, dir)
	tree := open(t, dir, func(o *checkpoint.Options) { o.Git = oldGit })
	p := record(t, tree, checkpoint.Prompt)
	write(t, dir, "tracked.txt", "two\n")
	write(t, dir, "ignored.txt", "stays\n")
	if problems := rewind(t, tree, p); problems != nil {
		t.Error(problems)
	}
	same(t, dir, map[string]string{".gitignore": fileMode + " ignored.txt\n", "tracked.txt": fileMode + " one\n", "ignored.txt": fileMode + " stays\n"})
}

// fileMode is the mode of a file as [snapshot] has it.
const fileMode = "-rw-r--r--"

// oldGit fails as a git that does not know an option.
func oldGit(context.Context, string, ...string) ([]byte, error) {
	return nil, errors.New("error: unknown option `format'")
}

// TestReadOnly records a directory in which nothing can be written. What cannot be restored is named, and the rest is restored.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("directories are not read-only for this user")
	}
	dir := t.TempDir()
	write(t, dir, "closed/a.txt", "one\n")
	write(t, dir, "open/b.txt", "one\n")
	tree := open(t, dir)
	p := record(t, tree, checkpoint.Prompt)
	write(t, dir, "closed/a.txt", "two\n")
	write(t, dir, "open/b.txt", "two\n")
	record(t, tree, checkpoint.Call)
	closed := filepath.Join(dir, "closed")
	if err := os.Chmod(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(closed, 0o755); err != nil {
			t.Error(err)
		}
	})
	// The user's own directory is made writable for as long as it takes.
	if problems := rewind(t, tree, p); problems != nil {
		t.Error(problems)
	}
	for _, name := range []string{"closed/a.txt", "open/b.txt"} {
		if data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || string(data) != "one\n" {
			t.Errorf("%s has %q, %v", name, data, err)
		}
	}
	if info, err := os.Stat(closed); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("closed: %v, %v", info, err)
	}
}
