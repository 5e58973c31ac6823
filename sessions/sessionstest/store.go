package sessionstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Disk returns the file system of a new process, with the same files at each call.
type Disk func() sessions.FileSystem

// TestStore checks what a [sessions.Store] does on a file system. Each test calls newDisk for files of its own, in the empty directory dir.
func TestStore(t *testing.T, newDisk func(t *testing.T) (disk Disk, dir string)) {
	for name, test := range map[string]func(*storeTest){
		"Life": (*storeTest).life, "Crash": (*storeTest).crash, "List": (*storeTest).list, "Fork": (*storeTest).fork,
		"Move": (*storeTest).move, "Delete": (*storeTest).delete, "GC": (*storeTest).gc, "Lock": (*storeTest).lock,
		"Children": (*storeTest).children, "Replaced": (*storeTest).replaced, "Upgrade": (*storeTest).upgrade,
		"Race": (*storeTest).race, "Tree": (*storeTest).tree,
	} {
		t.Run(name, func(t *testing.T) {
			disk, dir := newDisk(t)
			test(&storeTest{T: t, disk: disk, dir: dir})
		})
	}
}

// storeTest is a test with the files of several processes.
type storeTest struct {
	*testing.T
	disk Disk
	dir  string
	ids  int
}

// store returns the store of a new process.
func (t *storeTest) store(adjust ...func(*sessions.StoreOptions)) *sessions.Store {
	o := sessions.StoreOptions{FS: t.disk(), NewID: func() string { t.ids++; return fmt.Sprintf("s%d", t.ids) }}
	for _, a := range adjust {
		a(&o)
	}
	return sessions.NewStore(filepath.Join(t.dir, "sessions"), &o)
}

func (t *storeTest) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *storeTest) is(err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("err = %v, want %v", err, want)
	}
}

