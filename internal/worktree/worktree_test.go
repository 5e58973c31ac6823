package worktree_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/worktree"
)

// world is a repository and the directory of its worktrees.
type world struct {
	t   *testing.T
	dir string // the repository
	all string // of the worktrees
	env []string
	git *worktree.Git
}

// newWorld makes a repository with a commit.
func newWorld(t *testing.T) *world {
	t.Helper()
	testenv.NeedsTool(t, "git")
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: filepath.Join(base, "a project"), all: filepath.Join(base, "state", "worktrees")}
	home := filepath.Join(base, "home")
	w.env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1")
	children := proc.NewGroup(nil)
	t.Cleanup(func() {
		if err := children.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w.git = &worktree.Git{Children: children, Env: w.env}
	for _, dir := range []string{w.dir, home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.init(w.dir)
	w.write("kept.txt", "kept\n")
	w.write("changed.txt", "one\ntwo\nthree\n")
	w.write("gone.txt", "gone\n")
	w.write("sub/old.txt", "renamed\n")
	w.write(".gitignore", "/build/\nnode_modules/\n*.log\n")
	w.run("add", "-A")
	w.run("commit", "-q", "-m", "first")
	return w
}

func (w *world) init(dir string) {
	w.t.Helper()
	w.in(dir, "init", "-q", "-b", "main")
	w.in(dir, "config", "user.name", "Test")
	w.in(dir, "config", "user.email", "test@example.com")
}

func (w *world) in(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (w *world) run(args ...string) string { w.t.Helper(); return w.in(w.dir, args...) }

func (w *world) write(name, text string) { w.t.Helper(); write(w.t, filepath.Join(w.dir, name), text) }

func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// make makes a worktree that ends with the test.
func (w *world) make(o worktree.Options) *worktree.Worktree {
	w.t.Helper()
	o.Dir = w.all
	if o.Root == "" {
		o.Root = w.dir
	}
	tree, err := w.git.New(w.t.Context(), &o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(tree.Keep)
	return tree
}

// snapshot returns what is in a directory, by path, without the parts that skip names.
func snapshot(t *testing.T, dir string, skip func(rel string) bool) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		rel = filepath.ToSlash(rel)
		if skip != nil && skip(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " " + target
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		all[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// dotGit is the state of the user's repository without its objects.
func (w *world) dotGit(dir string) map[string]string {
	w.t.Helper()
	return snapshot(w.t, filepath.Join(dir, ".git"), func(rel string) bool { return rel == "objects" || strings.HasSuffix(rel, "/objects") })
}

// messUp makes every kind of uncommitted change.
func (w *world) messUp() {
	w.t.Helper()
	w.write("changed.txt", "one\nstaged\nthree\n")
	w.run("add", "changed.txt")
	w.write("changed.txt", "one\nstaged and more\nthree\n")
	w.remove("gone.txt")
	w.run("mv", "sub/old.txt", "sub/new.txt")
	w.write("untracked/a \"b\".txt", "untracked\n")
	w.write("binary", "a\x00b\xff")
	w.write("build/out.o", "object")
	w.write("web/node_modules/x/index.js", "x")
	w.write("debug.log", "log")
	w.write("intended.txt", "intended\n")
	w.run("add", "-N", "intended.txt")
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(filepath.Join(w.dir, "kept.txt"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	for name, to := range map[string]string{"link": "kept.txt", "out": "/etc", "new\nline": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(w.dir, name)); err != nil {
			w.t.Fatal(err)
		}
	}
	w.write("line\nbreak.txt", "odd name\n")
}

func paths(changes []worktree.Change) []string {
	all := []string{}
	for _, c := range changes {
		all = append(all, string(c.Kind)+" "+c.Path)
	}
	return all
}

func (w *world) changes(tree *worktree.Worktree) []worktree.Change {
	w.t.Helper()
	changes, err := tree.Changes(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return changes
}

func TestNew_HasTheUncommittedState(t *testing.T) {
	w := newWorld(t)
	w.messUp()
	status := w.run("status", "--porcelain=v2", "--untracked-files=all")
	before := w.dotGit(w.dir)
	files := snapshot(t, w.dir, func(rel string) bool {
		return slices.Contains([]string{".", ".git", "build", "web", "debug.log"}, rel) && rel != "."
	})
	tree := w.make(worktree.Options{})
	if diff := cmp.Diff(before, without(w.dotGit(w.dir), "worktrees")); diff != "" {
		t.Errorf("the repository was changed (-before +while it lives):\n%s", diff)
	}
	got := snapshot(t, tree.Top(), func(rel string) bool { return rel == ".git" })
	if diff := cmp.Diff(files, got); diff != "" {
		t.Errorf("files (-user's +worktree):\n%s", diff)
	}
	if got := w.in(tree.Top(), "status", "--porcelain=v2", "--untracked-files=all"); got != status {
		t.Errorf("git status in the worktree:\n%swant:\n%s", got, status)
	}
	if got := w.changes(tree); len(got) != 0 {
		t.Errorf("changes of a new worktree: %q", paths(got))
	}
	if err := tree.Remove(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, w.dotGit(w.dir)); diff != "" {
		t.Errorf("the repository was changed (-before +after):\n%s", diff)
	}
	if entries, err := os.ReadDir(w.all); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// without removes a directory from a snapshot.
func without(all map[string]string, dir string) map[string]string {
	for name := range all {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			delete(all, name)
		}
	}
	return all
}

func TestChanges(t *testing.T) {
	w := newWorld(t)
	w.messUp()
	tree := w.make(worktree.Options{})
	top := tree.Top()
	write(t, filepath.Join(top, "changed.txt"), "other\n")
	write(t, filepath.Join(top, "new/file.txt"), "new\n")
	write(t, filepath.Join(top, "more.log"), "ignored\n")
	write(t, filepath.Join(top, "binary"), "\x00\x01")
	if err := os.Remove(filepath.Join(top, "sub/new.txt")); err != nil {
		t.Fatal(err)
	}
	want := []string{"modified binary", "modified changed.txt"}
	if runtime.GOOS != "windows" {
		if err := errors.Join(os.Chmod(filepath.Join(top, "kept.txt"), 0o644), os.Remove(filepath.Join(top, "link")), os.Symlink("x", filepath.Join(top, "link"))); err != nil {
			t.Fatal(err)
		}
		want = append(want, "modified kept.txt", "modified link")
	}
	want = append(want, "added new/file.txt", "deleted sub/new.txt")
	if diff := cmp.Diff(want, paths(w.changes(tree))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	// Commits in the worktree change nothing about that, nor does a repository that is made in it.
	w.in(top, "add", "-A")
	w.in(top, "commit", "-q", "-m", "in the worktree")
	w.init(filepath.Join(top, "new"))
	if diff := cmp.Diff(want, paths(w.changes(tree))); diff != "" {
		t.Errorf("changes after a commit (-want +got):\n%s", diff)
	}
}

func TestChanges_DirectoryReplacedByLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	w := newWorld(t)
	tree := w.make(worktree.Options{})
	outside := t.TempDir()
	write(t, filepath.Join(outside, "old.txt"), "secret\n")
	if err := errors.Join(os.RemoveAll(filepath.Join(tree.Top(), "sub")), os.Symlink(outside, filepath.Join(tree.Top(), "sub"))); err != nil {
		t.Fatal(err)
	}
	want := []string{"added sub", "deleted sub/old.txt"}
	if diff := cmp.Diff(want, paths(w.changes(tree))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A split index has two files.
func TestNew_SplitIndex(t *testing.T) {
	w := newWorld(t)
	w.run("update-index", "--split-index")
	w.write("changed.txt", "staged\n")
	w.run("add", "changed.txt")
	w.write("kept.txt", "kept and more\n")
	status := w.run("status", "--porcelain=v2")
	tree := w.make(worktree.Options{})
	if got := w.in(tree.Top(), "status", "--porcelain=v2"); got != status {
		t.Errorf("git status in the worktree:\n%swant:\n%s", got, status)
	}
	write(t, filepath.Join(tree.Top(), "gone.txt"), "changed\n")
	if _, err := tree.Commit(t.Context(), "gjc/try", "change", w.changes(tree)); err != nil {
		t.Fatal(err)
	}
	if got := w.run("diff", "--name-status", "HEAD", "gjc/try"); got != "M\tchanged.txt\nM\tgone.txt\nM\tkept.txt\n" {
		t.Errorf("changes: %s", got)
	}
}

func TestCommit(t *testing.T) {
	w := newWorld(t)
	tree := w.make(worktree.Options{})
	write(t, filepath.Join(tree.Top(), "changed.txt"), "one\nTWO\nthree\n")
	write(t, filepath.Join(tree.Top(), "sub"+string(filepath.Separator)+"more.txt"), "more\n")
	if err := os.Remove(filepath.Join(tree.Top(), "gone.txt")); err != nil {
		t.Fatal(err)
	}
	name, err := tree.BranchName(t.Context(), "try")
	if err != nil {
		t.Fatal(err)
	}
	index := w.dotGit(w.dir)["index"]
	branches, err := tree.Commit(t.Context(), name, "change the files", w.changes(tree))
	if err != nil {
		t.Fatal(err)
	}
	if len(branches) != 1 || branches[0].Name != "gjc/try" || branches[0].Uncommitted || branches[0].Command() != "git -C '"+w.dir+"' merge gjc/try" {
		t.Fatalf("branches: %+v", branches)
	}
	want := []worktree.FileStat{
		{Path: "changed.txt", Kind: worktree.Modified, Added: 1, Removed: 1},
		{Path: "gone.txt", Kind: worktree.Deleted, Removed: 1},
		{Path: "sub/more.txt", Kind: worktree.Added, Added: 1},
	}
	if diff := cmp.Diff(want, branches[0].Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := tree.Remove(); err != nil {
		t.Fatal(err)
	}
	if got := w.dotGit(w.dir)["index"]; got != index {
		t.Error("the index was changed")
	}
	if got := w.run("status", "--porcelain"); got != "" {
		t.Errorf("the working tree was changed: %s", got)
	}
	w.run("merge", "-q", "gjc/try")
	if got := w.run("log", "--format=%an %s"); got != "Test change the files\nTest first\n" {
		t.Errorf("log: %s", got)
	}
}

func TestCommit_UncommittedChanges(t *testing.T) {
	w := newWorld(t)
	w.messUp()
	tree := w.make(worktree.Options{})
	write(t, filepath.Join(tree.Top(), "changed.txt"), "ONE\nstaged and more\nthree\n")
	write(t, filepath.Join(tree.Top(), "binary"), "\x00\x01\xfe")
	branches, err := tree.Commit(t.Context(), "gjc/try", "change the files", w.changes(tree))
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Remove(); err != nil {
		t.Fatal(err)
	}
	if !branches[0].Uncommitted || w.run("log", "--format=%s", "gjc/try") != "change the files\nUncommitted changes at the beginning of gjc/try\nfirst\n" {
		t.Errorf("branch: %+v", branches[0])
	}
	if got := w.run("diff", "--name-status", "gjc/try^", "gjc/try"); got != "M\tbinary\nM\tchanged.txt\n" {
		t.Errorf("changes: %s", got)
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), shell, "-c", branches[0].Command())
	cmd.Dir, cmd.Env = t.TempDir(), w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", branches[0].Command(), err, out)
	}
	if got := snapshot(t, w.dir, func(rel string) bool { return rel == ".git" })["changed.txt"]; !strings.HasSuffix(got, "ONE\nstaged and more\nthree\n") {
		t.Errorf("after the command: %q", got)
	}
	// The first commit was the working tree as it was.
	w.run("add", "-A")
	if got := w.run("diff", "--cached", "--name-status", "gjc/try"); got != "" {
		t.Errorf("the working tree differs from the branch: %s", got)
	}
}

func TestBranchName(t *testing.T) {
	w := newWorld(t)
	tree := w.make(worktree.Options{})
	w.run("branch", "gjc/used")
	for name, want := range map[string]string{"used": "exists", "a b": "no name for a branch", "": "no name", "..": "no name", "-x/.lock": "no name"} {
		if got, err := tree.BranchName(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("BranchName(%q) = %q, %v; want an error with %q", name, got, err, want)
		}
	}
	w.run("branch", "-D", "gjc/used")
	w.run("branch", "gjc")
	if got, err := tree.BranchName(t.Context(), "free"); err == nil {
		t.Errorf("BranchName with a branch gjc = %q; git has no branch below another", got)
	}
}

func TestNew_Submodule(t *testing.T) {
	w := newWorld(t)
	library := filepath.Join(filepath.Dir(w.dir), "library")
	write(t, filepath.Join(library, "lib.txt"), "lib\n")
	w.init(library)
	w.in(library, "add", "-A")
	w.in(library, "commit", "-q", "-m", "library")
	w.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "vendored/lib")
	w.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "absent")
	w.run("commit", "-q", "-m", "submodules")
	w.run("submodule", "--quiet", "deinit", "-f", "absent")
	w.write("vendored/lib/lib.txt", "dirty\n")
	w.write("vendored/lib/untracked.txt", "untracked\n")
	// An embedded repository without a commit is copied as plain files.
	w.write("inner/file.txt", "inner\n")
	w.init(filepath.Join(w.dir, "inner"))
	status := w.run("status", "--porcelain=v2")
	before := w.dotGit(w.dir)
	tree := w.make(worktree.Options{})
	if got := w.in(tree.Top(), "status", "--porcelain=v2"); got != status {
		t.Errorf("git status in the worktree:\n%swant:\n%s", got, status)
	}
	if got := w.changes(tree); len(got) != 0 {
		t.Errorf("changes of a new worktree: %q", paths(got))
	}
	write(t, filepath.Join(tree.Top(), "vendored/lib/lib.txt"), "changed\n")
	write(t, filepath.Join(tree.Top(), "kept.txt"), "changed\n")
	write(t, filepath.Join(tree.Top(), "inner/file.txt"), "changed\n")
	changes := w.changes(tree)
	if diff := cmp.Diff([]string{"modified inner/file.txt", "modified kept.txt", "modified vendored/lib/lib.txt"}, paths(changes)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	branches, err := tree.Commit(t.Context(), "gjc/try", "change", changes[1:])
	if err != nil {
		t.Fatal(err)
	}
	if len(branches) != 2 || branches[1].Repository != filepath.Join(w.dir, "vendored", "lib") || !branches[1].Uncommitted {
		t.Errorf("branches: %+v", branches)
	}
	if got := w.in(filepath.Join(w.dir, "vendored/lib"), "diff", "--name-status", "gjc/try^", "gjc/try"); got != "M\tlib.txt\n" {
		t.Errorf("changes in the submodule: %s", got)
	}
	if err := tree.Remove(); err != nil {
		t.Fatal(err)
	}
	after := w.dotGit(w.dir)
	for name := range after {
		if strings.Contains(name, "refs/heads/gjc") {
			delete(after, name) // the branches
		}
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the repository was changed (-before +after):\n%s", diff)
	}
}

func TestNew_RunsNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	w := newWorld(t)
	ran := filepath.Join(filepath.Dir(w.dir), "ran")
	script := filepath.Join(filepath.Dir(w.dir), "program")
	write(t, script, "#!/bin/sh\necho \"$0\" \"$@\" >>"+ran+"\nexit 0\n")
	w.write(".gitattributes", "*.txt filter=evil diff=evil merge=evil\n")
	w.run("add", "-A")
	w.run("commit", "-q", "-m", "attributes")
	hooks := filepath.Join(w.dir, ".git", "hooks")
	for _, name := range []string{"post-checkout", "reference-transaction", "pre-commit", "post-index-change", "commit-msg"} {
		write(t, filepath.Join(hooks, name), "#!/bin/sh\necho hook >>"+ran+"\n")
		if err := os.Chmod(filepath.Join(hooks, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.command", "diff.evil.textconv", "diff.external", "core.fsmonitor", "core.sshCommand", "core.pager", "gpg.program"} {
		w.run("config", key, script)
	}
	w.run("config", "filter.evil.required", "true")
	w.run("config", "commit.gpgSign", "true")
	if err := os.Chtimes(filepath.Join(w.dir, "kept.txt"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(ran)
	w.write("plain", "plain\n")
	tree := w.make(worktree.Options{})
	write(t, filepath.Join(tree.Top(), "plain"), "changed\n")
	if _, err := tree.Commit(t.Context(), "gjc/try", "change", w.changes(tree)); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(tree.Top(), "kept.txt"), "changed\n")
	if _, err := tree.Commit(t.Context(), "gjc/more", "change", w.changes(tree)); !errors.Is(err, worktree.ErrFilter) || !strings.Contains(err.Error(), "kept.txt") {
		t.Errorf("committing a filtered file: %v", err)
	}
	if err := tree.Remove(); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(ran); err == nil {
		t.Errorf("programs of the repository ran:\n%s", data)
	}
}

// A filter of the user's own configuration runs for a commit, as it does for the user's.
func TestCommit_UsersFilter(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the filter is a shell command")
	}
	w := newWorld(t)
	w.run("config", "--global", "filter.upper.clean", "tr a-z A-Z")
	w.write(".gitattributes", "*.up filter=upper\n")
	w.write("a.up", "text\n")
	w.run("add", "-A")
	w.run("commit", "-q", "-m", "filtered")
	w.write("b.up", "untracked\n")
	tree := w.make(worktree.Options{})
	if got := w.changes(tree); len(got) != 0 {
		t.Errorf("changes of a new worktree: %q", paths(got))
	}
	write(t, filepath.Join(tree.Top(), "a.up"), "changed\n")
	if _, err := tree.Commit(t.Context(), "gjc/try", "change", w.changes(tree)); err != nil {
		t.Fatal(err)
	}
	if got := w.run("show", "gjc/try:a.up", "gjc/try:b.up"); got != "CHANGED\nUNTRACKED\n" {
		t.Errorf("committed: %q", got)
	}
}

func TestNew_Refuses(t *testing.T) {
	t.Run("no repository", func(t *testing.T) {
		w := newWorld(t)
		plain := t.TempDir()
		for _, dir := range []string{plain, filepath.Join(w.dir, ".git")} {
			if _, err := w.git.New(t.Context(), &worktree.Options{Dir: w.all, Root: dir}); !errors.Is(err, worktree.ErrNotRepository) {
				t.Errorf("%s: %v", dir, err)
			}
		}
	})
	t.Run("no commit", func(t *testing.T) {
		w := newWorld(t)
		dir := t.TempDir()
		w.init(dir)
		if _, err := w.git.New(t.Context(), &worktree.Options{Dir: w.all, Root: dir}); !errors.Is(err, worktree.ErrNoCommit) {
			t.Error(err)
		}
	})
	t.Run("merge", func(t *testing.T) {
		w := newWorld(t)
		w.run("checkout", "-q", "-b", "other")
		w.write("changed.txt", "theirs\n")
		w.run("commit", "-q", "-am", "theirs")
		w.run("checkout", "-q", "main")
		w.write("changed.txt", "ours\n")
		w.run("commit", "-q", "-am", "ours")
		cmd := exec.CommandContext(t.Context(), "git", "merge", "other")
		cmd.Dir, cmd.Env = w.dir, w.env
		_ = cmd.Run() // it reports the conflict
		w.refuses(worktree.ErrInProgress, "in the middle of a merge")
		w.remove(".git/MERGE_HEAD")
		w.refuses(worktree.ErrInProgress, "changed.txt")
	})
	t.Run("rebase", func(t *testing.T) {
		w := newWorld(t)
		w.write(".git/rebase-merge/head-name", "refs/heads/main\n")
		w.refuses(worktree.ErrInProgress, "in the middle of a rebase")
	})
	t.Run("lock", func(t *testing.T) {
		w := newWorld(t)
		w.write(".git/index.lock", "")
		w.refuses(worktree.ErrLocked, filepath.Join(w.dir, ".git", "index.lock"))
	})
	t.Run("no git", func(t *testing.T) {
		w := newWorld(t)
		w.git.Env = append(w.git.Env, "PATH="+t.TempDir())
		w.refuses(worktree.ErrNoGit, "PATH")
	})
	t.Run("old git", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("the program is a shell script")
		}
		w := newWorld(t)
		bin := t.TempDir()
		write(t, filepath.Join(bin, "git"), "#!/bin/sh\necho git version 2.25.4\n")
		if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
			t.Fatal(err)
		}
		w.git.Env = append(w.git.Env, "PATH="+bin)
		w.refuses(worktree.ErrOldGit, "2.25.4")
	})
}

// refuses checks that no worktree is made and that nothing is left.
func (w *world) refuses(want error, text string) {
	w.t.Helper()
	before := w.dotGit(w.dir)
	_, err := w.git.New(w.t.Context(), &worktree.Options{Dir: w.all, Root: w.dir})
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		w.t.Errorf("New: %v; want %v with %q", err, want, text)
	}
	if diff := cmp.Diff(before, w.dotGit(w.dir)); diff != "" {
		w.t.Errorf("the repository was changed:\n%s", diff)
	}
	if entries, _ := os.ReadDir(w.all); len(entries) > 0 {
		w.t.Errorf("left: %v", entries)
	}
}

func TestNew_SharesIgnored(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	w := newWorld(t)
	w.messUp()
	tree := w.make(worktree.Options{Link: []string{"node_modules"}, Copy: []string{"/build", "*.log"}})
	if target, err := os.Readlink(filepath.Join(tree.Top(), "web/node_modules")); err != nil || target != filepath.Join(w.dir, "web/node_modules") {
		t.Errorf("link: %q, %v", target, err)
	}
	for name, want := range map[string]string{"build/out.o": "object", "debug.log": "log"} {
		if data, err := os.ReadFile(filepath.Join(tree.Top(), name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	write(t, filepath.Join(tree.Top(), "build/out.o"), "changed")
	if got := w.changes(tree); len(got) != 0 {
		t.Errorf("changes: %q", paths(got))
	}
	if err := tree.Remove(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"build/out.o": "object", "web/node_modules/x/index.js": "x"} {
		if data, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || string(data) != want {
			t.Errorf("the user's %s: %q, %v", name, data, err)
		}
	}
}

func TestDir(t *testing.T) {
	w := newWorld(t)
	w.write("build/out.o", "object")
	tree := w.make(worktree.Options{Root: filepath.Join(w.dir, "sub")})
	for from, want := range map[string]string{".": ".", "sub": "sub", "build": "build"} {
		got, err := tree.Dir(filepath.Join(w.dir, from))
		if err != nil || got != filepath.Join(tree.Top(), want) {
			t.Errorf("Dir(%s) = %s, %v", from, got, err)
		}
		if info, err := os.Stat(got); err != nil || !info.IsDir() {
			t.Errorf("Dir(%s): %v", from, err)
		}
	}
	if got, err := tree.Dir(filepath.Dir(w.dir)); err == nil {
		t.Errorf("Dir of a directory outside = %s", got)
	}
}

func TestSweep(t *testing.T) {
	w := newWorld(t)
	before := w.dotGit(w.dir)
	used, clean, changed := w.make(worktree.Options{}), w.make(worktree.Options{}), w.make(worktree.Options{})
	write(t, filepath.Join(changed.Top(), "kept.txt"), "work\n")
	clean.Keep() // as the end of a process does
	changed.Keep()
	write(t, filepath.Join(w.all, "begun", "tree", "x"), "x")
	write(t, filepath.Join(w.all, "odd", "worktree.json"), "{")
	left, err := w.git.Sweep(t.Context(), w.all)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, l := range left {
		if l.Err != nil {
			got[l.Path] = -1
			continue
		}
		got[l.Path] = l.Changed
	}
	if diff := cmp.Diff(map[string]int{changed.Top(): 1, filepath.Join(w.all, "odd"): -1}, got); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	for path, want := range map[string]bool{used.Top(): true, changed.Top(): true, clean.Top(): false, filepath.Join(w.all, "begun"): false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it: %v", path, err, want)
		}
	}
	// The user has removed one as git does it.
	w.run("worktree", "remove", "--force", changed.Top())
	if left, err := w.git.Sweep(t.Context(), w.all); err != nil || len(left) != 1 || left[0].Path != filepath.Join(w.all, "odd") {
		t.Errorf("left: %+v, %v", left, err)
	}
	if err := used.Remove(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, w.dotGit(w.dir)); diff != "" {
		t.Errorf("the repository was changed (-before +after):\n%s", diff)
	}
}

// A process may end while it makes a worktree. Nothing of it stays.
// TestNew_WhileTheLastIsRemoved makes and removes worktrees side by side: with the last one the repository's directory of worktrees goes too,
// perhaps just before another one is put there.
func TestNew_WhileTheLastIsRemoved(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 12 {
				tree, err := w.git.New(t.Context(), &worktree.Options{Dir: w.all, Root: w.dir})
				if err != nil {
					t.Error(err)
					return
				}
				if err := tree.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestSweep_Unfinished(t *testing.T) {
	w := newWorld(t)
	before := w.dotGit(w.dir)
	tree := w.make(worktree.Options{})
	tree.Keep()
	dir := filepath.Dir(filepath.Dir(tree.Top()))
	data, err := os.ReadFile(filepath.Join(dir, "worktree.json"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "worktree.json"), strings.Replace(string(data), `"ready":true`, `"ready":false`, 1))
	write(t, filepath.Join(tree.Top(), "kept.txt"), "half a")
	if left, err := w.git.Sweep(t.Context(), w.all); err != nil || len(left) > 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
	if diff := cmp.Diff(before, w.dotGit(w.dir)); diff != "" {
		t.Errorf("the repository was changed (-before +after):\n%s", diff)
	}
}

// What works in a worktree must not lead git elsewhere.
func TestChanges_RedirectedRepository(t *testing.T) {
	w := newWorld(t)
	tree := w.make(worktree.Options{})
	other := t.TempDir()
	w.init(other)
	entries, err := os.ReadDir(filepath.Join(w.dir, ".git", "worktrees"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	write(t, filepath.Join(tree.Top(), ".git"), "gitdir: "+filepath.Join(other, ".git")+"\n")
	if got := w.changes(tree); len(got) != 0 {
		t.Errorf("changes: %q", paths(got))
	}
	admin := filepath.Join(w.dir, ".git", "worktrees", entries[0].Name())
	write(t, filepath.Join(admin, "commondir"), filepath.Join(other, ".git")+"\n")
	if got, err := tree.Changes(t.Context()); err == nil {
		t.Errorf("changes: %q", paths(got))
	}
	if err := tree.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(admin); err == nil {
		t.Error("the repository still knows the worktree")
	}
}

func TestApply(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"same", "mine", "lines", "conflict", "binary", "mine-gone", "theirs-gone", "both-gone", "same-change", "mode"} {
		w.write(name, "1\n2\n3\n4\n5\n")
	}
	w.write("binary", "\x00\n1\n")
	w.run("add", "-A")
	w.run("commit", "-q", "-m", "more")
	w.write("dirty", "1\n2\n3\n")
	tree := w.make(worktree.Options{})
	for name, text := range map[string]string{
		"same": "theirs\n", "lines": "THEIRS\n2\n3\n4\n5\n", "conflict": "1\n2\nTHEIRS\n4\n5\n", "binary": "\x00\n2\n", "mine-gone": "theirs\n",
		"same-change": "both\n", "new/dir/file": "new\n", "new-in-both": "THEIRS\n", "dirty": "1\n2\nTHEIRS\n",
	} {
		write(t, filepath.Join(tree.Top(), name), text)
	}
	for _, name := range []string{"theirs-gone", "both-gone", "sub/old.txt"} {
		if err := os.Remove(filepath.Join(tree.Top(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(tree.Top(), "mode"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"mine": "ours\n", "lines": "1\n2\n3\n4\nOURS\n", "conflict": "1\n2\nOURS\n4\n5\n", "binary": "\x00\n3\n", "theirs-gone": "ours\n",
		"same-change": "both\n", "new-in-both": "OURS\n", "mode": "ours\n", "dirty": "OURS\n2\n3\n",
	} {
		w.write(name, text)
	}
	w.remove("mine-gone")
	w.remove("both-gone")
	index := w.dotGit(w.dir)["index"]
	before := snapshot(t, w.dir, func(rel string) bool { return rel == ".git" })
	planned, err := tree.Merge(t.Context(), "gjc/try", w.changes(tree), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, snapshot(t, w.dir, func(rel string) bool { return rel == ".git" })); diff != "" {
		t.Errorf("Merge changed files (-before +after):\n%s", diff)
	}
	merged, err := tree.Apply(t.Context(), "gjc/try", w.changes(tree))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(planned, merged); diff != "" {
		t.Errorf("Apply differs from Merge (-Merge +Apply):\n%s", diff)
	}
	for _, m := range planned {
		data, err := os.ReadFile(filepath.Join(w.dir, m.Path))
		if m.New.Exists != (err == nil) || string(data) != string(m.New.Content) {
			t.Errorf("%s: %q, %v; planned %+v", m.Path, data, err, m.New)
		}
	}
	got := map[string]worktree.Outcome{}
	for _, m := range merged {
		got[m.Path] = m.Outcome
	}
	want := map[string]worktree.Outcome{
		"same": worktree.Applied, "lines": worktree.Applied, "conflict": worktree.Conflict, "binary": worktree.Refused, "mine-gone": worktree.Refused,
		"same-change": worktree.Applied, "new/dir/file": worktree.Applied, "new-in-both": worktree.Conflict, "dirty": worktree.Applied,
		"theirs-gone": worktree.Refused, "both-gone": worktree.Applied, "sub/old.txt": worktree.Applied,
	}
	texts := map[string]string{
		"same": "theirs\n", "mine": "ours\n", "lines": "THEIRS\n2\n3\n4\nOURS\n", "binary": "\x00\n3\n", "theirs-gone": "ours\n", "new/dir/file": "new\n",
		"conflict": "1\n2\n<<<<<<< working tree\nOURS\n||||||| before\n3\n=======\nTHEIRS\n>>>>>>> gjc/try\n4\n5\n", "dirty": "OURS\n2\nTHEIRS\n", "mode": "ours\n",
	}
	if runtime.GOOS != "windows" {
		want["mode"] = worktree.Applied
		if info, err := os.Stat(filepath.Join(w.dir, "mode")); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("mode: %v, %v", info, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	for name, want := range texts {
		if data, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v; want %q", name, data, err, want)
		}
	}
	for _, name := range []string{"sub", "mine-gone", "both-gone"} {
		if _, err := os.Lstat(filepath.Join(w.dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if w.dotGit(w.dir)["index"] != index {
		t.Error("the index was changed")
	}
	if got := w.run("ls-files", "--others"); strings.Contains(got, ".gjc-") {
		t.Errorf("temporary files are left: %s", got)
	}
}

// A merge is with the content that the caller reads, such as the unsaved one of an editor, also of a file that is only there.
func TestMerge_Unsaved(t *testing.T) {
	w := newWorld(t)
	tree := w.make(worktree.Options{})
	write(t, filepath.Join(tree.Top(), "changed.txt"), "one\ntwo\nTHEIRS\n")
	write(t, filepath.Join(tree.Top(), "new.txt"), "theirs\n")
	if err := os.Remove(filepath.Join(tree.Top(), "gone.txt")); err != nil {
		t.Fatal(err)
	}
	unsaved := map[string]string{"changed.txt": "OURS\ntwo\nthree\n", "new.txt": "ours\n", "gone.txt": "typed\n"}
	merged, err := tree.Merge(t.Context(), "scout", w.changes(tree), func(path string) ([]byte, error) {
		rel, err := filepath.Rel(w.dir, path)
		if text, ok := unsaved[filepath.ToSlash(rel)]; ok && err == nil {
			return []byte(text), nil
		}
		return os.ReadFile(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, m := range merged {
		got[m.Path] = string(m.Outcome) + " " + string(m.New.Content)
	}
	want := map[string]string{
		"changed.txt": "applied OURS\ntwo\nTHEIRS\n", "gone.txt": "refused typed\n",
		"new.txt": "conflict <<<<<<< working tree\nours\n||||||| before\n=======\ntheirs\n>>>>>>> scout\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if data, err := os.ReadFile(filepath.Join(w.dir, "changed.txt")); err != nil || string(data) != "one\ntwo\nthree\n" {
		t.Errorf("the file was changed: %q, %v", data, err)
	}
}

// A link in the working tree leads nowhere: neither the file at its end nor what is below it changes.
func TestApply_Links(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	w := newWorld(t)
	tree := w.make(worktree.Options{})
	outside := t.TempDir()
	write(t, filepath.Join(outside, "old.txt"), "renamed\n")
	write(t, filepath.Join(tree.Top(), "sub/old.txt"), "theirs\n")
	write(t, filepath.Join(tree.Top(), "kept.txt"), "theirs\n")
	if err := errors.Join(os.RemoveAll(filepath.Join(w.dir, "sub")), os.Symlink(outside, filepath.Join(w.dir, "sub")),
		os.Remove(filepath.Join(w.dir, "kept.txt")), os.Symlink(filepath.Join(outside, "old.txt"), filepath.Join(w.dir, "kept.txt"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(tree.Top(), "gone.txt")), os.Symlink("kept.txt", filepath.Join(tree.Top(), "gone.txt"))); err != nil {
		t.Fatal(err)
	}
	merged, err := tree.Apply(t.Context(), "gjc/try", w.changes(tree))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range merged {
		if want := map[bool]worktree.Outcome{true: worktree.Applied, false: worktree.Refused}[m.Path == "gone.txt"]; m.Outcome != want {
			t.Errorf("%+v; want %s", m, want)
		}
	}
	if data, err := os.ReadFile(filepath.Join(outside, "old.txt")); err != nil || string(data) != "renamed\n" {
		t.Errorf("the file outside: %q, %v", data, err)
	}
	if target, err := os.Readlink(filepath.Join(w.dir, "gone.txt")); err != nil || target != "kept.txt" {
		t.Errorf("the new link: %q, %v", target, err)
	}
}
