package sessions_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

// drawn returns a tree as text: one entry per line, indented by depth, the active branch marked with a star.
func drawn(nodes []*sessions.TreeNode, depth int) []string {
	var out []string
	for _, n := range nodes {
		mark := " "
		if n.Active {
			mark = "*"
		}
		text := string(n.Entry.Kind())
		switch e := n.Entry.(type) {
		case sessions.MessageEntry:
			text = e.Message.Text()
		case sessions.BranchSummary:
			text = "summary of " + e.FromID
		case sessions.Custom:
			text = e.CustomType
		}
		if n.Label != "" {
			text += " <" + n.Label + ">"
		}
		out = append(out, strings.Repeat("  ", depth)+mark+text)
		out = append(out, drawn(n.Children, depth+1)...)
	}
	return out
}

func wantTree(t *testing.T, l *sessions.Log, want ...string) {
	t.Helper()
	nodes, err := l.Tree()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, drawn(nodes, 0)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestTree_BranchesLabelsAndSummaries(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	one := appendMessage(t, l, user("one"))
	two := appendMessage(t, l, assistant("two"))
	appendMessage(t, l, user("three"))
	appendMessage(t, l, assistant("four"))
	if err := l.SetLabel(two, "checkpoint"); err != nil {
		t.Fatal(err)
	}
	id, err := l.BranchWithSummary(two, sessions.BranchSummary{Summary: "three led nowhere", FromID: "ignored"})
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	appendMessage(t, l, user("five"))
	said := "u Another branch of this conversation was left here. A summary of it:\n\nthree led nowhere"
	check := func() {
		t.Helper()
		if diff := cmp.Diff([]string{"u one", "a two", said, "u five"}, texts(allMessages(t, l))); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		wantTree(t, l, "*one", "  *two <checkpoint>", "     three", "       four", "         label",
			"    *summary of "+two, "      *five")
	}
	check()
	closeLog(t, l)
	l = open(t, s, l.ID())
	check()
	if _, err := l.BranchWithSummary("", sessions.BranchSummary{Summary: "all of it"}); err != nil {
		t.Fatal(err)
	}
	if err := l.SetLabel(two, ""); err != nil {
		t.Fatal(err)
	}
	if err := l.SetLabel(one, "first"); err != nil {
		t.Fatal(err)
	}
	if err := l.SetLabel(one, "first"); err != nil {
		t.Fatal(err)
	}
	wantTree(t, l, " one <first>", "   two", "     three", "       four", "         label", "     summary of "+two, "       five",
		"*summary of root", "  *label", "    *label")
	if diff := cmp.Diff(map[string]string{one: "first"}, l.Labels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	for _, err := range []error{l.SetLabel("nowhere", "x"), l.SetLabel("", "x"), l.Rewind("nowhere")} {
		if !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("err = %v", err)
		}
	}
	if _, err := l.BranchWithSummary("nowhere", sessions.BranchSummary{}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("err = %v", err)
	}
}

func TestTree_MissingParentsAreRoots(t *testing.T) {
	s := newStore(t)
	place(t, s, "x", header3+entryLine("a1", "gone", "orphan")+entryLine("a2", "a1", "child")+entryLine("a3", "later", "early")+entryLine("later", "", "late"))
	wantTree(t, open(t, s, "x"), " orphan", "   child", " early", "*late")
}

func TestToNavigate(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("one"))
	appendMessage(t, l, assistant("two"))
	appendEntry(t, l, sessions.CustomMessage{CustomType: "x", Parts: user("injected").Parts, Display: true})
	appendEntry(t, l, sessions.ModeChange{Mode: "plan"})
	appendEntry(t, l, sessions.CustomMessage{CustomType: "x", Parts: user("the agent's").Parts, Attribution: "agent"})
	entries := allEntries(t, l)
	ids := []string{"", entries[1].Ref().ID, entries[1].Ref().ID, entries[3].Ref().ID, entries[3].Ref().ID}
	for i, words := range []string{"one", "", "injected", "", ""} {
		leaf, parts := sessions.ToNavigate(entries[i])
		m := user("")
		m.Parts = parts
		if leaf != ids[i] || m.Text() != words {
			t.Errorf("entry %d: to %q with %q, want %q with %q", i, leaf, m.Text(), ids[i], words)
		}
	}
}

