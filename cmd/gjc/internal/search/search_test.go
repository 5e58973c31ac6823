package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

func newStore(t testing.TB) *sessions.Store {
	t.Helper()
	dir := t.TempDir()
	return sessions.NewStore(filepath.Join(dir, "sessions"), &sessions.StoreOptions{TempDir: dir})
}

// add stores a session with a prompt and answers, and returns its ID.
func add(t testing.TB, store *sessions.Store, cwd, prompt string, answers ...string) string {
	t.Helper()
	log, err := store.Create(t.Context(), sessions.Header{Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	say(t, log, providers.RoleUser, prompt)
	for _, a := range answers {
		say(t, log, providers.RoleAssistant, a)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return log.ID()
}

func say(t testing.TB, log *sessions.Log, role providers.Role, text string) {
	t.Helper()
	m := providers.Message{Role: role, Parts: []providers.Part{providers.Text{Text: text}}}
	if _, err := log.Append(sessions.MessageEntry{Message: m}); err != nil {
		t.Fatal(err)
	}
}

func find(t testing.TB, store *sessions.Store, query string) []string {
	t.Helper()
	result, err := Search(t.Context(), store, query, Options{Limit: 100})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	ids := []string{}
	for _, h := range result.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// The words may be in different messages; a title weighs more; sessions that changed or went away are noticed.
func TestSearch(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	a := add(t, store, "/a", "the parser fails", "It was the LEXER.")
	b := add(t, store, "/b", "hello", strings.Repeat("long ", 500)+"about a parser in the end")
	for query, want := range map[string][]string{
		"parser": {a, b}, "PARSER lexer": {a}, `"parser in"`: {b}, "pars": {a, b}, "lexer end": {}, "ab": {b}, "It": {a},
	} {
		if d := cmp.Diff(want, find(t, store, query)); d != "" {
			t.Errorf("%s (-want +got):\n%s", query, d)
		}
	}
	log, err := store.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	say(t, log, providers.RoleUser, "and the end")
	// A session that is open in another process is read, too.
	if d := cmp.Diff([]string{a}, find(t, store, "lexer end")); d != "" {
		t.Errorf("after a new message (-want +got):\n%s", d)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(store.Dir(), sessions.SearchIndex)); !os.IsNotExist(err) {
		t.Errorf("the index is still there after a deletion: %v", err)
	}
	if d := cmp.Diff([]string{b}, find(t, store, "parser")); d != "" {
		t.Errorf("after the deletion (-want +got):\n%s", d)
	}
}

// A session file that another program has removed leaves no text in the index.
func TestSearch_RemovedFile(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	id := add(t, store, "/a", "private words")
	add(t, store, "/a", "others")
	find(t, store, "private")
	info, err := store.Info(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(info.Path); err != nil {
		t.Fatal(err)
	}
	// Another store reads the directory again.
	store = sessions.NewStore(store.Dir(), nil)
	if got := find(t, store, "private"); len(got) != 0 {
		t.Errorf("found %q", got)
	}
	data, err := os.ReadFile(filepath.Join(store.Dir(), sessions.SearchIndex))
	if err != nil || strings.Contains(string(data), "private words") {
		t.Errorf("the text is still in the index (%v)", err)
	}
}

// Processes may search at the same time, and one that is stopped does no harm.
func TestSearch_Concurrent(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	for i := range 30 {
		add(t, store, "/a", fmt.Sprintf("prompt %d about parsers", i))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := find(t, store, "parsers"); len(got) != 30 {
				t.Errorf("found %d", len(got))
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Search(ctx, store, "parsers", Options{Limit: 1}); err == nil {
		t.Error("a search that was stopped succeeded")
	}
	result, err := Search(t.Context(), store, "parsers", Options{Limit: 7})
	if err != nil || len(result.Hits) != 7 || result.More != 23 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	got := Words(` b "a  c" b a"x y`)
	if d := cmp.Diff([]string{"a", "a c", "b", "x y"}, got); d != "" {
		t.Errorf("words (-want +got):\n%s", d)
	}
}

// FuzzSnippet checks that a snippet is a short part of the text with balanced marks.
func FuzzSnippet(f *testing.F) {
	f.Add("the parser fails in the end", "parser")
	f.Add(strings.Repeat("가재 ", 100)+"İstanbul ẞ", "재")
	f.Fuzz(func(t *testing.T, text, word string) {
		got := snippet(text, []string{word})
		if len(got) > 8*snippetSize {
			t.Errorf("%d bytes", len(got))
		}
		if utf8.ValidString(text) && utf8.ValidString(word) && !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		if strings.Count(got, Begin) != strings.Count(got, End) {
			t.Errorf("%q has unbalanced marks", got)
		}
	})
}

// BenchmarkSearch searches 500 sessions of 20 messages, with an index that is up to date.
func BenchmarkSearch(b *testing.B) {
	store := newStore(b)
	for i := range 500 {
		answers := make([]string, 20)
		for j := range answers {
			answers[j] = fmt.Sprintf("answer %d of %d: %s", j, i, strings.Repeat("some words of an answer ", 40))
		}
		add(b, store, "/a", fmt.Sprintf("prompt %d", i), answers...)
	}
	find(b, store, "prompt")
	b.ReportAllocs()
	for b.Loop() {
		find(b, store, "answer 7")
	}
}
