package sessions_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/sessions"
)

// readSession reads a session file without the index.
func readSession(path string) (sessions.Info, bool) {
	data, err := os.ReadFile(path)
	stat, statErr := os.Stat(path)
	if err != nil || statErr != nil {
		return sessions.Info{}, false
	}
	info := sessions.Info{Path: path, Size: stat.Size(), UpdatedAt: stat.ModTime().UTC()}
	var titleSource, prompt, summary string
	var header bool
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e struct {
			Type, ID, Cwd, Title, TitleSource, ParentSession, CustomType, ShortSummary string
			Version                                                                    int
			AdditionalDirectories                                                      []string
			Timestamp                                                                  time.Time
			Data                                                                       struct {
				Title, Source string
				Directories   []string
			}
			Message struct {
				Role    string
				Content json.RawMessage
			}
		}
		err := json.Unmarshal(line, &e)
		switch {
		case !header && (err != nil || e.Type != "session" || e.Version > sessions.Version || e.ID == ""):
			return sessions.Info{}, false
		case err != nil:
			continue
		case !header:
			header = true
			info.ID, info.Cwd, info.CreatedAt, info.ParentSession = e.ID, e.Cwd, e.Timestamp, e.ParentSession
			info.AdditionalDirectories, info.Title, titleSource = e.AdditionalDirectories, e.Title, e.TitleSource
			continue
		}
		if !e.Timestamp.IsZero() {
			info.UpdatedAt = e.Timestamp
		}
		switch {
		case e.Type == "message":
			info.Messages++
			var blocks []struct{ Text string }
			if e.Message.Role == "user" && prompt == "" && json.Unmarshal(e.Message.Content, &blocks) == nil && len(blocks) > 0 {
				prompt = blocks[0].Text
			}
		case e.CustomType == "gjc.title" && (titleSource != "user" || info.Title == "" || e.Data.Source == "user"):
			info.Title, titleSource = e.Data.Title, e.Data.Source
		case e.CustomType == "gjc.directories":
			info.AdditionalDirectories = e.Data.Directories
		case e.Type == "compaction":
			summary = e.ShortSummary
		}
	}
	info.Title = cmp.Or(info.Title, prompt, summary)
	_, err = os.Stat(strings.TrimSuffix(path, ".jsonl") + ".archived")
	info.Archived = err == nil
	return info, header && strings.HasSuffix(path, "_"+info.ID+".jsonl")
}

// readSessions reads all files of a store and returns the list, with archived sessions.
func readSessions(t *testing.T, root string) []sessions.Info {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "*", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	last := make(map[string]sessions.Info)
	times := make(map[string]time.Time)
	for _, path := range paths { // in order
		info, ok := readSession(path)
		if !ok {
			continue
		}
		stat, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if at, known := times[info.ID]; !known || stat.ModTime().After(at) {
			last[info.ID], times[info.ID] = info, stat.ModTime()
		}
	}
	all := []sessions.Info{}
	for _, info := range last {
		if info.Messages > 0 {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b sessions.Info) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(filepath.Base(b.Path), filepath.Base(a.Path)))
	})
	return all
}

// pageWalk is a client that reads page by page, slowly.
type pageWalk struct {
	options sessions.ListOptions
	order   []string // the rest of the order at the time of the first page
}

// listHistory is a random sequence of operations on a store. It sets the times of directories after each operation.
type listHistory struct {
	t        *testing.T
	rand     *rand.Rand
	now      time.Time
	root     string
	stores   []*sessions.Store // one for each process
	logs     map[string]*sessions.Log
	dirTimes map[string]time.Time
	walks    [2]*pageWalk
	n        int
	did      []string
}

func (h *listHistory) newStore() *sessions.Store {
	return sessions.NewStore(h.root, &sessions.StoreOptions{
		Sync: sessions.SyncNever, Clock: func() time.Time { return h.now },
		NewID: func() string { h.n++; return fmt.Sprintf("s%d", h.n) },
	})
}

func (h *listHistory) store() *sessions.Store { return h.stores[h.rand.IntN(len(h.stores))] }

func (h *listHistory) check(what string, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("%s: %v\nafter %s", what, err, strings.Join(h.did, ", "))
	}
}

// closed returns the file of a session that is not open; false if there is none.
func (h *listHistory) closed() (sessions.Info, bool) {
	all := slices.DeleteFunc(readSessions(h.t, h.root), func(i sessions.Info) bool { return h.logs[i.ID] != nil })
	if len(all) == 0 {
		return sessions.Info{}, false
	}
	return all[h.rand.IntN(len(all))], true
}

// opened returns an open session, opening one if necessary; nil if there is none.
func (h *listHistory) opened() *sessions.Log {
	for _, l := range h.logs {
		return l
	}
	info, ok := h.closed()
	if !ok {
		return nil
	}
	l, err := h.store().Open(h.t.Context(), info.ID)
	h.check("open", err)
	h.logs[l.ID()] = l
	return l
}

