package sessions_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

// watchedFS counts operations on session files, and can be read-only.
type watchedFS struct {
	sessions.FileSystem
	opens, looks, reads atomic.Int32 // opens and looks count session files, reads counts directories
	writeErr            error        // error returned by attempts to write the index
}

func (w *watchedFS) OpenFile(name string, flag int, perm fs.FileMode) (sessions.File, error) {
	if flag&os.O_CREATE != 0 && w.writeErr != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: w.writeErr}
	}
	if strings.HasSuffix(name, ".jsonl") {
		w.opens.Add(1)
	}
	return w.FileSystem.OpenFile(name, flag, perm)
}

func (w *watchedFS) Lstat(name string) (fs.FileInfo, error) {
	if strings.HasSuffix(name, ".jsonl") {
		w.looks.Add(1)
	}
	return w.FileSystem.Lstat(name)
}

func (w *watchedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	w.reads.Add(1)
	entries, err := w.FileSystem.ReadDir(name)
	for i := range entries {
		entries[i] = watchedEntry{entries[i], w}
	}
	return entries, err
}

// watchedEntry counts as a look at the file.
type watchedEntry struct {
	fs.DirEntry
	fs *watchedFS
}

func (e watchedEntry) Info() (fs.FileInfo, error) {
	if strings.HasSuffix(e.Name(), ".jsonl") {
		e.fs.looks.Add(1)
	}
	return e.DirEntry.Info()
}

// counts returns the number of operations since the last call.
func (w *watchedFS) counts() string {
	return fmt.Sprintf("%d opened, %d looked at, %d directories read", w.opens.Swap(0), w.looks.Swap(0), w.reads.Swap(0))
}

// waitStable sets the times of all directories of a store to an hour ago.
func waitStable(t testing.TB, s *sessions.Store) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(s.Dir(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) < time.Minute {
			touchFile(t, dir, time.Now().Add(-time.Hour))
		}
	}
}

// watched returns another store in the directory of s, with its own clock.
func watched(s *sessions.Store) (*sessions.Store, *watchedFS, *time.Time) {
	now := time.Now()
	w := &watchedFS{FileSystem: sessions.Disk()}
	return sessions.NewStore(s.Dir(), &sessions.StoreOptions{FS: w, Clock: func() time.Time { return now }}), w, &now
}

