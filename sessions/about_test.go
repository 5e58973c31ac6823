package sessions_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

func TestSetTitle_AutomaticNeverReplacesTheUsers(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("x"))
	set := func(title, source string, want error) {
		t.Helper()
		if err := l.SetTitle(title, source); !errors.Is(err, want) {
			t.Fatalf("SetTitle(%q, %q) = %v, want %v", title, source, err, want)
		}
	}
	is := func(want string) {
		t.Helper()
		if got := l.State().Title; got != want {
			t.Errorf("title = %q, want %q", got, want)
		}
		if info, err := s.Info(t.Context(), l.ID()); err != nil || info.Title != want {
			t.Errorf("in the list it is %q, %v, want %q", info.Title, err, want)
		}
	}
	set("auto 1", "auto", nil)
	set("auto 2", "auto", nil)
	is("auto 2")
	set("mine", "user", nil)
	set("auto 3", "auto", sessions.ErrUserTitle)
	is("mine")
	closeLog(t, l)
	l = open(t, s, l.ID())
	set("auto 4", "auto", sessions.ErrUserTitle)
	set("mine 2", "user", nil)
	is("mine 2")
	set("", "user", nil)
	set("auto 5", "auto", nil)
	is("auto 5")

	// Another program, which does not follow this rule, has added entries.
	set("mine 3", "user", nil)
	appendEntry(t, l, sessions.Custom{CustomType: sessions.CustomTitle, Data: raw(`{"title":"theirs","source":"auto"}`)})
	is("mine 3")
	closeLog(t, l)
	if err := s.SetTitle(t.Context(), l.ID(), "from outside"); err != nil {
		t.Fatal(err)
	}
	l = open(t, s, l.ID())
	is("from outside")
	set("auto 6", "auto", sessions.ErrUserTitle)
	if err := s.SetTitle(t.Context(), l.ID(), "t"); !errors.Is(err, sessions.ErrLocked) {
		t.Errorf("a title for an open session: %v", err)
	}
}

func TestSetTitle_HeaderOfTheUser(t *testing.T) {
	s := newStore(t)
	l, err := s.Create(t.Context(), sessions.Header{Cwd: "/w", Title: "mine", TitleSource: "user"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.SetTitle("auto", "auto"); !errors.Is(err, sessions.ErrUserTitle) {
		t.Errorf("err = %v", err)
	}
}

func TestSetDirectories_LatestIsReported(t *testing.T) {
	for _, more := range []int{0, 200} { // a small file, and one that List does not read to the end
		s := newStore(t, unsynced)
		l, err := s.Create(t.Context(), sessions.Header{Cwd: "/w", AdditionalDirectories: []string{"/a"}})
		if err != nil {
			t.Fatal(err)
		}
		appendMessage(t, l, user("x"))
		for _, dirs := range [][]string{{"/a"}, {"/b", "/a"}, {"/b", "/a"}, nil, {}, {"/c"}} {
			before := len(allEntries(t, l))
			old := l.State().Directories
			if err := l.SetDirectories(dirs); err != nil {
				t.Fatal(err)
			}
			changed := len(dirs) != len(old) || strings.Join(dirs, ":") != strings.Join(old, ":")
			if wrote := len(allEntries(t, l)) > before; wrote != changed {
				t.Errorf("from %q to %q: an entry was written: %t", old, dirs, wrote)
			}
			if got := l.State().Directories; strings.Join(got, ":") != strings.Join(dirs, ":") {
				t.Errorf("directories = %q, want %q", got, dirs)
			}
			for range more {
				appendMessage(t, l, user("and on and on and on"))
			}
			info := list(t, s, sessions.ListOptions{}).Sessions[0]
			if got := info.AdditionalDirectories; strings.Join(got, ":") != strings.Join(dirs, ":") {
				t.Errorf("%d more messages: listed with %q, want %q", more, got, dirs)
			}
		}
		closeLog(t, l)
		l = open(t, s, l.ID())
		if diff := cmp.Diff([]string{"/c"}, list(t, s, sessions.ListOptions{}).Sessions[0].AdditionalDirectories); diff != "" {
			t.Errorf("opened again (-want +got):\n%s", diff)
		}
		if err := l.Rewind(""); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"/c"}, l.State().Directories); diff != "" {
			t.Errorf("in another branch (-want +got):\n%s", diff)
		}
	}
}

func TestSetSystemPrompt(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	set := func(mode, text string, wrote bool) {
		t.Helper()
		before := len(allEntries(t, l))
		if err := l.SetSystemPrompt(mode, text); err != nil {
			t.Fatal(err)
		}
		if got := len(allEntries(t, l)) > before; got != wrote {
			t.Errorf("SetSystemPrompt(%q, %q) wrote an entry: %t", mode, text, got)
		}
	}
	set("append", "", false)
	set("append", "Be brief.", true)
	set("append", "Be brief.", false)
	set("override", "Be brief.", true)
	closeLog(t, l)
	l = open(t, s, l.ID())
	if got := l.State().SystemPrompt; got != (sessions.SystemPrompt{Mode: "override", Text: "Be brief."}) {
		t.Errorf("system prompt = %+v", got)
	}
	set("append", "", true)
	if got := l.State().SystemPrompt; got != (sessions.SystemPrompt{}) {
		t.Errorf("system prompt = %+v", got)
	}
	closeLog(t, l)
	if err := l.SetSystemPrompt("append", "x"); !errors.Is(err, sessions.ErrClosed) {
		t.Errorf("err = %v", err)
	}
}

