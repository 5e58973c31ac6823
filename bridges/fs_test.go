package bridges_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/bridges"
)

// TestFS is the suite of every [agent.FS].
func TestFS(t *testing.T) {
	implementations(t, func(t *testing.T, start func(*testing.T) *env) {
		t.Run("round trip", func(t *testing.T) {
			e := start(t)
			for _, text := range []string{"", "one\n", "no newline", "crlf\r\nlines\r\n", "\ufeffbom\n", "日本 \U0001f600\n", strings.Repeat("x", 1<<20)} {
				path := e.path("new/deep/file.txt")
				if err := e.FS.WriteFile(own(t), path, []byte(text)); err != nil {
					t.Fatal(err)
				}
				got, err := e.FS.ReadFile(own(t), path)
				if err != nil || string(got) != text {
					t.Errorf("read %.40q, %v; want %.40q", got, err, text)
				}
				if disk, err := os.ReadFile(path); err != nil || string(disk) != text {
					t.Errorf("the disk holds %.40q, %v", disk, err)
				}
			}
		})
		t.Run("binary", func(t *testing.T) {
			e := start(t)
			for _, data := range []string{"\x00\x01\x02", "caf\xe9 latin", "\xff\xfeU\x00T\x00"} {
				path := e.path("file.bin")
				if err := e.FS.WriteFile(own(t), path, []byte(data)); err != nil {
					t.Fatal(err)
				}
				if got, err := e.FS.ReadFile(own(t), path); err != nil || string(got) != data {
					t.Errorf("read %q, %v; want %q", got, err, data)
				}
			}
			for _, call := range e.editor.Calls() {
				t.Errorf("the editor was asked for a binary file: %s", call)
			}
		})
		t.Run("missing", func(t *testing.T) {
			e := start(t)
			if _, err := e.FS.ReadFile(own(t), e.path("none")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("err = %v, want one that is fs.ErrNotExist", err)
			}
			if _, err := e.FS.Stat(own(t), e.path("none")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Stat: %v", err)
			}
			if _, err := e.FS.ReadFile(own(t), e.dir); err == nil {
				t.Error("a directory was read")
			}
			if err := e.FS.WriteFile(own(t), e.dir, []byte("x")); err == nil {
				t.Error("a directory was written")
			}
		})
		t.Run("outside the roots is local", func(t *testing.T) {
			e := start(t)
			path := filepath.Join(filepath.Dir(e.dir), "beside.txt")
			if err := e.FS.WriteFile(own(t), path, []byte("x")); err != nil {
				t.Fatal(err)
			}
			if got, err := e.FS.ReadFile(own(t), path); err != nil || string(got) != "x" {
				t.Errorf("read %q, %v", got, err)
			}
			if calls := e.editor.Calls(); len(calls) > 0 {
				t.Errorf("the editor was asked: %v", calls)
			}
		})
		t.Run("permissions and links stay", func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("permissions of this system are of another kind")
			}
			e := start(t)
			script := e.put("run.sh", "#!/bin/sh\n")
			if err := os.Chmod(script, 0o750); err != nil {
				t.Fatal(err)
			}
			link := e.path("link.sh")
			if err := os.Symlink("run.sh", link); err != nil {
				t.Fatal(err)
			}
			if err := e.FS.WriteFile(own(t), link, []byte("#!/bin/sh\necho\n")); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(script)
			if err != nil || info.Mode().Perm() != 0o750 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if target, err := os.Readlink(link); err != nil || target != "run.sh" {
				t.Errorf("the link became %q, %v", target, err)
			}
		})
		t.Run("rename", func(t *testing.T) {
			e := start(t)
			e.put("dir/a.txt", "a\n")
			e.put("dir/sub/b.txt", "b\n")
			e.put("there.txt", "there\n")
			if err := e.FS.Rename(own(t), e.path("dir"), e.path("new/deep/dir")); err != nil {
				t.Fatal(err)
			}
			if got, err := e.FS.ReadFile(own(t), e.path("new/deep/dir/sub/b.txt")); err != nil || string(got) != "b\n" {
				t.Errorf("after the move %q, %v", got, err)
			}
			if _, err := e.FS.Stat(own(t), e.path("dir")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the old place: %v", err)
			}
			if err := e.FS.Rename(own(t), e.path("new/deep/dir/a.txt"), e.path("there.txt")); !errors.Is(err, fs.ErrExist) {
				t.Errorf("onto a file: %v, want one that is fs.ErrExist", err)
			}
			if got, err := os.ReadFile(e.path("there.txt")); err != nil || string(got) != "there\n" {
				t.Errorf("the file that was there holds %q, %v", got, err)
			}
			if err := e.FS.Rename(own(t), e.path("none"), e.path("b.txt")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what is not there: %v", err)
			}
		})
		t.Run("remove", func(t *testing.T) {
			e := start(t)
			file := e.put("a.txt", "a\n")
			e.put("dir/sub/b.txt", "b\n")
			kept := e.put("kept.txt", "kept\n")
			for _, path := range []string{file, e.path("dir")} {
				if err := e.FS.Remove(own(t), path); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", path, err)
				}
				if err := e.FS.Remove(own(t), path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a second time: %v", err)
				}
			}
			if err := os.Symlink(kept, e.path("link")); err != nil {
				t.Skipf("no links here: %v", err)
			}
			if err := e.FS.Remove(own(t), e.path("link")); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(kept); err != nil {
				t.Errorf("what the link led to: %v", err)
			}
		})
		t.Run("directories and real paths", func(t *testing.T) {
			e := start(t)
			e.put("b", "")
			e.put("a", "")
			entries, err := e.FS.ReadDir(own(t), e.dir)
			var names []string
			for _, entry := range entries {
				names = append(names, entry.Name())
			}
			if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if err := os.Symlink(filepath.Dir(e.dir), e.path("out")); err != nil {
				t.Skipf("no links here: %v", err)
			}
			for path, want := range map[string]string{
				e.path("a"): e.path("a"), e.path("out/x/y"): filepath.Join(filepath.Dir(e.dir), "x/y"), e.path("none/x"): e.path("none/x"),
			} {
				if got := e.FS.RealPath(path); got != want {
					t.Errorf("RealPath(%s) = %s, want %s", path, got, want)
				}
			}
		})
		t.Run("ended context", func(t *testing.T) {
			e := start(t)
			path := e.put("a", "x")
			cause := errors.New("stop now")
			ctx, cancel := context.WithCancelCause(own(t))
			cancel(cause)
			if _, err := e.FS.ReadFile(ctx, path); !errors.Is(err, cause) {
				t.Errorf("read: %v", err)
			}
			if err := e.FS.WriteFile(ctx, path, []byte("y")); !errors.Is(err, cause) {
				t.Errorf("write: %v", err)
			}
			if err := e.FS.Rename(ctx, path, path+"2"); !errors.Is(err, cause) {
				t.Errorf("rename: %v", err)
			}
			if err := e.FS.Remove(ctx, path); !errors.Is(err, cause) {
				t.Errorf("remove: %v", err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		})
	})
}

