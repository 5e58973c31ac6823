package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/testenv"
)

// repository makes a repository with a commit of the files.
func repository(t testing.TB, dir string) {
	t.Helper()
	testenv.NeedsTool(t, "git")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
		run(t, dir, args...)
	}
}

func run(t testing.TB, dir string, args ...string) {
	t.Helper()
	if out, err := git(t.Context(), dir, append([]string{"-c", "protocol.file.allow=always"}, args...)...); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// inside returns everything in the directories called .git, with the times of the files.
func inside(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.Contains(path+"/", "/.git/") || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = fmt.Sprint(info.Mode(), info.ModTime(), " ", string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestGit records what git tracks or would track, and no more, in a repository with a submodule, a nested repository, a linked worktree,
// rules at each level, and tracked files that are ignored. Nothing of git's changes.
func TestGit(t *testing.T) {
	base := t.TempDir()
	dir, other := filepath.Join(base, "w"), filepath.Join(base, "other")
	write(t, other, "sub.txt", "sub\n")
	write(t, other, ".gitignore", "*.o\n")
	repository(t, other)
	for name, content := range map[string]string{
		".gitignore": "*.log\n/build/\n!keep.log\nignored-dir/\n", "a.go": "a\n", "keep.log": "kept\n", "d/.gitignore": "*.tmp\n", "d/b.go": "b\n",
		"tracked.log": "tracked\n", "ignored-dir/tracked.txt": "tracked\n", "lfs.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n",
	} {
		write(t, dir, name, content)
	}
	repository(t, dir)
	run(t, dir, "add", "-f", "tracked.log", "ignored-dir/tracked.txt")
	run(t, dir, "commit", "-qm", "forced")
	run(t, dir, "submodule", "add", "-q", other, "module")
	run(t, dir, "commit", "-qm", "module")
	run(t, dir, "worktree", "add", "-q", "linked")
	write(t, dir, "nested/n.txt", "n\n")
	write(t, dir, "nested/.gitignore", "n.skip\n")
	repository(t, filepath.Join(dir, "nested"))
	write(t, filepath.Join(dir, ".git", "info"), "exclude", "excluded\n")
	unrecorded := map[string]string{
		"x.log": "x", "build/out": "o", "d/y.tmp": "y", "ignored-dir/z": "z", "excluded": "e", "module/m.o": "m", "nested/n.skip": "s", "linked/l.log": "l",
	}
	for name, content := range unrecorded {
		write(t, dir, name, content)
	}
	write(t, dir, "untracked.go", "u\n")

	git := inside(t, dir)
	want := snapshot(t, dir)
	tree := open(t, dir)
	before := record(t, tree, checkpoint.Prompt)
	recorded := []string{
		"a.go", "keep.log", "d/b.go", "tracked.log", "ignored-dir/tracked.txt", "lfs.bin", "module/sub.txt", "linked/a.go", "linked/tracked.log",
		"nested/n.txt", "untracked.go", ".gitignore", "nested/.gitignore", ".gitmodules",
	}
	for _, name := range recorded {
		write(t, dir, name, "changed")
	}
	for name := range unrecorded {
		write(t, dir, name, "changed too")
	}
	now := record(t, tree, checkpoint.Rewind)
	changes, err := tree.Changes(t.Context(), now, before)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, c.Path)
	}
	slices.Sort(recorded)
	// The rules of the changed files ignore nothing, so what they ignored before is new.
	for name := range unrecorded {
		if name != "excluded" && name != "d/y.tmp" && name != "module/m.o" && name != "linked/l.log" {
			recorded = append(recorded, name)
		}
	}
	slices.Sort(recorded)
	recorded = slices.DeleteFunc(recorded, func(name string) bool { return name == "build/out" || name == "ignored-dir/z" })
	got = slices.DeleteFunc(got, func(name string) bool {
		return name == "build" || name == "build/out" || name == "ignored-dir/z"
	})
	if diff := cmp.Diff(recorded, got); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	write(t, dir, ".gitignore", "*.log\n/build/\n!keep.log\nignored-dir/\n")
	write(t, dir, "nested/.gitignore", "n.skip\n")
	if problems := rewind(t, tree, before); problems != nil {
		t.Error(problems)
	}
	for name := range unrecorded { // they are not restored
		want[name] = "-rw-r--r-- changed too"
	}
	same(t, dir, want)
	if diff := cmp.Diff(git, inside(t, dir)); diff != "" {
		t.Errorf("the repository has changed (-want +got):\n%.2000s", diff)
	}
}

// TestGit_Missing records without git what is not ignored.
func TestGit_Missing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".gitignore", "*.log\n")
	write(t, dir, "a.go", "a")
	write(t, dir, "x.log", "x")
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, ".git/index", "not an index")
	tree := open(t, dir, func(o *checkpoint.Options) {
		o.Git = func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("git is missing") }
	})
	before := record(t, tree, checkpoint.Prompt)
	write(t, dir, "a.go", "b")
	write(t, dir, "x.log", "y")
	if problems := rewind(t, tree, before); problems != nil {
		t.Error(problems)
	}
	want := map[string]string{".gitignore": "-rw-r--r-- *.log\n", "a.go": "-rw-r--r-- a", "x.log": "-rw-r--r-- y"}
	same(t, dir, want)
}

// TestSkipped notes files that are too large or hold secrets, and leaves them as they are.
func TestSkipped(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "large", strings.Repeat("x", 2000))
	write(t, dir, ".env", "KEY=1")
	write(t, dir, "a", "a")
	tree := open(t, dir, func(o *checkpoint.Options) {
		o.MaxFile = 1000
		o.LeaveOut = func(path string) bool { return filepath.Base(path) == ".env" }
	})
	before := record(t, tree, checkpoint.Prompt)
	if before.Skipped != 2 {
		t.Errorf("%d files are skipped", before.Skipped)
	}
	write(t, dir, "large", strings.Repeat("y", 3000))
	write(t, dir, ".env", "KEY=2")
	write(t, dir, "a", "b")
	if problems := rewind(t, tree, before); problems != nil {
		t.Error(problems)
	}
	same(t, dir, map[string]string{"large": "-rw-r--r-- " + strings.Repeat("y", 3000), ".env": "-rw-r--r-- KEY=2", "a": "-rw-r--r-- a"})
	if info, err := os.Stat(tree.Database()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the database has the mode %v (%v)", info.Mode(), err)
	}
}

// TestTooLarge refuses a tree with too many files, in bounded work.
func TestTooLarge(t *testing.T) {
	dir := t.TempDir()
	for i := range 30 {
		write(t, dir, fmt.Sprintf("d%d/f", i), "x")
	}
	tree := open(t, dir, func(o *checkpoint.Options) { o.MaxFiles = 20 })
	_, err := tree.Record(t.Context(), checkpoint.Mark{Session: "s", Kind: checkpoint.Prompt})
	if !errors.Is(err, checkpoint.ErrTooLarge) {
		t.Errorf("the error is %v", err)
	}
	tree = open(t, dir, func(o *checkpoint.Options) { o.MaxBytes = 29 })
	if _, err = tree.Record(t.Context(), checkpoint.Mark{Session: "s", Kind: checkpoint.Prompt}); !errors.Is(err, checkpoint.ErrTooLarge) {
		t.Errorf("the error is %v", err)
	}
	if info, err := os.Stat(tree.Database()); err != nil || info.Size() > 64<<10 {
		t.Errorf("the database has %v (%v)", info, err)
	}
	record(t, open(t, dir, func(o *checkpoint.Options) { o.MaxFiles, o.MaxBytes = 61, 30 }), checkpoint.Prompt)
}

// TestFullDisk reports a disk that is full. What was recorded before can still be restored, and once there is room recording goes on.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", "a")
	tree := open(t, dir)
	before := record(t, tree, checkpoint.Prompt)
	if err := tree.LimitPages(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		write(t, dir, fmt.Sprint("random", i), random())
	}
	write(t, dir, "a", "b")
	_, err := tree.Record(t.Context(), checkpoint.Mark{Session: "s", Kind: checkpoint.Call})
	if err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatalf("the error is %v", err)
	}
	// The tree opens the database again, without the limit.
	full := record(t, tree, checkpoint.Rewind)
	if problems := rewind(t, tree, before); problems != nil {
		t.Error(problems)
	}
	same(t, dir, map[string]string{"a": "-rw-r--r-- a"})
	if problems := rewind(t, tree, full); problems != nil {
		t.Error(problems)
	}
	if got := snapshot(t, dir); len(got) != 201 || got["a"] != "-rw-r--r-- b" {
		t.Errorf("%d files", len(got))
	}
}

