// Package search finds stored sessions by words in their titles, prompts and answers. It keeps an index, which is a cache: it may be
// deleted at any time, and each search first brings it up to date.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/gajae-code/gjc/sessions"
)

// Options selects the sessions to search.
type Options struct {
	// Cwd selects the sessions of a directory, unless it is empty.
	Cwd string
	// Limit bounds the number of hits.
	Limit int
	// InMemory keeps no index: the sessions are not on this machine.
	InMemory bool
}

// Hit is a session that has all words.
type Hit struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Cwd       string    `json:"cwd"`
	UpdatedAt time.Time `json:"updatedAt"`
	Archived  bool      `json:"archived,omitzero"`
	// Role is "title", "user", "assistant" or "summary": where Snippet is from. At is its time, and zero for a title.
	Role string    `json:"role"`
	At   time.Time `json:"at,omitzero"`
	// Snippet is a part of the text in one line; the words are between [Begin] and [End].
	Snippet string `json:"snippet"`
}

// Begin and End surround the words in a snippet.
const (
	Begin = "\x02"
	End   = "\x03"
)

// Result is the result of a search.
type Result struct {
	// Hits has the best first.
	Hits []Hit `json:"hits"`
	// More is the number of sessions that were found beyond the limit.
	More int `json:"more,omitzero"`
	// Unreadable has the IDs of sessions that could not be read.
	Unreadable []string `json:"unreadable,omitempty"`
}

// ErrNoWords is returned for a query without a word.
var ErrNoWords = errors.New("there is no word to search for")

// Search finds the sessions that have all words of a query somewhere. Letters in double quotes are one word with blanks. A word
// also matches inside a longer one, in any case.
func Search(ctx context.Context, store *sessions.Store, query string, o Options) (*Result, error) {
	words := Words(query)
	if len(words) == 0 {
		return nil, ErrNoWords
	}
	all, err := listed(ctx, store)
	if err != nil {
		return nil, err
	}
	result, err := search(ctx, store, all, words, o)
	if damaged(err) && !o.InMemory {
		if err := remove(filepath.Join(store.Dir(), sessions.SearchIndex)); err != nil {
			return nil, err
		}
		result, err = search(ctx, store, all, words, o)
	}
	return result, err
}

// search brings the index up to date and searches it.
func search(ctx context.Context, store *sessions.Store, all []sessions.Info, words []string, o Options) (*Result, error) {
	dir := store.Dir()
	if o.InMemory {
		dir = ""
	}
	x, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer x.close()
	result := &Result{Hits: []Hit{}}
	if result.Unreadable, err = x.update(ctx, store, all); err != nil {
		return nil, err
	}
	scores, err := x.scores(words)
	if err != nil {
		return nil, err
	}
	var found []sessions.Info
	for _, info := range all {
		if _, ok := scores[info.ID]; ok && (o.Cwd == "" || info.Cwd == o.Cwd) {
			found = append(found, info)
		}
	}
	slices.SortStableFunc(found, func(a, b sessions.Info) int { return cmp.Compare(scores[b.ID], scores[a.ID]) })
	if len(found) > o.Limit {
		result.More = len(found) - o.Limit
		found = found[:o.Limit]
	}
	for i := range found {
		h := Hit{ID: found[i].ID, Title: found[i].Title, Cwd: found[i].Cwd, UpdatedAt: found[i].UpdatedAt.UTC(), Archived: found[i].Archived}
		if err := x.snippet(&h, words); err != nil {
			return nil, err
		}
		result.Hits = append(result.Hits, h)
	}
	return result, nil
}

