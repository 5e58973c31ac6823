package checkpoint_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/checkpoint"
)

// words fills a file with text that compresses like source code.
func words(r *rand.Rand, size int) []byte {
	var b bytes.Buffer
	for b.Len() < size {
		fmt.Fprintf(&b, "\tfield%d := call%x(argument, %d)\n", r.IntN(1000), r.Uint32(), r.IntN(1e6))
	}
	return b.Bytes()[:size]
}

// plant makes a repository with n files of a size, 25 in a directory, that are older than any clock's granularity.
func plant(tb testing.TB, n, size int) string {
	tb.Helper()
	dir := tb.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	old := time.Now().Add(-time.Hour)
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("d%d/e%d/f%d.go", i/2500, i/25%100, i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, words(r, size), 0o644); err != nil {
			tb.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// settle waits until the times of the files are old enough to trust, as they are in a tree in which nothing has just happened.
func settle(tb testing.TB, tree *checkpoint.Tree) {
	tb.Helper()
	record(tb, tree, checkpoint.Call)
	time.Sleep(2500 * time.Millisecond) // not to synchronise: file systems have coarse clocks
	record(tb, tree, checkpoint.Call)
	record(tb, tree, checkpoint.Call)
}

func BenchmarkRecord(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		if n > 10_000 && testing.Short() {
			continue
		}
		dir := plant(b, n, 1000)
		b.Run(fmt.Sprintf("first/%d", n), func(b *testing.B) {
			for b.Loop() {
				record(b, open(b, dir), checkpoint.Prompt)
			}
		})
		tree := open(b, dir)
		settle(b, tree)
		b.Run(fmt.Sprintf("unchanged/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				record(b, tree, checkpoint.Call)
			}
		})
		b.Run(fmt.Sprintf("changed/%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				write(b, dir, "d0/e0/f0.go", fmt.Sprint("package x // ", i))
				record(b, tree, checkpoint.Call)
			}
		})
	}
}

func BenchmarkRestore(b *testing.B) {
	dir := plant(b, 10_000, 1000)
	tree := open(b, dir)
	settle(b, tree)
	before := record(b, tree, checkpoint.Prompt)
	for b.Loop() {
		b.StopTimer()
		for i := range 100 {
			write(b, dir, fmt.Sprintf("d0/e%d/f%d.go", i*25/25%100, i*25), "changed")
		}
		now := record(b, tree, checkpoint.Rewind)
		b.StartTimer()
		changes, err := tree.Changes(b.Context(), now, before)
		if err != nil || len(changes) != 100 {
			b.Fatal(len(changes), err)
		}
		if problems, err := tree.Restore(b.Context(), changes); err != nil || problems != nil {
			b.Fatal(problems, err)
		}
	}
}

// BenchmarkDisk reports the size of 500 states of a tree of 100 MB, each of which changes a file, as a multiple of the tree.
func BenchmarkDisk(b *testing.B) {
	const n, size = 10_000, 10_000
	dir := plant(b, n, size)
	r := rand.New(rand.NewPCG(3, 4))
	for b.Loop() {
		tree := open(b, dir)
		record(b, tree, checkpoint.Prompt)
		for range 500 {
			i := r.IntN(n)
			write(b, dir, fmt.Sprintf("d%d/e%d/f%d.go", i/2500, i/25%100, i), string(words(r, size)))
			record(b, tree, checkpoint.Call)
		}
		var total int64
		for _, suffix := range []string{"", "-wal"} {
			if info, err := os.Stat(tree.Database() + suffix); err == nil {
				total += info.Size()
			}
		}
		b.ReportMetric(float64(total)/(n*size), "x-tree")
	}
}
