package postgres_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/postgres"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// BenchmarkAppend measures entries of 500 bytes, written by sessions at a time: those of one engine, with as many connections as it has, and
// those of several. Commits share the syncs of a disk, so that more writers are faster on a slow one.
func BenchmarkAppend(b *testing.B) {
	for name, durable := range map[string]bool{"Synced": true, "Unsynced": false} {
		for _, engines := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/%d", name, engines), func(b *testing.B) { benchmarkAppend(b, durable, engines) })
		}
	}
}

func benchmarkAppend(b *testing.B, durable bool, engines int) {
	own := &postgrestest.Cluster{Durable: durable}
	b.Cleanup(func() { _ = own.Stop() })
	address := own.Database(b)
	const writers = 8
	var logs []*sessions.Log
	for range engines {
		s := store(b, address, postgres.Options{Conns: writers})
		for range writers {
			l := create(b, s)
			add(b, l, "first")
			logs = append(logs, l)
		}
	}
	text := strings.Repeat("entry ", 80)
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, l := range logs {
		wg.Go(func() {
			for range (b.N + i) / len(logs) {
				add(b, l, text)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkList measures the first list of a process, without an index, and the reading of the directory alone.
func BenchmarkList(b *testing.B) {
	const count = 2000
	address := cluster.Database(b)
	fsys := open(b, address, postgres.Options{}).FileSystem("me")
	n := 0
	s := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: fsys, NewID: func() string { n++; return fmt.Sprint("s", n) }})
	dir := ""
	for range count {
		l, err := s.Create(b.Context(), sessions.Header{Cwd: "/w/demo"})
		if err != nil {
			b.Fatal(err)
		}
		add(b, l, "prompt")
		dir = strings.TrimSuffix(l.Path(), "/"+l.Path()[strings.LastIndexByte(l.Path(), '/')+1:])
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("ReadDir", func(b *testing.B) {
		for b.Loop() {
			if entries, err := fsys.ReadDir(dir); err != nil || len(entries) != count {
				b.Fatal(len(entries), err)
			}
		}
	})
	b.Run("First", func(b *testing.B) {
		for b.Loop() {
			if err := fsys.RemoveAll("/sessions/index"); err != nil {
				b.Fatal(err)
			}
			fresh := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: fsys})
			if _, total, err := fresh.ListAll(b.Context(), 50); err != nil || total != count {
				b.Fatal(total, err)
			}
		}
	})
	b.Run("Indexed", func(b *testing.B) {
		for b.Loop() {
			fresh := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: fsys})
			if _, total, err := fresh.ListAll(b.Context(), 50); err != nil || total != count {
				b.Fatal(total, err)
			}
		}
	})
}

// BenchmarkOpen opens and closes a session of a user with sessions in many directories: with one query for all of them, and with one for each,
// as a file system is asked that cannot find.
func BenchmarkOpen(b *testing.B) {
	const dirs = 200
	fsys := open(b, cluster.Database(b), postgres.Options{}).FileSystem("me")
	id := ""
	for n := range dirs {
		s := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: fsys})
		l, err := s.Create(b.Context(), sessions.Header{Cwd: fmt.Sprint("/w/project", n)})
		if err != nil {
			b.Fatal(err)
		}
		add(b, l, "prompt")
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		id = l.ID()
	}
	for name, fsys := range map[string]sessions.FileSystem{"Find": fsys, "ReadDir": struct{ sessions.FileSystem }{fsys}} {
		b.Run(name, func(b *testing.B) {
			s := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: fsys})
			for b.Loop() {
				l, err := s.Open(b.Context(), id)
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