func random() string {
	b := make([]byte, 4000)
	f, err := os.Open("/dev/urandom")
	if err == nil {
		_, err = f.Read(b)
	}
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestPrune removes old points and what only they have, while another process records.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "kept", "kept")
	now := time.Now()
	options := func(o *checkpoint.Options) {
		o.Clock = func() time.Time { return now }
		o.Keep = 48 * time.Hour
	}
	tree := open(t, dir, options)
	other := checkpoint.Open(dir, checkpoint.Options{Dir: filepath.Dir(tree.Database())})
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range 20 {
		write(t, dir, "big", random()+fmt.Sprint(i))
		record(t, tree, checkpoint.Prompt)
	}
	// The other process knows the content of now, which the prune is about to remove.
	if _, err := other.Record(t.Context(), checkpoint.Mark{Session: "other", Kind: checkpoint.Call}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(72 * time.Hour)
	pruned, err := tree.Prune(t.Context())
	if err != nil || pruned.Points != 21 || pruned.After >= pruned.Before {
		t.Fatalf("pruned %+v, %v", pruned, err)
	}
	p, err := other.Record(t.Context(), checkpoint.Mark{Session: "other", Kind: checkpoint.Prompt})
	if err != nil {
		t.Fatal(err)
	}
	want := snapshot(t, dir)
	write(t, dir, "big", "gone")
	write(t, dir, "kept", "gone")
	if problems := rewind(t, other, p); problems != nil {
		t.Error(problems)
	}
	same(t, dir, want)
}

// TestRestore_Links changes nothing outside of the tree, wherever links lead that came in the meantime.
func TestRestore_Links(t *testing.T) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "w"), filepath.Join(base, "outside")
	write(t, dir, "d/f", "recorded")
	write(t, outside, "f", "untouched")
	tree := open(t, dir)
	before := record(t, tree, checkpoint.Prompt)
	write(t, dir, "d/f", "changed")
	now := record(t, tree, checkpoint.Rewind)
	changes, err := tree.Changes(t.Context(), now, before)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "d")); err != nil {
		t.Skip(err)
	}
	problems, err := tree.Restore(t.Context(), changes)
	if err != nil || len(problems) != 1 {
		t.Errorf("problems: %v, %v", problems, err)
	}
	same(t, outside, map[string]string{"f": "-rw-r--r-- untouched"})
}

// The database of a directory that is gone goes with its last point.
func TestPrune_VanishedDirectory(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "tree")
	write(t, dir, "file", "content")
	known := true
	tree := open(t, dir, func(o *checkpoint.Options) {
		o.Known = func(context.Context, string) bool { return known }
	})
	record(t, tree, checkpoint.Prompt)
	prune := func(gone bool) {
		t.Helper()
		pruned, err := tree.Prune(t.Context())
		if err != nil || pruned.Gone != gone {
			t.Errorf("pruned %+v, %v", pruned, err)
		}
		left, err := filepath.Glob(tree.Database() + "*")
		if err != nil || (len(left) == 0) != gone {
			t.Errorf("left: %q, %v", left, err)
		}
	}
	prune(false)
	if err := os.Rename(dir, dir+" elsewhere"); err != nil {
		t.Fatal(err)
	}
	prune(false) // the directory may come back, and the session could be rewound
	known = false
	prune(true)
	if pruned, err := tree.Prune(t.Context()); err != nil || pruned != (checkpoint.Pruned{}) {
		t.Errorf("pruned %+v, %v", pruned, err)
	}
	if err := os.Rename(dir+" elsewhere", dir); err != nil {
		t.Fatal(err)
	}
	record(t, tree, checkpoint.Prompt)
	prune(false)
}
