package sessions_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// TestReopenedIsLikeLive performs random operations on a session. After each it compares the log with a view of the
// file and with an open copy of it.
func TestReopenedIsLikeLive(t *testing.T) {
	t.Parallel()
	seeds := 16
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			liveOrReopened(t, rand.New(rand.NewPCG(uint64(seed), 7)))
		})
	}
}

func liveOrReopened(t *testing.T, r *rand.Rand) {
	s := newStore(t, unsynced)
	var l *sessions.Log
	switch r.IntN(3) {
	case 0:
		// Another program's file: blank lines, CRLF line endings, two entries with one ID, no final newline.
		text := strings.ReplaceAll(header3, "\n", "\r\n") + "\n \r\n" + entryLine("a", "", "one") + "\t" + entryLine("b", "a", "two") +
			entryLine("a", "b", "three") + "\r\n" + `{"type":"label","id":"c","parentId":"a","timestamp":"","targetId":"a","label":"L"}` + "\r\n" +
			entryLine("d", "nowhere", "four") + strings.TrimSuffix(entryLine("e", "b", "five"), "\n")
		place(t, s, "x", text)
		l = open(t, s, "x")
	case 1:
		place(t, s, "x", `{"type":"session","id":"x","timestamp":"","cwd":"/w/demo"}`+"\n\n"+
			`{"type":"message","timestamp":"","message":{"role":"user","content":"one"}}`+"\n"+
			`{"type":"message","timestamp":"","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}`+"\n"+
			`{"type":"compaction","timestamp":"","summary":"s","firstKeptEntryIndex":2,"tokensBefore":1}`+"\n"+
			`{"type":"message","timestamp":"","message":{"role":"user","content":"thr`)
		l = open(t, s, "x")
	default:
		l = create(t, s)
	}
	for step := range 60 {
		what := oneStep(t, r, s, &l)
		at := fmt.Sprintf("step %d, %s", step, what)
		want := viewOf(t, l)
		view, err := s.View(t.Context(), l.ID())
		if err != nil {
			t.Fatal(at, err)
		}
		if diff := cmp.Diff(want, viewOf(t, view)); diff != "" {
			t.Fatalf("%s: a view differs (-live +view):\n%s", at, diff)
		}
		other := newStore(t, unsynced, func(o *sessions.StoreOptions) { o.BlobDir = filepath.Join(filepath.Dir(s.Dir()), "blobs") })
		place(t, other, l.ID(), readFile(t, l.Path()))
		copied := open(t, other, l.ID())
		if diff := cmp.Diff(want, viewOf(t, copied)); diff != "" {
			t.Fatalf("%s: a reopened copy differs (-live +copy):\n%s", at, diff)
		}
		closeLog(t, copied)
	}
}

