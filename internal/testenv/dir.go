package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// DirOutsideTemp returns an absolute directory without symbolic links that ends with the test, and that is not in a directory for temporary
// files: a sandbox has one of its own.
func DirOutsideTemp(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(cache, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(cache, "gjc-test-") //nolint:usetesting // not below the directory for temporary files
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
