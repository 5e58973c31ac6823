package search_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// ratio runs a tool and a program in turn and reports the fastest time of each, and their ratio. Each call of the tool is the first
// in its session.
func ratio(b *testing.B, w *toolstest.World, name string, in toolstest.Input, program string, args ...string) {
	b.Helper()
	ratioOf(b, w, name, in, true, program, args...)
}

func ratioOf(b *testing.B, w *toolstest.World, name string, in toolstest.Input, first bool, program string, args ...string) {
	b.Helper()
	tool, call := toolstest.Tool(b, name), w.Call(b, name, in)
	ours, theirs := time.Hour, time.Hour
	round := func() {
		start := time.Now()
		call.Decoded = nil
		if first {
			call.Values = agent.NewValues(nil)
		}
		if _, err := tool.Run(b.Context(), call); err != nil {
			b.Fatal(err)
		}
		ours = min(ours, time.Since(start))
		start = time.Now()
		cmd := exec.CommandContext(b.Context(), program, args...)
		cmd.Dir = w.Dir
		_, _ = cmd.Output() // the program also fails if nothing is found
		theirs = min(theirs, time.Since(start))
	}
	for b.Loop() {
		for range 5 {
			round()
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours.Seconds()*1000, "own-ms")
	b.ReportMetric(theirs.Seconds()*1000, "other-ms")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ratio")
}

// BenchmarkSearchTree searches the standard library with gjc's own engine and with ripgrep.
func BenchmarkSearchTree(b *testing.B) {
	rg := testenv.NeedsTool(b, "rg")
	w := treeWorld(b, standardLibrary(b))
	for name, pattern := range map[string]string{
		"literal": "zzyzxnowhere", "rare": "ErrUnexpectedEOF", "fold": "(?i)errunexpectedeof", "class": `[0-9]{40,}`, "choice": "zzyzx|qwxyz|nowhereatall",
		"words": `\bgoto\s+[A-Z]+\b`, "greek": `\p{Greek}{3}`,
	} {
		b.Run(name, func(b *testing.B) {
			ratio(b, w, "search", toolstest.Input{"pattern": pattern}, rg, "--no-config", "--json", "--max-count=24", "--max-filesize=4M", "--no-messages", "--regexp="+pattern, ".")
		})
	}
}

// BenchmarkFindTree finds files in the standard library, compared with programs that list all files. The budget is a ratio of 1.2.
// "newest" reads the time of each file. "again" is a second call in a session.
func BenchmarkFindTree(b *testing.B) {
	rg := testenv.NeedsTool(b, "rg")
	w := treeWorld(b, standardLibrary(b))
	in := toolstest.Input{"paths": []string{"**/*_linux.go"}}
	b.Run("rg", func(b *testing.B) { ratio(b, w, "find", in, rg, "--no-config", "--files", "--hidden") })
	b.Run("again", func(b *testing.B) { ratioOf(b, w, "find", in, false, rg, "--no-config", "--files", "--hidden") })
	b.Run("fd", func(b *testing.B) {
		fd, err := exec.LookPath("fdfind") // the program's name on Debian
		if err != nil {
			fd = testenv.NeedsTool(b, "fd")
		}
		ratio(b, w, "find", in, fd, "--hidden", "--glob", "*_linux.go")
	})
	b.Run("newest", func(b *testing.B) {
		ratio(b, w, "find", toolstest.Input{"paths": []string{"."}}, rg, "--no-config", "--files", "--hidden", "--sortr=modified")
	})
}
