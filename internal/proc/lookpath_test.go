package proc_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/proc"
)

func TestLookPath(t *testing.T) {
	name, dir, other := "gjc-test-tool", t.TempDir(), t.TempDir()
	file := name
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	for _, d := range []string{dir, other} {
		if err := os.WriteFile(filepath.Join(d, file), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	list := string(os.PathListSeparator)
	for _, tt := range []struct{ path, want string }{
		{dir, filepath.Join(dir, file)},
		{filepath.Join(dir, "none") + list + other + list + dir, filepath.Join(other, file)},
		{"." + list + dir, filepath.Join(dir, file)}, // a relative place depends on the workspace
		{"", ""},
		{filepath.Join(dir, "none"), ""},
	} {
		got, err := proc.LookPath(name, []string{"PATH=/nowhere", "PATH=" + tt.path})
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("on PATH %q: %q, %v", tt.path, got, err)
		}
		if err != nil && (!errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "not on the PATH")) {
			t.Errorf("the error is %v", err)
		}
	}
	if got, err := proc.LookPath(filepath.Join(dir, file), nil); err != nil || got != filepath.Join(dir, file) {
		t.Errorf("absolute: %q, %v", got, err)
	}
}
