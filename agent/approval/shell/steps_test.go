package shell

import (
	"path/filepath"
	"strings"
	"testing"
)

// However a line is made, no more than the budget is looked at: it asks instead.
func TestAnalyze_Steps(t *testing.T) {
	for _, c := range []struct {
		name, line string
		asks       bool
	}{
		{"globs in braces", "cat ?" + strings.Repeat("{?,??}", 40) + "b", true},
		{"braces in braces", "cat *" + strings.Repeat("{a,", 900) + strings.Repeat("}", 900), true},
		{"braces without an end", "cat *" + strings.Repeat("{", 4000) + strings.Repeat("{a,b}", 10), false},
		{"commands of find", "find . " + strings.Repeat("-exec a ", 8000), true},
		{"commands of fd", "fd " + strings.Repeat("-x a ", 8000), true},
		{"expressions in expressions", "echo " + strings.Repeat("${a:-", 4000) + strings.Repeat("}", 4000), true},
		{"many files", "git add" + strings.Repeat(" some/file.go", 600), false},
		{"commands of find with ends", "find . " + strings.Repeat("-exec wc {} + ", 50), false},
		{"places", "cat " + strings.Repeat("../", 1300) + "a", false},
		{"a long way up", "rm " + strings.Repeat("../", 20000) + "a", true},
	} {
		calls := 0
		paths := &Paths{Roots: []string{"/w"}, Home: "/home/u", Real: func(path string) string {
			calls++
			return filepath.Clean(path)
		}}
		a := analyze(c.line, "/w", paths)
		if asks := len(a.cmd.Risks) > 0; asks != c.asks {
			t.Errorf("%s: %q", c.name, a.cmd.Risks)
		}
		// The last step may be one of several.
		if a.steps > maxSteps+10000 || calls > maxSteps {
			t.Errorf("%s: %d steps, %d real paths", c.name, a.steps, calls)
		}
		if len(a.cmd.Simple) > maxSteps || len(a.cmd.Runs) > maxSteps {
			t.Errorf("%s: %d commands", c.name, len(a.cmd.Runs))
		}
	}
}

// A real path is looked for once.
func TestAnalyze_RealPaths(t *testing.T) {
	calls := make(map[string]int)
	paths := &Paths{Roots: []string{"/w"}, Real: func(path string) string {
		calls[path]++
		return filepath.Clean(path)
	}}
	analyze("rm a; cp b a; find . -exec a b \\; -exec a b \\;; echo x > a", "/w", paths)
	for path, n := range calls {
		if n > 1 {
			t.Errorf("%s: %d times", path, n)
		}
	}
}