func (h *listHistory) cwd() string { return fmt.Sprint("/w/", h.rand.IntN(3)) }

// do performs one operation. It returns the time after which the list must show its effect.
func (h *listHistory) do(what string) time.Duration {
	t, ctx := h.t, h.t.Context()
	foreign := 31 * time.Second // without a lock, the directory's mtime does not change
	info, ok := h.closed()
	switch what {
	case "create":
		l, err := h.store().Create(ctx, sessions.Header{Cwd: h.cwd(), Title: []string{"", "headed"}[h.rand.IntN(2)]})
		h.check(what, err)
		h.logs[l.ID()] = l
		return 0
	case "append":
		if l := h.opened(); l != nil {
			m := user(fmt.Sprint("prompt ", h.rand.IntN(1000), strings.Repeat(" long", h.rand.IntN(10))))
			if h.rand.IntN(3) == 0 {
				m = assistant("answer")
			}
			_, err := l.AppendMessage(&m)
			h.check(what, err)
		}
		return 0
	case "title":
		if l := h.opened(); l != nil {
			if err := l.SetTitle(fmt.Sprint("title ", h.rand.IntN(1000)), []string{"user", "auto"}[h.rand.IntN(2)]); err != nil && !strings.Contains(err.Error(), "user") {
				h.check(what, err)
			}
			h.check(what, l.SetDirectories([]string{fmt.Sprint("/d/", h.rand.IntN(9))}))
		}
		return 0
	case "close":
		for id, l := range h.logs {
			h.check(what, l.Close())
			delete(h.logs, id)
			break
		}
		return 0
	case "cold":
		h.stores[1+h.rand.IntN(len(h.stores)-1)] = h.newStore()
		return 0
	case "index":
		_ = os.WriteFile(filepath.Join(h.root, "index"), []byte("damaged"), 0o600)
		return 0
	}
	if !ok {
		return 0
	}
	switch what {
	case "raw", "spaced", "torn":
		if !strings.HasSuffix(readFile(t, info.Path), "\n") {
			return 0 // appending would make an unended line invalid
		}
	}
	switch what {
	case "archive":
		h.check(what, h.store().Archive(ctx, info.ID))
	case "unarchive":
		h.check(what, h.store().Unarchive(ctx, info.ID))
	case "delete":
		h.check(what, h.store().Delete(ctx, info.ID))
	case "move":
		if err := h.store().Move(ctx, info.ID, h.cwd()); !errors.Is(err, fs.ErrExist) { // a copy
			h.check(what, err)
		}
	case "raw":
		appendRaw(t, info.Path, entryLine(fmt.Sprint("r", h.rand.Uint32()), "", "from elsewhere"))
		return foreign
	case "spaced": // the same kind of entry, formatted differently
		appendRaw(t, info.Path, `{ "message": {"content": [{"type": "text", "text": "spaced"}], "role": "user"}, "id": "q", "parentId": null, "type": "message" }`+"\n")
		return foreign
	case "torn":
		appendRaw(t, info.Path, entryLine("t", "", "torn")[:h.rand.IntN(120)])
		return foreign
	case "rewrite": // replace the file, as the interactive program does to set a title
		line, rest, _ := strings.Cut(readFile(t, info.Path), "\n")
		var header map[string]any
		h.check(what, json.Unmarshal([]byte(line), &header))
		header["title"] = fmt.Sprint("rewritten ", h.rand.IntN(10))
		text, err := json.Marshal(header)
		h.check(what, err)
		h.check(what, os.WriteFile(info.Path+".tmp", []byte(string(text)+"\n"+rest), 0o600))
		h.check(what, os.Rename(info.Path+".tmp", info.Path))
	case "copy":
		dir := filepath.Join(h.root, "--copies--")
		h.check(what, os.MkdirAll(dir, 0o700))
		h.check(what, os.WriteFile(filepath.Join(dir, filepath.Base(info.Path)), []byte(readFile(t, info.Path)), 0o600))
		return foreign
	}
	return 0
}

// waitStable sets the times of changed directories to the time of the history.
func (h *listHistory) waitStable() {
	h.now = h.now.Add(time.Nanosecond) // all changes have different times
	entries, err := os.ReadDir(h.root)
	h.check("settle", err)
	for _, e := range entries {
		path := filepath.Join(h.root, e.Name())
		info, err := os.Stat(path)
		h.check("settle", err)
		if e.IsDir() && !info.ModTime().Equal(h.dirTimes[path]) {
			touchFile(h.t, path, h.now)
			if info, err = os.Stat(path); err == nil {
				h.dirTimes[path] = info.ModTime()
			}
		}
	}
}

