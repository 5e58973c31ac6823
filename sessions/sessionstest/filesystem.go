// Package sessionstest has the tests that every implementation of [sessions.FileSystem] must pass.
package sessionstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gajae-code/gjc/sessions"
)

// TestFileSystem checks that a file system behaves as package sessions requires, in the empty directory dir.
func TestFileSystem(t *testing.T, fsys sessions.FileSystem, dir string) {
	t.Helper()
	f := &files{T: t, fsys: fsys, dir: dir}
	f.testContent()
	f.testNames()
	f.testLock()
	testDirectories(t, fsys, f.at("a/dirs"))
	testSessionFile(t, fsys, f.at("a/lines"))
	f.must(fsys.RemoveAll(f.at("a/dirs")))
	f.must(fsys.RemoveAll(f.at("a/lines")))
	f.testRemove()
}

// files is a file system and a directory in it.
type files struct {
	*testing.T
	fsys sessions.FileSystem
	dir  string
}

func (t *files) at(name string) string { return filepath.Join(t.dir, filepath.FromSlash(name)) }

func (t *files) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *files) is(err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("err = %v, want %v", err, want)
	}
}

func (t *files) reads(name, want string) {
	t.Helper()
	read(t.T, t.fsys, t.at(name), want)
}

func (t *files) open(name string, flag int) sessions.File {
	t.Helper()
	f, err := t.fsys.OpenFile(t.at(name), flag, 0o600)
	t.must(err)
	return f
}