// viewOf returns all that a log reports, in lines.
func viewOf(t *testing.T, l *sessions.Log) (all []string) {
	t.Helper()
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	add("leaf %s, labels %v", l.Leaf(), l.Labels())
	add("state %+v", l.State())
	all = append(all, messagesOf(t, l)...)
	// The functions for a branch in memory return the same.
	if diff := cmp.Diff(allMessages(t, l), sessions.MessagesOf(allBranch(t, l)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("messages of the branch (-log +branch):\n%s", diff)
	}
	for _, e := range allBranch(t, l) {
		add("branch %+v", e)
	}
	for _, e := range allEntries(t, l) {
		add("entry %+v", e)
	}
	roots, err := l.Tree()
	if err != nil {
		t.Fatal(err)
	}
	for level := roots; len(level) > 0; {
		var next []*sessions.TreeNode
		for _, n := range level {
			add("node %s %q %t %d", n.Entry.Ref().ID, n.Label, n.Active, len(n.Children))
			next = append(next, n.Children...)
		}
		level = next
	}
	return all
}

func messagesOf(t *testing.T, l *sessions.Log) (all []string) {
	for _, m := range allMessages(t, l) {
		all = append(all, fmt.Sprintf("message %+v", m))
	}
	return all
}

func oneStep(t *testing.T, r *rand.Rand, s *sessions.Store, l **sessions.Log) string {
	t.Helper()
	log := *l
	entries := allEntries(t, log)
	some := func() string {
		if len(entries) == 0 || r.IntN(8) == 0 {
			return ""
		}
		return entries[r.IntN(len(entries))].Ref().ID
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	n := r.IntN(1000)
	switch r.IntN(19) {
	case 0, 1:
		m := user(fmt.Sprint("words ", n))
		m.Time = epoch
		if n%4 == 0 {
			m.Parts = append(m.Parts, providers.Image{MIMEType: "image/png", Data: []byte(strings.Repeat(fmt.Sprint(n%3), 2000))})
		}
		appendMessage(t, log, m)
		return "user"
	case 2, 3:
		m := assistant(fmt.Sprint("answer ", n))
		m.Parts = append(m.Parts, providers.ToolCall{ID: "c", Name: "bash", Input: raw(`{"a":1}`)})
		m.Time = epoch
		appendMessage(t, log, m)
		return "assistant"
	case 4, 5:
		m := providers.Message{Role: providers.RoleTool, ToolCallID: "c", ToolName: "bash", Time: epoch, Parts: []providers.Part{providers.Text{Text: strings.Repeat("out ", n)}}, Details: raw(`{"d":2}`)}
		appendMessage(t, log, m)
		return "result"
	case 6, 7:
		appendEntry(t, log, sessions.Compaction{Summary: fmt.Sprint("summary ", n), FirstKeptEntryID: some()})
		return "compaction"
	case 8:
		data, err := jsonx.Marshal(sessions.Pruned{Entries: []string{some(), some()}})
		do(err)
		appendEntry(t, log, sessions.Custom{CustomType: sessions.CustomPruned, Data: data})
		return "pruned"
	case 9, 10:
		do(log.Rewind(some()))
		return "rewind"
	case 11:
		_, err := log.BranchWithSummary(some(), sessions.BranchSummary{Summary: fmt.Sprint("left ", n)})
		do(err)
		return "branch"
	case 12:
		do(log.Clear())
		return "clear"
	case 13:
		if id := some(); id != "" {
			do(log.SetLabel(id, []string{"", "x", "y"}[n%3]))
		}
		return "label"
	case 14:
		if err := log.SetTitle(fmt.Sprint("T", n), []string{"auto", "user"}[n%2]); err != nil && !errors.Is(err, sessions.ErrUserTitle) {
			t.Fatal(err)
		}
		return "title"
	case 15:
		for _, e := range []sessions.Entry{
			sessions.ModelChange{Model: fmt.Sprint("p/m", n)},
			sessions.ThinkingChange{Level: "high"},
			sessions.ModeChange{Mode: fmt.Sprint("mode", n)},
			sessions.ToolSelection{SelectedToolNames: []string{"a"}},
			sessions.CustomMessage{CustomType: "x", Parts: user("custom").Parts, Display: true},
		} {
			appendEntry(t, log, e)
		}
		return "choices"
	case 16:
		id := log.ID()
		closeLog(t, log)
		*l = open(t, s, id)
		return "reopen"
	case 17:
		id := log.ID()
		closeLog(t, log)
		do(s.Move(t.Context(), id, fmt.Sprint("/w/", n)))
		*l = open(t, s, id)
		return "move"
	default:
		opts := sessions.ForkOptions{Cwd: "/w/fork"}
		want := viewOf(t, log)
		if n%2 == 0 {
			opts.Leaf = some()
		}
		fork, err := s.Fork(t.Context(), log.ID(), opts)
		if errors.Is(err, sessions.ErrNothingToFork) {
			return "no fork"
		}
		do(err)
		t.Cleanup(func() { _ = fork.Close() })
		if got := viewOf(t, fork); opts.Leaf == "" {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("fork (-source +fork):\n%s", diff)
			}
		} else {
			path, err := log.PathTo(opts.Leaf)
			do(err)
			ids := func(all []sessions.Entry) (ids []string) {
				for _, e := range all {
					ids = append(ids, e.Ref().ID)
				}
				return ids
			}
			if !slices.Equal(ids(path), ids(allBranch(t, fork))[:len(path)]) {
				t.Fatalf("fork at %s: has %v, want %v", opts.Leaf, ids(allBranch(t, fork)), ids(path))
			}
			// The state that the source would have if it continued from there.
			twin := newStore(t, unsynced, func(o *sessions.StoreOptions) { o.BlobDir = filepath.Join(filepath.Dir(s.Dir()), "blobs") })
			place(t, twin, log.ID(), readFile(t, log.Path()))
			for _, e := range globs(t, filepath.Join(filepath.Dir(s.Dir()), "blobs")) {
				do(os.MkdirAll(filepath.Join(filepath.Dir(twin.Dir()), "blobs"), 0o700))
				do(os.WriteFile(filepath.Join(filepath.Dir(twin.Dir()), "blobs", filepath.Base(e)), []byte(readFile(t, e)), 0o600))
			}
			back := open(t, twin, log.ID())
			do(back.Rewind(opts.Leaf))
			if diff := cmp.Diff(messagesOf(t, back), messagesOf(t, fork)); diff != "" {
				t.Fatalf("fork at %s, messages (-source +fork):\n%s", opts.Leaf, diff)
			}
			if diff := cmp.Diff(back.State(), fork.State(), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("fork at %s, state (-source +fork):\n%s", opts.Leaf, diff)
			}
			closeLog(t, back)
		}
		closeLog(t, log)
		*l = fork
		return "fork " + opts.Leaf
	}
}

func globs(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "[0-9a-f]*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}
