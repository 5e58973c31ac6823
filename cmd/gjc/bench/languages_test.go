package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

// BenchmarkLanguages measures gopls on a copy of this repository: an edit up to the end of its tool call, which has the
// diagnostics, and a definition. All rounds share one gjc and one gopls, and the first calls do not count, because the
// warm server is measured.
func BenchmarkLanguages(b *testing.B) {
	m := newMetrics(b)
	bin := link(b, testenv.NeedsGopls(b), "gopls")
	work := filepath.Join(b.TempDir(), "repository")
	output(b, testenv.ModuleRoot(b), "git", "clone", "--quiet", "--local", ".", work)
	c := newCaller(b, work, bin)
	const file = "acp/server/slash/lsp.go"
	breaks := `!edit ` + file + ` func noSuchServer( => func noSuchServerX(`
	mends := `!edit ` + file + ` func noSuchServerX( => func noSuchServer(`
	// Load the project, and check everything once.
	for _, prompt := range []string{"!lsp diagnostics " + file + " timeout=60", breaks, mends} {
		c.prompt(c.session, prompt)
	}
	for b.Loop() {
		m.took("edit-to-diagnostics-of-gopls-broken", c.call(breaks, "undefined: noSuchServer"))
		m.took("edit-to-diagnostics-of-gopls-mended", c.call(mends, "no problems"))
		m.took("definition-by-gopls", c.call(`!lsp definition `+file+` symbol=Workspace`, "definition"))
	}
	// gjc listens for late diagnostics for some seconds; after that it has nothing to do.
	time.Sleep(6 * time.Second)
	for range 15 {
		before := processorTime(c.Process.PID())
		time.Sleep(200 * time.Millisecond)
		m.took("computing-in-200-ms-idle-gopls-running", processorTime(c.Process.PID())-before)
	}
}

// processorTime returns the processor time that a process has used so far, in all its threads; zero if the system does
// not report it.
func processorTime(pid int) time.Duration {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is valid
	var sum time.Duration
	for _, path := range paths {
		data, _ := os.ReadFile(path) // fails if the thread has ended
		first, _, _ := strings.Cut(string(data), " ")
		if ns, err := strconv.ParseInt(first, 10, 64); err == nil {
			sum += time.Duration(ns)
		}
	}
	return sum
}