// testContent creates and writes a/b/f.
func (t *files) testContent() {
	t.Helper()
	fsys := t.fsys
	_, err := fsys.OpenFile(t.at("a/b/f"), os.O_CREATE|os.O_WRONLY, 0o600)
	t.is(err, fs.ErrNotExist)
	t.must(fsys.MkdirAll(t.at("a/b"), 0o700))
	t.must(fsys.MkdirAll(t.at("a/b"), 0o700))
	f := t.open("a/b/f", os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND)
	for _, text := range []string{"one", "two"} {
		n, err := f.Write([]byte(text))
		if t.must(err); n != 3 {
			t.Errorf("wrote %d bytes", n)
		}
	}
	t.must(f.Sync())
	t.must(fsys.SyncDir(t.at("a/b")))
	t.reads("a/b/f", "onetwo")
	info, err := f.Stat()
	if t.must(err); info.Size() != 6 || !info.Mode().IsRegular() || info.Name() != "f" {
		t.Errorf("size %d, mode %v, name %q", info.Size(), info.Mode(), info.Name())
	}
	b := make([]byte, 4)
	if n, err := f.ReadAt(b, 3); n != 3 || !errors.Is(err, io.EOF) || string(b[:3]) != "two" {
		t.Errorf("read %q, %v", b[:n], err)
	}
	t.must(f.Truncate(3))
	_, err = f.Write([]byte("!"))
	t.must(err)
	t.reads("a/b/f", "one!")
	t.must(f.Close())
	t.is(f.Close(), fs.ErrClosed)
	_, err = fsys.OpenFile(t.at("a/b/f"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	t.is(err, fs.ErrExist)
}

// testNames gives a/b/f other names: a/g, and a/c/f with another content.
func (t *files) testNames() {
	t.Helper()
	fsys := t.fsys
	if err := fsys.Link(t.at("a/b/f"), t.at("a/g")); errors.Is(err, errors.ErrUnsupported) {
		write(t.T, fsys, t.at("a/g"), "one!")
	} else {
		t.must(err)
		t.is(fsys.Link(t.at("a/b/f"), t.at("a/g")), fs.ErrExist)
		t.is(fsys.Link(t.at("a/none"), t.at("a/h")), fs.ErrNotExist)
	}
	write(t.T, fsys, t.at("other"), "other")
	t.must(fsys.Rename(t.at("other"), t.at("a/b/f")))
	t.reads("a/b/f", "other")
	t.reads("a/g", "one!")
	t.is(fsys.Rename(t.at("other"), t.at("x")), fs.ErrNotExist)
	t.must(fsys.Rename(t.at("a/b"), t.at("a/c")))
	t.reads("a/c/f", "other")
	_, err := fsys.Lstat(t.at("a/b/f"))
	t.is(err, fs.ErrNotExist)
	var names []string
	entries, err := fsys.ReadDir(t.at("a"))
	t.must(err)
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
	_, err = fsys.ReadDir(t.at("none"))
	t.is(err, fs.ErrNotExist)
	_, err = fsys.ReadFile(t.at("none"))
	t.is(err, fs.ErrNotExist)
}

func (t *files) testLock() {
	t.Helper()
	unlock, err := t.fsys.Lock(t.at("a/g"))
	t.must(err)
	_, err = t.fsys.Lock(t.at("a/g"))
	t.is(err, sessions.ErrLocked)
	unlock()
	unlock, err = t.fsys.Lock(t.at("a/g"))
	t.must(err)
	unlock()
}

func (t *files) testRemove() {
	t.Helper()
	fsys := t.fsys
	if fsys.Remove(t.at("a")) == nil {
		t.Error("a directory with something in it was removed")
	}
	t.must(fsys.Remove(t.at("a/g")))
	t.is(fsys.Remove(t.at("a/g")), fs.ErrNotExist)
	t.must(fsys.RemoveAll(t.at("a")))
	t.must(fsys.RemoveAll(t.at("a")))
	_, err := fsys.Stat(t.at("a"))
	t.is(err, fs.ErrNotExist)
}

// testDirectories checks what changes a directory's time, and what moves with a directory.
func testDirectories(t *testing.T, fsys sessions.FileSystem, dir string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(fsys.MkdirAll(filepath.Join(dir, "from", "deep"), 0o700))
	must(fsys.MkdirAll(filepath.Join(dir, "from2"), 0o700)) // its name begins with that of the other
	write(t, fsys, filepath.Join(dir, "from", "deep", "f"), "deep")
	write(t, fsys, filepath.Join(dir, "from2", "f"), "other")
	must(fsys.Rename(filepath.Join(dir, "from"), filepath.Join(dir, "to")))
	read(t, fsys, filepath.Join(dir, "to", "deep", "f"), "deep")
	read(t, fsys, filepath.Join(dir, "from2", "f"), "other")
	if err := fsys.Rename(filepath.Join(dir, "to"), filepath.Join(dir, "to", "deep", "inside")); err == nil {
		t.Error("a directory was moved into itself")
	}
	if err := fsys.Rename(filepath.Join(dir, "to", "deep", "f"), filepath.Join(dir, "from2")); err == nil {
		t.Error("a file has replaced a directory")
	}
	if err := fsys.MkdirAll(filepath.Join(dir, "from2", "f", "g"), 0o700); err == nil {
		t.Error("a directory was created in a file")
	}
	if _, err := fsys.OpenFile(filepath.Join(dir, "to"), os.O_WRONLY, 0); err == nil {
		t.Error("a directory was opened for writing")
	}
	must(fsys.RemoveAll(filepath.Join(dir, "to")))
	if _, err := fsys.Stat(filepath.Join(dir, "to", "deep", "f")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is in a directory that was removed: %v", err)
	}
	if _, err := fsys.OpenFile(filepath.Join(dir, "to", "new"), os.O_CREATE|os.O_WRONLY, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was created in a directory that was removed: %v", err)
	}
	entries, err := fsys.ReadDir(filepath.Join(dir, "from2"))
	must(err)
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Size() != 5 || !e.Type().IsRegular() {
			t.Errorf("%s: %v, %v", e.Name(), info, err)
		}
	}
}

// testSessionFile checks a file whose name is that of a session, with lines of all sizes.
func testSessionFile(t *testing.T, fsys sessions.FileSystem, dir string) {
	t.Helper()
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "s.jsonl")
	f, err := fsys.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, text := range []string{"header\n", "a\nb\n\nc", "", "d\n", string(bytes.Repeat([]byte{'x'}, 9<<20)) + "\n", "\x00\xff\n", "unended"} {
		if n, err := f.Write([]byte(text)); err != nil || n != len(text) {
			t.Fatalf("wrote %d bytes of %d: %v", n, len(text), err)
		}
		want = append(want, text...)
	}
	many := bytes.Repeat([]byte("line\n"), 10_000)
	if n, err := f.Write(many); err != nil || n != len(many) {
		t.Fatalf("wrote %d bytes of %d: %v", n, len(many), err)
	}
	want = append(want, many...)
	check := func(what string) {
		t.Helper()
		checkContent(t, fsys, name, f, what, want)
	}
	check("written")
	for _, size := range []int{len(want) - 3, len(want) - 50_000, 8 << 20, 10, 10, 9, 7, 0} { // in lines and between them
		if err := f.Truncate(int64(size)); err != nil {
			t.Fatalf("truncating to %d bytes: %v", size, err)
		}
		want = want[:size]
		check(fmt.Sprintf("cut to %d bytes", size))
		if _, err := f.Write([]byte("more\n")); err != nil {
			t.Fatal(err)
		}
		want = append(want[:size:size], "more\n"...)
		check(fmt.Sprintf("cut to %d bytes and continued", size))
	}
	before, err := fsys.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	after, err := fsys.Lstat(name)
	if err != nil || after.Size() == before.Size() {
		t.Errorf("the size after a write is %v, %v; it was %v", after, err, before)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a write to a closed file: %v", err)
	}
}

// checkContent compares the content of an open file, in whole and in parts.
func checkContent(t *testing.T, fsys sessions.FileSystem, name string, f sessions.File, what string, want []byte) {
	t.Helper()
	if got, err := fsys.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s: the file has %d bytes, want %d: %v", what, len(got), len(want), err)
	}
	for _, part := range [][2]int{{0, 1}, {3, 9}, {0, 64}, {max(0, len(want)-30), 20}, {len(want) / 2, 1 << 16}, {16, len(want) + 1}} {
		buf := make([]byte, part[1])
		n, err := f.ReadAt(buf, int64(part[0]))
		whole := want[min(part[0], len(want)):min(part[0]+part[1], len(want))]
		if !bytes.Equal(buf[:n], whole) || (err == nil) != (n == len(buf)) || err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("%s: read %d bytes at %d: %d, %v; want %d", what, part[1], part[0], n, err, len(whole))
		}
	}
	if info, err := f.Stat(); err != nil || info.Size() != int64(len(want)) {
		t.Errorf("%s: Stat: %v, %v", what, info, err)
	}
}

func write(t *testing.T, fsys sessions.FileSystem, name, text string) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte(text))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, fsys sessions.FileSystem, name, want string) {
	t.Helper()
	if got, err := fsys.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s = %q, %v; want %q", name, got, err, want)
	}
}
