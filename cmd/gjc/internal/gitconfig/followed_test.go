package gitconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

// git's own listing names what a repository's configuration makes it run: also by files that others include.
func TestFollowed(t *testing.T) {
	git := testenv.NeedsTool(t, "git")
	root, home := t.TempDir(), t.TempDir()
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir, cmd.Env = root, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	run("init", "-q", ".")
	for _, name := range []string{"tools/diff.sh", "tools/clean", "scripts/hooks/pre-commit", "src/main.go"} {
		put(filepath.Join(root, name), "")
	}
	put(filepath.Join(root, "shared.gitconfig"), "[diff \"x\"]\n\tcommand = ./tools/diff.sh --fast\n[include]\n\tpath = more.gitconfig\n")
	put(filepath.Join(root, "more.gitconfig"), "[alias]\n\tcheck = !sh tools/clean\n[user]\n\tname = src/main.go\n")
	put(filepath.Join(home, ".gitconfig"), "[core]\n\thooksPath = scripts/hooks\n")
	run("config", "include.path", "../shared.gitconfig")
	run("remote", "add", "origin", "src/main.go")
	got := Followed(run(ListArgs...), root, home)
	slices.Sort(got)
	want := []string{"more.gitconfig", "scripts/hooks", "shared.gitconfig", "tools/clean", "tools/diff.sh"}
	for i := range want {
		want[i] = filepath.Join(root, want[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, bad := range []string{"", "\x00", "x", "file:.git/config\x00", "file:.git/config\x00core.hookspath", "\x00\x00\x00"} {
		if got := Followed([]byte(bad), root, home); len(got) > 0 {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

func FuzzFollowed(f *testing.F) {
	f.Add([]byte("file:.git/config\x00core.hookspath\n../x\x00"))
	f.Fuzz(func(t *testing.T, listing []byte) {
		for _, path := range Followed(listing, "/w", "/home/u") {
			if rel, err := filepath.Rel("/w", path); err != nil || !filepath.IsLocal(rel) {
				t.Errorf("%q names %q, outside of the repository", listing, path)
			}
		}
	})
}
