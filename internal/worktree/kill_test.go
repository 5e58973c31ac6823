package worktree_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/worktree"
)

// TestMain makes and changes worktrees until it is killed, if its environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv("GJC_TEST_WORKTREES"); dir != "" {
		if err := victim(os.Getenv("GJC_TEST_REPOSITORY"), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// victim reports each beginning on its output, so that the killer can choose a moment after it.
func victim(repository, dir string) error {
	git := &worktree.Git{Children: proc.NewGroup(nil), Env: os.Environ()}
	ctx := context.Background()
	for {
		fmt.Println("begin")
		w, err := git.New(ctx, &worktree.Options{Dir: dir, Root: repository})
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(w.Top(), "changed.txt"), []byte("work\n"), 0o644); err != nil {
			return err
		}
		changes, err := w.Changes(ctx)
		if err != nil {
			return err
		}
		if _, err := w.Commit(ctx, "gjc/"+w.ID(), "work", changes); err != nil {
			return err
		}
		if err := w.Remove(); err != nil {
			return err
		}
	}
}

// Whenever a process is killed, the user's repository has only whole branches more, and what is left of the worktree can be removed, or
// has the changes.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	w.messUp()
	files := snapshot(t, w.dir, func(rel string) bool { return rel == ".git" })
	state := func() map[string]string {
		all := w.dotGit(w.dir)
		for name := range all {
			if strings.HasPrefix(name, "refs/heads/gjc") || strings.HasPrefix(name, "logs/refs/heads/gjc") {
				delete(all, name)
			}
		}
		return all
	}
	before := state()
	rounds := 25
	for i := range rounds {
		w.killOne(time.Duration(i) * 12 * time.Millisecond)
		deadline := time.Now().Add(time.Minute)
		for {
			diff := w.cleanUp(before, state)
			if diff == "" {
				break
			}
			if time.Now().After(deadline) { // until then, a git of the victim may run on
				t.Fatalf("round %d: %s", i, diff)
			}
		}
	}
	if diff := cmp.Diff(files, snapshot(t, w.dir, func(rel string) bool { return rel == ".git" })); diff != "" {
		t.Errorf("the files were changed (-before +after):\n%s", diff)
	}
	if out := w.run("fsck", "--no-dangling", "--connectivity-only"); strings.Contains(out, "missing") || strings.Contains(out, "broken") {
		t.Errorf("git fsck: %s", out)
	}
	for branch := range strings.FieldsSeq(w.run("for-each-ref", "--format=%(refname)", "refs/heads/gjc")) {
		if got := w.run("show", branch+":changed.txt"); got != "work\n" {
			t.Errorf("%s has %q", branch, got)
		}
	}
}

// cleanUp removes what the victim has left, as the next use of the repository does, and says what is wrong after that.
func (w *world) cleanUp(before map[string]string, state func() map[string]string) string {
	w.t.Helper()
	left, err := w.git.Sweep(w.t.Context(), w.all)
	if err != nil {
		return err.Error()
	}
	for _, l := range left {
		if l.Err != nil {
			return l.Err.Error()
		}
		if l.Changed != 1 {
			w.t.Errorf("left %+v", l)
		}
		w.run("worktree", "remove", "--force", l.Path)
	}
	next, err := w.git.New(w.t.Context(), &worktree.Options{Dir: w.all, Root: w.dir})
	if err != nil {
		return err.Error()
	}
	if err := next.Remove(); err != nil {
		return err.Error()
	}
	if entries, err := os.ReadDir(w.all); err != nil || len(entries) > 0 {
		return fmt.Sprintf("left after the removal: %v, %v", entries, err)
	}
	return cmp.Diff(before, state())
}

// killOne starts a victim and kills it, and its git, some time after it has begun.
func (w *world) killOne(after time.Duration) {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(w.env, "GJC_TEST_WORKTREES="+w.all, "GJC_TEST_REPOSITORY="+w.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // it was killed
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		_ = cmd.Process.Kill()
		w.t.Fatal(err)
	}
	time.Sleep(after) // the moment is what varies, not what is waited for
	_ = cmd.Process.Kill()
}
