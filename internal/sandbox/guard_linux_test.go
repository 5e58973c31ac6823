package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// What is mounted outside while a box is open does not open it: file systems there are no place to write in, and what is hidden stays so.
func TestGuard_LaterMounts(t *testing.T) {
	if !machine(t, "true") {
		return
	}
	s := boxes(t)
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil { // as on most machines
		t.Fatal(err)
	}
	root, outside := testenv.DirOutsideTemp(t), testenv.DirOutsideTemp(t)
	for _, dir := range []string{"drive", "secret"} {
		if err := os.Mkdir(filepath.Join(outside, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("H", outside)
	box := open(t, s, &sandbox.Policy{Write: []string{root}, Hide: []string{filepath.Join(outside, "secret")}})
	for _, dir := range []string{"drive", "secret"} {
		mount(t, "tmpfs", filepath.Join(outside, dir), "tmpfs", 0, "")
		write(t, filepath.Join(outside, dir, "file"), "TOKEN")
	}
	if out, err := inside(t, box, "echo evil > $H/drive/file"); err == nil {
		t.Errorf("a drive that was mounted later can be changed: %s", out)
	}
	if out, err := inside(t, box, "touch $H/drive/new"); err == nil {
		t.Errorf("a file was made on a drive that was mounted later: %s", out)
	}
	if out, _ := inside(t, box, "cat $H/secret/file; ls $H/secret"); strings.Contains(out, "TOKEN") || strings.Contains(out, "\nfile") {
		t.Errorf("a hidden directory on which something was mounted later is open: %s", out)
	}
	for _, name := range []string{"drive/file", "secret/file"} {
		if data, err := os.ReadFile(filepath.Join(outside, name)); err != nil || string(data) != "TOKEN" {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "drive", "new")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
