package files_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/isolation"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/worktree"
)

// apart is a workspace in a git repository, with a worktree of the helper scout.
type apart struct {
	*toolstest.World
	tree  *isolation.Tree
	trees *isolation.Trees
	env   []string
}

// newApart makes a repository with files and a worktree of it. The files of the submodule "sub" begin with its name.
func newApart(t *testing.T, files map[string]string) *apart {
	t.Helper()
	testenv.NeedsTool(t, "git")
	home := t.TempDir()
	a := &apart{World: toolstest.NewWorld(t, files), env: append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1")}
	for _, dir := range []string{filepath.Join(a.Dir, "sub"), a.Dir} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		a.git(t, dir, "init", "-q", "-b", "main")
		a.git(t, dir, "-c", "core.autocrlf=false", "add", "-A")
		a.git(t, dir, "-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "first")
	}
	children := proc.NewGroup(nil)
	t.Cleanup(func() {
		if err := children.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	maker := &worktree.Maker{Git: &worktree.Git{Children: children, Env: a.env}, Dir: filepath.Join(home, "worktrees")}
	tree, err := isolation.New(t.Context(), maker, a.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.tree, a.trees = tree, isolation.NewTrees(nil)
	agent.SetValue(a.Values, a.trees)
	a.trees.Add(tree, "scout", "its task", false)
	a.trees.Rest(tree)
	t.Cleanup(func() { a.trees.Close(context.Background()) })
	return a
}

func (a *apart) git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, a.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// there writes a file in the worktree.
func (a *apart) there(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(a.tree.Roots[0], filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// gone removes files of the worktree.
func (a *apart) gone(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(a.tree.Roots[0], filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
}

// Each kind of change comes to the workspace byte by byte, in one call with one effect for the edits and one for each file that goes.
func TestMergeChanges(t *testing.T) {
	a := newApart(t, map[string]string{
		"text": "1\n2\n3\n", "windows": "1\r\n2\r\n3\r\n", "wide": toolstest.UTF16LE("1\n2\n"), "marked": "\ufeff1\n2\n", "data": "\x00\x01old", "old": "old\n", "dir": "a file\n",
		"recoded": "\ufeff1\n", "same": "same\n", "sub/inner": "inner\n", "typed": "1\n2\n3\n4\n5\n",
	})
	a.there(t, "text", "1\nTWO\n3\n")
	a.there(t, "windows", "1\r\nTWO\r\n3\r\n")
	a.there(t, "wide", toolstest.UTF16LE("1\nTWO\n"))
	a.there(t, "marked", "\ufeff1\nTWO\n")
	a.there(t, "data", "\x00\x01new")
	a.there(t, "new data", "\x00\x02")
	a.there(t, "new dir/new", "new\n")
	a.gone(t, "old", "dir")
	a.there(t, "dir/in it", "in it\n")
	a.there(t, "recoded", "1\n")
	a.there(t, "sub/inner", "INNER\n")
	a.there(t, "typed", "1\n2\n3\n4\nFIVE\n")
	a.there(t, "made", "both\n")
	a.Put(t, "made", "both\n") // by the user, too
	// This editor leaves carriage returns and marks out. The user has typed in one of its buffers, and another has a new file.
	a.FS.Buffers[a.Path("windows")] = "1\n2\n3\n"
	a.FS.Buffers[a.Path("marked")] = "1\n2\n"
	a.FS.Buffers[a.Path("typed")] = "ONE\n2\n3\n4\n5\n"
	plan := toolstest.MustPlan(t, a.World, "merge_changes", toolstest.Input{"name": "scout"})
	effects := make(map[string][]string)
	for _, e := range plan.Effects {
		what := map[approval.Action]string{approval.ActionEdit: "edit", approval.ActionDelete: "delete"}[e.Action]
		for _, path := range append(slices.Clone(e.Paths), e.Path) {
			if rel, err := filepath.Rel(a.Dir, path); err == nil && path != "" {
				effects[what] = append(effects[what], filepath.ToSlash(rel))
			}
		}
	}
	want := map[string][]string{
		"delete": {"dir", "old"},
		"edit":   {"data", "dir/in it", "marked", "new data", "new dir/new", "recoded", "sub/inner", "text", "typed", "wide", "windows"},
	}
	if diff := cmp.Diff(want, effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	res := toolstest.Run(t, a.World, "merge_changes", toolstest.Input{"name": "SCOUT"})
	for name, want := range map[string]string{
		"text": "1\nTWO\n3\n", "wide": toolstest.UTF16LE("1\nTWO\n"), "data": "\x00\x01new", "new data": "\x00\x02", "new dir/new": "new\n", "dir/in it": "in it\n",
		"recoded": "1\n", "same": "same\n", "sub/inner": "INNER\n", "made": "both\n",
	} {
		if got := a.Disk(t, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"windows": "1\nTWO\n3\n", "marked": "1\nTWO\n", "typed": "ONE\n2\n3\n4\nFIVE\n"} {
		if got := a.FS.Buffers[a.Path(name)]; got != want {
			t.Errorf("the buffer of %s: %q, want %q", name, got, want)
		}
	}
	if _, err := os.Stat(a.Path("old")); err == nil {
		t.Error("old is there")
	}
	if strings.Contains(res.Text, "conflict") || strings.Contains(res.Text, "not merged") || !strings.Contains(res.Text, "added new data") {
		t.Error(res.Text)
	}
	if err := toolstest.Fails(t, a.World, "merge_changes", toolstest.Input{"name": "scout"}); !strings.Contains(err.Error(), "there is no worktree") {
		t.Error(err)
	}
	if _, err := os.Stat(a.tree.Roots[0]); err == nil {
		t.Error("the worktree is there")
	}
}

// What cannot be merged stays as it is, and all changes are on a branch then. Lines that were changed in both are conflicts, which write
// resolves by their addresses, and undo takes a merge back.
func TestMergeChanges_Both(t *testing.T) {
	a := newApart(t, map[string]string{"text": "1\n2\n3\n", "data": "\x00old", "their": "1\n", "mine": "1\n", "old": "old\n"})
	a.there(t, "text", "1\nTHEIRS\n3\n")
	a.there(t, "data", "\x00theirs")
	a.there(t, "mine", "theirs\n")
	a.gone(t, "their")
	a.Put(t, "text", "1\nOURS\n3\n")
	a.Put(t, "data", "\x00ours")
	a.Put(t, "their", "ours\n")
	remove(t, a.World, "mine")
	if runtime.GOOS != "windows" {
		if err := os.Symlink("old", filepath.Join(a.tree.Roots[0], "link")); err != nil {
			t.Fatal(err)
		}
	}
	res := toolstest.Run(t, a.World, "merge_changes", toolstest.Input{"name": "scout"})
	for _, want := range []string{
		"not merged: data: it is binary", "not merged: their: it was deleted in the worktree", "not merged: mine: it was changed in the worktree, and deleted here",
		"modified text, with conflicts conflict://1\n", "on the branch gjc/scout: ", "git -C ",
	} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("%q is missing in: %s", want, res.Text)
		}
	}
	if runtime.GOOS != "windows" && !strings.Contains(res.Text, "not merged: link: it is a symbolic link") {
		t.Error(res.Text)
	}
	for name, want := range map[string]string{"data": "\x00ours", "their": "ours\n", "text": "1\n<<<<<<< working tree\nOURS\n||||||| before\n2\n=======\nTHEIRS\n>>>>>>> scout\n3\n"} {
		if got := a.Disk(t, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := a.git(t, a.Dir, "show", "gjc/scout:mine"); got != "theirs\n" {
		t.Errorf("on the branch: %q", got)
	}
	toolstest.Run(t, a.World, "write", toolstest.Input{"path": "conflict://1", "content": "@both"})
	if got := a.Disk(t, "text"); got != "1\nOURS\nTHEIRS\n3\n" {
		t.Errorf("resolved: %q", got)
	}
	toolstest.Run(t, a.World, "undo", toolstest.Input{})
	toolstest.Run(t, a.World, "undo", toolstest.Input{})
	if got := a.Disk(t, "text"); got != "1\nOURS\n3\n" {
		t.Errorf("undone: %q", got)
	}
}

// The model has not seen the merged lines: its next edit next to them is refused until it has read the file again.
func TestMergeChanges_Unseen(t *testing.T) {
	a := newApart(t, map[string]string{"text": "1\n2\n3\n"})
	toolstest.Run(t, a.World, "read", toolstest.Input{"path": "text"})
	a.there(t, "text", "1\nTHEIRS\n3\n")
	toolstest.Run(t, a.World, "merge_changes", toolstest.Input{"name": "scout"})
	err := toolstest.Fails(t, a.World, "edit", toolstest.Input{"path": "text", "edits": []any{map[string]string{"old_text": "3", "new_text": "three"}}})
	if !strings.Contains(err.Error(), "has changed") {
		t.Error(err)
	}
}

// A merge that fails in the middle leaves nothing, and can be made again.
func TestMergeChanges_Fails(t *testing.T) {
	a := newApart(t, map[string]string{"a": "1\n", "b": "1\n", "data": "\x00old"})
	a.there(t, "a", "one\n")
	a.there(t, "b", "one\n")
	a.there(t, "data", "\x00new")
	a.FS.Fail = func(op, path string) error {
		if op == "write" && path == a.Path("data") {
			return os.ErrPermission
		}
		return nil
	}
	if err := toolstest.Fails(t, a.World, "merge_changes", toolstest.Input{"name": "scout"}); !strings.Contains(err.Error(), "All changes were undone") {
		t.Error(err)
	}
	if a.Disk(t, "a") != "1\n" || a.Disk(t, "b") != "1\n" {
		t.Error("files were changed")
	}
	a.FS.Fail = nil
	toolstest.Run(t, a.World, "merge_changes", toolstest.Input{"name": "scout"})
	if a.Disk(t, "a") != "one\n" || a.Disk(t, "data") != "\x00new" {
		t.Error("files were not changed")
	}
}
