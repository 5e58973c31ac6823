//go:build unix

package search_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// oddTree returns a workspace of files that are not regular, and two that are.
func oddTree(t testing.TB) *toolstest.World {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "needle\n", "new\nline.txt": "needle\n", "weird/\xFF.txt": "needle\n"})
	if err := syscall.Mkfifo(w.Path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"broken": "nowhere", "circle": "circle", "up": ".", "zero": "/dev/zero"} {
		if err := os.Symlink(to, w.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(w.Path("huge.bin"))
	if err == nil {
		err = errors.Join(f.Truncate(10<<30), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(w.Dir) // the path of a socket must be short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return w
}

// Both engines skip a file in a directory that cannot be searched, reject it if it is named, and never block on a pipe.
func TestSearch_OddFiles(t *testing.T) {
	testenv.NoLeaks(t)
	w := oddTree(t)
	engines := map[string]agent.Programs{"own": nil, "ripgrep": ripgrepOnly{testenv.NeedsTool(t, "rg")}}
	for name, programs := range engines {
		w.Programs = programs
		res := toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle"})
		if len(res.Locations) != 3 {
			t.Errorf("%s: %v", name, res.Locations)
		}
		for _, path := range []string{"pipe", "socket", "zero", "/dev/zero"} {
			if err := toolstest.Fails(t, w, "search", toolstest.Input{"pattern": "needle", "paths": []string{path}}); !strings.Contains(err.Error(), "a device, a pipe or a socket") {
				t.Errorf("%s, %s: %v", name, path, err)
			}
		}
		for path, want := range map[string]string{"huge.bin": "too much to search", "broken": "is a broken link", "circle": "links"} {
			if err := toolstest.Fails(t, w, "search", toolstest.Input{"pattern": "needle", "paths": []string{path}}); !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v", name, path, err)
			}
		}
	}
	if text := toolstest.Run(t, w, "find", toolstest.Input{"paths": []string{"*"}}).Text; strings.Count(text, "\n")+1 < 9 {
		t.Errorf("find: %s", text)
	}
}

func TestSearch_BadPatterns(t *testing.T) {
	size := 1 << 20
	if testenv.Race {
		size = 1 << 17 // one pass takes 20 seconds over more
	}
	w := toolstest.NewWorld(t, map[string]string{"a.txt": strings.Repeat("a", size) + "\n"})
	for pattern, want := range map[string]string{
		"(":                        "missing closing )",
		`\k`:                       "invalid escape sequence",
		"a{1001}":                  "invalid repeat count",
		"((a{100}){100}){100}":     "invalid repeat count",
		"x**":                      "invalid nested repetition operator",
		strings.Repeat("a", 1<<20): "at most 16 KiB",
		strings.Repeat("(", 5000):  "missing closing )",
		strings.Repeat("(", 1200) + strings.Repeat(")", 1200): "nests too deeply",
		"a\nb":                              "line by line",
		strings.Repeat("(?:x|", 1000) + "(": "missing closing )",
	} {
		name := pattern[:min(20, len(pattern))]
		err := toolstest.Fails(t, w, "search", toolstest.Input{"pattern": pattern})
		if !errors.Is(err, agent.ErrBadInput) || len(err.Error()) > 600 || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	// Patterns on which backtracking engines take exponential time take one pass over the text.
	for _, pattern := range []string{"(a*)*b", "(a|a)*b", "(a|aa)+$b", "(?:a?){50}a{50}b", "[a-z]{500}b"} {
		toolstest.Same(t, pattern, toolstest.Run(t, w, "search", toolstest.Input{"pattern": pattern}).Text, "No matches.")
	}
}

// A search that is cancelled in the middle returns the cause and leaves no goroutine.
func TestSearch_Cancelled(t *testing.T) {
	testenv.NoLeaks(t)
	files := make(map[string]string)
	for i := range 400 {
		files[fmt.Sprintf("%d/%d/a.txt", i%20, i)] = "needle\n"
	}
	w := toolstest.NewWorld(t, files)
	cause := errors.New("the user has had enough")
	for name, in := range map[string]toolstest.Input{"search": {"pattern": "needle"}, "find": {"paths": []string{"**/*.txt"}}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		call := w.Call(t, name, in)
		call.FS = cancelling{w.FS, cancel, cause, filepath.Join(w.Dir, "7")}
		if _, _, err := toolstest.Do(ctx, toolstest.Tool(t, name), call); !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// cancelling is a file system that cancels the search when a directory is listed.
type cancelling struct {
	*toolstest.FS
	cancel context.CancelCauseFunc
	cause  error
	at     string
}

func (c cancelling) ReadDir(ctx context.Context, path string) ([]os.DirEntry, error) {
	if path == c.at {
		c.cancel(c.cause)
	}
	return c.FS.ReadDir(ctx, path)
}
