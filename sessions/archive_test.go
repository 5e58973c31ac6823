package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

func TestArchive_HidesUntilTakenBack(t *testing.T) {
	s := newStore(t)
	var all []*sessions.Log
	for i := range 6 {
		all = append(all, addSession(t, s, sessions.Header{Cwd: "/w"}, i, user("x")))
	}
	before := list(t, s, sessions.ListOptions{}).Sessions
	content := readFile(t, all[1].Path())
	for range 2 { // again makes no difference
		for _, id := range []string{"s2", "s4", "s5"} {
			if err := s.Archive(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if readFile(t, all[1].Path()) != content {
		t.Error("archiving has changed the session file")
	}
	again := sessions.NewStore(s.Dir(), nil) // after a restart
	for filter, want := range map[sessions.ArchivedFilter][]string{
		sessions.ArchivedExclude: {"s6", "s3", "s1"},
		sessions.ArchivedInclude: {"s6", "s5", "s4", "s3", "s2", "s1"},
		sessions.ArchivedOnly:    {"s5", "s4", "s2"},
	} {
		// The filter applies before paging: only the last page may be short.
		for limit := 1; limit <= 4; limit++ {
			var got []string
			o := sessions.ListOptions{Archived: filter, Limit: limit}
			for {
				page := list(t, again, o)
				for _, info := range page.Sessions {
					got = append(got, info.ID)
					if archived := info.ID == "s2" || info.ID == "s4" || info.ID == "s5"; info.Archived != archived {
						t.Errorf("filter %d: %s is archived: %t", filter, info.ID, info.Archived)
					}
				}
				if o.Cursor = page.Next; o.Cursor == "" {
					break
				}
				if len(page.Sessions) != limit {
					t.Errorf("filter %d: a page of %d, want %d", filter, len(page.Sessions), limit)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("filter %d, limit %d (-want +got):\n%s", filter, limit, diff)
			}
		}
	}
	for range 2 {
		for _, id := range []string{"s2", "s4", "s5"} {
			if err := s.Unarchive(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(before, list(t, s, sessions.ListOptions{}).Sessions); diff != "" {
		t.Errorf("archived and taken back (-before +after):\n%s", diff)
	}
}

func TestArchive_OpenSession(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("x"))
	if err := s.Archive(t.Context(), l.ID()); err != nil {
		t.Fatal(err)
	}
	appendMessage(t, l, assistant("y"))
	closeLog(t, l)
	l = open(t, s, l.ID())
	if got := len(allMessages(t, l)); got != 2 {
		t.Errorf("%d messages", got)
	}
	if info, err := s.Info(t.Context(), l.ID()); err != nil || !info.Archived {
		t.Errorf("info = %+v, %v; opening has taken it back", info, err)
	}
	closeLog(t, l)
	if err := s.Delete(t.Context(), l.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.ArtifactDir()); err == nil {
		t.Error("the mark was left")
	}
}

func TestArchive_NotFound(t *testing.T) {
	s := newStore(t)
	for _, id := range []string{"nothing", "", "..", "../x"} {
		if err := s.Archive(t.Context(), id); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("archive %q: %v", id, err)
		}
		if err := s.Unarchive(t.Context(), id); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("unarchive %q: %v", id, err)
		}
		if _, err := s.Info(t.Context(), id); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("info %q: %v", id, err)
		}
		if err := s.SetTitle(t.Context(), id, "t"); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("set title %q: %v", id, err)
		}
	}
}

// Two processes toggle the mark of a session that a third one deletes. Calls fail only because the session was deleted, and no file
// is left.
func TestArchive_BetweenProcessesAndDelete(t *testing.T) {
	s := newStore(t)
	for round := range 5 {
		l, err := s.Create(t.Context(), sessions.Header{Cwd: "/w", ID: fmt.Sprint("r", round)})
		if err != nil {
			t.Fatal(err)
		}
		appendMessage(t, l, user("x"))
		closeLog(t, l)
		cmd, out := fake(t, "archiver", s.Dir(), l.ID())
		for range 20 {
			if err := errors.Join(s.Archive(t.Context(), l.ID()), s.Unarchive(t.Context(), l.ID())); err != nil {
				t.Fatal(err)
			}
			if line, err := out.ReadString('\n'); line != "ok\n" {
				t.Fatalf("the other process: %q, %v", line, err)
			}
		}
		if round%2 == 0 {
			// The deletion may happen at any point of the other process.
			if err := s.Delete(context.Background(), l.ID()); err != nil && !errors.Is(err, os.ErrExist) && !isNotEmpty(err) {
				t.Fatal(err)
			}
			for {
				line, err := out.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if line != "ok\n" {
					break
				}
			}
			_ = cmd.Wait()
		} else {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if err := s.Delete(t.Context(), l.ID()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(l.ArtifactDir()); err == nil {
			t.Errorf("round %d: the mark was left", round)
		}
		if _, err := os.Stat(l.Path()); err == nil {
			t.Errorf("round %d: the session was left", round)
		}
	}
}

// isNotEmpty reports whether err means that a directory got a file while it was being removed.
func isNotEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }
