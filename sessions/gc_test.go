package sessions_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

// aged makes all files in the agent directory two days old.
func aged(t *testing.T, s *sessions.Store) {
	t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	err := filepath.Walk(filepath.Dir(s.Dir()), func(path string, _ os.FileInfo, err error) error {
		if err == nil {
			err = os.Chtimes(path, old, old)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func realClock(o *sessions.StoreOptions) { o.Clock = nil }

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestGC_RemovesWhatNothingRefersTo(t *testing.T) {
	s := newStore(t, realClock)
	l := create(t, s)
	used, left, gone := bytes.Repeat([]byte{1}, 2000), bytes.Repeat([]byte{2}, 2000), bytes.Repeat([]byte{3}, 2000)
	keep := appendMessage(t, l, imageMessage(used))
	appendMessage(t, l, imageMessage(left)) // in an abandoned branch
	if err := l.Rewind(keep); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Artifacts().Put(t.Context(), "bash", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	other := create(t, s)
	appendMessage(t, other, imageMessage(gone))
	appendMessage(t, other, imageMessage(used))
	closeLog(t, other)
	if err := s.Delete(t.Context(), other.ID()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(l.Path())
	// An unreadable file still refers to the blobs in it, anywhere in the file.
	place(t, s, "broken", "{{{ "+refOf([]byte("in a broken file")))
	writeFile(t, filepath.Join(blobDir(s), strings.TrimPrefix(refOf([]byte("in a broken file")), "blob:sha256:")), "in a broken file")
	want := map[string]string{
		filepath.Join(blobDir(s), strings.TrimPrefix(refOf(gone), "blob:sha256:")): "an image that no session refers to",
	}
	for name, why := range map[string]string{
		"2026-02-16T10-20-30-000Z_gone/0.bash.log":   "artifacts without a session",
		".2026-02-16T10-20-30-000Z_x.jsonl.abc.tmp":  "was being written when a process died",
		"2026-02-16T10-20-30-000Z_gone.archived":     "a mark without a session",
		"2026-02-16T10-20-30-000Z_gone.jsonl.lock":   "a lock without a session",
		"notes/of the user.txt":                      "",
		"2026-02-16T10-20-30-000Z_broken/0.bash.log": "",
		"2026-02-16T10-20-30-000Z_broken.archived":   "",
		"2026-02-16T10-20-30-000Z_saved.jsonl.1.bak": "",
		"2026-02-16T10-20-30-000Z_saved/0.bash.log":  "",
		"README": "",
	} {
		writeFile(t, filepath.Join(dir, name), "x")
		if why != "" {
			want[filepath.Join(dir, strings.TrimSuffix(name, "/0.bash.log"))] = why
		}
	}
	never := place(t, s, "never", "")
	want[never] = "a session that was never started"
	young := filepath.Join(blobDir(s), strings.Repeat("0", 64))
	aged(t, s)
	writeFile(t, young, "just written")

	collect := func(opts sessions.GCOptions) map[string]string {
		t.Helper()
		all, err := s.GC(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]string)
		for _, g := range all {
			got[g.Path] = g.Why
			if g.Size == 0 && g.Path != never {
				t.Errorf("%s has no size", g.Path)
			}
		}
		return got
	}
	for range 2 {
		if diff := cmp.Diff(want, collect(sessions.GCOptions{DryRun: true})); diff != "" {
			t.Fatalf("dry run (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(want, collect(sessions.GCOptions{})); diff != "" {
		t.Fatalf("removed (-want +got):\n%s", diff)
	}
	for path := range want {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	if got := collect(sessions.GCOptions{}); len(got) > 0 {
		t.Errorf("then %v", slices.Collect(maps.Keys(got)))
	}
	closeLog(t, l)
	l = open(t, s, l.ID())
	if diff := cmp.Diff(imageMessage(used).Parts, allMessages(t, l)[0].Parts); diff != "" {
		t.Errorf("an image (-want +got):\n%s", diff)
	}
	if len(l.Notices()) > 0 {
		t.Errorf("notices: %q", l.Notices())
	}
	if got, err := l.Artifacts().Get(t.Context(), "artifact://0"); err != nil || string(got) != "kept" {
		t.Errorf("artifact: %q, %v", got, err)
	}
	if got := collect(sessions.GCOptions{MinAge: time.Nanosecond}); got[young] == "" {
		t.Error("a young blob was not removed when asked for")
	}
}

func TestGC_KeepsImagesWhereASessionCannotBeRead(t *testing.T) {
	s := newStore(t, realClock, func(o *sessions.StoreOptions) { o.FS = unreadable{sessions.Disk()} })
	blob := filepath.Join(blobDir(s), strings.Repeat("0", 64))
	writeFile(t, blob, "x")
	place(t, s, "secret", header3)
	aged(t, s)
	if got, err := s.GC(t.Context(), sessions.GCOptions{}); err == nil || len(got) > 0 || !strings.Contains(err.Error(), "secret") {
		t.Errorf("removed %v, %v", got, err)
	}
	if _, err := os.Stat(blob); err != nil {
		t.Error(err)
	}
}

// unreadable is a file system on which sessions called "secret" cannot be read.
type unreadable struct{ sessions.FileSystem }

func (u unreadable) OpenFile(name string, flag int, perm os.FileMode) (sessions.File, error) {
	if strings.Contains(name, "secret") {
		return nil, os.ErrPermission
	}
	return u.FileSystem.OpenFile(name, flag, perm)
}

// The position of a reference in a file does not matter.
func TestGC_ReferencesAtEveryOffset(t *testing.T) {
	s := newStore(t, realClock)
	data := []byte("data")
	blob := filepath.Join(blobDir(s), strings.TrimPrefix(refOf(data), "blob:sha256:"))
	for _, at := range []int{1<<20 - 1, 1<<20 - 40, 1<<20 - 76, 1<<20 - 77, 1 << 20, 1<<20 + 1, 2<<20 - 80, 2<<20 - 10} {
		place(t, s, "x", strings.Repeat("y", at)+refOf(data)+"z")
		writeFile(t, blob, string(data))
		aged(t, s)
		if got, err := s.GC(t.Context(), sessions.GCOptions{}); err != nil || len(got) > 0 {
			t.Errorf("at %d: removed %v, %v", at, got, err)
		}
	}
}
