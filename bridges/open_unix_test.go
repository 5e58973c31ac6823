//go:build unix

package bridges_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/bridges"
)

// Reading and opening a pipe without a writer does not block.
func TestOpen_Pipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	if _, err := (bridges.LocalFS{}).Open(own(t), path); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
