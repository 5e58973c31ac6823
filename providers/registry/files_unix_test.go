//go:build unix

package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/internal/configfile"
)

// A pipe or a device in place of a file is reported, not read, and keeps its mode.
func TestRegistry_NotRegularFiles(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"auth.json", "models.yml"} {
		pipe := filepath.Join(w.dir, name)
		if err := syscall.Mkfifo(pipe, 0o644); err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(pipe)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.registry().Load(t.Context()); !errors.Is(err, configfile.ErrNotFile) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.Stat(pipe); err != nil || after.Mode() != before.Mode() || len(w.notices) > 0 {
			t.Errorf("%s: %v, %v, %q", name, after.Mode(), err, w.notices)
		}
		if err := os.Remove(pipe); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/dev/zero", pipe); err != nil {
			t.Fatal(err)
		}
		if err := w.registry().Load(t.Context()); !errors.Is(err, configfile.ErrNotFile) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(pipe); err != nil {
			t.Fatal(err)
		}
	}
}
