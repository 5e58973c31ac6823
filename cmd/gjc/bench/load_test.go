package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// BenchmarkLoad measures the replay of sessions of 1, 10 and 50 MB, each by a new process.
func BenchmarkLoad(b *testing.B) {
	m := newMetrics(b)
	for b.Loop() {
		for _, size := range []int64{1, 10, 50} {
			load(b, m, fmt.Sprintf("session/load-of-%d-MB", size), size<<20)
		}
	}
}

// load measures the replay of a session whose file has at least size bytes.
func load(b *testing.B, m *metrics, step string, size int64) {
	dir := b.TempDir()
	defer func() { check(b, os.RemoveAll(dir)) }()
	id := store(b, dir, size)
	var bytes atomic.Int64
	a := start(b, dir, options{EditorOptions: acptest.EditorOptions{Trace: func(sent bool, line []byte) {
		if !sent {
			bytes.Add(int64(len(line)))
		}
	}}})
	defer a.end()
	before := bytes.Load()
	begin := time.Now()
	_, err := acp.MethodSessionLoad.Call(b.Context(), a.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: a.work})
	a.check(err)
	took := time.Since(begin)
	m.took(step, took)
	m.memory(step, a.memory())
	m.add(step+"-MB/s", float64(bytes.Load()-before)/1e6/took.Seconds())
}

// compactEvery is the number of bytes between two compactions: about the context window of a model.
const compactEvery = 1 << 20

// store writes a session whose file has at least size bytes: a third each of prompts, answers with a call, and results, with
// compactions in between.
func store(b *testing.B, dir string, size int64) acp.SessionID {
	b.Helper()
	sessionStore := sessions.NewStore(filepath.Join(dir, "agent", "sessions"), &sessions.StoreOptions{Sync: sessions.SyncNever})
	log, err := sessionStore.Create(b.Context(), sessions.Header{Cwd: filepath.Join(dir, "work")})
	check(b, err)
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 40)
	last := ""
	for i, compacted := 0, int64(0); ; i++ {
		info, err := os.Stat(log.Path())
		if err == nil && info.Size() >= size {
			break
		}
		if err == nil && info.Size()-compacted >= compactEvery {
			compacted = info.Size()
			_, err := log.Append(&sessions.Compaction{Summary: text, FirstKeptEntryID: last, TokensBefore: compactEvery / 4})
			check(b, err)
		}
		call := providers.ToolCall{ID: fmt.Sprintf("call%d", i), Name: "read", Input: []byte(`{"path":"main.go"}`)}
		for _, m := range []providers.Message{
			{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text[:400]}}},
			{Role: providers.RoleAssistant, Provider: "offline", Model: "demo", Parts: []providers.Part{providers.Thinking{Text: text[:800]}, providers.Text{Text: text}, call}},
			{Role: providers.RoleTool, ToolCallID: call.ID, ToolName: "read", Parts: []providers.Part{providers.Text{Text: text + text}}},
		} {
			m.ID = fmt.Sprintf("m%d-%s", i, m.Role)
			last, err = log.AppendMessage(&m)
			check(b, err)
		}
	}
	check(b, log.Close())
	return acp.SessionID(log.ID())
}

// manyStored is the number of stored sessions of [BenchmarkList].
const manyStored = 10_000

// BenchmarkList measures the list of many sessions, page by page: by the first process that sees them, by the next one, and a
// second time by that one.
func BenchmarkList(b *testing.B) {
	m := newMetrics(b)
	for b.Loop() {
		dir := b.TempDir()
		storeMany(b, dir)
		list(b, m, dir, "session/list-of-10000-first-ever")
		warm := list(b, m, dir, "session/list-of-10000-next-process", "session/list-of-10000-warm")
		m.took("session/list-of-10000-warm-all-pages", warm)
		check(b, os.RemoveAll(dir))
	}
}

// storeMany writes small sessions of several projects.
func storeMany(b *testing.B, dir string) {
	const projects = 20
	sessionsDir := filepath.Join(dir, "agent", "sessions")
	sessionStore := sessions.NewStore(sessionsDir, &sessions.StoreOptions{Sync: sessions.SyncNever})
	for i := range manyStored {
		log, err := sessionStore.Create(b.Context(), sessions.Header{Cwd: filepath.Join(dir, fmt.Sprintf("project%d", i%projects))})
		check(b, err)
		_, err = log.AppendMessage(&providers.Message{
			ID: "m", Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: fmt.Sprintf("Please fix bug %d.", i)}},
		})
		check(b, err)
		check(b, log.Close())
	}
	// The directories must look old: one that has just changed is read again.
	entries, err := os.ReadDir(sessionsDir)
	check(b, err)
	yesterday := time.Now().Add(-24 * time.Hour)
	for _, e := range entries {
		check(b, os.Chtimes(filepath.Join(sessionsDir, e.Name()), yesterday, yesterday))
	}
}

// list requests the list by a new process, once for each step, and measures the first page. It returns the time of all pages of
// the last one.
func list(b *testing.B, m *metrics, dir string, steps ...string) (took time.Duration) {
	a := start(b, dir, options{})
	defer a.end()
	for _, step := range steps {
		begin, req, n := time.Now(), &acp.ListSessionsRequest{}, 0
		for n == 0 || req.Cursor != "" {
			page, err := acp.MethodSessionList.Call(b.Context(), a.Conn, req)
			a.check(err)
			if n == 0 {
				m.took(step, time.Since(begin))
				m.memory(step, a.memory())
			}
			n, req.Cursor = n+len(page.Sessions), page.NextCursor
		}
		took = time.Since(begin)
		if n != manyStored {
			b.Fatalf("%d sessions are listed, want %d", n, manyStored)
		}
	}
	a.check(a.Process.Stdin().Close())
	_, err := a.Process.Wait(b.Context())
	a.check(err)
	return took
}