func (t *storeTest) create(s *sessions.Store, cwd string) *sessions.Log {
	t.Helper()
	l, err := s.Create(t.Context(), sessions.Header{Cwd: cwd})
	t.must(err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func (t *storeTest) open(s *sessions.Store, id string) *sessions.Log {
	t.Helper()
	l, err := s.Open(t.Context(), id)
	t.must(err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func (t *storeTest) append(l *sessions.Log, text string, more ...providers.Part) string {
	t.Helper()
	id, err := l.AppendMessage(&providers.Message{Role: providers.RoleUser, Parts: append([]providers.Part{providers.Text{Text: text}}, more...)})
	t.must(err)
	return id
}

// texts returns the texts of the messages that the model receives.
func (t *storeTest) texts(l *sessions.Log) []string {
	t.Helper()
	all, err := l.Messages()
	t.must(err)
	found := []string{}
	for i := range all {
		found = append(found, all[i].Text())
	}
	return found
}

func (t *storeTest) equal(what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// files returns the paths and the contents of all files.
func (t *storeTest) files() map[string]string {
	t.Helper()
	fsys, found := t.disk(), make(map[string]string)
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := fsys.ReadDir(dir)
		t.must(err)
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			if e.IsDir() {
				walk(name)
				continue
			}
			data, err := fsys.ReadFile(name)
			t.must(err)
			found[strings.TrimPrefix(name, t.dir)] = string(data)
		}
	}
	walk(t.dir)
	return found
}

func picture() providers.Image {
	return providers.Image{MIMEType: "image/png", Data: bytes.Repeat([]byte("picture "), 100_000)} // several chunks
}

// pictured checks that a message has the picture.
func (t *storeTest) pictured(m *providers.Message) {
	t.Helper()
	if got, ok := m.Parts[1].(providers.Image); !ok || !bytes.Equal(got.Data, picture().Data) {
		t.Error("the picture is lost or damaged")
	}
}

func (t *storeTest) life() {
	s := t.store()
	l := t.create(s, "/w/demo")
	id := l.ID()
	t.append(l, "one", picture())
	t.append(l, strings.Repeat("long ", 50_000))
	entry, err := (&sessions.SideUsage{For: "title", Provider: "p", Model: "m", Usage: providers.Usage{Input: 3}}).Entry()
	t.must(err)
	_, err = l.Append(entry)
	t.must(err)
	t.must(l.SetTitle("named", "user"))
	url, err := l.Artifacts().Put(t.Context(), "bash", bytes.Repeat([]byte("output\n"), 100_000))
	t.must(err)
	t.must(l.Local().Write(t.Context(), "local://plan.md", []byte("a plan")))
	t.must(l.Local().Write(t.Context(), "local://plan.md", []byte("another plan")))
	entries, err := l.Entries()
	t.must(err)

	v, err := t.store().View(t.Context(), id) // while it is open
	t.must(err)
	seen, err := v.Entries()
	t.must(err)
	t.equal("the entries that another process sees", len(seen), len(entries))
	t.must(l.Close())

	l = t.open(t.store(), id)
	messages, err := l.Messages()
	t.must(err)
	t.pictured(&messages[0])
	t.equal("the long message", messages[1].Text(), strings.Repeat("long ", 50_000))
	t.equal("the usage", len(l.Uses()), 1)
	data, err := l.Artifacts().Get(t.Context(), url)
	t.must(err)
	t.equal("the size of the artifact", len(data), 700_000)
	plan, err := l.Local().Read(t.Context(), "local://plan.md")
	t.must(err)
	t.equal("the plan", string(plan), "another plan")
	info, err := t.store().Info(t.Context(), id)
	t.must(err)
	t.equal("the title", info.Title, "named")
	t.append(l, "more")
	t.equal("the messages", len(t.texts(l)), 3)
}

// crash cuts a session at every byte, as a crash can, and opens it.
func (t *storeTest) crash() {
	s := t.store()
	l := t.create(s, "/w/demo")
	for _, text := range []string{"one", "two", "three"} {
		t.append(l, text)
	}
	t.must(l.Close())
	fsys := t.disk()
	whole, err := fsys.ReadFile(l.Path())
	t.must(err)
	header := bytes.IndexByte(whole, '\n')
	for cut := header; cut <= len(whole); cut++ {
		write(t.T, fsys, l.Path(), string(whole[:cut]))
		l, err := s.Open(t.Context(), l.ID())
		t.must(err)
		want := max(0, bytes.Count(whole[:cut], []byte{'\n'})-1)
		if cut > header+1 && cut < len(whole) && whole[cut] == '\n' {
			want++ // only the newline is missing
		}
		id, err := l.AppendMessage(&providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "after"}}})
		t.must(err)
		t.must(l.Close())
		data, err := fsys.ReadFile(l.Path())
		t.must(err)
		if lines := bytes.Count(data, []byte{'\n'}); lines != want+2 || !bytes.Contains(data, []byte(id)) || !bytes.HasPrefix(data, whole[:header+1]) {
			t.Fatalf("cut at %d: the file has %d lines, want %d:\n%s", cut, lines, want+2, data)
		}
		v, err := s.View(t.Context(), l.ID())
		t.must(err)
		t.equal(fmt.Sprintf("cut at %d: the messages", cut), t.texts(v), append([]string{"one", "two", "three"}[:want:want], "after"))
	}
}

func (t *storeTest) list() {
	mine, theirs := t.store(), t.store()
	titles := func(s *sessions.Store, opts sessions.ListOptions) []string {
		t.Helper()
		found := []string{}
		for {
			page, err := s.List(t.Context(), opts)
			t.must(err)
			for i := range page.Sessions {
				found = append(found, page.Sessions[i].Title)
			}
			if page.Next == "" {
				return found
			}
			opts.Cursor = page.Next
		}
	}
	t.equal("the list of an empty store", titles(mine, sessions.ListOptions{}), []string{})
	var want []string
	for i := range 7 {
		l := t.create(mine, fmt.Sprintf("/w/dir%d", i%2))
		t.append(l, fmt.Sprintf("prompt %d", i))
		want = append([]string{fmt.Sprintf("prompt %d", i)}, want...)
		if i == 3 {
			t.equal("the list of another process, while a session is open", titles(theirs, sessions.ListOptions{}), want)
		}
		t.must(l.Close())
		time.Sleep(2 * time.Millisecond) // the times of sessions are in milliseconds
	}
	for _, s := range []*sessions.Store{mine, theirs, t.store()} {
		t.equal("the list", titles(s, sessions.ListOptions{Limit: 3}), want)
		t.equal("the sessions of a directory", titles(s, sessions.ListOptions{Cwd: "/w/dir1"}), []string{"prompt 5", "prompt 3", "prompt 1"})
	}
	first, err := mine.List(t.Context(), sessions.ListOptions{Limit: 1})
	t.must(err)
	id := first.Sessions[0].ID
	t.must(mine.Archive(t.Context(), id))
	t.equal("the list after archiving", titles(theirs, sessions.ListOptions{}), want[1:])
	t.equal("the archived sessions", titles(theirs, sessions.ListOptions{Archived: sessions.ArchivedOnly}), want[:1])
	t.must(theirs.Unarchive(t.Context(), id))
	t.must(theirs.SetTitle(t.Context(), id, "renamed"))
	t.equal("the list after a new title", titles(mine, sessions.ListOptions{})[0], "renamed")
	t.must(theirs.Delete(t.Context(), id))
	t.equal("the list after deleting", titles(mine, sessions.ListOptions{}), want[1:])
	projects, err := mine.Projects(t.Context())
	t.must(err)
	t.equal("the number of projects", len(projects), 2)
}

