package sessionstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/follow"
)

// TestFollow checks that files can be followed while another process writes them. open returns a file system with the same files as
// another process has it. dir is an empty directory.
func TestFollow(t *testing.T, open func(*testing.T) sessions.FileSystem, dir string) {
	t.Helper()
	for name, test := range map[string]func(*following){
		"lines":    (*following).testLines,
		"changed":  (*following).testChanged,
		"lock":     (*following).testLock,
		"session":  (*following).testSession,
		"canceled": (*following).testCanceled,
	} {
		t.Run(name, func(t *testing.T) {
			f := &following{T: t, writer: open(t), reader: open(t), path: filepath.Join(dir, name, "s.jsonl")}
			if err := f.writer.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
				t.Fatal(err)
			}
			test(f)
		})
	}
}

// following is a file that one process writes and another one follows.
type following struct {
	*testing.T
	writer, reader sessions.FileSystem
	path           string
}

func (t *following) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create creates the file with a text, and opens it.
func (t *following) create(text string) sessions.File {
	t.Helper()
	f, err := t.writer.OpenFile(t.path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	t.must(err)
	t.write(f, text)
	return f
}

func (t *following) write(f sessions.File, text string) {
	t.Helper()
	_, err := f.Write([]byte(text))
	t.must(err)
}

func (t *following) follow() *follow.File {
	f := follow.Open(t.reader, t.path)
	t.Cleanup(f.Close)
	return f
}

// patience bounds what a test waits for.
const patience = 30 * time.Second

// reads reads as many lines as there are in want.
func (t *following) reads(f *follow.File, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []string
	for len(got) < len(want) {
		lines, err := f.Next(ctx)
		t.must(err)
		for _, line := range lines {
			got = append(got, string(line))
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("read %d lines, want %d: %.200q, want %.200q", len(got), len(want), got, want)
	}
}

// testLines writes lines in all ways in which they can come.
func (t *following) testLines() {
	f := t.create("header\n")
	r := t.follow()
	t.reads(r, "header")
	t.write(f, "one\ntwo\n")
	t.reads(r, "one", "two")
	t.write(f, "par")
	if lines, err := r.Read(); err != nil || len(lines) > 0 {
		t.Errorf("of a part of a line, %q was read: %v", lines, err)
	}
	t.write(f, "tial\nmore")
	t.reads(r, "partial")
	t.must(f.Truncate(int64(len("header\none\ntwo\npartial\n")))) // as after a write that has failed
	t.write(f, "another\n")
	t.reads(r, "another")
	long := strings.Repeat("x", 9<<20)
	t.write(f, long+"\nafter\n")
	t.reads(r, long, "after")
	// Lines of a writer that does not wait.
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprint("line ", i))
	}
	written := make(chan error, 1)
	go func() {
		for _, line := range want {
			if _, err := f.Write([]byte(line + "\n")); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	t.reads(r, want...)
	t.must(<-written)
	t.must(f.Close())
	again := t.follow()
	t.reads(again, slices.Concat([]string{"header", "one", "two", "partial", "another", long, "after"}, want)...)
}

// testChanged changes a file in the ways that no writer of a session does.
func (t *following) testChanged() {
	for _, change := range []struct {
		want   follow.Change
		change func(f sessions.File)
	}{
		{follow.Cut, func(f sessions.File) { t.must(f.Truncate(7)) }},
		{follow.Cut, func(f sessions.File) { t.must(f.Truncate(7)); t.write(f, "another and longer\n") }},
		{follow.Replaced, func(f sessions.File) {
			t.must(f.Close())
			other := t.path + ".tmp.jsonl"
			write(t.T, t.writer, other, "header\none\nmore\n")
			t.must(t.writer.Rename(other, t.path))
		}},
		{follow.Removed, func(f sessions.File) {
			t.must(f.Close())
			t.must(t.writer.Remove(t.path))
		}},
	} {
		t.must(t.writer.RemoveAll(t.path))
		f := t.create("header\none\n")
		r := t.follow()
		t.reads(r, "header", "one")
		change.change(f)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		lines, err := r.Next(ctx)
		cancel()
		if changed, ok := errors.AsType[*follow.ChangedError](err); !ok || changed.Change != change.want || changed.Path != t.path {
			t.Errorf("%s: read %q, %v", change.want, lines, err)
		}
		_ = f.Close()
	}
}

// testLock checks who has a file, and that the end of that wakes those who follow it.
func (t *following) testLock() {
	f := t.create("header\n")
	defer func() { _ = f.Close() }()
	r := t.follow()
	t.reads(r, "header")
	if owner, _, err := t.reader.Holder(t.path); owner != nil || err != nil {
		t.Errorf("a file without a lock has the owner %v, %v", owner, err)
	}
	unlock, err := t.writer.Lock(t.path)
	t.must(err)
	owner, _, err := t.reader.Holder(t.path)
	t.must(err)
	if owner == nil || owner.PID != os.Getpid() {
		t.Errorf("the owner is %+v", owner)
	}
	unlock()
	deadline := time.Now().Add(patience)
	for owner != nil {
		if time.Now().After(deadline) {
			t.Fatal("the lock has not ended")
		}
		t.must(r.Wait(t.Context(), patience))
		owner, _, err = t.reader.Holder(t.path)
		t.must(err)
	}
}

// testSession follows a session, the end of its writer, and the one that goes on.
func (t *following) testSession() {
	dir := filepath.Dir(t.path)
	log, err := sessions.NewStore(dir, &sessions.StoreOptions{FS: t.writer}).Create(t.Context(), sessions.Header{Cwd: dir})
	t.must(err)
	add := func(text string) {
		t.Helper()
		_, err := log.Append(sessions.Custom{CustomType: text})
		t.must(err)
	}
	add("one")
	store := sessions.NewStore(dir, &sessions.StoreOptions{FS: t.reader})
	r, err := follow.Start(t.Context(), store, log.ID())
	t.must(err)
	defer r.Close()
	if h := r.Header(); h.ID != log.ID() || h.Cwd != dir {
		t.Errorf("the header is %+v", h)
	}
	reads := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; {
			entries, err := r.Entries()
			t.must(err)
			if len(entries) > 0 {
				if e, ok := entries[0].(sessions.Custom); !ok || len(entries) > 1 || e.CustomType != want {
					t.Fatalf("read %+v, want %q", entries, want)
				}
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%q did not come", want)
			}
			t.must(r.Wait(t.Context(), patience))
		}
	}
	reads("one")
	add("two")
	reads("two")
	t.must(log.Close())
	log, err = store.Open(t.Context(), log.ID())
	t.must(err)
	add("three")
	reads("three")
	t.must(log.Close())
	if _, err := follow.Start(t.Context(), store, "none"); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("an unknown session: %v", err)
	}
}

func (t *following) testCanceled() {
	f := t.create("header\n")
	defer func() { _ = f.Close() }()
	r := t.follow()
	t.reads(r, "header")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	if lines, err := r.Next(ctx); !errors.Is(err, stop) {
		t.Errorf("read %q, %v", lines, err)
	}
	r.Close()
}
