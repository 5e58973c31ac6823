package sessions_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gajae-code/gjc/sessions"
)

func TestLock_SecondOpenNamesTheOwner(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	for name, try := range map[string]func() error{
		"open":   func() error { _, err := s.Open(t.Context(), l.ID()); return err },
		"delete": func() error { return s.Delete(t.Context(), l.ID()) },
	} {
		err := try()
		locked, ok := errors.AsType[*sessions.LockedError](err)
		if !ok || !errors.Is(err, sessions.ErrLocked) || locked.PID != os.Getpid() || locked.Path != l.Path() {
			t.Errorf("%s: err = %v", name, err)
		}
	}
	if _, err := s.View(t.Context(), l.ID()); err != nil {
		t.Errorf("view of an open session: %v", err)
	}
	closeLog(t, l)
	closeLog(t, l)
	if _, err := os.Stat(l.Path() + ".lock"); err == nil {
		t.Error("the lock file was left")
	}
	open(t, s, l.ID())
}

func TestLock_BetweenProcesses(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	closeLog(t, l)
	cmd, out := fake(t, "holder", s.Dir(), l.ID())
	if line, err := out.ReadString('\n'); line != "open\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	_, err := s.Open(t.Context(), l.ID())
	if locked, ok := errors.AsType[*sessions.LockedError](err); !ok || locked.PID != cmd.Process.Pid {
		t.Errorf("err = %v, want process %d in it", err, cmd.Process.Pid)
	} else if !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", cmd.Process.Pid)) {
		t.Errorf("err = %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	open(t, s, l.ID())
}

// Unlocking removes the lock file; a process that has opened the old file must not get the lock.
func TestLock_NeverTwoOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	var owners, locked atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				unlock, err := sessions.Lock(path)
				if errors.Is(err, sessions.ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := owners.Add(1); n != 1 {
					t.Errorf("%d owners", n)
				}
				locked.Add(1)
				owners.Add(-1)
				unlock()
			}
		})
	}
	wg.Wait()
	if locked.Load() == 0 {
		t.Error("nobody came in")
	}
}

func TestStore_NotFound(t *testing.T) {
	s := newStore(t)
	for _, id := range []string{"nothing", "", ".", "..", "../x", "a/b", `a\b`, "*", strings.Repeat("x", 500), "a\x00"} {
		for name, try := range map[string]func() error{
			"open":   func() error { _, err := s.Open(t.Context(), id); return err },
			"view":   func() error { _, err := s.View(t.Context(), id); return err },
			"delete": func() error { return s.Delete(t.Context(), id) },
		} {
			if err := try(); !errors.Is(err, sessions.ErrNotFound) {
				t.Errorf("%s %q: err = %v", name, id, err)
			}
		}
	}
	if _, err := os.Stat(s.Dir()); err == nil {
		t.Error("looking has made the directory")
	}
	place(t, s, "abc", header3)
	if _, err := s.Open(t.Context(), "bc"); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("the end of an id was taken for it: %v", err)
	}
}

func TestStore_CreateErrors(t *testing.T) {
	s := newStore(t)
	for _, cwd := range []string{"", "relative", "./x"} {
		if _, err := s.Create(t.Context(), sessions.Header{Cwd: cwd}); err == nil || !strings.Contains(err.Error(), "absolute") {
			t.Errorf("cwd %q: err = %v", cwd, err)
		}
	}
	if _, err := s.Create(t.Context(), sessions.Header{Cwd: "/w", ID: "../escape"}); err == nil {
		t.Error("an id led out of the store")
	}
	h := sessions.Header{Cwd: "/w", ID: "same", Time: epoch}
	l, err := s.Create(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	before := readFile(t, l.Path())
	if _, err := s.Create(t.Context(), h); !errors.Is(err, os.ErrExist) {
		t.Errorf("second create: err = %v", err)
	}
	if readFile(t, l.Path()) != before {
		t.Error("the second create has changed the file of the first")
	}
}

func TestStore_DeleteRemovesAllFiles(t *testing.T) {
	s := newStore(t)
	id, path := fixture(t, s, "v1")
	l := open(t, s, id) // makes a backup
	if err := l.SetTitle("t", "user"); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	other := place(t, s, "x", header3)
	if err := s.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(strings.TrimSuffix(path, "/"+lastOf(path)))
	if err != nil || len(left) != 1 || left[0].Name() != lastOf(other) {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := s.Delete(t.Context(), id); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("second delete: %v", err)
	}
}

func lastOf(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }
