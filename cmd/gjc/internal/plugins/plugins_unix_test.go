//go:build unix

package plugins

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/internal/trust"
)

// A FIFO in a directory is refused without waiting for its writer, and one in the place of the project's list is named.
func TestStore_FIFO(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, base, "p/commands/a.md", "A.\n", ".gjc/x", "")
	for _, name := range []string{"p/commands/pipe", requiredFile} {
		if err := syscall.Mkfifo(filepath.Join(base, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openStore(t, t.TempDir(), base)
	if c, err := s.Prepare(t.Context(), "./p"); err == nil || !strings.Contains(err.Error(), "commands/pipe is not a regular file") {
		c.Close()
		t.Errorf("%v", err)
	}
	if r := ReadRequired(base); len(r) != 1 || len(r[0].Problems) != 1 {
		t.Errorf("%+v", r)
	}
}

// A linked directory that becomes bad is not used, and used again when it is mended.
func TestSession_LinkChanges(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, base, "p/commands/a.md", "A.\n")
	s := openStore(t, t.TempDir(), base)
	if _, _, err := s.Link(t.Context(), "./p"); err != nil {
		t.Fatal(err)
	}
	session := NewSession(s, nil, trust.NewSession(nil))
	if active := session.Active(t.Context()); len(active) != 1 {
		t.Fatalf("%v", active)
	}
	before := session.Stamp(t.Context())
	pipe := filepath.Join(base, "p", "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if active := session.Active(t.Context()); len(active) != 0 || session.Stamp(t.Context()) == before {
		t.Errorf("with a FIFO: %v", active)
	}
	if n := session.Notices(t.Context()); len(n) != 1 || !strings.Contains(n[0].Detail, "pipe is not a regular file") {
		t.Errorf("%v", n)
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if active := session.Active(t.Context()); len(active) != 1 {
		t.Errorf("after the mend: %v, %v", active, session.Notices(t.Context()))
	}
}
