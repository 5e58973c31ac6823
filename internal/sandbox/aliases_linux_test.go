package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// A directory that is mounted in a second place is protected there, too.
func TestAliases(t *testing.T) {
	if !machine(t, "true") {
		return
	}
	kinds(t, func(t *testing.T, s *sandbox.Sandbox) {
		root, home, persistent := testenv.DirOutsideTemp(t), testenv.DirOutsideTemp(t), testenv.DirOutsideTemp(t)
		for _, name := range []string{".ssh/id", "hidden/part/key"} {
			write(t, filepath.Join(persistent, name), "TOKEN")
		}
		write(t, filepath.Join(persistent, "plain"), "plain")
		write(t, filepath.Join(root, "sub", "src", "kept"), "KEPT")
		write(t, filepath.Join(root, "sub", "src", "deep", "file"), "FILE")
		mount(t, persistent, home, "", unix.MS_BIND, "")
		mount(t, filepath.Join(persistent, "hidden", "part"), filepath.Join(root, "sub", "a b"), "", unix.MS_BIND, "")
		mount(t, filepath.Join(root, "sub", "src"), filepath.Join(root, "sub", "dst"), "", unix.MS_BIND, "")
		temp, inTemp := t.TempDir(), t.TempDir()
		mount(t, persistent, inTemp, "", unix.MS_BIND, "")
		t.Setenv("T", inTemp)
		p := &sandbox.Policy{Temp: temp, Write: []string{root}, Keep: []string{filepath.Join(root, "sub", "src", "kept")}, Hide: []string{filepath.Join(home, ".ssh"), filepath.Join(persistent, "hidden")}}
		t.Setenv("R", filepath.Join(root, "sub"))
		t.Setenv("H", home)
		t.Setenv("P", persistent)
		for _, line := range []string{
			"cat $H/.ssh/id", "cat $P/.ssh/id", "cat $T/.ssh/id", "cat $H/hidden/part/key", "cat $P/hidden/part/key", "cat \"$R/a b/key\"", "echo evil > \"$R/a b/key\"", "touch \"$R/a b/new\"",
			"echo evil > $R/src/kept", "echo evil > $R/dst/kept", "rm -f $R/dst/kept", "mv $R/dst/deep/file $R/dst/kept",
		} {
			if out, err := probe(t, s, p, line); err == nil {
				t.Errorf("%s worked: %s", line, out)
			}
		}
		if out, err := probe(t, s, p, "cat $H/plain $P/plain $R/dst/kept && echo new > $R/dst/deep/file && cat $R/src/deep/file"); err != nil || out != "plainplainKEPTnew\n" {
			t.Errorf("what is allowed: %q, %v", out, err)
		}
		if s.Kind != sandbox.Bubblewrap {
			return
		}
		if rel, ok := strings.CutPrefix(inTemp, "/tmp/"); ok { // the box has another /tmp
			if _, err := os.Lstat(filepath.Join(temp, rel)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("in the box's /tmp: %v", err)
			}
		}
		write(t, filepath.Join(root, "sub", "src", "fresh"), "KEPT")
		box := open(t, s, p)
		p.Keep = append(p.Keep, filepath.Join(root, "sub", "src", "fresh"))
		if err := box.Protect(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if out, err := inside(t, box, "echo evil > $R/dst/fresh"); err == nil {
			t.Errorf("what was protected later can be changed in a second place: %s", out)
		}
	})
}
