package toolstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Tree returns the content of each file below the working directory by its path in slash form. The path of a directory ends in a
// slash.
func Tree(t testing.TB, w *World) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == w.Dir {
			return err
		}
		rel, err := filepath.Rel(w.Dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			found[filepath.ToSlash(rel)+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		found[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
