package sessions_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

func BenchmarkCreate(b *testing.B) {
	s := sessions.NewStore(b.TempDir(), nil)
	for b.Loop() {
		l, err := s.Create(b.Context(), sessions.Header{Cwd: "/w/demo"})
		if err != nil {
			b.Fatal(err)
		}
		closeLog(b, l)
	}
}

// BenchmarkAppend appends a message of 1 KB with each sync policy. Goal: at most 20 µs without a sync.
func BenchmarkAppend(b *testing.B) {
	for name, policy := range map[string]sessions.SyncPolicy{"messages": sessions.SyncMessages, "never": sessions.SyncNever} {
		b.Run("sync="+name, func(b *testing.B) {
			s := sessions.NewStore(b.TempDir(), &sessions.StoreOptions{Sync: policy})
			l := create(b, s)
			m := assistant(strings.Repeat("some text of a message ", 40))
			b.ReportAllocs()
			for b.Loop() {
				appendMessage(b, l, m)
			}
		})
	}
}

// filled adds n messages of size bytes to a session and returns its ID.
func filled(b *testing.B, s *sessions.Store, n, size int) (id string, bytes int64) {
	b.Helper()
	l := create(b, s)
	text := strings.Repeat("some \"text\" of a message\n", size/25+1)[:size]
	for i := range n {
		m := user(text)
		switch i % 3 {
		case 1:
			m = assistant(text)
			m.Parts = append(m.Parts, providers.ToolCall{ID: fmt.Sprint(i), Name: "read", Input: raw(`{"path":"main.go"}`)})
		case 2:
			m = providers.Message{Role: providers.RoleTool, ToolCallID: fmt.Sprint(i - 1), ToolName: "read", Parts: user(text).Parts, Details: raw(`{"title":"Read main.go"}`)}
		}
		appendMessage(b, l, m)
	}
	closeLog(b, l)
	return l.ID(), int64(len(readFile(b, l.Path())))
}

// BenchmarkLoad opens a session and builds its context. Goals: 300 ms for 50 MB in 20,000 entries, and a cost linear in
// the number of entries.
func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct{ n, size int }{{1000, 2500}, {10_000, 2500}, {20_000, 2500}, {100_000, 250}} {
		b.Run(fmt.Sprintf("%d entries of %d bytes", c.n, c.size), func(b *testing.B) {
			s := newStore(b, unsynced)
			id, size := filled(b, s, c.n, c.size)
			b.SetBytes(size)
			for b.Loop() {
				l := open(b, s, id)
				if n := len(allMessages(b, l)); n != c.n {
					b.Fatal(n)
				}
				closeLog(b, l)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.n), "ns/entry")
		})
	}
}

// BenchmarkContext builds the context of an open session. Goal: at most 30 ms for 20,000 entries.
func BenchmarkContext(b *testing.B) {
	for _, n := range []int{1000, 10_000, 20_000, 100_000} {
		b.Run(fmt.Sprintf("%d entries", n), func(b *testing.B) {
			s := newStore(b, unsynced)
			id, _ := filled(b, s, n, 250)
			l := open(b, s, id)
			b.ReportAllocs()
			for b.Loop() {
				if got := len(allMessages(b, l)); got != n {
					b.Fatal(got)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
		})
	}
}

// BenchmarkMemory measures the memory of an open session as a multiple of the bytes that the model receives. Goal: at
// most 2.
func BenchmarkMemory(b *testing.B) {
	for name, compacted := range map[string]bool{"whole": false, "compacted": true} {
		b.Run(name, func(b *testing.B) {
			s := newStore(b, unsynced)
			id, _ := filled(b, s, 20_000, 2500)
			if compacted {
				l := open(b, s, id)
				kept := allEntries(b, l)[16_000].Ref().ID
				appendEntry(b, l, sessions.Compaction{Summary: "what was before", FirstKeptEntryID: kept})
				closeLog(b, l)
			}
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				l := open(b, s, id)
				messages := allMessages(b, l)
				seen := 0
				for i := range messages {
					seen += len(messages[i].Text())
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(seen), "×context")
				runtime.KeepAlive(messages)
				closeLog(b, l)
			}
		})
	}
}
