//go:build unix

package secrets_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/internal/configfile"
)

// A workspace can have any kind of file under this name; the session starts anyway and reports that secrets cannot be
// loaded.
func TestReadFiles_Endless(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.yml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	paths := []string{pipe}
	for name, to := range map[string]string{"zero.yml": "/dev/zero", "nothing.yml": filepath.Join(dir, "gone"), "link.yml": pipe} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Join(dir, name))
	}
	for _, path := range paths {
		if _, err := secrets.ReadFiles(path); !errors.Is(err, configfile.ErrNotFile) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