// pass advances the clock, and sometimes sets it back.
func (h *listHistory) pass(atLeast time.Duration) {
	switch n := h.rand.IntN(12); {
	case n == 0:
		h.now = h.now.Add(time.Minute)
	case n == 1 && atLeast == 0:
		h.now = h.now.Add(-20 * time.Second)
	default:
		h.now = h.now.Add(atLeast + time.Duration(h.rand.IntN(4000))*time.Millisecond)
	}
}

func taken(all []sessions.Info, o sessions.ListOptions) []sessions.Info {
	return slices.DeleteFunc(slices.Clone(all), func(i sessions.Info) bool {
		return o.Archived != sessions.ArchivedInclude && i.Archived != (o.Archived == sessions.ArchivedOnly) || o.Cwd != "" && i.Cwd != o.Cwd
	})
}

// compare compares the lists of all stores with the files.
func (h *listHistory) compare() {
	t := h.t
	all := readSessions(t, h.root)
	for _, s := range h.stores {
		for _, o := range []sessions.ListOptions{{}, {Archived: sessions.ArchivedInclude}, {Archived: sessions.ArchivedOnly}, {Cwd: h.cwd()}} {
			o.Limit = 1000
			got := append([]sessions.Info{}, list(t, s, o).Sessions...)
			if diff := gocmp.Diff(taken(all, o), got, sameWhenEmpty); diff != "" {
				t.Fatalf("%+v (-files +list):\n%s\nafter %s", o, diff, strings.Join(h.did, ", "))
			}
		}
	}
	if len(all) > 0 {
		want := all[h.rand.IntN(len(all))]
		got, err := h.store().Info(t.Context(), want.ID)
		h.check("info", err)
		if diff := gocmp.Diff(want, got, sameWhenEmpty); diff != "" {
			t.Fatalf("info (-file +info):\n%s\nafter %s", diff, strings.Join(h.did, ", "))
		}
	}
	for i := range h.walks {
		if h.rand.IntN(3) == 0 {
			h.walk(i, all)
		}
	}
}

// sameWhenEmpty treats an empty list and a nil one as equal.
var sameWhenEmpty = gocmp.Comparer(func(a, b []string) bool { return slices.Equal(a, b) })

// walk reads another page, always with the first store.
func (h *listHistory) walk(i int, all []sessions.Info) {
	t := h.t
	w := h.walks[i]
	if w == nil {
		w = &pageWalk{options: sessions.ListOptions{Limit: 1 + h.rand.IntN(3), Archived: sessions.ArchivedFilter(h.rand.IntN(2))}}
		for _, info := range all {
			w.order = append(w.order, info.ID)
		}
		h.walks[i] = w
	}
	want := []sessions.Info{}
	more, after := false, 0
	for n, id := range w.order {
		at := slices.IndexFunc(all, func(i sessions.Info) bool { return i.ID == id })
		if at < 0 || len(taken(all[at:at+1], w.options)) == 0 {
			continue
		}
		if len(want) == w.options.Limit {
			more = true
			break
		}
		want, after = append(want, all[at]), n+1
	}
	w.order = w.order[after:] // including those that were skipped: they may be back for the next page
	got := list(t, h.stores[0], w.options)
	if diff := gocmp.Diff(want, append([]sessions.Info{}, got.Sessions...), sameWhenEmpty); diff != "" || more != (got.Next != "") {
		t.Fatalf("page after %q, more: %t, next %q (-want +got):\n%s\nafter %s", w.options.Cursor, more, got.Next, diff, strings.Join(h.did, ", "))
	}
	if w.options.Cursor = got.Next; !more {
		h.walks[i] = nil
	}
}

// After any change of the files, all lists show their content.
func TestIndex_RandomHistories(t *testing.T) {
	histories, steps := 40, 60
	if testing.Short() || testenv.Race {
		histories = 8
	}
	actions := []string{
		"create", "create", "append", "append", "append", "title", "close", "archive", "unarchive", "delete", "move", "raw",
		"spaced", "torn", "rewrite", "copy", "cold", "index",
	}
	for seed := range uint64(histories) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &listHistory{
				t: t, rand: rand.New(rand.NewPCG(seed, 6)), now: epoch, root: filepath.Join(t.TempDir(), "sessions"),
				logs: make(map[string]*sessions.Log), dirTimes: make(map[string]time.Time),
			}
			h.stores = []*sessions.Store{h.newStore(), h.newStore(), h.newStore()}
			h.check("make the root", os.Mkdir(h.root, 0o700))
			for range steps {
				what := actions[h.rand.IntN(len(actions))]
				h.did = append(h.did, what)
				unseen := h.do(what)
				h.waitStable()
				h.pass(unseen)
				h.compare()
			}
			for _, l := range h.logs {
				h.check("close", l.Close())
			}
			if _, err := os.Stat(filepath.Join(h.root, "index")); err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
		})
	}
}
