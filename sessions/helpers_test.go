package sessions_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// bg is the context of functions that have no test.
var bg = context.Background()

var epoch = time.Date(2026, 2, 16, 10, 20, 30, 0, time.UTC)

// newStore returns a store in a new directory, with a clock that advances by a second at each call, and sequential IDs.
func newStore(t testing.TB, adjust ...func(*sessions.StoreOptions)) *sessions.Store {
	t.Helper()
	now, n := epoch, 0
	o := sessions.StoreOptions{
		Clock: func() time.Time { now = now.Add(time.Second); return now },
		NewID: func() string { n++; return fmt.Sprintf("s%d", n) },
	}
	for _, a := range adjust {
		a(&o)
	}
	return sessions.NewStore(filepath.Join(t.TempDir(), "agent", "sessions"), &o)
}

// unsynced disables syncing in tests that do not simulate power cuts.
func unsynced(o *sessions.StoreOptions) { o.Sync = sessions.SyncNever }

func create(t testing.TB, s *sessions.Store) *sessions.Log {
	t.Helper()
	l, err := s.Create(t.Context(), sessions.Header{Cwd: "/w/demo"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func open(t testing.TB, s *sessions.Store, id string) *sessions.Log {
	t.Helper()
	l, err := s.Open(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func closeLog(t testing.TB, l *sessions.Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func allMessages(t testing.TB, l *sessions.Log) []providers.Message {
	t.Helper()
	all, err := l.Messages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func allEntries(t testing.TB, l *sessions.Log) []sessions.Entry {
	t.Helper()
	all, err := l.Entries()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func allBranch(t testing.TB, l *sessions.Log) []sessions.Entry {
	t.Helper()
	all, err := l.Branch()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func appendMessage(t testing.TB, l *sessions.Log, m providers.Message) string {
	t.Helper()
	id, err := l.AppendMessage(&m)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func appendEntry(t testing.TB, l *sessions.Log, e sessions.Entry) string {
	t.Helper()
	id, err := l.Append(e)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func user(text string) providers.Message {
	return providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}}
}

func assistant(text string) providers.Message {
	m := user(text)
	m.Role, m.API, m.Provider, m.Model, m.StopReason = providers.RoleAssistant, "api", "prov", "mod", providers.StopEnd
	return m
}

func raw(s string) jsonx.Raw { return jsonx.Raw(s) }

// place stores a file where the store finds it as session id.
func place(t testing.TB, s *sessions.Store, id, content string) string {
	t.Helper()
	dir := filepath.Join(s.Dir(), "--w-demo--")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "2026-02-16T10-20-30-000Z_"+id+".jsonl")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// texts returns the text of each message, after the first letter of its role.
func texts(messages []providers.Message) []string {
	out := []string{}
	for i := range messages {
		out = append(out, string(messages[i].Role)[:1]+" "+messages[i].Text())
	}
	return out
}

const header3 = `{"type":"session","version":3,"id":"x","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/w/demo"}` + "\n"

// entryLine returns a line with a user message.
func entryLine(id, parent, text string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-02-16T10:20:31.000Z",`+
		`"message":{"role":"user","content":[{"type":"text","text":%q}],"timestamp":1771237231000}}`+"\n", id, p, text)
}

func lines(s string) int { return strings.Count(s, "\n") }
