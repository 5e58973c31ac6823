package sessions_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/sessions"
)

// lookingFS calls a function before a directory is read for the first time.
type lookingFS struct {
	sessions.FileSystem
	before func(dir string)
}

func (f *lookingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	f.before(name)
	return f.FileSystem.ReadDir(name)
}

// TestGC_WhileASessionChangesItsPlace checks that a session keeps its images when it moves, or is forked and deleted, from a
// directory that was not yet read to one that was.
func TestGC_WhileASessionChangesItsPlace(t *testing.T) {
	for _, how := range []string{"move", "fork and delete"} {
		t.Run(how, func(t *testing.T) {
			s := newStore(t, realClock)
			image := bytes.Repeat([]byte{1}, 2000)
			// Directories are read in order of their names; the session moves from the last to the first.
			first, err := s.Create(t.Context(), sessions.Header{Cwd: "/w/a"})
			if err != nil {
				t.Fatal(err)
			}
			closeLog(t, first)
			l, err := s.Create(t.Context(), sessions.Header{Cwd: "/w/z"})
			if err != nil {
				t.Fatal(err)
			}
			appendMessage(t, l, imageMessage(image))
			closeLog(t, l)
			aged(t, s)
			done := false
			disk := &lookingFS{FileSystem: sessions.Disk(), before: func(dir string) {
				if done || dir != filepath.Dir(l.Path()) {
					return
				}
				done = true
				if how == "move" {
					if err := s.Move(t.Context(), l.ID(), "/w/a"); err != nil {
						t.Error(err)
					}
					return
				}
				fork, err := s.Fork(t.Context(), l.ID(), sessions.ForkOptions{Cwd: "/w/a"})
				if err != nil {
					t.Error(err)
					return
				}
				if err := fork.Close(); err != nil {
					t.Error(err)
				}
				if err := s.Delete(t.Context(), l.ID()); err != nil {
					t.Error(err)
				}
			}}
			collector := sessions.NewStore(s.Dir(), &sessions.StoreOptions{FS: disk})
			if _, err := collector.GC(t.Context(), sessions.GCOptions{}); err != nil {
				t.Fatal(err)
			}
			if !done {
				t.Fatal("the directory was not looked at")
			}
			if _, err := os.Stat(filepath.Join(blobDir(s), strings.TrimPrefix(refOf(image), "blob:sha256:"))); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGC_UnmountedDirectory checks that images of sessions on an unmounted disk are kept.
func TestGC_UnmountedDirectory(t *testing.T) {
	s := newStore(t, realClock)
	l := create(t, s)
	image := bytes.Repeat([]byte{1}, 2000)
	appendMessage(t, l, imageMessage(image))
	closeLog(t, l)
	aged(t, s)
	dir := filepath.Dir(l.Path())
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away+"-not-mounted", dir); err != nil {
		t.Skip(err)
	}
	if _, err := s.GC(t.Context(), sessions.GCOptions{}); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("GC: %v; want an error that names %s", err, dir)
	}
	if _, err := os.Stat(filepath.Join(blobDir(s), strings.TrimPrefix(refOf(image), "blob:sha256:"))); err != nil {
		t.Error(err)
	}
}
