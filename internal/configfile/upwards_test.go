package configfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/configfile"
)

// A directory is followed by its parents in the repository; a directory outside a repository has none.
func TestUpwards(t *testing.T) {
	top := t.TempDir()
	repo, plain := filepath.Join(top, "repo"), filepath.Join(top, "plain", "sub")
	nested := filepath.Join(repo, "vendor", "other")
	for _, dir := range []string{filepath.Join(repo, ".git"), filepath.Join(repo, "a", "b"), plain, nested} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// A worktree's and a submodule's .git is a file.
	if err := os.WriteFile(filepath.Join(nested, ".git"), []byte("gitdir: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := configfile.Upwards(filepath.Join(repo, "a", "b"), plain, repo, filepath.Join(nested, "gone"))
	want := []string{filepath.Join(repo, "a", "b"), filepath.Join(repo, "a"), repo, plain, filepath.Join(nested, "gone"), nested}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("directories (-want +got):\n%s", d)
	}
}