func TestClear_EmptiesTheContextAlone(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	if err := l.Clear(); err != nil || len(allEntries(t, l)) != 0 {
		t.Fatalf("clearing nothing: %v, %d entries", err, len(allEntries(t, l)))
	}
	appendEntry(t, l, sessions.ModelChange{Model: "p/m"})
	appendEntry(t, l, sessions.ModeChange{Mode: "plan"})
	one := appendMessage(t, l, user("one"))
	appendMessage(t, l, assistant("two"))
	appendEntry(t, l, sessions.Compaction{Summary: "A", FirstKeptEntryID: one})
	before := l.State()
	if err := l.Clear(); err != nil {
		t.Fatal(err)
	}
	cleared := len(allEntries(t, l))
	if err := l.Clear(); err != nil || len(allEntries(t, l)) != cleared {
		t.Errorf("clearing twice: %v, %d entries, want %d", err, len(allEntries(t, l)), cleared)
	}
	if got := allMessages(t, l); len(got) != 0 {
		t.Errorf("messages = %q", texts(got))
	}
	check := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, texts(allMessages(t, l))); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, l.State()); diff != "" {
			t.Errorf("state (-before +after):\n%s", diff)
		}
	}
	three := appendMessage(t, l, user("three"))
	check("u three")
	closeLog(t, l)
	l = open(t, s, l.ID())
	check("u three")
	if len(allEntries(t, l)) != cleared+1 {
		t.Error("the file has lost what was cleared")
	}
	// Clear again, then rewind.
	if err := l.Clear(); err != nil {
		t.Fatal(err)
	}
	appendMessage(t, l, user("four"))
	check("u four")
	if err := l.Rewind(three); err != nil {
		t.Fatal(err)
	}
	check("u three")
	if err := l.Rewind(one); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"u one"}, texts(allMessages(t, l))); diff != "" {
		t.Errorf("back before the clear (-want +got):\n%s", diff)
	}
}

func TestInfo_OfOneSession(t *testing.T) {
	s := newStore(t)
	l := addSession(t, s, sessions.Header{Cwd: "/w", ParentSession: "s0"}, 3, user("hello"), assistant("x"))
	want := list(t, s, sessions.ListOptions{}).Sessions[0]
	got, err := s.Info(t.Context(), l.ID())
	if err != nil || got.ParentSession != "s0" {
		t.Errorf("%+v, %v", got, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("info (-listed +got):\n%s", diff)
	}
	empty := create(t, s)
	if got, err := s.Info(t.Context(), empty.ID()); err != nil || got.Messages != 0 || got.Cwd != "/w/demo" {
		t.Errorf("a session without messages: %+v, %v", got, err)
	}
	for id, content := range map[string]string{"junk": "junk\n", "zero": "", "other": header3} {
		place(t, s, id, content)
		if got, err := s.Info(t.Context(), id); err == nil {
			t.Errorf("%s: %+v", id, got)
		} else if _, ok := errors.AsType[*sessions.CorruptError](err); !ok {
			t.Errorf("%s: err = %v", id, err)
		}
	}
}

func TestProjects(t *testing.T) {
	s := newStore(t)
	if got, err := s.Projects(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("of no store: %+v, %v", got, err)
	}
	for i, cwd := range []string{"/w/a", "/w/b", "/w/a/", "/w/c", "/w/b", "/w/a"} {
		addSession(t, s, sessions.Header{Cwd: cwd}, i, user(string(rune('A'+i))))
	}
	create(t, s) // no message
	if err := s.Archive(t.Context(), "s6"); err != nil {
		t.Fatal(err)
	}
	at := func(minute int) time.Time { return epoch.Add(time.Duration(minute) * time.Minute) }
	want := []sessions.Project{
		{Cwd: "/w/b", Sessions: 2, LastActivity: at(4), LastTitle: "E"},
		{Cwd: "/w/c", Sessions: 1, LastActivity: at(3), LastTitle: "D"},
		{Cwd: "/w/a", Sessions: 2, LastActivity: at(2), LastTitle: "C"},
	}
	got, err := s.Projects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("projects (-want +got):\n%s", diff)
	}
	for limit, want := range map[int]string{0: "s5 s4 s3 s2 s1", 2: "s5 s4", 9: "s5 s4 s3 s2 s1"} {
		list, total, err := s.ListAll(t.Context(), limit)
		if err != nil || total != 5 || strings.Join(ids(sessions.Page{Sessions: list}), " ") != want {
			t.Errorf("limit %d: %v of %d, %v", limit, ids(sessions.Page{Sessions: list}), total, err)
		}
	}
}
