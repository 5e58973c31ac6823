package bridges_test

import (
	"context"
	"io/fs"
	"os"
	"runtime"
	"testing"
)

// MakeExecutable and SetMode change files on the disk and ignore others.
func TestFS_Mode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions of this system are of another kind")
	}
	implementations(t, func(t *testing.T, start func(*testing.T) *env) {
		e := start(t)
		files, ok := e.FS.(interface {
			MakeExecutable(ctx context.Context, path string) error
			SetMode(ctx context.Context, path string, mode fs.FileMode) error
		})
		if !ok {
			t.Fatal("these files cannot be made executable")
		}
		script := e.put("run.sh", "#!/bin/sh\n")
		if err := os.Chmod(script, 0o640); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{script, e.path("none"), e.dir} {
			if err := files.MakeExecutable(own(t), path); err != nil {
				t.Error(err)
			}
		}
		if info, err := os.Stat(script); err != nil || info.Mode().Perm() != 0o750 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		for _, path := range []string{script, e.path("none"), e.dir} {
			if err := files.SetMode(own(t), path, 0o604); err != nil {
				t.Error(err)
			}
		}
		if info, err := os.Stat(script); err != nil || info.Mode().Perm() != 0o604 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	})
}