func (t *storeTest) fork() {
	s := t.store()
	l := t.create(s, "/w/demo")
	first := t.append(l, "one", picture())
	t.append(l, "two")
	url, err := l.Artifacts().Put(t.Context(), "bash", []byte("output"))
	t.must(err)
	t.must(l.Local().Write(t.Context(), "local://notes/a.md", []byte("notes")))
	fork, err := s.Fork(t.Context(), l.ID(), sessions.ForkOptions{Cwd: "/w/other"}) // of an open session
	t.must(err)
	branch, err := s.Fork(t.Context(), l.ID(), sessions.ForkOptions{Cwd: "/w/demo", Leaf: first})
	t.must(err)
	t.append(fork, "three")
	t.append(l, "not in the fork")
	t.must(errors.Join(l.Close(), fork.Close(), branch.Close()))
	t.must(s.Delete(t.Context(), l.ID()))
	fork, branch = t.open(t.store(), fork.ID()), t.open(t.store(), branch.ID())
	t.equal("the fork", t.texts(fork), []string{"one", "two", "three"})
	t.equal("the fork of a branch", t.texts(branch), []string{"one"})
	data, err := fork.Artifacts().Get(t.Context(), url)
	t.must(err)
	t.equal("the artifact of the fork", string(data), "output")
	notes, err := fork.Local().Read(t.Context(), "local://notes/a.md")
	t.must(err)
	t.equal("the local file of the fork", string(notes), "notes")
	messages, err := fork.Messages()
	t.must(err)
	t.pictured(&messages[0])
}

func (t *storeTest) move() {
	s := t.store()
	l := t.create(s, "/w/demo")
	t.append(l, "one")
	url, err := l.Artifacts().Put(t.Context(), "bash", []byte("output"))
	t.must(err)
	t.is(t.store().Move(t.Context(), l.ID(), "/w/elsewhere"), sessions.ErrLocked)
	t.must(l.Close())
	t.must(s.Archive(t.Context(), l.ID()))
	t.must(t.store().Move(t.Context(), l.ID(), "/w/elsewhere"))
	info, err := s.Info(t.Context(), l.ID())
	t.must(err)
	t.equal("the working directory", info.Cwd, "/w/elsewhere")
	t.equal("whether it is archived", info.Archived, true)
	l = t.open(s, l.ID())
	t.append(l, "two")
	t.equal("the messages", t.texts(l), []string{"one", "two"})
	data, err := l.Artifacts().Get(t.Context(), url)
	t.must(err)
	t.equal("the artifact", string(data), "output")
	t.must(l.Close())
	t.must(s.Move(t.Context(), l.ID(), "/w/elsewhere/sub"))
	t.equal("the number of files", len(t.files()), 3) // session, mark, artifact
}

func (t *storeTest) delete() {
	s := t.store()
	l := t.create(s, "/w/demo")
	t.append(l, "one")
	_, err := l.Artifacts().Put(t.Context(), "bash", []byte("output"))
	t.must(err)
	t.must(l.Local().Write(t.Context(), "local://a/b.md", []byte("notes")))
	c, err := l.Children().Create(t.Context(), "Scout", sessions.Header{ID: "c1", Cwd: "/w/demo"})
	t.must(err)
	t.must(c.Close())
	t.must(s.Archive(t.Context(), l.ID()))
	t.is(t.store().Delete(t.Context(), l.ID()), sessions.ErrLocked)
	t.must(l.Close())
	t.must(t.store().Delete(t.Context(), l.ID()))
	t.equal("the files that are left", t.files(), map[string]string{})
	t.is(s.Delete(t.Context(), l.ID()), sessions.ErrNotFound)
	_, err = s.Open(t.Context(), l.ID())
	t.is(err, sessions.ErrNotFound)
}

