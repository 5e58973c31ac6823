package sessions_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// touch sets when a session was written last: the times of its last entry and of its file.
func touch(t testing.TB, path string, at time.Time) {
	t.Helper()
	text := readFile(t, path)
	const member = `"timestamp":"`
	if i := strings.LastIndex(text, member) + len(member); i > len(member) && strings.Count(text, "\n") > 1 {
		stamp := at.UTC().Format("2006-01-02T15:04:05.000Z")
		if err := os.WriteFile(path, []byte(text[:i]+stamp+text[i+len(stamp):]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touchFile(t, path, at)
}

// touchFile sets when a file, or what is in a directory, was changed last.
func touchFile(t testing.TB, path string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// addSession makes a closed session that was written last at the given minute.
func addSession(t testing.TB, s *sessions.Store, h sessions.Header, minute int, messages ...providers.Message) *sessions.Log {
	t.Helper()
	l, err := s.Create(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		appendMessage(t, l, m)
	}
	closeLog(t, l)
	touch(t, l.Path(), epoch.Add(time.Duration(minute)*time.Minute))
	return l
}

func list(t testing.TB, s *sessions.Store, o sessions.ListOptions) sessions.Page {
	t.Helper()
	page, err := s.List(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func ids(p sessions.Page) []string {
	out := []string{}
	for _, i := range p.Sessions {
		out = append(out, i.ID)
	}
	return out
}

func TestList_WhatIsKnownOfASession(t *testing.T) {
	s := newStore(t)
	h := sessions.Header{Cwd: "/w/demo", AdditionalDirectories: []string{"/w/lib"}}
	l := addSession(t, s, h, 5, user("\n  fix the test  \nplease"), assistant("ok"))
	info, err := os.Stat(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	want := []sessions.Info{{
		ID: "s1", Cwd: "/w/demo", AdditionalDirectories: []string{"/w/lib"}, Title: "fix the test",
		UpdatedAt: epoch.Add(5 * time.Minute), CreatedAt: epoch.Add(time.Second), Messages: 2,
		Size: info.Size(), Path: l.Path(),
	}}
	if diff := cmp.Diff(want, list(t, s, sessions.ListOptions{}).Sessions); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func TestList_LeavesOutWhatIsNoConversation(t *testing.T) {
	s := newStore(t)
	if got := list(t, s, sessions.ListOptions{}); len(got.Sessions) != 0 || got.Next != "" {
		t.Errorf("a store that is not there: %+v", got)
	}
	addSession(t, s, sessions.Header{Cwd: "/w/demo"}, 0)
	empty := create(t, s)
	appendEntry(t, empty, sessions.ModelChange{Model: "p/m"})
	place(t, s, "corrupt", "{\"hello\":1}\n"+entryLine("a", "", "x"))
	place(t, s, "cut", header3[:30])
	place(t, s, "zero", "")
	good := addSession(t, s, sessions.Header{Cwd: "/w/demo"}, 0, user("x"))
	if err := os.Mkdir(filepath.Join(filepath.Dir(good.Path()), "dir.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{good.ID()}, ids(list(t, s, sessions.ListOptions{}))); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func TestList_Titles(t *testing.T) {
	long := strings.Repeat("long é ", 100)
	image := user("with an image")
	image.Parts = append([]providers.Part{providers.Image{MIMEType: "image/png", Data: make([]byte, 400_000)}}, image.Parts...)
	for _, test := range []struct {
		name     string
		header   string
		messages []providers.Message
		set      []string
		more     int // messages behind the title
		want     string
		count    int
	}{
		{"first line of the prompt", "", []providers.Message{user("one\ntwo")}, nil, 0, "one", 1},
		{"prompt behind an answer", "", []providers.Message{assistant("hello"), user("one")}, nil, 0, "one", 2},
		{"long prompt", "", []providers.Message{user(long)}, nil, 0, long[:len("long é ")*11] + "lo…", 1},
		{"prompt far down", "", []providers.Message{assistant(strings.Repeat("x", 30_000)), user("one"), user("two")}, nil, 0, "one", 3},
		{"large prompt", "", []providers.Message{image, user("two")}, nil, 0, "with an image", 2},
		{"no prompt", "", []providers.Message{assistant("hello")}, nil, 0, "", 1},
		{"header", "From the header", []providers.Message{user("one")}, nil, 0, "From the header", 1},
		{"set", "From the header", []providers.Message{user("one")}, []string{"First", "Second"}, 0, "Second", 1},
		{"set long ago", "", []providers.Message{user("one")}, []string{"Named"}, 200, "Named", 201},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStore(t, unsynced)
			l := addSession(t, s, sessions.Header{Cwd: "/w", Title: test.header}, 0, test.messages...)
			l = open(t, s, l.ID())
			for _, title := range test.set {
				if err := l.SetTitle(title, "user"); err != nil {
					t.Fatal(err)
				}
			}
			for range test.more {
				appendMessage(t, l, user("and on and on"))
			}
			closeLog(t, l)
			got := list(t, s, sessions.ListOptions{}).Sessions
			if len(got) != 1 || got[0].Title != test.want || got[0].Messages != test.count {
				t.Errorf("got %+v, want title %q and %d messages", got, test.want, test.count)
			}
			if len([]rune(got[0].Title)) > 80 {
				t.Errorf("the title has %d letters", len([]rune(got[0].Title)))
			}
			if len(test.set) == 0 {
				return
			}
			// What the list knows is in the session file alone.
			if err := os.RemoveAll(l.ArtifactDir()); err != nil {
				t.Fatal(err)
			}
			if got := list(t, sessions.NewStore(s.Dir(), nil), sessions.ListOptions{}).Sessions; got[0].Title != test.want {
				t.Errorf("without its artifacts the title is %q", got[0].Title)
			}
		})
	}
}

func TestList_OfOneDirectory(t *testing.T) {
	s := newStore(t, func(o *sessions.StoreOptions) { o.Home, o.TempDir = "/home/u", "/tmp" })
	for i, cwd := range []string{"/w/a", "/w/a-b", "/w/a/b", "/home/u/x", "/tmp/y", "/home/u"} {
		addSession(t, s, sessions.Header{Cwd: cwd}, i, user("x"))
	}
	// An older version named all directories in the long form.
	old := filepath.Join(s.Dir(), "--home-u-x--")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	header := strings.Replace(strings.Replace(header3, `"x"`, `"old"`, 1), "/w/demo", "/home/u/x", 1)
	path := filepath.Join(old, "t_old.jsonl")
	if err := os.WriteFile(path, []byte(header+entryLine("a", "", "x")), 0o600); err != nil {
		t.Fatal(err)
	}
	touch(t, path, epoch)
	for cwd, want := range map[string][]string{
		"/w/a": {"s1"}, "/w/a/": {"s1"}, "/w/./a/b/..": {"s1"}, "/w/a/b": {"s3"}, "/w/a-b": {"s2"},
		"/home/u/x": {"s4", "old"}, "/tmp/y": {"s5"}, "/home/u": {"s6"}, "/w": {}, "/nowhere": {},
	} {
		if diff := cmp.Diff(want, ids(list(t, s, sessions.ListOptions{Cwd: cwd}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", cwd, diff)
		}
	}
}

func TestList_PagesHoldTheirPlace(t *testing.T) {
	s := newStore(t)
	var all []*sessions.Log
	for i := range 9 {
		all = append(all, addSession(t, s, sessions.Header{Cwd: fmt.Sprintf("/w/%d", i%2)}, i/2, user("x"))) // equal times too
	}
	whole := ids(list(t, s, sessions.ListOptions{}))
	if diff := cmp.Diff([]string{"s9", "s7", "s8", "s5", "s6", "s3", "s4", "s1", "s2"}, whole); diff != "" {
		t.Fatalf("order (-want +got):\n%s", diff)
	}
	for limit := 1; limit <= 10; limit++ {
		var got []string
		o := sessions.ListOptions{Limit: limit}
		for {
			page := list(t, s, o)
			if len(page.Sessions) > limit || len(page.Sessions) == 0 {
				t.Fatalf("limit %d: a page of %d", limit, len(page.Sessions))
			}
			got = append(got, ids(page)...)
			if o.Cursor = page.Next; o.Cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}

	first := list(t, s, sessions.ListOptions{Limit: 4})
	touch(t, all[0].Path(), epoch.Add(time.Hour))                       // from a later page to the very top
	if err := s.Delete(t.Context(), first.Sessions[3].ID); err != nil { // the one that the cursor names
		t.Fatal(err)
	}
	addSession(t, s, sessions.Header{Cwd: "/w"}, 100, user("new"))
	rest := ids(list(t, s, sessions.ListOptions{Cursor: first.Next}))
	if diff := cmp.Diff(whole[4:], rest); diff != "" { // s1 too, at its old place
		t.Errorf("rest (-want +got):\n%s", diff)
	}
}

func TestList_BadCursors(t *testing.T) {
	s := newStore(t)
	for _, cursor := range []string{"1", "!!", "bm90IGEgY3Vyc29y", "MTIz", strings.Repeat("A", 1000)} {
		if _, err := s.List(t.Context(), sessions.ListOptions{Cursor: cursor}); !errors.Is(err, sessions.ErrBadCursor) {
			t.Errorf("cursor %.20q: err = %v", cursor, err)
		}
	}
}

func TestDirName(t *testing.T) {
	for _, test := range []struct{ cwd, home, temp, want string }{
		{"/home/u", "/home/u", "/tmp", "-"},
		{"/home/u/a/b c", "/home/u", "/tmp", "-a-b c"},
		{"/home/u/..x", "/home/u", "/tmp", "-..x"},
		{"/home/user", "/home/u", "/tmp", "--home-user--"},
		{"/tmp", "/home/u", "/tmp", "-tmp"},
		{"/tmp/a/b:c", "/home/u", "/tmp", "-tmp-a-b-c"},
		{"/srv/x", "", "", "--srv-x--"},
		{"/", "/home/u", "/tmp", "----"},
	} {
		if got := sessions.DirName(test.cwd, test.home, test.temp); got != test.want {
			t.Errorf("DirName(%q) = %q, want %q", test.cwd, got, test.want)
		}
	}
}
