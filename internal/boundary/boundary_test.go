package boundary

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gajae-code/gjc/internal/places"
	"github.com/gajae-code/gjc/internal/testenv"
)

// layOut creates files with their paths below a new directory as their text, and returns the directory.
func layOut(t *testing.T, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		put(t, filepath.Join(root, filepath.FromSlash(name)), name)
	}
	return root
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// accessOf returns the access in a root, with paths relative to base.
func accessOf(t *testing.T, b *Settings, base string, paths *places.Paths) *Access {
	t.Helper()
	a := b.Access(context.Background(), paths, nil)
	for _, list := range [][]string{a.Write, a.Keep, a.Hide, a.Fixed} {
		for i, path := range list {
			rel, err := filepath.Rel(base, path)
			if err != nil {
				t.Fatal(err)
			}
			list[i] = filepath.ToSlash(rel)
		}
	}
	return a
}

func pathsOf(home string, roots ...string) *places.Paths {
	return &places.Paths{Roots: roots, RealRoots: roots, Home: home, Own: []string{filepath.Join(home, ".gjc")}, Real: realPath}
}

func TestBoundary_Access(t *testing.T) {
	base := layOut(
		t, "home/.ssh/id_rsa", "home/.gjc/agent/x", "home/.bash_history", "home/.npmrc", "home/notes", "w/main.go", "w/.env", "w/.env.example", "w/sub/key.pem", "w/sub/.vscode/tasks.json",
		"w/.envrc", "w/node_modules/a/.vscode/tasks.json", "w/node_modules/a/key.pem", "w/.git/HEAD", "w/.git/config", "w/.git/hooks/x", "w/.git/modules/a/b/HEAD", "w/.git/modules/a/b/config",
		"w/.git/index", "cache/x",
	)
	at := func(name string) string { return filepath.Join(base, name) }
	b := &Settings{Write: []string{at("cache"), at("absent")}}
	a := accessOf(t, b, base, pathsOf(at("home"), at("w")))
	want := &Access{
		Write: []string{"cache", "w", "w/.git"},
		Fixed: []string{"w/sub/.vscode"},
		Keep:  []string{"home", "w/.envrc", "w/.git/config", "w/.git/hooks", "w/.git/modules/a/b/config", "w/sub/.vscode/tasks.json"},
		Hide:  []string{"home/.bash_history", "home/.gjc", "home/.ssh", "w/.env", "w/.envrc", "w/sub/key.pem"},
	}
	if diff := cmp.Diff(want, a, cmpopts.IgnoreUnexported(Access{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	put(t, at("home/.npmrc"), "//npm.example/:_authToken=x")
	if a := accessOf(t, b, base, pathsOf(at("home"), at("w"))); !slices.Contains(a.Hide, "home/.npmrc") {
		t.Errorf("npm's key is not hidden: %q", a.Hide)
	}
}

// A toolchain's cache that the first look makes in a root does not count as made by a command.
func TestBoundary_CachesInRoots(t *testing.T) {
	base := layOut(t, "w/main.go")
	root := filepath.Join(base, "w")
	b := &Settings{Caches: func() []string {
		dir := filepath.Join(root, ".cargo", "registry")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Error(err)
		}
		return []string{dir}
	}}
	paths := pathsOf(filepath.Join(base, "home"), root)
	before := b.Access(t.Context(), paths, nil)
	if made := b.Access(t.Context(), paths, nil).Made(before); len(made) > 0 {
		t.Errorf("%q count as made", made)
	}
}

// In a worktree, git writes into the repository that it belongs to, if that knows of it.
func TestBoundary_Worktree(t *testing.T) {
	git := testenv.NeedsTool(t, "git")
	base := layOut(t, "main/a")
	run := func(args ...string) {
		cmd := exec.Command(git, append([]string{"-C", filepath.Join(base, "main"), "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	run("init", "-q")
	run("add", "a")
	run("commit", "-qm", "x")
	run("worktree", "add", "-q", filepath.Join(base, "tree"))
	a := accessOf(t, new(Settings), base, pathsOf(filepath.Join(base, "home"), filepath.Join(base, "tree")))
	if want := []string{"main/.git", "main/.git/worktrees/tree", "tree"}; !slices.Equal(a.Write, want) {
		t.Errorf("writes %q", a.Write)
	}
	for _, kept := range []string{"main/.git/config", "main/.git/hooks", "tree/.git", "main/.git/worktrees/tree/gitdir"} {
		if !slices.Contains(a.Keep, kept) {
			t.Errorf("%s is not kept: %q", kept, a.Keep)
		}
	}
	evil := layOut(t, "w/.git", "victim/.git/HEAD", "victim/.git/config")
	put(t, filepath.Join(evil, "w", ".git"), "gitdir: ../victim/.git\n")
	if a := accessOf(t, new(Settings), evil, pathsOf(filepath.Join(evil, "home"), filepath.Join(evil, "w"))); !slices.Equal(a.Write, []string{"w"}) {
		t.Errorf("a file .git opens another repository: %q", a.Write)
	}
}

// The whole machine is no root to write in, and a root that cannot be read or is too deep stays as it is.
func TestBoundary_OddRoots(t *testing.T) {
	if a := new(Settings).Access(t.Context(), &places.Paths{Roots: []string{"/"}, RealRoots: []string{"/"}, Real: realPath}, nil); len(a.Write) > 0 {
		t.Errorf("writes %q", a.Write)
	}
	base := layOut(t, "w/"+strings.Repeat("d/", 50)+"f")
	a := accessOf(t, new(Settings), base, pathsOf(filepath.Join(base, "home"), filepath.Join(base, "w")))
	if want := []string{"w" + strings.Repeat("/d", maxScanDepth+1)}; !slices.Equal(a.Keep, want) {
		t.Errorf("keeps %q", a.Keep)
	}
}

func TestAccess_Refuses(t *testing.T) {
	base := layOut(t, "w/a", "w/kept/a", "w/hidden/a", "w/hidden/shown", "out/a")
	at := func(name string) string { return filepath.Join(base, name) }
	a := &Access{Write: []string{at("w")}, Keep: []string{at("w/kept")}, Hide: []string{at("w/hidden")}, Show: []string{at("w/hidden/shown")}}
	for name, want := range map[string]string{
		"w/a": "", "w/new": "", "w/kept/a": "write w/kept/a", "w/kept/new": "write w/kept/new", "w/hidden/a": "read w/hidden/a", "w/hidden/shown": "write w/hidden/shown", "out/a": "write out/a", "out/new/x": "write out/new/x",
	} {
		got := ""
		if r, ok := a.Refuses(at(name)); ok {
			got = r.Describe(func(path string) string { return strings.TrimPrefix(path, base+"/") })
			if again, still := a.Extend([]Refusal{r}).Refuses(at(name)); still && want != "read w/hidden/a" {
				t.Errorf("%s: refused again: %+v", name, again)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, ok := a.Refuses("/proc/1/environ"); ok {
		t.Error("a file of the system is offered")
	}
}

// A protected file is one that a command has made, too, if its directory was renamed and it was made again, or if a link leads elsewhere.
func TestAccess_Made_Again(t *testing.T) {
	base := layOut(t, "w/p/CLAUDE.md", "w/p/.git/HEAD", "w/a", "w/b/tasks.json")
	root := filepath.Join(base, "w")
	put(t, filepath.Join(root, "p", ".git", "config"), "[core]\n\tbare = false\n")
	paths := pathsOf(filepath.Join(base, "home"), root)
	before := new(Settings).Access(t.Context(), paths, nil)
	if err := os.Rename(filepath.Join(root, "p"), filepath.Join(root, "q")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "p", "CLAUDE.md"), "evil")
	for link, to := range map[string]string{".envrc": "a", ".vscode": "b", "l": "q/CLAUDE.md"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	now := new(Settings).Access(t.Context(), paths, nil)
	at := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, filepath.Join(root, name))
		}
		return all
	}
	if got, want := now.Made(before), at(".envrc", ".vscode/tasks.json", "p/CLAUDE.md", "q/CLAUDE.md"); !slices.Equal(got, want) {
		t.Errorf("made %q, want %q", got, want)
	}
	if got, want := now.Moved(before)[at("q/CLAUDE.md")[0]], at("p/CLAUDE.md")[0]; got != want {
		t.Errorf("it was at %q, want %q", got, want)
	}
	if made := now.Made(now); len(made) > 0 {
		t.Errorf("made %q and nothing has changed", made)
	}
}

func TestAccess_Made(t *testing.T) {
	base := layOut(t, "w/a")
	root := filepath.Join(base, "w")
	paths := pathsOf(filepath.Join(base, "home"), root)
	for _, tt := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"b": "", ".env": "", ".github/x.yml": ""}, ""},
		{map[string]string{".git/HEAD": "", ".git/config": "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://a/b\n", ".git/hooks/x.sample": "", ".git/info/exclude": ""}, ""},
		{map[string]string{".git/HEAD": "", ".git/config": "[core]\n\tfsmonitor = ./evil\n"}, ".git/config"},
		{map[string]string{".git/HEAD": "", ".git/config": "[include]\n\tpath = ../x\n"}, ".git/config"},
		{map[string]string{".git/HEAD": "", ".git/config": "[core] fsmonitor = ./evil\n"}, ".git/config"},
		{map[string]string{".git/HEAD": "", ".git/config": "[remote \"origin\"]\n\turl = ext::sh -c evil\n"}, ".git/config"},
		{map[string]string{".git/HEAD": "", ".git/hooks/pre-commit": ""}, ".git/hooks"},
		{map[string]string{".git/HEAD": "", ".git/info/attributes": ""}, ".git/info"},
		{map[string]string{".git/HEAD": "", ".git/commondir": "../c"}, ".git/commondir"},
		{map[string]string{".git/HEAD": "", ".git/worktrees/x/HEAD": "", ".git/worktrees/x/commondir": "../..", ".git/worktrees/x/gitdir": "/w/.git"}, ""},
		{map[string]string{".git/HEAD": "", ".git/worktrees/x/HEAD": "", ".git/worktrees/x/commondir": "../../../c"}, ".git/worktrees/x/commondir"},
		{map[string]string{".git/HEAD": "", ".git/modules/a/b/hooks/x": ""}, ".git/modules/a/b/hooks"},
		{map[string]string{".envrc": "", "sub/.vscode/tasks.json": ""}, ".envrc sub/.vscode/tasks.json"},
	} {
		before := new(Settings).Access(t.Context(), paths, nil)
		for name, text := range tt.files {
			put(t, filepath.Join(root, name), text)
		}
		var made []string
		for _, path := range new(Settings).Access(t.Context(), paths, nil).Made(before) {
			made = append(made, strings.TrimPrefix(path, root+"/"))
		}
		if got := strings.Join(made, " "); got != tt.want {
			t.Errorf("%q: made %q, want %q", tt.files, got, tt.want)
		}
		for name := range tt.files {
			top, _, _ := strings.Cut(name, "/")
			if err := os.RemoveAll(filepath.Join(root, top)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestBoundary_Together(t *testing.T) {
	base := layOut(t, "w/go.mod", "w/.git/HEAD")
	put(t, filepath.Join(base, "w/.git/config"), "[remote \"origin\"]\n\turl = https://me@git.example.com:8443/a/b\n[remote \"ssh\"]\n\turl = git@ssh.example.com:a/b\n")
	paths := pathsOf(filepath.Join(base, "home"), filepath.Join(base, "w"))
	var want []string
	for _, r := range registries() {
		if slices.Contains(r.files, "go.mod") {
			want = append(want, r.hosts...)
		}
	}
	proxy := want[0]
	want = append(want, "git.example.com")
	slices.Sort(want)
	if got := new(Settings).Together([]Refusal{{Host: proxy}}, paths); !slices.Equal(got, want) || len(want) < 3 {
		t.Errorf("%q", got)
	}
	for _, refused := range [][]Refusal{{{Host: "evil.example"}}, {{Host: proxy}, {Host: "evil.example"}}, {{Path: "/x"}}} {
		if got := new(Settings).Together(refused, paths); got != nil {
			t.Errorf("%v: %q", refused, got)
		}
	}
}

// What has not been read, because the turn was cancelled or there is too much of it, has not been made by a command.
func TestMade_Unread(t *testing.T) {
	root := layOut(t, "main.go")
	var b Settings
	paths := pathsOf(t.TempDir(), root)
	before := b.Access(t.Context(), paths, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	after := b.Access(ctx, paths, nil)
	if !slices.Contains(after.Keep, root) {
		t.Errorf("what has not been read can be changed: kept are %q", after.Keep)
	}
	if made := after.Made(before); len(made) > 0 {
		t.Errorf("the command made %q", made)
	}
}

// A project in the home directory, as most are: what a command makes there is noticed, and a hidden file is one that cannot be read.
func TestMade_InHome(t *testing.T) {
	home := layOut(t, "w/main.go", "w/.envrc")
	root := filepath.Join(home, "w")
	paths := pathsOf(home, root)
	before := new(Settings).Access(t.Context(), paths, nil)
	put(t, filepath.Join(root, ".vscode", "tasks.json"), "{}")
	made := new(Settings).Access(t.Context(), paths, nil).Made(before)
	if want := []string{filepath.Join(root, ".vscode", "tasks.json")}; !slices.Equal(made, want) {
		t.Errorf("made %q, want %q", made, want)
	}
	if r, refused := before.Refuses(filepath.Join(root, ".envrc")); !refused || r.Change {
		t.Errorf("a hidden file: %+v, %v", r, refused)
	}
	if r, refused := before.Refuses(filepath.Join(home, "notes")); !refused || !r.Change {
		t.Errorf("a file next to the project: %+v, %v", r, refused)
	}
}