func (t *storeTest) gc() {
	s := t.store()
	kept, gone := t.create(s, "/w/demo"), t.create(s, "/w/demo")
	t.append(kept, "kept", picture())
	other := picture()
	other.Data = append(other.Data, "of the other"...)
	t.append(gone, "gone", other)
	t.must(errors.Join(kept.Close(), gone.Close()))
	fsys := t.disk()
	artifacts := strings.TrimSuffix(gone.Path(), ".jsonl")
	t.must(s.Delete(t.Context(), gone.ID()))
	t.must(fsys.MkdirAll(artifacts, 0o700))
	write(t.T, fsys, filepath.Join(artifacts, "0.bash.log"), "left")
	write(t.T, fsys, artifacts+".archived", "")
	write(t.T, fsys, gone.Path()+".lock", "")
	write(t.T, fsys, filepath.Join(filepath.Dir(gone.Path()), ".x.tmp"), "left")
	found, err := s.GC(t.Context(), sessions.GCOptions{})
	t.must(err)
	t.equal("the young garbage", found, []sessions.Garbage(nil))
	later := t.store(func(o *sessions.StoreOptions) { o.Clock = func() time.Time { return time.Now().Add(48 * time.Hour) } })
	for _, dry := range []bool{true, false} {
		found, err := later.GC(t.Context(), sessions.GCOptions{DryRun: dry})
		t.must(err)
		if len(found) != 5 { // a picture, artifacts, a mark, a lock, a temporary file
			t.Errorf("dry run %v: the garbage is %v", dry, found)
		}
	}
	l := t.open(t.store(), kept.ID())
	messages, err := l.Messages()
	t.must(err)
	t.pictured(&messages[0])
	t.must(l.Close())
	t.equal("the number of files", len(t.files()), 2)
}

func (t *storeTest) lock() {
	s := t.store()
	l := t.create(s, "/w/demo")
	t.append(l, "one")
	for _, other := range []*sessions.Store{s, t.store()} {
		_, err := other.Open(t.Context(), l.ID())
		t.is(err, sessions.ErrLocked)
		if locked, ok := errors.AsType[*sessions.LockedError](err); !ok || locked.PID != os.Getpid() || locked.Host != "" || locked.Path != l.Path() {
			t.Errorf("the error has no details: %+v", locked)
		}
	}
	t.must(l.Close())
	l = t.open(t.store(), l.ID())
	t.append(l, "two")
	_, err := s.Open(t.Context(), l.ID())
	t.is(err, sessions.ErrLocked)
	t.must(l.Close())
	for name := range t.files() {
		if strings.HasSuffix(name, ".lock") {
			t.Errorf("%s is left", name)
		}
	}
}

func (t *storeTest) children() {
	s := t.store()
	l := t.create(s, "/w/demo")
	t.append(l, "one")
	c, err := l.Children().Create(t.Context(), "Scout", sessions.Header{ID: "c1", Cwd: "/w/demo"})
	t.must(err)
	t.append(c, "work")
	_, err = l.Children().Open(t.Context(), "Scout")
	t.is(err, sessions.ErrLocked)
	t.must(c.Close())
	t.must(l.Children().PutReport(t.Context(), "Scout", []byte("report")))
	t.must(l.Close())
	t.must(s.Move(t.Context(), l.ID(), "/w/elsewhere"))
	l = t.open(t.store(), l.ID())
	names, err := l.Children().Names()
	t.must(err)
	t.equal("the helpers", names, []string{"Scout"})
	c, err = l.Children().Open(t.Context(), "Scout")
	t.must(err)
	t.append(c, "more")
	t.equal("the helper's conversation", t.texts(c), []string{"work", "more"})
	t.must(c.Close())
	report, err := l.Children().Report(t.Context(), "Scout")
	t.must(err)
	t.equal("the report", string(report), "report")
	_, err = l.Children().Report(t.Context(), "None")
	t.is(err, fs.ErrNotExist)
}

// replaced gives an open session's name to another file: nothing more is written to either.
func (t *storeTest) replaced() {
	fsys := t.disk()
	s := t.store(func(o *sessions.StoreOptions) { o.FS = fsys })
	l := t.create(s, "/w/demo")
	t.append(l, "one")
	data, err := fsys.ReadFile(l.Path())
	t.must(err)
	write(t.T, fsys, l.Path()+".other", string(data))
	t.must(fsys.Rename(l.Path()+".other", l.Path()))
	for range 2 {
		if _, err := l.AppendMessage(&providers.Message{Role: providers.RoleUser}); !errors.Is(err, sessions.ErrReadOnly) || !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("a write to a file that was replaced: %v", err)
		}
	}
	now, err := fsys.ReadFile(l.Path())
	t.must(err)
	t.equal("the other file", string(now), string(data))
}

