package sessions_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

func fork(t testing.TB, s *sessions.Store, id string, o sessions.ForkOptions) *sessions.Log {
	t.Helper()
	l, err := s.Fork(t.Context(), id, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestFork_CopiesAllAndKeepsTheSource(t *testing.T) {
	s := newStore(t)
	l, err := s.Create(t.Context(), sessions.Header{Cwd: "/w/demo", Title: "T", AdditionalDirectories: []string{"/w/lib"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, m := range everyPart() {
		appendMessage(t, l, m)
	}
	leaf := l.Leaf()
	appendMessage(t, l, user("a branch that was left"))
	for _, err := range []error{l.Rewind(leaf), l.SetTitle("Mine", "user"), l.SetSystemPrompt("append", "Be brief.")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	url, err := sessions.NewArtifacts(l.ArtifactDir()).Put(t.Context(), "bash", []byte("output"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Archive(t.Context(), l.ID()); err != nil {
		t.Fatal(err)
	}
	before := readFile(t, l.Path())

	f := fork(t, s, l.ID(), sessions.ForkOptions{Cwd: "/w/other", NewID: "the-fork"})
	h := f.Header()
	if f.ID() != "the-fork" || h.Cwd != "/w/other" || h.ParentSession != l.ID() || h.AdditionalDirectories != nil || !h.Time.After(l.Header().Time) {
		t.Errorf("header = %+v", h)
	}
	check := func(f *sessions.Log) {
		t.Helper()
		if diff := cmp.Diff(allEntries(t, l), allEntries(t, f)[:len(allEntries(t, l))]); diff != "" {
			t.Errorf("entries (-source +fork):\n%s", diff)
		}
		if diff := cmp.Diff(allMessages(t, l), allMessages(t, f)); diff != "" {
			t.Errorf("messages (-source +fork):\n%s", diff)
		}
		want := l.State()
		want.Directories = nil
		if diff := cmp.Diff(want, f.State()); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		if notices := f.Notices(); len(notices) > 0 {
			t.Errorf("notices: %q", notices)
		}
	}
	check(f)
	if got, err := sessions.NewArtifacts(f.ArtifactDir()).Get(t.Context(), url); err != nil || string(got) != "output" {
		t.Errorf("artifact = %q, %v", got, err)
	}
	if next, err := sessions.NewArtifacts(f.ArtifactDir()).Put(t.Context(), "bash", nil); err != nil || next == url {
		t.Errorf("the next artifact is %s, %v", next, err)
	}
	info, err := s.Info(t.Context(), "the-fork")
	if err != nil || info.Archived || info.ParentSession != l.ID() || info.Title != "Mine" || info.AdditionalDirectories != nil {
		t.Errorf("info = %+v, %v", info, err)
	}
	if _, err := s.Open(t.Context(), "the-fork"); !errors.Is(err, sessions.ErrLocked) {
		t.Errorf("the fork is not locked: %v", err)
	}
	closeLog(t, f)
	f = open(t, s, "the-fork")
	check(f)
	appendMessage(t, f, user("in the fork"))
	appendMessage(t, l, user("in the source"))
	if got := readFile(t, l.Path()); !strings.HasPrefix(got, before) || strings.Contains(got, "in the fork") {
		t.Error("the fork has changed its source")
	}
	if err := s.Delete(t.Context(), l.ID()); !errors.Is(err, sessions.ErrLocked) {
		t.Error("the source is not locked any more")
	}
	closeLog(t, l)
	if err := s.Delete(t.Context(), l.ID()); err != nil {
		t.Fatal(err)
	}
	if got, err := sessions.NewArtifacts(f.ArtifactDir()).Get(t.Context(), url); err != nil || string(got) != "output" {
		t.Errorf("after the source is gone the artifact is %q, %v", got, err)
	}
}

func TestFork_Directories(t *testing.T) {
	for _, test := range []struct{ header, set, want []string }{
		{nil, nil, nil},
		{[]string{"/a"}, nil, nil},
		{[]string{"/a"}, nil, []string{"/b"}},
		{nil, []string{"/a"}, nil},
		{nil, []string{"/a"}, []string{"/a"}},
		{nil, []string{"/a"}, []string{"/b", "/a"}},
	} {
		s := newStore(t)
		l, err := s.Create(t.Context(), sessions.Header{Cwd: "/w", AdditionalDirectories: test.header})
		if err != nil {
			t.Fatal(err)
		}
		appendMessage(t, l, user("x"))
		if test.set != nil {
			if err := l.SetDirectories(test.set); err != nil {
				t.Fatal(err)
			}
		}
		f := fork(t, s, l.ID(), sessions.ForkOptions{Cwd: "/w", AdditionalDirectories: test.want})
		if diff := cmp.Diff(test.want, f.State().Directories); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test, diff)
		}
		appendMessage(t, f, user("y"))
		closeLog(t, f)
		if diff := cmp.Diff(test.want, open(t, s, f.ID()).State().Directories); diff != "" {
			t.Errorf("%+v, reloaded (-want +got):\n%s", test, diff)
		}
		if info, err := s.Info(t.Context(), f.ID()); err != nil || !cmp.Equal(info.AdditionalDirectories, test.want) {
			t.Errorf("%+v: info %+v, %v", test, info, err)
		}
		closeLog(t, l)
	}
}

func TestFork_Sources(t *testing.T) {
	message := entryLine("a1", "", "one")
	for _, test := range []struct {
		name, content string
		want          []string
		err           error
	}{
		{"no entries", header3, nil, sessions.ErrNothingToFork},
		{"no message", header3 + `{"type":"mode_change","id":"a","parentId":null,"mode":"plan"}` + "\n", nil, sessions.ErrNothingToFork},
		{"torn end", header3 + message + entryLine("a2", "a1", "two")[:50], []string{"u one"}, nil},
		{"no last newline", strings.TrimSuffix(header3+message, "\n"), []string{"u one"}, nil},
		{"zero bytes", header3 + message + strings.Repeat("\x00", 9), []string{"u one"}, nil},
		{"empty lines", "\n \n" + header3 + "\n" + message + "\n", []string{"u one"}, nil},
		{"an unknown kind", header3 + message + `{"type":"hologram","id":"h","parentId":"a1","x":1}` + "\n", []string{"u one"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStore(t)
			path := place(t, s, "x", test.content)
			f, err := s.Fork(t.Context(), "x", sessions.ForkOptions{Cwd: "/w/fork"})
			if readFile(t, path) != test.content {
				t.Error("the source was changed")
			}
			if test.err != nil {
				if _, statErr := os.Stat(filepath.Join(s.Dir(), "--w-fork--")); !errors.Is(err, test.err) || statErr == nil {
					t.Errorf("err = %v, directory: %v", err, statErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			appendMessage(t, f, user("two"))
			closeLog(t, f)
			re := open(t, s, f.ID())
			if diff := cmp.Diff(append(test.want, "u two"), texts(allMessages(t, re))); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if n := re.Notices(); len(n) > 0 {
				t.Errorf("notices: %q", n)
			}
		})
	}
}

func TestFork_OldVersionIsMigratedInTheForkAlone(t *testing.T) {
	for _, version := range []string{"v1", "v2"} {
		s := newStore(t)
		id, path := fixture(t, s, version)
		before := readFile(t, path)
		f := fork(t, s, id, sessions.ForkOptions{Cwd: "/w/fork"})
		closeLog(t, f)
		re := open(t, s, f.ID())
		if readFile(t, path) != before {
			t.Errorf("%s: the source was changed", version)
		}
		if diff := cmp.Diff(allEntries(t, open(t, s, id)), allEntries(t, re)); diff != "" {
			t.Errorf("%s: entries (-source +fork):\n%s", version, diff)
		}
		if len(re.Notices()) > 0 {
			t.Errorf("%s: the fork was migrated again: %q", version, re.Notices())
		}
	}
}

func TestFork_Errors(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("x"))
	place(t, s, "corrupt", header3+"junk\n"+entryLine("a", "", "x"))
	for _, test := range []struct {
		id   string
		opts sessions.ForkOptions
		is   func(error) bool
	}{
		{"nothing", sessions.ForkOptions{Cwd: "/w"}, func(err error) bool { return errors.Is(err, sessions.ErrNotFound) }},
		{"../x", sessions.ForkOptions{Cwd: "/w"}, func(err error) bool { return errors.Is(err, sessions.ErrNotFound) }},
		{l.ID(), sessions.ForkOptions{Cwd: "w"}, func(err error) bool { return strings.Contains(err.Error(), "absolute") }},
		{l.ID(), sessions.ForkOptions{}, func(err error) bool { return strings.Contains(err.Error(), "absolute") }},
		{l.ID(), sessions.ForkOptions{Cwd: "/w", NewID: "../y"}, func(err error) bool { return true }},
		{"corrupt", sessions.ForkOptions{Cwd: "/w"}, func(err error) bool {
			_, ok := errors.AsType[*sessions.CorruptError](err)
			return ok
		}},
	} {
		if f, err := s.Fork(t.Context(), test.id, test.opts); err == nil || !test.is(err) {
			t.Errorf("%s, %+v: %v, %v", test.id, test.opts, f, err)
		}
	}
}

func TestFork_FullDiskLeavesNothing(t *testing.T) {
	d := &disk{room: 1 << 20, truncates: true}
	s := newStore(t, withDisk(d))
	l := create(t, s)
	appendMessage(t, l, user("x"))
	if _, err := sessions.NewArtifacts(l.ArtifactDir()).Put(t.Context(), "bash", nil); err != nil {
		t.Fatal(err)
	}
	for room := range 300 {
		d.room = room
		if _, err := s.Fork(t.Context(), l.ID(), sessions.ForkOptions{Cwd: "/w/fork"}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("room %d: err = %v", room, err)
		}
		if left, err := os.ReadDir(filepath.Join(s.Dir(), "--w-fork--")); err != nil || len(left) > 0 {
			t.Fatalf("room %d: left %v, %v", room, left, err)
		}
	}
}

// While another process writes to the source and forkers are killed at random moments, every visible fork is complete
// and has a prefix of its source.
func TestFork_BetweenProcesses(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("0 "))
	if _, err := sessions.NewArtifacts(l.ArtifactDir()).Put(t.Context(), "bash", []byte("output")); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	writer, step, wrote := fakeWithInput(t, "stepper", s.Dir(), l.ID())
	if line, err := wrote.ReadString('\n'); err != nil || line != "open\n" {
		t.Fatalf("the writer said %q, %v", line, err)
	}
	for round := range 4 {
		forker, forked := fake(t, "forker", s.Dir(), l.ID())
		for n := range 1 + 3*round {
			if _, err := io.WriteString(step, "\n"); err != nil {
				t.Fatal(err)
			}
			line, err := forked.ReadString('\n')
			if err != nil || strings.HasPrefix(line, "error") {
				t.Fatalf("round %d, fork %d: %q, %v", round, n, line, err)
			}
		}
		_ = forker.Process.Kill()
		_ = forker.Wait()
	}
	_ = writer.Process.Kill()
	_ = writer.Wait()
	page := list(t, s, sessions.ListOptions{Cwd: "/w/fork", Limit: 1000})
	if len(page.Sessions) < 1+4+7+10 {
		t.Errorf("%d forks", len(page.Sessions))
	}
	files, err := os.ReadDir(filepath.Join(s.Dir(), "--w-fork--"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".jsonl") {
			seen++
		}
	}
	if seen != len(page.Sessions) {
		t.Errorf("%d session files, %d of them listed", seen, len(page.Sessions))
	}
	for _, info := range page.Sessions {
		f := open(t, s, info.ID)
		if len(f.Notices()) > 0 || f.Header().ParentSession != l.ID() || len(f.State().Directories) != 1 {
			t.Fatalf("fork %+v, notices %q", info, f.Notices())
		}
		for i, m := range allMessages(t, f) {
			if n, _, _ := strings.Cut(m.Text(), " "); n != fmt.Sprint(i) {
				t.Fatalf("message %d is %.20q", i, m.Text())
			}
		}
		if got, err := sessions.NewArtifacts(f.ArtifactDir()).Get(t.Context(), "artifact://0"); err != nil || string(got) != "output" {
			t.Fatalf("artifact = %q, %v", got, err)
		}
		closeLog(t, f)
	}
}

// TestForkAt_KeepsValidState checks that state that applies to all branches also applies in a fork of one of them, and so
// do choices made before the conversation was cleared.
func TestForkAt_KeepsValidState(t *testing.T) {
	t.Parallel()
	s := newStore(t, unsynced)
	l := create(t, s)
	for _, e := range []sessions.Entry{
		sessions.ModelChange{Model: "p/m"},
		sessions.ThinkingChange{Level: providers.ThinkingHigh},
		sessions.ModeChange{Mode: "plan", Data: raw(`{"f":1}`)},
		sessions.ServiceTierChange{ServiceTier: raw(`"fast"`)},
		sessions.ToolSelection{SelectedToolNames: []string{"a"}},
	} {
		appendEntry(t, l, e)
	}
	appendMessage(t, l, user("before"))
	if err := l.Clear(); err != nil {
		t.Fatal(err)
	}
	if err := l.SetTitle("First", "auto"); err != nil {
		t.Fatal(err)
	}
	leaf := appendMessage(t, l, user("after"))
	if err := l.SetTitle("Second", "auto"); err != nil {
		t.Fatal(err)
	}
	want := l.State()
	fork, err := s.Fork(t.Context(), l.ID(), sessions.ForkOptions{Cwd: "/w/demo", Leaf: leaf})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, fork.State()); diff != "" {
		t.Errorf("the fork's state (-source +fork):\n%s", diff)
	}
	closeLog(t, fork)
	if diff := cmp.Diff(want, open(t, s, fork.ID()).State()); diff != "" {
		t.Errorf("the fork's state, reopened (-source +fork):\n%s", diff)
	}
}