func TestAbandoned(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	var ids []string
	for i := range 4 {
		ids = append(ids, appendMessage(t, l, user(fmt.Sprint(i))))
	}
	branch := allBranch(t, l)
	for i, id := range append([]string{""}, ids...) {
		path, err := l.PathTo(id)
		if err != nil || len(path) != i {
			t.Fatalf("path to %q: %d entries, %v", id, len(path), err)
		}
		if left := sessions.Abandoned(branch, path); len(left) != 4-i || i < 4 && left[0].Ref().ID != ids[i] {
			t.Errorf("going back to %d: %d entries are left", i, len(left))
		}
	}
	if _, err := l.PathTo("nowhere"); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("err = %v", err)
	}
}

func TestFork_AtAnEntry(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendEntry(t, l, sessions.ModelChange{Model: "p/m"})
	appendMessage(t, l, user("one"))
	two := appendMessage(t, l, assistant("two"))
	if err := l.SetLabel(two, "checkpoint"); err != nil {
		t.Fatal(err)
	}
	three := appendMessage(t, l, user("three"))
	left := appendMessage(t, l, assistant("left"))
	if err := l.SetLabel(left, "lost"); err != nil {
		t.Fatal(err)
	}
	if err := l.SetSystemPrompt("append", "Be brief."); err != nil {
		t.Fatal(err)
	}
	if err := l.SetTitle("Mine", "user"); err != nil {
		t.Fatal(err)
	}
	if err := l.SetDirectories([]string{"/w/lib"}); err != nil {
		t.Fatal(err)
	}
	before := readFile(t, l.Path())
	for leaf, want := range map[string][]string{two: {"u one", "a two"}, three: {"u one", "a two", "u three"}} {
		f, err := s.Fork(t.Context(), l.ID(), sessions.ForkOptions{Cwd: "/w/fork", Leaf: leaf})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if diff := cmp.Diff(want, texts(allMessages(t, f))); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]string{two: "checkpoint"}, f.Labels()); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			state := f.State()
			if state.Model != "p/m" || state.Title != "Mine" || state.TitleSource != "user" || state.SystemPrompt.Text != "Be brief." || state.Directories != nil {
				t.Errorf("state = %+v", state)
			}
			if n := f.Notices(); len(n) > 0 || f.Header().ParentSession != l.ID() {
				t.Errorf("notices %q, parent %q", n, f.Header().ParentSession)
			}
			if text := readFile(t, f.Path()); strings.Contains(text, `"left"`) || strings.Contains(text, "lost") {
				t.Errorf("the fork has what was left:\n%s", text)
			}
			closeLog(t, f)
			f = open(t, s, f.ID())
		}
		appendMessage(t, f, user("on"))
		if diff := cmp.Diff(append(want, "u on"), texts(allMessages(t, f))); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	}
	if readFile(t, l.Path()) != before {
		t.Error("the source was changed")
	}
	if _, err := s.Fork(t.Context(), l.ID(), sessions.ForkOptions{Cwd: "/w", Leaf: "nowhere"}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("err = %v", err)
	}
	first := allEntries(t, l)[0].Ref().ID
	if _, err := s.Fork(t.Context(), l.ID(), sessions.ForkOptions{Cwd: "/w", Leaf: first}); !errors.Is(err, sessions.ErrNothingToFork) {
		t.Errorf("err = %v", err)
	}
}

func TestMove(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("one"))
	url, err := l.Artifacts().Put(t.Context(), "bash", []byte("output"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Move(t.Context(), l.ID(), "/w/new"); !errors.Is(err, sessions.ErrLocked) {
		t.Errorf("of an open session: %v", err)
	}
	closeLog(t, l)
	if err := s.Archive(t.Context(), l.ID()); err != nil {
		t.Fatal(err)
	}
	old := l.Path()
	for _, cwd := range []string{"/w/new", "/w/new", "/w-new", "/w/demo"} { // two of them share a session directory
		if err := s.Move(t.Context(), l.ID(), cwd); err != nil {
			t.Fatal(err)
		}
		l = open(t, s, l.ID())
		if diff := cmp.Diff([]string{"u one"}, texts(allMessages(t, l))); diff != "" || l.Header().Cwd != cwd {
			t.Errorf("in %s: messages (-want +got):\n%s", l.Header().Cwd, diff)
		}
		if got, err := l.Artifacts().Get(t.Context(), url); err != nil || string(got) != "output" {
			t.Errorf("artifact: %q, %v", got, err)
		}
		info, err := s.Info(t.Context(), l.ID())
		if err != nil || info.Cwd != cwd || !info.Archived {
			t.Errorf("listed: %+v, %v", info, err)
		}
		closeLog(t, l)
	}
	if l.Path() != old {
		t.Errorf("back in %s, which was %s", l.Path(), old)
	}
	for cwd, want := range map[string]string{"relative": "absolute", "": "absolute"} {
		if err := s.Move(t.Context(), l.ID(), cwd); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("to %q: %v", cwd, err)
		}
	}
	if err := s.Move(t.Context(), "nobody", "/w"); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("err = %v", err)
	}
}

// failingDisk fails at its nth step.
type failingDisk struct {
	sessions.FileSystem
	left *int
}

// fails reports whether this step fails. Only one step does.
func (d failingDisk) fails() bool {
	*d.left--
	if *d.left >= 0 {
		return false
	}
	*d.left = 1 << 20
	return true
}

func (d failingDisk) OpenFile(name string, flag int, perm fs.FileMode) (sessions.File, error) {
	if d.fails() {
		return nil, errBroken
	}
	return d.FileSystem.OpenFile(name, flag, perm)
}

func (d failingDisk) Rename(from, to string) error {
	if d.fails() {
		return errBroken
	}
	return d.FileSystem.Rename(from, to)
}

func (d failingDisk) Remove(name string) error {
	if d.fails() {
		return errBroken
	}
	return d.FileSystem.Remove(name)
}

func (d failingDisk) SyncDir(name string) error {
	if d.fails() {
		return errBroken
	}
	return d.FileSystem.SyncDir(name)
}

func TestMove_FailsAsAWhole(t *testing.T) {
	moved := false
	for step := 0; !moved; step++ {
		left := 1 << 20
		s := newStore(t, func(o *sessions.StoreOptions) { o.FS = failingDisk{sessions.Disk(), &left} })
		l := create(t, s)
		appendMessage(t, l, user("one"))
		url, err := l.Artifacts().Put(t.Context(), "bash", []byte("output"))
		if err != nil {
			t.Fatal(err)
		}
		closeLog(t, l)
		left = step
		err = s.Move(t.Context(), l.ID(), "/w/new")
		left = 1 << 20
		moved = err == nil
		l = open(t, s, l.ID())
		want := "/w/demo"
		if moved {
			want = "/w/new"
		}
		if diff := cmp.Diff([]string{"u one"}, texts(allMessages(t, l))); diff != "" || l.Header().Cwd != want {
			t.Errorf("step %d (%v): in %s, messages (-want +got):\n%s", step, err, l.Header().Cwd, diff)
		}
		if got, err := l.Artifacts().Get(t.Context(), url); err != nil || string(got) != "output" {
			t.Errorf("step %d: artifact: %q, %v", step, got, err)
		}
		if files, err := filepath.Glob(filepath.Join(s.Dir(), "*", "*.jsonl")); err != nil || len(files) != 1 {
			t.Errorf("step %d: files %q, %v", step, files, err)
		}
	}
}

// A process that dies during a move leaves two files, which the next opening merges.
func TestMove_FinishedAfterACrash(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	appendMessage(t, l, user("one"))
	url, err := l.Artifacts().Put(t.Context(), "bash", []byte("output"))
	if err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	text := strings.Replace(readFile(t, l.Path()), `"/w/demo"`, `"/w/new"`, 1)
	writeFile(t, filepath.Join(s.Dir(), "--w-new--", filepath.Base(l.Path())), text)
	old := l.Path()
	if err := os.Chtimes(old, epoch, epoch); err != nil {
		t.Fatal(err)
	}
	l = open(t, s, l.ID())
	if l.Header().Cwd != "/w/new" {
		t.Errorf("opened in %s", l.Header().Cwd)
	}
	if got, err := l.Artifacts().Get(t.Context(), url); err != nil || string(got) != "output" {
		t.Errorf("artifact: %q, %v", got, err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old file: %v", err)
	}
}
