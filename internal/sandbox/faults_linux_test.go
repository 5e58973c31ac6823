package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// A machine without bubblewrap, or with one that may not make namespaces, has Landlock or says what is missing.
func TestFind_Faults(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	refusing := filepath.Join(t.TempDir(), "bwrap")
	if err := os.WriteFile(refusing, []byte("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	hanging := filepath.Join(t.TempDir(), "bwrap")
	if err := os.WriteFile(hanging, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil { // it runs nothing
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		look func(string) (string, error)
		want string
	}{
		"absent":          {func(string) (string, error) { return "", exec.ErrNotFound }, "bwrap is not installed"},
		"no namespaces":   {func(string) (string, error) { return refusing, nil }, "No permissions to create new namespace"},
		"it runs nothing": {func(string) (string, error) { return hanging, nil }, "bwrap does not work here"},
		"it has gone":     {func(string) (string, error) { return "/nowhere/bwrap", nil }, "bwrap does not work here"},
	} {
		h := &sandbox.Host{Self: self, Env: os.Environ(), LookPath: c.look}
		if _, err := sandbox.FindKind(sandbox.Bubblewrap, h); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		s, err := sandbox.Find(h)
		if _, lacks := sandbox.FindKind(sandbox.Landlock, h); lacks != nil {
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Landlock") {
				t.Errorf("%s, without Landlock: %v", name, err)
			}
		} else if err != nil || s.Kind != sandbox.Landlock {
			t.Errorf("%s, with Landlock: %+v, %v", name, s, err)
		}
	}
}

// Roots of every kind: what is written in them is on the disk, and what is kept stays.
func TestBox_Roots(t *testing.T) {
	s := boxes(t)
	disk := testenv.DirOutsideTemp(t)
	write(t, filepath.Join(disk, "real", "kept"), "kept")
	link := filepath.Join(disk, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	real := func(path string) string {
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	roots := map[string]string{"a symbolic link": real(link), "below /tmp": t.TempDir()}
	if dir, err := os.MkdirTemp("/dev/shm", "gjc-test-"); err == nil { //nolint:usetesting // on a tmpfs
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		roots["on a tmpfs"] = dir
	}
	for name, root := range roots {
		t.Run(name, func(t *testing.T) {
			write(t, filepath.Join(root, "kept"), "kept")
			write(t, filepath.Join(root, "secret"), "TOKEN")
			box := open(t, s, &sandbox.Policy{Write: []string{root}, Keep: []string{filepath.Join(root, "kept")}, Hide: []string{filepath.Join(root, "secret")}, Temp: t.TempDir()})
			out, _ := inside(t, box, fmt.Sprintf("cd %s && echo new > made; echo evil > kept; rm -f kept; cat secret", root))
			if text, err := os.ReadFile(filepath.Join(root, "made")); err != nil || string(text) != "new\n" {
				t.Errorf("made: %q, %v; %s", text, err, out)
			}
			if text, err := os.ReadFile(filepath.Join(root, "kept")); err != nil || string(text) != "kept" || strings.Contains(out, "TOKEN") {
				t.Errorf("kept: %q, %v; %s", text, err, out)
			}
		})
	}
}

// The home directory in the root: its secrets are hidden, the rest can be changed.
func TestBox_HomeInRoot(t *testing.T) {
	root := testenv.DirOutsideTemp(t)
	home := filepath.Join(root, "home")
	write(t, filepath.Join(home, ".ssh", "id"), "TOKEN")
	box := open(t, boxes(t), &sandbox.Policy{Write: []string{root}, Hide: []string{filepath.Join(home, ".ssh")}, Temp: t.TempDir()})
	out, _ := inside(t, box, fmt.Sprintf("cd %s && echo new > made; cat .ssh/id; mv .ssh x; ls -a", home))
	if text, err := os.ReadFile(filepath.Join(home, "made")); err != nil || string(text) != "new\n" || strings.Contains(out, "TOKEN") {
		t.Errorf("made: %q, %v; %s", text, err, out)
	}
	if _, err := os.Stat(filepath.Join(home, ".ssh", "id")); err != nil {
		t.Error(err)
	}
}

// The whole machine is never a place to write in, and a root that cannot be written stays as it is.
func TestBox_UnwritableRoots(t *testing.T) {
	s := boxes(t)
	dir := testenv.DirOutsideTemp(t)
	box := open(t, s, &sandbox.Policy{Write: []string{"/"}, Temp: t.TempDir()})
	if out, err := inside(t, box, "echo x > "+filepath.Join(dir, "made")); err == nil {
		t.Errorf("a root of / can be written in: %s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	box = open(t, s, &sandbox.Policy{Write: []string{"/proc/1"}, Temp: t.TempDir()})
	if out, err := inside(t, box, "echo x > /proc/1/comm"); err == nil && os.Getuid() != 0 {
		t.Errorf("another process can be changed: %s", out)
	}
}

// With 10,000 protected paths, each is protected; what is not, in directories with many of them, may be, too.
func TestBox_TenThousand(t *testing.T) {
	s := boxes(t)
	root := testenv.DirOutsideTemp(t)
	p := &sandbox.Policy{Write: []string{root}, Temp: t.TempDir()}
	for i := range 10_000 {
		path := filepath.Join(root, fmt.Sprint("d", i%50), fmt.Sprint("kept", i))
		if i < 50 {
			if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Keep = append(p.Keep, path)
	}
	box := open(t, s, p)
	out, _ := inside(t, box, fmt.Sprintf("cd %s && echo evil | tee d*/kept* > /dev/null; rm -f d*/kept*; echo new > made", root))
	for i, path := range p.Keep {
		if text, err := os.ReadFile(path); err != nil || string(text) != "kept" {
			t.Fatalf("%d: %s: %q, %v; %.300s", i, path, text, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "made")); err != nil {
		t.Errorf("nothing else can be written: %v; %.300s", err, out)
	}
}
