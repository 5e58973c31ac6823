package sessions_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gajae-code/gjc/sessions"
)

func TestFileSystem_Real(t *testing.T) { testFileSystem(t, sessions.Disk(), t.TempDir()) }

func TestFileSystem_InMemory(t *testing.T) {
	testFileSystem(t, newMemoryDisk(time.Unix(0, 0)).Process(diskFault{}), "/")
}

// testFileSystem checks that a file system behaves as package sessions requires, in the empty directory dir.
func testFileSystem(t *testing.T, fsys sessions.FileSystem, dir string) {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	is := func(err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("err = %v, want %v", err, want)
		}
	}
	reads := func(name, want string) {
		t.Helper()
		if got, err := fsys.ReadFile(at(name)); err != nil || string(got) != want {
			t.Errorf("%s = %q, %v; want %q", name, got, err, want)
		}
	}
	open := func(name string, flag int) sessions.File {
		t.Helper()
		f, err := fsys.OpenFile(at(name), flag, 0o600)
		must(err)
		return f
	}

	_, err := fsys.OpenFile(at("a/b/f"), os.O_CREATE|os.O_WRONLY, 0o600)
	is(err, fs.ErrNotExist)
	must(fsys.MkdirAll(at("a/b"), 0o700))
	must(fsys.MkdirAll(at("a/b"), 0o700))
	f := open("a/b/f", os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND)
	for _, text := range []string{"one", "two"} {
		n, err := f.Write([]byte(text))
		if must(err); n != 3 {
			t.Errorf("wrote %d bytes", n)
		}
	}
	must(f.Sync())
	must(fsys.SyncDir(at("a/b")))
	reads("a/b/f", "onetwo")
	info, err := f.Stat()
	if must(err); info.Size() != 6 || !info.Mode().IsRegular() || info.Name() != "f" {
		t.Errorf("size %d, mode %v, name %q", info.Size(), info.Mode(), info.Name())
	}
	b := make([]byte, 4)
	if n, err := f.ReadAt(b, 3); n != 3 || !errors.Is(err, io.EOF) || string(b[:3]) != "two" {
		t.Errorf("read %q, %v", b[:n], err)
	}
	must(f.Truncate(3))
	_, err = f.Write([]byte("!"))
	must(err)
	reads("a/b/f", "one!")
	must(f.Close())
	is(f.Close(), fs.ErrClosed)
	_, err = fsys.OpenFile(at("a/b/f"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	is(err, fs.ErrExist)

	must(fsys.Link(at("a/b/f"), at("a/g")))
	is(fsys.Link(at("a/b/f"), at("a/g")), fs.ErrExist)
	is(fsys.Link(at("a/none"), at("a/h")), fs.ErrNotExist)
	other := open("other", os.O_CREATE|os.O_WRONLY)
	_, err = other.Write([]byte("other"))
	must(errors.Join(err, other.Close()))
	must(fsys.Rename(at("other"), at("a/b/f")))
	reads("a/b/f", "other")
	reads("a/g", "one!")
	is(fsys.Rename(at("other"), at("x")), fs.ErrNotExist)
	must(fsys.Rename(at("a/b"), at("a/c")))
	reads("a/c/f", "other")
	_, err = fsys.Lstat(at("a/b/f"))
	is(err, fs.ErrNotExist)

	var names []string
	entries, err := fsys.ReadDir(at("a"))
	must(err)
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"c/", "g"}) {
		t.Errorf("the directory has %q", names)
	}
	_, err = fsys.ReadDir(at("none"))
	is(err, fs.ErrNotExist)
	_, err = fsys.ReadFile(at("none"))
	is(err, fs.ErrNotExist)

	unlock, err := fsys.Lock(at("a/g"))
	must(err)
	_, err = fsys.Lock(at("a/g"))
	is(err, sessions.ErrLocked)
	unlock()
	unlock, err = fsys.Lock(at("a/g"))
	must(err)
	unlock()

	if fsys.Remove(at("a")) == nil {
		t.Error("a directory with something in it was removed")
	}
	must(fsys.Remove(at("a/g")))
	is(fsys.Remove(at("a/g")), fs.ErrNotExist)
	must(fsys.RemoveAll(at("a")))
	must(fsys.RemoveAll(at("a")))
	_, err = fsys.Stat(at("a"))
	is(err, fs.ErrNotExist)
}