// Words splits a query at blanks outside of double quotes.
func Words(query string) []string {
	var words []string
	for i, part := range strings.Split(query, `"`) {
		if i%2 == 1 {
			words = append(words, strings.Join(strings.Fields(part), " "))
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	slices.Sort(words)
	return slices.Compact(words)
}

// page is the number of sessions that are listed at a time.
const page = 500

// listed returns all sessions, the last written first.
func listed(ctx context.Context, store *sessions.Store) ([]sessions.Info, error) {
	var all []sessions.Info
	list := sessions.ListOptions{Archived: sessions.ArchivedInclude, Limit: page}
	for {
		found, err := store.List(ctx, list)
		if err != nil {
			return nil, err
		}
		all = append(all, found.Sessions...)
		if found.Next == "" {
			return all, nil
		}
		list.Cursor = found.Next
	}
}

// shortest is the length of the shortest word, in characters, that the index of groups of three letters can find.
const shortest = 3

// likely escapes a word for LIKE.
var likely = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// scores returns the sessions that have all words. A session is better the rarer the words and the shorter their texts are, and
// best if they are in the title.
func (x *index) scores(words []string) (map[string]float64, error) {
	var scores map[string]float64
	for _, word := range words {
		query, arg := `WITH found AS MATERIALIZED (SELECT rowid, rank AS r FROM letters WHERE letters MATCH ?)
			SELECT session, min(r * CASE role WHEN 'title' THEN 3 ELSE 1 END) FROM found JOIN texts ON id = found.rowid GROUP BY session`,
			`"`+strings.ReplaceAll(word, `"`, `""`)+`"`
		if utf8.RuneCountInString(word) < shortest {
			query, arg = `SELECT session, -1 FROM texts WHERE text LIKE ? ESCAPE '\' GROUP BY session`, "%"+likely.Replace(word)+"%"
		}
		found := make(map[string]float64)
		err := sqlitex.Execute(x.conn, query, &sqlitex.ExecOptions{Args: []any{arg}, ResultFunc: func(row *sqlite.Stmt) error {
			found[row.ColumnText(0)] = -row.ColumnFloat(1)
			return nil
		}})
		if err != nil {
			return nil, fmt.Errorf("searching for %q: %w", word, err)
		}
		if scores == nil {
			scores = found
			continue
		}
		maps.DeleteFunc(scores, func(id string, _ float64) bool { _, ok := found[id]; return !ok })
		for id := range scores {
			scores[id] += found[id]
		}
	}
	return scores, nil
}

// snippet sets the part of the session with the most words, the first of several.
func (x *index) snippet(h *Hit, words []string) error {
	best, most := "", 0
	err := sqlitex.Execute(x.conn, "SELECT role, at, text FROM texts WHERE session = ? ORDER BY id",
		&sqlitex.ExecOptions{Args: []any{h.ID}, ResultFunc: func(row *sqlite.Stmt) error {
			text, n := row.ColumnText(2), 0
			for _, word := range words {
				if len(places(text, word)) > 0 {
					n++
				}
			}
			if n <= most {
				return nil
			}
			best, most, h.Role, h.At = text, n, row.ColumnText(0), time.Time{}
			if ms := row.ColumnInt64(1); ms != 0 {
				h.At = time.UnixMilli(ms).UTC()
			}
			return nil
		}})
	if err != nil {
		return fmt.Errorf("reading the index: %w", err)
	}
	h.Snippet = snippet(best, words)
	return nil
}

// places returns the beginnings of a word in a text, in any case.
func places(text, word string) []int {
	low, lowWord := strings.ToLower(text), strings.ToLower(word)
	if len(low) != len(text) {
		low, lowWord = text, word // the few letters whose other case has another length
	}
	var all []int
	for at := 0; ; {
		i := strings.Index(low[at:], lowWord)
		if i < 0 {
			return all
		}
		all = append(all, at+i)
		at += i + len(lowWord)
	}
}

// snippetSize is the length of a snippet, in bytes.
const snippetSize = 160

// snippet returns a part of a text in one line, with the words marked.
func snippet(text string, words []string) string {
	text = strings.Join(strings.Fields(strings.NewReplacer(Begin, "", End, "").Replace(text)), " ")
	first := len(text)
	for _, word := range words {
		if at := places(text, word); len(at) > 0 {
			first = min(first, at[0])
		}
	}
	from := 0
	if first < len(text) && first > snippetSize/3 {
		from = first - snippetSize/3
	}
	to := min(from+snippetSize, len(text))
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	part := text[from:to]
	marks := make([]bool, len(part))
	for _, word := range words {
		for _, at := range places(part, word) {
			for i := at; i < at+len(word) && i < len(part); i++ {
				marks[i] = true
			}
		}
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	for i := range len(part) {
		if marks[i] && (i == 0 || !marks[i-1]) {
			b.WriteString(Begin)
		}
		b.WriteByte(part[i])
		if marks[i] && (i == len(part)-1 || !marks[i+1]) {
			b.WriteString(End)
		}
	}
	if to < len(text) {
		b.WriteString("…")
	}
	return b.String()
}
