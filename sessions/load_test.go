package sessions_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

func fixture(t testing.TB, s *sessions.Store, name string) (id, path string) {
	t.Helper()
	id = "0190a000-0000-7000-8000-00000000000" + strings.TrimPrefix(name, "v")
	return id, place(t, s, id, readFile(t, filepath.Join("testdata", name+".jsonl")))
}

func TestLoad_Version3(t *testing.T) {
	s := newStore(t)
	id, path := fixture(t, s, "v3")
	before := readFile(t, path)
	l := open(t, s, id)

	want := sessions.Header{
		Version: 3, ID: id, Time: epoch, Cwd: "/w/demo", Title: "Header title", TitleSource: "auto",
		ParentSession: "0190a000-0000-7000-8000-000000000001",
	}
	if diff := cmp.Diff(want, l.Header()); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	state := sessions.State{
		Model: "openai/gpt-x", Thinking: providers.ThinkingHigh, Mode: "plan", ModeData: raw(`{"planFile":"/w/plan.md"}`),
		Title: "Header title", TitleSource: "auto", ServiceTier: raw(`"flex"`), MCPTools: []string{"server.tool"},
	}
	if diff := cmp.Diff(state, l.State()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	messages := allMessages(t, l)
	if diff := cmp.Diff([]string{
		"u fix the test",
		"a I will look.",
		"t package a",
		"u I ran the command\n\ngo test\n\nIt printed:\n\nFAIL\n\nIt exited with code 1.",
		"u Injected context",
		"u Another branch of this conversation was left here. A summary of it:\n\nThat way was wrong.",
		"u half an emoji: \ufffd",
		"u The file b.go:\n\npackage b",
	}, texts(messages)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	answer := providers.Message{
		Role: providers.RoleAssistant, API: "openai-responses", Provider: "openai", Model: "gpt-x",
		StopReason: providers.StopTools, Time: time.UnixMilli(1771237236000).UTC(),
		Usage: providers.Usage{Input: 100, Output: 20, CacheRead: 5, CacheWrite: 6, Thinking: 7},
		Price: providers.Price{Input: 0.1, Output: 0.2, Total: 0.3},
		Parts: []providers.Part{
			providers.Thinking{Text: "look first", Signature: "sig"},
			providers.Thinking{Redacted: true, Signature: "b3BhcXVl"},
			providers.Text{Text: "I will look.", Signature: "ts"},
			providers.ToolCall{ID: "call_1", Name: "read", Input: raw(`{"path":"a.go","n":1e3}`)},
			providers.ToolCall{ID: "call_2", Name: "find", Input: raw(`{"glob":"*.go"}`)},
			providers.ToolCall{ID: "call_3", Name: "bash", Input: raw(`{"command": "go te`)},
		},
	}
	if diff := cmp.Diff(answer, messages[1]); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if got := messages[0].Parts[1]; !cmp.Equal(got, providers.Part(providers.Image{MIMEType: "image/png", Data: []byte("hello")})) {
		t.Errorf("image = %v", got)
	}
	kinds := map[sessions.Kind]int{}
	for _, e := range allEntries(t, l) {
		if _, unknown := e.(sessions.Unknown); unknown != (e.Kind() == "hologram") {
			t.Errorf("entry %+v", e)
		}
		kinds[e.Kind()]++
	}
	if len(kinds) != 13 { // all but the compaction, and one unknown kind
		t.Errorf("kinds: %v", kinds)
	}
	if notices := l.Notices(); len(notices) > 0 {
		t.Errorf("notices: %q", notices)
	}

	appendMessage(t, l, user("go on"))
	if got := readFile(t, path); !strings.HasPrefix(got, before) || lines(got) != lines(before)+1 {
		t.Error("the file was not only appended to")
	}
}

func TestLoad_OldVersionsAreRewritten(t *testing.T) {
	for _, test := range []struct {
		name, golden string
		messages     []string
	}{
		{"v1", `{"type":"session","version":3,"id":"0190a000-0000-7000-8000-000000000001","timestamp":"2025-11-02T08:00:00.000Z","cwd":"/w/old","extra":{"kept":true}}`, []string{
			"u The conversation before this point was replaced by this summary of it:\n\nWe looked at main.go.",
			"u and in util.go?", "u lint is clean",
		}},
		{"v2", `{"type":"future_kind","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-02T08:00:03.000Z","payload":{"b":1,"a":[1.50,2]}}`, []string{
			"u hi", "u from a hook",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStore(t)
			id, path := fixture(t, s, test.name)
			before := readFile(t, path)

			view, err := s.View(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.messages, texts(allMessages(t, view))); diff != "" {
				t.Errorf("viewed messages (-want +got):\n%s", diff)
			}
			if readFile(t, path) != before {
				t.Error("a view has changed the file")
			}

			l := open(t, s, id)
			if diff := cmp.Diff(test.messages, texts(allMessages(t, l))); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(allEntries(t, view), allEntries(t, l)); diff != "" {
				t.Errorf("entries (-view +open):\n%s", diff)
			}
			if got := readFile(t, path); !strings.Contains(got, test.golden+"\n") {
				t.Errorf("the file lacks the line %s:\n%s", test.golden, got)
			}
			if _, err := os.Stat(path + ".bak"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the old file is still kept: %v", err)
			}
			if n := l.Notices(); len(n) != 1 || !strings.Contains(n[0], "to version 3") {
				t.Errorf("notices: %q", n)
			}
			appendMessage(t, l, user("go on"))
			closeLog(t, l)

			l = open(t, s, id)
			if got := allMessages(t, l); got[len(got)-1].Text() != "go on" || len(got) != len(test.messages)+1 {
				t.Errorf("messages after the second open: %q", texts(got))
			}
			if l.Header().Version != 3 || len(l.Notices()) != 0 {
				t.Errorf("version %d, notices %q", l.Header().Version, l.Notices())
			}
			if got := readFile(t, path); lines(got) != len(allEntries(t, l))+1 {
				t.Errorf("the file has %d lines", lines(got))
			}
		})
	}
}

func TestLoad_RefusesAndLeavesAlone(t *testing.T) {
	good := entryLine("a1", "", "one")
	for _, test := range []struct {
		name, content string
		line          int
		reason        string
	}{
		{"empty", "", 1, "empty"},
		{"header cut off", header3[:40], 1, "cut off"},
		{"zero bytes only", "\x00\x00\x00", 1, "cut off"},
		{"foreign JSON", "{\"hello\":1}\n", 1, "not a session header"},
		{"not JSON", "# notes\n", 1, "not a session header"},
		{"entry first", good, 1, "not a session header"},
		{"id of another type", strings.Replace(header3, `"x"`, `17`, 1), 1, "not a session header"},
		{"newer version", strings.Replace(header3, `"version":3`, `"version":4`, 1) + good, 1, "newer program"},
		{"version 9", strings.Replace(header3, `"version":3`, `"version":9`, 1) + good, 1, "newer program"},
		{"version that is no number", strings.Replace(header3, `"version":3`, `"version":"3"`, 1) + good, 1, "not a session header"},
		{"binary", "\x7fELF\x02\x01\x01\x00\n\xff\xfe", 1, "not a session header"},
		{"UTF-16", "\xff\xfe{\x00\"\x00t\x00\n\x00", 1, "not a session header"},
		{"nesting without an end", header3 + strings.Repeat("[", 100_000) + "\n", 2, ""},
		{"other session", strings.Replace(header3, `"x"`, `"y"`, 1) + good, 1, `session "y"`},
		{"damage in the middle", header3 + good[:20] + "\n" + good, 2, "JSON"},
		{"two lines run together", header3 + good[:20] + good + good, 2, "JSON"},
		{"damage in a whole last line", header3 + good + "{\"type\":\n", 3, "JSON"},
		{"zero bytes in the middle", header3 + "\x00\x00\n" + good, 2, "JSON"},
		{"entry without an id", header3 + `{"type":"message","parentId":null}` + "\n", 2, "type and an id"},
		{"entry without a type", header3 + `{"id":"a"}` + "\n", 2, "type and an id"},
		{"array", header3 + "[1]\n", 2, ""},
		{"duplicate member", header3 + `{"type":"custom","type":"label","id":"a"}` + "\n", 2, "duplicate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStore(t)
			path := place(t, s, "x", test.content)
			for name, open := range map[string]func() (*sessions.Log, error){
				"open": func() (*sessions.Log, error) { return s.Open(t.Context(), "x") },
				"view": func() (*sessions.Log, error) { return s.View(t.Context(), "x") },
			} {
				_, err := open()
				c, ok := errors.AsType[*sessions.CorruptError](err)
				if !ok {
					t.Fatalf("%s: err = %v", name, err)
				}
				if c.Path != path || c.Line != test.line || !strings.Contains(c.Reason, test.reason) {
					t.Errorf("%s: err = %v, want line %d and %q", name, c, test.line, test.reason)
				}
			}
			if got := readFile(t, path); got != test.content {
				t.Errorf("the file was changed: %q", got)
			}
			if _, err := os.Stat(path + ".lock"); err == nil {
				t.Error("the lock file was left")
			}
		})
	}
}

func TestLoad_LeavesOutWhatItDoesNotUnderstand(t *testing.T) {
	s := newStore(t)
	place(t, s, "x", header3+
		entryLine("a1", "", "one")+
		`{"type":"message","id":"a2","parentId":"a1","message":{"role":"user","content":17}}`+"\n"+
		`{"type":"message","id":"a3","parentId":"a2","message":{"role":"oracle","content":"x"}}`+"\n"+
		`{"type":"message","id":"a4","parentId":"a3","message":{"role":"user","content":[{"type":"hologram"},{"type":"text","text":"four"}]}}`+"\n"+
		`{"type":"message","id":"a5","parentId":"a4","message":{"role":"user","content":[{"type":"image","data":"blob:sha256:zz","mimeType":"image/png"}]}}`+"\n"+
		entryLine("a6", "nowhere", "six")+
		entryLine("a7", "a5", "seven"))
	l := open(t, s, "x")
	if diff := cmp.Diff([]string{"u one", "u four", "u [an image that is no longer stored]", "u seven"}, texts(allMessages(t, l))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	notices := strings.Join(l.Notices(), "\n")
	for _, want := range []string{"line 3: ", "line 4: ", "line 5: ", "line 6: ", "nowhere"} {
		if !strings.Contains(notices, want) {
			t.Errorf("notices lack %q:\n%s", want, notices)
		}
	}
}

func TestLoad_MillionLines(t *testing.T) {
	if testing.Short() || testenv.Race {
		t.Skip("takes seconds")
	}
	var text strings.Builder
	text.WriteString(header3)
	parent := ""
	const n = 1_000_000
	for i := range n {
		id := strconv.Itoa(i)
		text.WriteString(entryLine(id, parent, "x"))
		parent = id
	}
	s := newStore(t, unsynced)
	place(t, s, "x", text.String())
	l := open(t, s, "x")
	if got := len(allMessages(t, l)); got != n {
		t.Errorf("%d messages", got)
	}
	appendMessage(t, l, user("one more"))
	if err := l.Rewind("10"); err != nil {
		t.Fatal(err)
	}
	if got := len(allMessages(t, l)); got != 11 {
		t.Errorf("%d messages in the new branch", got)
	}
}

// Opening a file of an older version converts it to the current version and preserves the conversation.
func FuzzMigrate(f *testing.F) {
	for _, name := range []string{"v1", "v2"} {
		_, body, _ := strings.Cut(readFile(f, filepath.Join("testdata", name+".jsonl")), "\n")
		f.Add(uint8(len(name)), body)
	}
	f.Add(uint8(1), `{"type":"compaction","summary":"s","firstKeptEntryIndex":-1.5}`)
	f.Add(uint8(1), `{"type":"compaction","summary":"s","firstKeptEntryIndex":1e308}`)
	f.Add(uint8(1), `{"type":"message","id":5,"parentId":{},"message":{"role":"hookMessage"}}`)
	f.Add(uint8(2), `{"type":"message","id":"a","parentId":"a","message":null}`)
	f.Fuzz(func(t *testing.T, version uint8, body string) {
		s := newStore(t, unsynced)
		header := strings.Replace(header3, `"version":3`, fmt.Sprintf(`"version":%d`, version%3), 1)
		path := place(t, s, "x", header+body)
		view, err := s.View(t.Context(), "x")
		if err != nil {
			if _, err := s.Open(t.Context(), "x"); err == nil {
				t.Fatal("what cannot be viewed was opened")
			}
			if readFile(t, path) != header+body {
				t.Fatal("what was refused was changed")
			}
			return
		}
		l := open(t, s, "x")
		entries := allEntries(t, l)
		if diff := cmp.Diff(texts(allMessages(t, view)), texts(allMessages(t, l))); diff != "" {
			t.Fatalf("messages (-view +open):\n%s", diff)
		}
		appendMessage(t, l, user("on"))
		closeLog(t, l)
		l = open(t, s, "x")
		if l.Header().Version != 3 {
			t.Fatalf("the file is of version %d", l.Header().Version)
		}
		if got := allEntries(t, l); len(got) != len(entries)+1 {
			t.Fatalf("%d entries, then %d", len(entries), len(got))
		}
	})
}

func FuzzLoad(f *testing.F) {
	for _, name := range []string{"v1", "v2", "v3"} {
		f.Add([]byte(readFile(f, filepath.Join("testdata", name+".jsonl"))))
	}
	f.Add([]byte(header3 + entryLine("a1", "a1", "its own parent") + entryLine("a2", "a1", "x") + entryLine("a1", "a2", "again")))
	f.Add([]byte(header3 + entryLine("a1", "", "x") + "{\"type"))
	f.Add([]byte(strings.TrimSpace(header3)))
	f.Add([]byte(header3 + "\x00\x00"))
	f.Add([]byte(header3 + `{"type":"compaction","id":"a","parentId":"a","firstKeptEntryId":"a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		const id = "x"
		s := newStore(t, unsynced)
		// A file is found under one ID only, whatever its header says.
		first, rest, ok := strings.Cut(string(data), "\n")
		for _, old := range []string{"0190a000-0000-7000-8000-000000000001", "0190a000-0000-7000-8000-000000000002", "0190a000-0000-7000-8000-000000000003"} {
			first = strings.Replace(first, old, id, 1)
		}
		if ok {
			first += "\n"
		}
		path := place(t, s, id, first+rest)
		l, err := s.Open(t.Context(), id)
		if err != nil {
			if _, ok := errors.AsType[*sessions.CorruptError](err); !ok {
				t.Fatalf("err = %v", err)
			}
			if got := readFile(t, path); got != first+rest {
				t.Fatalf("a refused file was changed to %q", got)
			}
			return
		}
		entries, messages := allEntries(t, l), allMessages(t, l)
		_ = l.State()
		appended, err := l.AppendMessage(new(user("fuzz")))
		if err != nil {
			t.Fatal(err)
		}
		closeLog(t, l)
		l = open(t, s, id)
		if diff := cmp.Diff(entries, allEntries(t, l)[:len(entries)]); diff != "" {
			t.Fatalf("entries after an append (-before +after):\n%s", diff)
		}
		if last := allEntries(t, l)[len(entries)].Ref(); last.ID != appended {
			t.Fatalf("the appended entry %s is not the last", appended)
		}
		if got := allMessages(t, l); len(got) == 0 || len(got) > len(messages)+1 || got[len(got)-1].Text() != "fuzz" {
			t.Fatalf("messages %q became %q", texts(messages), texts(got))
		}
		closeLog(t, l)
		if _, err := s.List(t.Context(), sessions.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	})
}