func appendRaw(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestIndex_LooksOnlyAtWhatMayHaveChanged(t *testing.T) {
	s := newStore(t, unsynced)
	for i := range 6 {
		addSession(t, s, sessions.Header{Cwd: fmt.Sprint("/w/", i%2)}, i, user("x"))
	}
	waitStable(t, s)
	step := func(what string, s *sessions.Store, w *watchedFS, want string) sessions.Page {
		t.Helper()
		page := list(t, s, sessions.ListOptions{})
		if got := w.counts(); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
		return page
	}
	first, w, now := watched(s)
	whole := step("no index", first, w, "6 opened, 0 looked at, 3 directories read")
	step("again", first, w, "0 opened, 0 looked at, 1 directories read")
	cold, w2, _ := watched(s)
	if diff := cmp.Diff(whole, step("another process", cold, w2, "0 opened, 0 looked at, 1 directories read")); diff != "" {
		t.Errorf("from the index file (-want +got):\n%s", diff)
	}
	*now = now.Add(31 * time.Second)
	step("all is looked at now and then", first, w, "0 opened, 6 looked at, 3 directories read")
	step("and then not", first, w, "0 opened, 0 looked at, 1 directories read")

	l := open(t, s, "s1")
	step("a session was opened", first, w, "0 opened, 3 looked at, 2 directories read")
	waitStable(t, s)
	step("it has settled", first, w, "0 opened, 3 looked at, 2 directories read")
	step("it is open", first, w, "0 opened, 1 looked at, 1 directories read")
	appendMessage(t, l, user("more"))
	page := step("it was written", first, w, "1 opened, 1 looked at, 1 directories read")
	messages := func(id string) int {
		for _, info := range list(t, first, sessions.ListOptions{}).Sessions {
			if info.ID == id {
				return info.Messages
			}
		}
		return -1
	}
	if n := messages("s1"); n != 2 {
		t.Errorf("%d messages", n)
	}
	w.counts()
	appendMessage(t, l, user("more"))
	closeLog(t, l)
	step("it was written and closed", first, w, "1 opened, 3 looked at, 2 directories read")

	// A program without a lock.
	waitStable(t, s)
	list(t, first, sessions.ListOptions{})
	w.counts()
	appendRaw(t, page.Sessions[0].Path, entryLine("z", "", "foreign"))
	if n := messages("s6"); n != 1 {
		t.Errorf("%d messages: this test does not test what it should", n)
	}
	*now = now.Add(30*time.Second + 1)
	if n := messages("s6"); n != 2 {
		t.Errorf("after half a minute: %d messages", n)
	}
	appendRaw(t, page.Sessions[0].Path, entryLine("zz", "z", "foreign"))
	*now = now.Add(-time.Hour)
	if n := messages("s6"); n != 3 {
		t.Errorf("after the clock went back: %d messages", n)
	}
}

// A directory that has just changed can change again within the same tick.
func TestIndex_FreshDirectoriesAreNotBelieved(t *testing.T) {
	s := newStore(t, unsynced)
	l := addSession(t, s, sessions.Header{Cwd: "/w"}, 0, user("x"))
	other, _, now := watched(s)
	dir := filepath.Dir(l.Path())
	changed := *now
	touchFile(t, dir, changed)
	*now = now.Add(time.Second)
	if n := len(list(t, other, sessions.ListOptions{}).Sessions); n != 1 {
		t.Fatal(n)
	}
	addSession(t, s, sessions.Header{Cwd: "/w"}, 1, user("y"))
	touchFile(t, dir, changed)
	*now = now.Add(5 * time.Second)
	if n := len(list(t, other, sessions.ListOptions{}).Sessions); n != 2 {
		t.Errorf("%d sessions", n)
	}
}

func TestIndex_NoSessionsAreRemembered(t *testing.T) {
	s := newStore(t, unsynced)
	good := addSession(t, s, sessions.Header{Cwd: "/w/demo"}, 0, user("x"))
	bad := map[string]string{
		"zero": "", "binary": "\x7fELF\x00\n\n", "newer": strings.Replace(header3, `"version":3`, `"version":9`, 1) + entryLine("a", "", "x"),
		"cut": header3[:40], "foreign": "{\"hello\":1}\n" + entryLine("a", "", "x"), "huge": strings.Repeat("x", 3<<20),
		"other": header3 + entryLine("a", "", "x"), // its ID is x, so it cannot be found
		"up":    strings.Replace(header3, `"id":"x"`, `"id":"../../up"`, 1) + entryLine("a", "", "x"),
	}
	var grows string
	for id, text := range bad {
		path := place(t, s, id, text)
		if id == "cut" {
			grows = path
		}
	}
	// An ID that escapes the directory of its file.
	nested := filepath.Join(s.Dir(), "--w-demo--", "t_a")
	if err := os.MkdirAll(nested, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(nested, "b.jsonl"), []byte(strings.Replace(header3, `"x"`, `"a/b"`, 1)+entryLine("a", "", "x")), 0o600); err != nil {
		t.Fatal(err)
	}
	waitStable(t, s)
	for _, store := range []string{"new", "with an index"} {
		other, w, now := watched(s)
		for range 2 {
			if diff := cmp.Diff([]string{good.ID()}, ids(list(t, other, sessions.ListOptions{}))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", store, diff)
			}
			*now = now.Add(time.Minute)
		}
		if want := map[string]int32{"new": 9, "with an index": 0}[store]; w.opens.Load() != want {
			t.Errorf("%s: %d files read, want %d", store, w.opens.Load(), want)
		}
	}
	for _, id := range []string{"zero", "binary", "newer", "cut", "foreign", "other", "huge", "up"} {
		_, err := s.Info(t.Context(), id)
		if _, ok := errors.AsType[*sessions.CorruptError](err); !ok || !strings.Contains(err.Error(), "_"+id+".jsonl, line 1: ") {
			t.Errorf("info of %s: %v", id, err)
		}
	}
	for _, id := range []string{"../../up", "a/b", `a\b`} {
		if _, err := s.Info(t.Context(), id); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("info of %s: %v", id, err)
		}
	}
	// A file that becomes a session file is listed.
	appendRaw(t, grows, strings.Replace(header3, `"x"`, `"cut"`, 1)[40:]+entryLine("a", "", "now"))
	if n := len(list(t, sessions.NewStore(s.Dir(), nil), sessions.ListOptions{}).Sessions); n != 1 {
		t.Errorf("%d sessions: the header names another one", n)
	}
	if err := os.WriteFile(grows, []byte(strings.Replace(header3, `"x"`, `"cut"`, 1)+entryLine("a", "", "now")), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := len(list(t, s, sessions.ListOptions{}).Sessions); n != 2 {
		t.Errorf("%d sessions", n)
	}
}

func TestIndex_DamagedAnywhere(t *testing.T) {
	s := newStore(t, unsynced)
	for i := range 4 {
		addSession(t, s, sessions.Header{Cwd: fmt.Sprint("/w/", i%2), Title: fmt.Sprint("title ", i)}, i, user("x"))
	}
	place(t, s, "bad", "no session")
	if err := s.Archive(t.Context(), "s2"); err != nil {
		t.Fatal(err)
	}
	waitStable(t, s)
	first, _, _ := watched(s)
	o := sessions.ListOptions{Archived: sessions.ArchivedInclude}
	want := list(t, first, o)
	path := filepath.Join(s.Dir(), "index")
	good := readFile(t, path)
	try := func(what, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		other, w, _ := watched(s)
		if diff := cmp.Diff(want, list(t, other, o)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
		if w.opens.Load() == 0 {
			t.Fatalf("%s: the index was believed", what)
		}
		cold, w, _ := watched(s)
		if list(t, cold, o); w.opens.Load() != 0 {
			t.Fatalf("%s: the index was not written anew", what)
		}
	}
	for i := range len(good) {
		flipped := []byte(good)
		flipped[i] ^= 1 << (i % 8)
		try(fmt.Sprint("flipped at ", i), string(flipped))
		try(fmt.Sprint("cut at ", i), good[:i])
	}
	try("longer", good+"\x00")
	try("large", strings.Repeat(good, 100))
	// A directory instead of the file, which a rename cannot replace.
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if diff := cmp.Diff(want, list(t, sessions.NewStore(s.Dir(), nil), o)); diff != "" {
			t.Errorf("a directory in its place (-want +got):\n%s", diff)
		}
	}
	left, err := filepath.Glob(filepath.Join(s.Dir(), ".*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestIndex_UnwritableDisk(t *testing.T) {
	for _, writeErr := range []error{syscall.EROFS, syscall.ENOSPC} {
		s := newStore(t, unsynced)
		for i := range 3 {
			addSession(t, s, sessions.Header{Cwd: "/w"}, i, user("x"))
		}
		waitStable(t, s)
		other, w, _ := watched(s)
		w.writeErr = writeErr
		for i, want := range []string{"3 opened, 0 looked at, 2 directories read", "0 opened, 0 looked at, 1 directories read"} {
			if diff := cmp.Diff([]string{"s3", "s2", "s1"}, ids(list(t, other, sessions.ListOptions{}))); diff != "" {
				t.Errorf("%v (-want +got):\n%s", writeErr, diff)
			}
			if got := w.counts(); got != want {
				t.Errorf("%v, list %d: %s", writeErr, i, got)
			}
		}
		if _, err := os.Stat(filepath.Join(s.Dir(), "index")); err == nil {
			t.Error("there is an index")
		}
	}
}

// The index file is written after many changes, but a deleted session is removed with the next list.
func TestIndex_WhenItIsWritten(t *testing.T) {
	s := newStore(t, unsynced)
	for i := range 200 {
		addSession(t, s, sessions.Header{Cwd: "/w", Title: fmt.Sprintf("secret %d.", i)}, i, user("x"))
	}
	list(t, s, sessions.ListOptions{})
	path := filepath.Join(s.Dir(), "index")
	before := readFile(t, path)
	if !strings.Contains(before, "secret 17.") {
		t.Error("this test does not test what it should")
	}
	l := addSession(t, s, sessions.Header{Cwd: "/w", Title: "new"}, 0, user("x"))
	list(t, s, sessions.ListOptions{})
	if readFile(t, path) != before {
		t.Error("it is written for each change")
	}
	for range 4 {
		addSession(t, s, sessions.Header{Cwd: "/w"}, 0, user("x"))
		list(t, s, sessions.ListOptions{})
	}
	if readFile(t, path) == before {
		t.Error("it is not written for many changes")
	}
	for _, id := range []string{"s18", l.ID()} {
		if err := s.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	list(t, sessions.NewStore(s.Dir(), nil), sessions.ListOptions{})
	if strings.Contains(readFile(t, path), "secret 17.") {
		t.Error("it tells of a deleted session")
	}
}

// A leftover index does no harm; only one process writes the index at a time.
func TestIndex_WrittenByOneAtATime(t *testing.T) {
	s := newStore(t, unsynced)
	addSession(t, s, sessions.Header{Cwd: "/w"}, 0, user("x"))
	path, temp := filepath.Join(s.Dir(), "index"), filepath.Join(s.Dir(), ".index.tmp")
	if err := os.WriteFile(temp, []byte("half an ind"), 0o600); err != nil {
		t.Fatal(err)
	}
	unlock, err := sessions.Disk().Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, written := range []bool{false, true} {
		if n := len(list(t, sessions.NewStore(s.Dir(), nil), sessions.ListOptions{}).Sessions); n != 1 {
			t.Fatal(n)
		}
		_, index := os.Stat(path)
		_, left := os.Stat(temp)
		if done := index == nil && left != nil; done != written {
			t.Errorf("written %t, want %t: %v, %v", done, written, index, left)
		}
		if !written {
			unlock()
		}
	}
}

func TestIndex_LinkedDirectories(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	s := newStore(t, unsynced)
	inside := addSession(t, s, sessions.Header{Cwd: "/w/in"}, 0, user("x"))
	elsewhere := newStore(t, unsynced, func(o *sessions.StoreOptions) { o.NewID = func() string { return "far" } })
	far := addSession(t, elsewhere, sessions.Header{Cwd: "/w/out"}, 1, user("y"))
	for name, to := range map[string]string{
		"--linked--": filepath.Dir(far.Path()), "--again--": filepath.Dir(far.Path()), "--alias--": filepath.Dir(inside.Path()),
		"--broken--": "/nowhere/at/all", "--loop--": "--loop--", "--root--": ".", "--file--": inside.Path(),
	} {
		if err := os.Symlink(to, filepath.Join(s.Dir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(far.Path(), filepath.Join(filepath.Dir(inside.Path()), "t_far2.jsonl")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := list(t, s, sessions.ListOptions{})
		if diff := cmp.Diff([]string{"far", inside.ID()}, ids(got)); diff != "" {
			t.Fatalf("sessions (-want +got):\n%s", diff)
		}
		if got.Sessions[1].Path != inside.Path() {
			t.Errorf("path = %s", got.Sessions[1].Path)
		}
		s = sessions.NewStore(s.Dir(), nil)
	}
	l := open(t, elsewhere, "far")
	appendMessage(t, l, user("z"))
	if got := list(t, s, sessions.ListOptions{Cwd: "/w/out"}).Sessions; len(got) != 1 || got[0].Messages != 2 {
		t.Errorf("after the link: %+v", got)
	}
}

// Of several copies of a session the last one counts, as for Open.
func TestIndex_Copies(t *testing.T) {
	s := newStore(t, unsynced)
	l := addSession(t, s, sessions.Header{Cwd: "/w/a"}, 0, user("x"))
	copied := filepath.Join(s.Dir(), "--copy--", filepath.Base(l.Path()))
	if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, []byte(readFile(t, l.Path())+entryLine("z", "", "y")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, minute := range []int{1, -1, 1} {
		want := map[int]string{-1: l.Path(), 1: copied}[minute]
		touchFile(t, copied, epoch.Add(time.Duration(minute)*time.Minute))
		for _, store := range []*sessions.Store{s, sessions.NewStore(s.Dir(), nil)} {
			got := list(t, store, sessions.ListOptions{}).Sessions
			if len(got) != 1 || got[0].Path != want {
				t.Errorf("%d minutes: %+v, want %s", minute, got, want)
			}
			if info, err := store.Info(t.Context(), l.ID()); err != nil || cmp.Diff(got[0], info) != "" {
				t.Errorf("info = %+v, %v", info, err)
			}
		}
	}
}

// Sessions are written while the index is rebuilt repeatedly.
func TestIndex_RebuiltWhileWritten(t *testing.T) {
	s := newStore(t)
	root := s.Dir()
	const writers, rounds = 4, 60
	ctx := t.Context()
	var acknowledged [writers]atomic.Int32
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			s := sessions.NewStore(root, &sessions.StoreOptions{Sync: sessions.SyncNever})
			l, err := s.Create(ctx, sessions.Header{Cwd: fmt.Sprint("/w/", w%2), ID: fmt.Sprint("w", w)})
			if err != nil {
				t.Error(err)
				return
			}
			for range rounds {
				m := user("x")
				if _, err := l.AppendMessage(&m); err != nil {
					t.Error(err)
				}
				acknowledged[w].Add(1)
				if acknowledged[w].Load()%10 == 0 {
					if err := l.Close(); err != nil {
						t.Error(err)
					}
					if l, err = s.Open(ctx, l.ID()); err != nil {
						t.Error(err)
						return
					}
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	long := sessions.NewStore(root, nil)
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		_ = os.Remove(filepath.Join(root, "index"))
		var before [writers]int
		for w := range writers {
			before[w] = int(acknowledged[w].Load())
		}
		for _, s := range []*sessions.Store{long, sessions.NewStore(root, nil), sessions.NewStore(root, nil)} {
			at := make(map[string]int)
			for _, info := range list(t, s, sessions.ListOptions{}).Sessions {
				at[info.ID] = info.Messages
			}
			for w := range writers {
				if n := at[fmt.Sprint("w", w)]; n < before[w] {
					t.Fatalf("session %d has %d messages in the list, %d were acknowledged", w, n, before[w])
				}
			}
		}
	}
	for _, info := range list(t, long, sessions.ListOptions{}).Sessions {
		if info.Messages != rounds {
			t.Errorf("%s has %d messages", info.ID, info.Messages)
		}
	}
}
