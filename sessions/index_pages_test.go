package sessions_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

// pages returns the IDs of all pages after a cursor.
func pages(t testing.TB, s *sessions.Store, o sessions.ListOptions) []string {
	t.Helper()
	got := []string{}
	for {
		page := list(t, s, o)
		got = append(got, ids(page)...)
		if o.Cursor = page.Next; o.Cursor == "" {
			return got
		}
	}
}

func TestPages_AllThatCanHappenInBetween(t *testing.T) {
	s := newStore(t, unsynced)
	for i := range 12 {
		addSession(t, s, sessions.Header{Cwd: fmt.Sprint("/w/", i%2)}, i, user("x"))
	}
	first := list(t, s, sessions.ListOptions{Limit: 3})
	if diff := cmp.Diff([]string{"s12", "s11", "s10"}, ids(first)); diff != "" {
		t.Fatalf("first page (-want +got):\n%s", diff)
	}
	write := func(id string) {
		l := open(t, s, id)
		appendMessage(t, l, user("more"))
		closeLog(t, l)
		touch(t, l.Path(), epoch.AddDate(0, 0, 1))
	}
	write("s11")                                                 // a session on an earlier page
	write("s2")                                                  // a session on a later page
	addSession(t, s, sessions.Header{Cwd: "/w"}, 5, user("new")) // in the middle
	for _, err := range []error{
		s.Delete(t.Context(), "s9"), s.Delete(t.Context(), "s10"), // the next session, and the one that the cursor names
		s.Archive(t.Context(), "s7"), s.Archive(t.Context(), "s5"), s.Unarchive(t.Context(), "s5"),
		s.Move(t.Context(), "s4", "/w/elsewhere"), s.SetTitle(t.Context(), "s3", "named"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	rest := []string{"s8", "s6", "s5", "s4", "s3", "s2", "s1"}
	for limit := 1; limit < 9; limit++ {
		if diff := cmp.Diff(rest, pages(t, s, sessions.ListOptions{Cursor: first.Next, Limit: limit})); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	for _, info := range list(t, s, sessions.ListOptions{Cursor: first.Next}).Sessions {
		switch {
		case info.ID == "s2" && info.Messages != 2, info.ID == "s3" && info.Title != "named", info.ID == "s4" && info.Cwd != "/w/elsewhere":
			t.Errorf("it is shown as it was: %+v", info)
		}
	}
}

func TestPages_OlderSnapshotsGoOnByPlace(t *testing.T) {
	s := newStore(t, unsynced)
	for i := range 6 {
		addSession(t, s, sessions.Header{Cwd: "/w"}, i, user("x"))
	}
	first := list(t, s, sessions.ListOptions{Limit: 2})
	rest := func(s *sessions.Store) []string {
		return pages(t, s, sessions.ListOptions{Cursor: first.Next, Limit: 2})
	}
	other := sessions.NewStore(s.Dir(), nil) // of another process
	for name, store := range map[string]*sessions.Store{"same": s, "another process": other} {
		if diff := cmp.Diff([]string{"s4", "s3", "s2", "s1"}, rest(store)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	touch(t, list(t, s, sessions.ListOptions{}).Sessions[3].Path, epoch.AddDate(1, 0, 0)) // s3
	if diff := cmp.Diff([]string{"s4", "s3", "s2", "s1"}, rest(s)); diff != "" {
		t.Errorf("with a snapshot (-want +got):\n%s", diff)
	}
	for i := range sessions.MaxSnapshots - 1 {
		addSession(t, s, sessions.Header{Cwd: "/w"}, 100+i, user("x"))
		list(t, s, sessions.ListOptions{Limit: 2})
		list(t, s, sessions.ListOptions{Limit: 1}) // is full
	}
	if diff := cmp.Diff([]string{"s4", "s3", "s2", "s1"}, rest(s)); diff != "" {
		t.Errorf("the last of the snapshots (-want +got):\n%s", diff)
	}
	for i := range sessions.MaxSnapshots {
		addSession(t, s, sessions.Header{Cwd: "/w"}, 200+i, user("x"))
		list(t, s, sessions.ListOptions{Limit: 2})
	}
	for name, store := range map[string]*sessions.Store{"forgotten": s, "another process": other} {
		if diff := cmp.Diff([]string{"s4", "s2", "s1"}, rest(store)); diff != "" { // s3 has moved to the front
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPages_BadCursors(t *testing.T) {
	s := newStore(t, unsynced)
	for i := range 3 {
		addSession(t, s, sessions.Header{Cwd: "/w"}, i, user("x"))
	}
	good := list(t, s, sessions.ListOptions{Limit: 1}).Next
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	bad := []string{"1", "!!", "bm90IGEgY3Vyc29y", "MTIz", strings.Repeat("A", 1000), good + "A", good + good}
	for i := range raw {
		flipped := append([]byte(nil), raw...)
		flipped[i] ^= 1 << (i % 8)
		bad = append(bad, base64.RawURLEncoding.EncodeToString(flipped), base64.RawURLEncoding.EncodeToString(raw[:i]))
	}
	for _, cursor := range bad {
		if cursor == "" {
			continue // the first page
		}
		if _, err := s.List(t.Context(), sessions.ListOptions{Cursor: cursor}); !errors.Is(err, sessions.ErrBadCursor) {
			t.Errorf("cursor %.40q: err = %v", cursor, err)
		}
	}
	if diff := cmp.Diff([]string{"s2", "s1"}, ids(list(t, s, sessions.ListOptions{Cursor: good}))); diff != "" {
		t.Errorf("a good one (-want +got):\n%s", diff)
	}
}

// Without a limit each page after the first doubles what has been listed.
func TestPages_Grow(t *testing.T) {
	s := newStore(t, unsynced)
	const many = 600
	for i := range many {
		addSession(t, s, sessions.Header{Cwd: "/w"}, i, user("x"))
	}
	var sizes []int
	seen := make(map[string]bool)
	for o := (sessions.ListOptions{}); ; {
		page := list(t, s, o)
		sizes = append(sizes, len(page.Sessions))
		for _, id := range ids(page) {
			seen[id] = true
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			break
		}
	}
	if diff := cmp.Diff([]int{50, 50, 100, 200, 200}, sizes); diff != "" || len(seen) != many {
		t.Errorf("%d of %d sessions are listed, in pages of (-want +got):\n%s", len(seen), many, diff)
	}
}
