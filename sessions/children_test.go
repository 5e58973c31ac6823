package sessions_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

// child creates the conversation of a helper with one message.
func child(t *testing.T, l *sessions.Log, name string, h sessions.Header) *sessions.Log {
	t.Helper()
	h.Cwd = "/w/demo"
	c, err := l.Children().Create(t.Context(), name, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	appendMessage(t, c, user("work of "+name))
	return c
}

// A helper's conversation is readable while it is written, continues after a restart, and is no session of the list.
func TestChildren(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("hello"))
	if names, err := l.Children().Names(); err != nil || len(names) > 0 {
		t.Fatalf("a new session has the helpers %q, %v", names, err)
	}
	c := child(t, l, "Scout", sessions.Header{ID: "c1", ParentSession: l.ID()})
	if _, err := l.Children().Create(t.Context(), "Scout", sessions.Header{ID: "c2", Cwd: "/w/demo"}); !errors.Is(err, fs.ErrExist) && !errors.Is(err, sessions.ErrLocked) {
		t.Errorf("a second helper of the name: %v", err)
	}
	if _, err := l.Children().Open(t.Context(), "Scout"); !errors.Is(err, sessions.ErrLocked) {
		t.Errorf("a helper at work can be opened: %v", err)
	}
	if v, err := l.Children().View(t.Context(), "Scout"); err != nil || texts(allMessages(t, v))[0] != "u work of Scout" {
		t.Errorf("a helper at work cannot be read: %v", err)
	}
	if _, err := l.Children().Report(t.Context(), "Scout"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a report before the end: %v", err)
	}
	closeLog(t, c)
	for _, report := range []string{"first", "second"} {
		if err := l.Children().PutReport(t.Context(), "Scout", []byte(report)); err != nil {
			t.Fatal(err)
		}
	}
	closeLog(t, l)
	l = open(t, s, l.ID())
	if names, err := l.Children().Names(); err != nil || !slices.Equal(names, []string{"Scout"}) {
		t.Errorf("after a restart there are %q, %v", names, err)
	}
	if report, err := l.Children().Report(t.Context(), "Scout"); err != nil || string(report) != "second" {
		t.Errorf("the report is %q, %v", report, err)
	}
	c, err := l.Children().Open(t.Context(), "Scout")
	if err != nil {
		t.Fatal(err)
	}
	if c.ID() != "c1" || c.Header().ParentSession != l.ID() {
		t.Errorf("header %+v", c.Header())
	}
	appendMessage(t, c, assistant("done"))
	closeLog(t, c)
	if page, err := s.List(t.Context(), sessions.ListOptions{}); err != nil || len(page.Sessions) != 1 {
		t.Errorf("the list has %d sessions, %v", len(page.Sessions), err)
	}
	for _, name := range []string{"", ".", "../x", "a/b", ".hidden", "Nobody"} {
		if _, err := l.Children().View(t.Context(), name); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := l.Children().PutReport(t.Context(), "Nobody", nil); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("a report of an unknown helper: %v", err)
	}
}

// A link in place of a conversation is not followed.
func TestChildren_Link(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	closeLog(t, child(t, l, "Scout", sessions.Header{ID: "c1"}))
	path := filepath.Join(l.ArtifactDir(), "Scout.jsonl")
	if err := os.Rename(path, filepath.Join(t.TempDir(), "x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(l.Path(), path); err != nil {
		t.Skip(err)
	}
	if _, err := l.Children().View(t.Context(), "Scout"); err == nil || errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("the link was followed: %v", err)
	}
}

// Helpers belong to their session: they are copied with a fork, as sessions of their own, moved and deleted with it.
func TestChildren_WithTheirSession(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("hello"))
	c := child(t, l, "Scout", sessions.Header{ID: "c1", ParentSession: l.ID()})
	child(t, l, "Scout.Deep", sessions.Header{ID: "c2", ParentSession: "c1"})
	if err := l.Children().PutReport(t.Context(), "Scout", []byte("report")); err != nil {
		t.Fatal(err)
	}
	f := fork(t, s, l.ID(), sessions.ForkOptions{Cwd: "/w/other", NewID: "the-fork"})
	appendMessage(t, c, assistant("only in the source"))
	var ids []string
	for _, name := range []string{"Scout", "Scout.Deep"} {
		v, err := f.Children().Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"u work of " + name}, texts(allMessages(t, v))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		appendMessage(t, v, assistant("only in the fork"))
		closeLog(t, v)
		ids = append(ids, v.Header().ParentSession, v.ID())
	}
	if ids[0] != "the-fork" || ids[1] == "c1" || ids[2] != ids[1] || ids[3] == "c2" {
		t.Errorf("the parents and IDs in the fork are %q", ids)
	}
	if v, err := l.Children().View(t.Context(), "Scout"); err != nil || v.ID() != "c1" || texts(allMessages(t, v))[1] != "a only in the source" {
		t.Errorf("the fork has changed its source: %v", err)
	}
	if report, err := f.Children().Report(t.Context(), "Scout"); err != nil || string(report) != "report" {
		t.Errorf("the report in the fork is %q, %v", report, err)
	}
	closeLog(t, f)
	if err := s.Move(t.Context(), "the-fork", "/w/third"); err != nil {
		t.Fatal(err)
	}
	f = open(t, s, "the-fork")
	if v, err := f.Children().View(t.Context(), "Scout.Deep"); err != nil || len(allMessages(t, v)) != 2 {
		t.Errorf("after a move: %v", err)
	}
	closeLog(t, f)
	if err := s.Delete(t.Context(), "the-fork"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(f.ArtifactDir()); !os.IsNotExist(err) {
		t.Errorf("the helpers outlive their session: %v", err)
	}
}

// The collection of garbage keeps the images of helpers, and removes what a dead process left with them.
func TestChildren_Garbage(t *testing.T) {
	s := newStore(t, realClock)
	l := create(t, s)
	c := child(t, l, "Scout", sessions.Header{ID: "c1"})
	used := bytes.Repeat([]byte{1}, 2000)
	appendMessage(t, c, imageMessage(used))
	closeLog(t, c)
	torn, lock := filepath.Join(l.ArtifactDir(), ".Scout.md.abc.tmp"), filepath.Join(l.ArtifactDir(), "Gone.jsonl.lock")
	writeFile(t, torn, "x")
	writeFile(t, lock, "x")
	aged(t, s)
	found, err := s.GC(t.Context(), sessions.GCOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range found {
		got = append(got, g.Path)
	}
	if diff := cmp.Diff([]string{torn, lock}, got); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	v, err := l.Children().View(t.Context(), "Scout")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(imageMessage(used).Parts, allMessages(t, v)[1].Parts); diff != "" {
		t.Errorf("an image (-want +got):\n%s", diff)
	}
}
