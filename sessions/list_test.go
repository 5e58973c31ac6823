package sessions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// touch sets the time of a session's last write, in its entries and in the mtime of its file.
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

// touchFile sets the mtime of a file or directory.
func touchFile(t testing.TB, path string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// addSession creates a closed session that was last written at the given minute.
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

func TestList_OmitsFilesWithoutConversation(t *testing.T) {
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
		more     int // number of messages after the title
		want     string
		count    int
	}{
		{"first line of the prompt", "", []providers.Message{user("one\ntwo")}, nil, 0, "one", 1},
		{"prompt after an answer", "", []providers.Message{assistant("hello"), user("one")}, nil, 0, "one", 2},
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
			// The list has only information from session files.
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
	// An older version used the long form for all directory names.
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
	if diff := cmp.Diff([]string{"s9", "s8", "s7", "s6", "s5", "s4", "s3", "s2", "s1"}, whole); diff != "" {
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
	touch(t, all[0].Path(), epoch.Add(time.Hour))                       // moves from a later page to the very top
	if err := s.Delete(t.Context(), first.Sessions[3].ID); err != nil { // the session that the cursor names
		t.Fatal(err)
	}
	addSession(t, s, sessions.Header{Cwd: "/w"}, 100, user("new"))
	rest := ids(list(t, s, sessions.ListOptions{Cursor: first.Next}))
	if diff := cmp.Diff(whole[4:], rest); diff != "" { // s1 too, at its old place
		t.Errorf("rest (-want +got):\n%s", diff)
	}
}

// The list reflects the entries, also those that other programs have written.
func TestList_WhatEntriesSay(t *testing.T) {
	custom := func(customType, data string) string {
		return `{"type":"custom","id":"c","parentId":null,"timestamp":"2026-02-16T10:20:31.000Z","customType":"` + customType + `","data":` + data + "}\n"
	}
	title := func(title, source string) string {
		return custom("gjc.title", fmt.Sprintf(`{"title":%q,"source":%q}`, title, source))
	}
	compaction := `{"type":"compaction","id":"d","parentId":null,"timestamp":"2026-02-16T10:20:31.000Z","summary":"long","shortSummary":"short\nmore"}` + "\n"
	withTitle := func(title, source string) string {
		return strings.Replace(header3, `"cwd"`, fmt.Sprintf(`"title":%q,"titleSource":%q,"cwd"`, title, source), 1)
	}
	answer := strings.Replace(entryLine("b", "a", "answer"), `"role":"user"`, `"role":"assistant"`, 1)
	hi := entryLine("a", "", "hi")
	for name, test := range map[string]struct {
		text, title string
		messages    int
	}{
		"user, then auto":         {header3 + hi + title("mine", "user") + title("auto", "auto"), "mine", 1},
		"auto, then user":         {header3 + hi + title("auto", "auto") + title("mine", "user"), "mine", 1},
		"auto, then auto":         {header3 + hi + title("one", "auto") + title("two", "auto"), "two", 1},
		"taken away":              {header3 + hi + title("mine", "user") + title("", "user"), "hi", 1},
		"taken away, then auto":   {header3 + hi + title("mine", "user") + title("", "user") + title("auto", "auto"), "auto", 1},
		"header's, then auto":     {withTitle("head", "user") + hi + title("auto", "auto"), "head", 1},
		"header's auto, then one": {withTitle("head", "auto") + hi + title("auto", "auto"), "auto", 1},
		"header's":                {withTitle("head", "") + hi + compaction, "head", 1},
		"short summary":           {header3 + answer + compaction, "short", 1},
		"prompt, short summary":   {header3 + answer + compaction + hi, "hi", 2},
		"title of another shape":  {header3 + hi + custom("gjc.title", `["x"]`) + custom("gjc.title", `{"title":7}`), "hi", 1},
		"talk of titles":          {header3 + entryLine("a", "", `the entry "gjc.title"`) + custom("x", `{"title":"gjc.title"}`), `the entry "gjc.title"`, 1},
		"left branches":           {header3 + hi + answer + entryLine("c", "a", "other") + entryLine("d", "", "root"), "hi", 4},
		"plain content":           {header3 + strings.Replace(hi, `[{"type":"text","text":"hi"}]`, `"plain\nmore"`, 1), "plain", 1},
		"an image only":           {header3 + strings.Replace(hi, `{"type":"text","text":"hi"}`, `{"type":"image","data":"AAAA"}`, 1) + entryLine("b", "a", "then"), "then", 2},
		"spaces and order":        {header3 + `{"message": {"content": "spaced", "role": "user"}, "id": "a", "type": "message"}` + "\n", "spaced", 1},
		"version 1":               {strings.Replace(header3, `"version":3,`, "", 1) + `{"type":"message","timestamp":"2026-02-16T10:20:31.000Z","message":{"role":"user","content":"old"}}` + "\n", "old", 1},
		"no newline at the end":   {header3 + hi + strings.TrimSuffix(answer, "\n"), "hi", 2},
		"torn":                    {header3 + hi + answer[:80], "hi", 1},
		"zero bytes":              {header3 + hi + strings.Repeat("\x00", 5000), "hi", 1},
		"no object":               {header3 + hi + "[]\n7\nnull\n\"x\"\n{}\n\xff\xfe\n" + answer, "hi", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			place(t, s, "x", test.text)
			for _, store := range []*sessions.Store{s, sessions.NewStore(s.Dir(), nil)} {
				got := list(t, store, sessions.ListOptions{}).Sessions
				if len(got) != 1 || got[0].Title != test.title || got[0].Messages != test.messages {
					t.Errorf("got %+v, want title %q and %d messages", got, test.title, test.messages)
				}
				if info, err := store.Info(t.Context(), "x"); err != nil || len(got) == 1 && cmp.Diff(got[0], info) != "" {
					t.Errorf("info = %+v, %v", info, err)
				}
			}
		})
	}
}

// The order is by the last entry; a file's mtime counts only if there is none.
func TestList_Order(t *testing.T) {
	s := newStore(t)
	for id, minute := range map[string]int{"a": 3, "b": 1, "c": 2} {
		text := strings.Replace(header3, `"x"`, `"`+id+`"`, 1) + entryLine("a", "", "x")
		path := place(t, s, id, text)
		touch(t, path, epoch.Add(time.Duration(minute)*time.Minute))
		touchFile(t, path, epoch.Add(time.Duration(-minute)*time.Hour))
	}
	none := place(t, s, "none", strings.Replace(header3, `"x"`, `"none"`, 1)+
		strings.Replace(entryLine("a", "", "x"), `"timestamp":"2026-02-16T10:20:31.000Z"`, `"timestamp":"yesterday"`, 1))
	touchFile(t, none, epoch.Add(150*time.Second))
	for _, store := range []*sessions.Store{s, sessions.NewStore(s.Dir(), nil)} {
		page := list(t, store, sessions.ListOptions{})
		if diff := cmp.Diff([]string{"a", "none", "c", "b"}, ids(page)); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if at := page.Sessions[1].UpdatedAt; !at.Equal(epoch.Add(150 * time.Second)) {
			t.Errorf("without a time: %v", at)
		}
	}
}

// Sessions are found by their headers, wherever their files are. The working directory need not exist.
func TestList_CwdOfHeaders(t *testing.T) {
	s := newStore(t)
	gone := t.TempDir()
	addSession(t, s, sessions.Header{Cwd: gone}, 1, user("x"))
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(s.Dir(), "any name", "t_odd.jsonl")
	if err := os.MkdirAll(filepath.Dir(odd), 0o700); err != nil {
		t.Fatal(err)
	}
	header := strings.Replace(strings.Replace(header3, `"x"`, `"odd"`, 1), `"/w/demo"`, fmt.Sprintf("%q", gone+"/./"), 1)
	if err := os.WriteFile(odd, []byte(header+entryLine("a", "", "x")), 0o600); err != nil {
		t.Fatal(err)
	}
	touch(t, odd, epoch)
	for _, cwd := range []string{gone, gone + string(filepath.Separator), filepath.Join(gone, "x", "..")} {
		if diff := cmp.Diff([]string{"s1", "odd"}, ids(list(t, s, sessions.ListOptions{Cwd: cwd}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", cwd, diff)
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

// A long name is truncated between two characters and stays unique.
func TestDirName_Long(t *testing.T) {
	for n := 190; n < 215; n++ {
		cwd := "/" + strings.Repeat("ü", n/2) + strings.Repeat("x", n%2)
		name := sessions.DirName(cwd, "", "")
		if full := "--" + cwd[1:] + "--"; len(full) <= 200 && name != full {
			t.Errorf("a path of %d bytes: %q", len(cwd), name)
		}
		if len(name) > 200 || !utf8.ValidString(name) {
			t.Errorf("a path of %d bytes: %q has %d bytes", len(cwd), name, len(name))
		}
	}
	long := "/" + strings.Repeat("x", 300)
	names := make(map[string]bool)
	for _, cwd := range []string{long, long + "y", long + "/y", "/h" + long, "/t" + long} {
		names[sessions.DirName(cwd, "/h", "/t")] = true
	}
	if len(names) != 5 {
		t.Errorf("5 directories have the names %v", names)
	}
}