// The editor's unsaved text is read instead of the disk, even of files that are not on the disk.
func TestClientFS_BuffersWin(t *testing.T) {
	e := start(t, acptest.AllCapabilities())
	path := e.put("a.txt", "disk\n")
	e.editor.Open(path, "editor\n")
	e.editor.Open(e.path("new.txt"), "never saved\n")
	for name, want := range map[string]string{"a.txt": "editor\n", "new.txt": "never saved\n"} {
		if got, err := e.FS.ReadFile(own(t), e.path(name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Unsaved text moves with its file.
func TestClientFS_RenameMovesUnsavedText(t *testing.T) {
	e := start(t, acptest.AllCapabilities())
	open := e.put("dir/open.txt", "disk\n")
	e.put("dir/other.txt", "other\n")
	e.editor.Open(open, "unsaved\n")
	if err := e.FS.Rename(own(t), e.path("dir"), e.path("moved")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"moved/open.txt": "unsaved\n", "moved/other.txt": "other\n"} {
		if got, err := os.ReadFile(e.path(name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if writes := slices.DeleteFunc(e.editor.Calls(), func(c string) bool { return c != "fs/write_text_file" }); len(writes) != 1 {
		t.Errorf("%d files were saved, want the unsaved one alone", len(writes))
	}
}

// An editor's error is returned, unless it means that the disk must be used.
func TestClientFS_Errors(t *testing.T) {
	var fail error
	e := start(t, acptest.AllCapabilities(), func(o *acptest.EditorOptions) {
		o.Requested = func(string, any) error { return fail }
	})
	path := e.put("a.txt", "disk\n")
	for _, tt := range []struct {
		code acp.ErrorCode
		path string
		want string
		err  error
	}{
		{acp.ErrorCodeMethodNotFound, path, "disk\n", nil},
		{acp.ErrorCodeResourceNotFound, path, "disk\n", nil},
		{acp.ErrorCodeInternalError, path, "", &acp.Error{Code: acp.ErrorCodeInternalError}},
		{acp.ErrorCodeInternalError, e.path("none"), "", fs.ErrNotExist},
		{acp.ErrorCodeResourceNotFound, e.path("none"), "", fs.ErrNotExist},
	} {
		fail = &acp.Error{Code: tt.code, Message: "the editor says no"}
		got, err := e.FS.ReadFile(own(t), tt.path)
		if string(got) != tt.want || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("%d on %s: %q, %v", tt.code, filepath.Base(tt.path), got, err)
		}
		// A failed write is never repeated on the disk.
		if err := e.FS.WriteFile(own(t), path, []byte("changed")); err == nil || !strings.Contains(err.Error(), "the editor says no") {
			t.Errorf("write: %v", err)
		}
	}
	if disk, err := os.ReadFile(path); err != nil || string(disk) != "disk\n" {
		t.Errorf("the disk holds %q, %v", disk, err)
	}
}

// An editor that can only read, or only write, receives only such requests.
func TestClientFS_HalfCapabilities(t *testing.T) {
	for _, reads := range []bool{true, false} {
		caps := &acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: reads, WriteTextFile: !reads}}
		e := start(t, caps)
		path := e.put("a.txt", "x\n")
		if _, err := e.FS.ReadFile(own(t), path); err != nil {
			t.Error(err)
		}
		if err := e.FS.WriteFile(own(t), path, []byte("y\n")); err != nil {
			t.Error(err)
		}
		want := []string{"fs/write_text_file"}
		if reads {
			want = []string{"fs/read_text_file"}
		}
		if diff := cmp.Diff(want, e.editor.Calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	}
}

func TestLocalFS_ReadOnlyFileStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("x"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := (bridges.LocalFS{}).WriteFile(own(t), path, []byte("y")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("err = %v", err)
	}
}

// RealPath returns the file that a write would reach, even if a link leads to one that does not exist.
func TestLocalFS_RealPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	if err := os.MkdirAll(in("w/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(in("out/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"w/dir": in("out"), "w/none": in("out/none"), "w/up": "../out/none", "w/twice": "none", "w/nodir": in("gone/a"),
		"w/loop": "loop", "w/here": "sub/new",
		"w/deep": in("out/deep"), "w/crooked": "deep/../none",
	} {
		if err := os.Symlink(target, in(name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	for path, want := range map[string]string{
		"w/sub/a": "w/sub/a", "w/dir/a/b": "out/a/b", "w/none": "out/none", "w/up": "out/none", "w/twice": "out/none",
		"w/nodir": "gone/a", "w/nodir/b": "gone/a/b", "w/loop": "w/loop", "w/here": "w/sub/new", "w/crooked": "out/none", "w/sub/../dir/a": "out/a",
	} {
		if got := (bridges.LocalFS{}).RealPath(in(path)); got != in(want) {
			t.Errorf("RealPath(%s) = %s, want %s", path, got, in(want))
		}
	}
}

// Open reads from the disk, and refuses anything but a regular file without blocking.
func TestFS_Open(t *testing.T) {
	implementations(t, func(t *testing.T, start func(*testing.T) *env) {
		e := start(t)
		opener, ok := e.FS.(agent.Opener)
		if !ok {
			t.Fatal("files cannot be opened")
		}
		path := e.put("a.bin", "0123456789")
		f, err := opener.Open(own(t), path)
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 3)
		if _, err := f.ReadAt(part, 4); err != nil || string(part) != "456" {
			t.Errorf("%q, %v", part, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := opener.Open(own(t), e.path("none")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what is not there: %v", err)
		}
		if _, err := opener.Open(own(t), e.dir); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("a directory: %v", err)
		}
		cause := errors.New("stop now")
		ctx, cancel := context.WithCancelCause(own(t))
		cancel(cause)
		if _, err := opener.Open(ctx, path); !errors.Is(err, cause) {
			t.Errorf("an ended context: %v", err)
		}
		if calls := e.editor.Calls(); len(calls) > 0 {
			t.Errorf("the editor was asked: %v", calls)
		}
	})
}