// upgrade opens a session of an older version, whose file is rewritten.
func (t *storeTest) upgrade() {
	fsys, s := t.disk(), t.store()
	dir := filepath.Join(s.Dir(), "--w-demo--")
	t.must(fsys.MkdirAll(dir, 0o700))
	write(t.T, fsys, filepath.Join(dir, "2025-01-01T00-00-00-000Z_old.jsonl"),
		`{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w/demo"}
{"type":"message","timestamp":"","message":{"role":"user","content":"one"}}
{"type":"message","timestamp":"","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}
`)
	l := t.open(s, "old")
	t.append(l, "three")
	t.must(l.Close())
	l = t.open(t.store(), "old")
	t.equal("the messages", t.texts(l), []string{"one", "two", "three"})
	t.must(l.Close())
	t.equal("the number of files", len(t.files()), 1) // no copy is left
}

// race has several processes write their own sessions, list all and compete for one.
func (t *storeTest) race() {
	const writers, entries = 4, 20
	shared := t.create(t.store(), "/w/shared")
	t.must(shared.Close())
	var wg sync.WaitGroup
	ctx := t.Context()
	for i := range writers {
		s := t.store(func(o *sessions.StoreOptions) { o.NewID = func() string { return fmt.Sprintf("race%d", i) } })
		wg.Go(func() { t.compete(ctx, s, shared.ID(), i, entries) })
	}
	wg.Wait()
	page, err := t.store().List(t.Context(), sessions.ListOptions{Cwd: "/w/race"})
	t.must(err)
	t.equal("the number of sessions", len(page.Sessions), writers)
	all := t.texts(t.open(t.store(), shared.ID()))
	t.equal("the number of messages in the shared session", len(all), writers*entries)
	for i := range writers {
		var mine []string
		for _, text := range all {
			if strings.HasPrefix(text, fmt.Sprintf("%d:", i)) {
				mine = append(mine, text)
			}
		}
		if !slices.IsSortedFunc(mine, func(a, b string) int { return len(a) - len(b) }) {
			t.Errorf("the messages of writer %d are out of order: %q", i, mine)
		}
	}
}

func (t *storeTest) compete(ctx context.Context, s *sessions.Store, shared string, writer, entries int) {
	own, err := s.Create(ctx, sessions.Header{Cwd: "/w/race"})
	if err != nil {
		t.Error(err)
		return
	}
	message := func(l *sessions.Log, text string) {
		if _, err := l.AppendMessage(&providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}}); err != nil {
			t.Error(err)
		}
	}
	for n := range entries {
		message(own, "own")
		l, err := s.Open(ctx, shared)
		for errors.Is(err, sessions.ErrLocked) {
			l, err = s.Open(ctx, shared)
		}
		if err != nil {
			t.Error(err)
			return
		}
		message(l, fmt.Sprintf("%d:%s", writer, strings.Repeat("x", n)))
		if _, err := s.List(ctx, sessions.ListOptions{}); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := own.Close(); err != nil {
		t.Error(err)
	}
}

// tree rewinds a session, labels an entry, summarises a branch and compacts.
func (t *storeTest) tree() {
	l := t.create(t.store(), "/w/demo")
	first := t.append(l, "one")
	t.append(l, "dropped")
	t.must(l.Rewind(first))
	t.append(l, "two")
	t.must(l.SetLabel(first, "start"))
	_, err := l.Append(sessions.Custom{CustomType: "x", Data: jsonx.Raw(`{"a":1}`)})
	t.must(err)
	t.must(l.Close())
	l = t.open(t.store(), l.ID())
	t.equal("the active branch", t.texts(l), []string{"one", "two"})
	t.equal("the labels", l.Labels(), map[string]string{first: "start"})
	_, err = l.Append(sessions.Compaction{Summary: "summary", FirstKeptEntryID: l.Leaf()})
	t.must(err)
	roots, err := l.Tree()
	t.must(err)
	t.equal("the number of roots", len(roots), 1)
	entries, err := l.Entries() // read from the file
	t.must(err)
	t.must(l.Close())
	l = t.open(t.store(), l.ID())
	again, err := l.Entries()
	t.must(err)
	t.equal("the number of entries after a restart", len(again), len(entries))
	t.equal("whether it is compacted", l.Compacted(), true)
}
