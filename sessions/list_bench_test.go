package sessions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/sessions"
)

const (
	benchSessions = 10_000
	benchEntries  = 20
	benchDirs     = 20
)

// benchStore creates 10,000 sessions of 20 entries, about 1 KB each, in 20 directories, all an hour old.
func benchStore(b *testing.B) string {
	b.Helper()
	root := filepath.Join(b.TempDir(), "sessions")
	start := time.Now().Add(-time.Hour)
	for i := range benchSessions {
		cwd := fmt.Sprintf("/w/project%d", i%benchDirs)
		dir := filepath.Join(root, strings.ReplaceAll("-"+cwd+"--", "/", "-"))
		if i < benchDirs {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				b.Fatal(err)
			}
		}
		stamp := start.Add(time.Duration(i) * 100 * time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
		id := fmt.Sprintf("0195e2b4-0000-7000-8000-%012d", i)
		var text strings.Builder
		fmt.Fprintf(&text, `{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":%q}`+"\n", id, stamp, cwd)
		parent := "null"
		for n := range benchEntries {
			entry := fmt.Sprintf(`"%08x"`, n+1)
			role := "user"
			if n%2 == 1 {
				role = "assistant"
			}
			fmt.Fprintf(&text, `{"type":"message","id":%s,"parentId":%s,"timestamp":%q,`+
				`"message":{"role":%q,"content":[{"type":"text","text":"prompt %d of session %d %s"}],"timestamp":1771237231000}}`+"\n",
				entry, parent, stamp, role, n, i, strings.Repeat("some words ", 80))
			parent = entry
		}
		path := filepath.Join(dir, strings.NewReplacer(":", "-", ".", "-").Replace(stamp)+"_"+id+".jsonl")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	dirs, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, dir := range dirs {
		touchFile(b, dir, start)
	}
	return root
}

func benchList(b *testing.B, s *sessions.Store, o sessions.ListOptions, want int) {
	b.Helper()
	if n := len(list(b, s, o).Sessions); n != want {
		b.Fatalf("%d sessions, want %d", n, want)
	}
}

// BenchmarkList10k lists ten thousand sessions with everything in memory (warm), without an index file (rebuild), in a new process
// with an index file (cold), and after one session has grown or one directory has changed.
func BenchmarkList10k(b *testing.B) {
	root := benchStore(b)
	all := sessions.ListOptions{Limit: benchSessions}
	warm := sessions.NewStore(root, nil)
	benchList(b, warm, all, benchSessions)
	index := filepath.Join(root, "index")
	if info, err := os.Stat(index); err == nil {
		b.Logf("the index file has %d bytes", info.Size())
	}
	for name, o := range map[string]sessions.ListOptions{
		"warm/page": {}, "warm/all": all, "warm/cwd": {Cwd: "/w/project7", Limit: benchSessions},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				list(b, warm, o)
			}
		})
	}
	b.Run("warm/pages", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for o := (sessions.ListOptions{Limit: 500}); ; {
				page := list(b, warm, o)
				n += len(page.Sessions)
				if o.Cursor = page.Next; o.Cursor == "" {
					break
				}
			}
			if n != benchSessions {
				b.Fatal(n)
			}
		}
	})
	b.Run("warm/projects", func(b *testing.B) {
		for b.Loop() {
			if projects, err := warm.Projects(b.Context()); err != nil || len(projects) != benchDirs {
				b.Fatal(len(projects), err)
			}
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			benchList(b, sessions.NewStore(root, nil), sessions.ListOptions{}, sessions.DefaultListLimit)
		}
	})
	// No directory is trusted: the cost of a list more than 30 seconds after the last one.
	b.Run("full", func(b *testing.B) {
		now := time.Now()
		s := sessions.NewStore(root, &sessions.StoreOptions{Clock: func() time.Time { now = now.Add(time.Minute); return now }})
		benchList(b, s, all, benchSessions)
		for b.Loop() {
			benchList(b, s, sessions.ListOptions{}, sessions.DefaultListLimit)
		}
	})
	b.Run("rebuild", func(b *testing.B) {
		for b.Loop() {
			if err := os.Remove(index); err != nil {
				b.Fatal(err)
			}
			benchList(b, sessions.NewStore(root, nil), sessions.ListOptions{}, sessions.DefaultListLimit)
		}
	})
	b.Run("changed/open", func(b *testing.B) {
		l, err := warm.Open(b.Context(), "0195e2b4-0000-7000-8000-000000000003")
		if err != nil {
			b.Fatal(err)
		}
		defer closeLog(b, l)
		touchFile(b, filepath.Dir(l.Path()), time.Now().Add(-time.Hour))
		list(b, warm, sessions.ListOptions{})
		for b.Loop() {
			b.StopTimer()
			appendMessage(b, l, user("one more"))
			b.StartTimer()
			list(b, warm, sessions.ListOptions{})
		}
	})
	b.Run("changed/directory", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			l, err := warm.Open(b.Context(), "0195e2b4-0000-7000-8000-000000000005")
			if err != nil {
				b.Fatal(err)
			}
			appendMessage(b, l, user("one more"))
			closeLog(b, l)
			b.StartTimer()
			list(b, warm, sessions.ListOptions{})
		}
	})
}
