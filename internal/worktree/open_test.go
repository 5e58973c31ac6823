package worktree_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/worktree"
)

// A worktree with an ID is used again by a later process.
func TestOpen(t *testing.T) {
	w := newWorld(t)
	w.write("changed.txt", "mine\n")
	before := w.dotGit(w.dir)
	tree := w.make(worktree.Options{ID: "0197-session"})
	if _, err := w.git.Open(t.Context(), w.all, "0197-session"); !errors.Is(err, worktree.ErrInUse) {
		t.Errorf("opening it while it is used: %v", err)
	}
	if _, err := w.git.New(t.Context(), &worktree.Options{Dir: w.all, Root: w.dir, ID: "0197-session"}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("making it again: %v", err)
	}
	write(t, filepath.Join(tree.Top(), "kept.txt"), "work\n")
	tree.Keep()
	again, err := w.git.Open(t.Context(), w.all, "0197-session")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Keep)
	if diff := cmp.Diff([]string{"modified kept.txt"}, paths(w.changes(again))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if again.Top() != tree.Top() {
		t.Errorf("the top is %s, was %s", again.Top(), tree.Top())
	}
	if _, err := again.Commit(t.Context(), "gjc/later", "work", w.changes(again)); err != nil {
		t.Fatal(err)
	}
	if got := w.run("show", "--format=", "--name-only", "gjc/later"); got != "kept.txt\n" {
		t.Errorf("the branch changes %q", got)
	}
	if err := again.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.git.Open(t.Context(), w.all, "0197-session"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening it after its end: %v", err)
	}
	after := w.dotGit(w.dir)
	for _, all := range []map[string]string{before, after} {
		without(without(without(all, "refs/heads"), "logs"), "packed-refs")
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the repository was changed (-before +after):\n%s", diff)
	}
}

func TestOpen_Bad(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"", ".", "..", "a/b", `a\b`} {
		if _, err := w.git.Open(t.Context(), w.all, id); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q): %v", id, err)
		}
		if id == "" {
			continue
		}
		if _, err := w.git.New(t.Context(), &worktree.Options{Dir: w.all, Root: w.dir, ID: id}); err == nil {
			t.Errorf("New with the ID %q does not fail", id)
		}
	}
	make := func(id string) (*worktree.Worktree, string) {
		tree := w.make(worktree.Options{ID: id})
		tree.Keep()
		return tree, filepath.Join(w.all, id)
	}
	// Its maker was killed before it was complete, so nothing can have been changed in it.
	_, dir := make("half")
	data, err := os.ReadFile(filepath.Join(dir, "worktree.json"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "worktree.json"), strings.Replace(string(data), `"ready":true`, `"ready":false`, 1))
	if _, err := w.git.Open(t.Context(), w.all, "half"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a worktree: %v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a worktree stays: %v", err)
	}
	// The user has removed it as git does it.
	tree, _ := make("removed")
	w.run("worktree", "remove", "--force", tree.Top())
	if _, err := w.git.Open(t.Context(), w.all, "removed"); err == nil || !strings.Contains(err.Error(), "are gone") {
		t.Errorf("a removed worktree: %v", err)
	}
	// The repository is gone.
	make("orphan")
	if err := os.Rename(filepath.Join(w.dir, ".git"), filepath.Join(w.dir, "git")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.git.Open(t.Context(), w.all, "orphan"); err == nil || errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("a worktree without a repository: %v", err)
	}
}

// A worktree can begin with other files than those that are there, such as those of an earlier time.
func TestNew_Prepare(t *testing.T) {
	w := newWorld(t)
	w.write("changed.txt", "mine\n")
	w.write("untracked.txt", "new\n")
	tree := w.make(worktree.Options{Prepare: func(_ context.Context, tree *worktree.Worktree) error {
		dir, err := tree.Dir(w.dir)
		if err != nil {
			return err
		}
		write(t, filepath.Join(dir, "changed.txt"), "earlier\n")
		write(t, filepath.Join(dir, "gone.txt"), "earlier, too\n")
		write(t, filepath.Join(dir, "more/file.txt"), "was there\n")
		return errors.Join(os.Remove(filepath.Join(dir, "untracked.txt")), os.Remove(filepath.Join(dir, "sub", "old.txt")))
	}})
	if got := w.changes(tree); len(got) != 0 {
		t.Errorf("changes of a new worktree: %q", paths(got))
	}
	write(t, filepath.Join(tree.Top(), "kept.txt"), "work\n")
	write(t, filepath.Join(tree.Top(), "more/file.txt"), "work\n")
	changes := w.changes(tree)
	if diff := cmp.Diff([]string{"modified kept.txt", "modified more/file.txt"}, paths(changes)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if _, err := tree.Commit(t.Context(), "gjc/try", "work", changes); err != nil {
		t.Fatal(err)
	}
	want := "M\tchanged.txt\nM\tgone.txt\nA\tmore/file.txt\nD\tsub/old.txt\n"
	if got := w.run("diff", "--name-status", "HEAD", "gjc/try^"); got != want {
		t.Errorf("the first commit:\n%swant:\n%s", got, want)
	}
	if got := w.run("diff", "--name-status", "gjc/try^", "gjc/try"); got != "M\tkept.txt\nM\tmore/file.txt\n" {
		t.Errorf("the second commit:\n%s", got)
	}
	failed := errors.New("failed")
	if _, err := w.git.New(t.Context(), &worktree.Options{Dir: w.all, Root: w.dir, ID: "no", Prepare: func(context.Context, *worktree.Worktree) error { return failed }}); !errors.Is(err, failed) {
		t.Errorf("the error of Prepare: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(w.all, "no")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a worktree that failed stays: %v", err)
	}
}
