package search_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// brokenRipgrep is an rg that fails in a given way.
type brokenRipgrep struct {
	out string
	err error
}

func (brokenRipgrep) LookPath(string) (string, error) { return "/bin/rg", nil }

func (b brokenRipgrep) Output(context.Context, agent.Program, int) ([]byte, error) {
	return []byte(b.out), b.err
}

// If ripgrep fails, the search still succeeds.
func TestSearchWithoutRipgrep(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "needle\n"})
	for name, programs := range map[string]agent.Programs{
		"absent":          nil,
		"does not start":  brokenRipgrep{err: errors.New("exec format error")},
		"crashes":         brokenRipgrep{err: &agent.ExitError{Program: "rg", Code: 139}},
		"old":             brokenRipgrep{err: &agent.ExitError{Program: "rg", Code: 2, Stderr: "unrecognized flag --crlf"}},
		"prints nonsense": brokenRipgrep{out: "a.txt:1:needle\n"},
	} {
		w.Programs = programs
		toolstest.Same(t, name, toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle"}).Text, "a.txt\n    1:needle")
	}
	w.Programs = brokenRipgrep{err: &agent.ExitError{Program: "rg", Code: 1}}
	toolstest.Same(t, "finds nothing", toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle"}).Text, "No matches.")
}

func TestSearchPlan(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"d/a.txt": "needle\n"})
	p := toolstest.MustPlan(t, w, "search", toolstest.Input{"pattern": "needle"})
	toolstest.Same(t, "title", p.Title, "Search needle")
	toolstest.Same(t, "effects", p.Effects, []approval.Effect{{Action: approval.ActionRead, Path: w.Dir}})
	p = toolstest.MustPlan(t, w, "search", toolstest.Input{"pattern": "needle", "paths": []string{"d/*.txt", ".."}})
	toolstest.Same(t, "title", p.Title, "Search needle in d/*.txt, ..")
	toolstest.Same(t, "effects", p.Effects, []approval.Effect{{Action: approval.ActionRead, Path: w.Path("d")}, {Action: approval.ActionRead, Path: w.Path("..")}})
}

// Search reads the disk and must not ask the editor for every file.
func TestSearchAsksTheEditorForNothing(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "needle\n"})
	w.FS.Buffers[w.Path("a.txt")] = "not here\n"
	toolstest.Same(t, "text", toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle"}).Text, "a.txt\n    1:needle")
	if w.FS.Reads != nil {
		t.Errorf("reads: %v", w.FS.Reads)
	}
}

func TestSearchLimits(t *testing.T) {
	files := map[string]string{"many.txt": strings.Repeat("needle\n", 300)}
	for i := range 45 {
		files[fmt.Sprintf("f%02d.txt", i)] = "needle\n"
	}
	w := toolstest.NewWorld(t, files)
	res := toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle"})
	if len(res.Locations) != 20 || !strings.HasSuffix(res.Text, "[Files 1 to 20 of 46 with matches. Continue with skip: 20]") {
		t.Errorf("%d locations, %q", len(res.Locations), res.Text[len(res.Text)-100:])
	}
	res = toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle", "skip": 40})
	if n := strings.Count(res.Text, ":needle\n"); len(res.Locations) != 6 || n != 5+20 || !strings.Contains(res.Text, "more matches in this file") {
		t.Errorf("%d locations, %d matches: %s", len(res.Locations), n, res.Text)
	}
	res = toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle", "paths": []string{"many.txt"}})
	if n := strings.Count(res.Text, ":needle\n"); n != 200 || !strings.Contains(res.Text, "more matches in this file") {
		t.Errorf("%d matches in one file", n)
	}
	for i := range 20 {
		w.Put(t, fmt.Sprintf("wide/%02d.txt", i), strings.Repeat("needle "+strings.Repeat("x", 2000)+"\n", 20))
	}
	text := toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle", "paths": []string{"wide"}}).Text
	if len(text) > 52<<10 || !strings.Contains(text, "Files 1 to 2 of 20 with matches. Continue with skip: 2") {
		t.Errorf("wide lines: %d bytes, %q", len(text), text[len(text)-100:])
	}
	if !strings.Contains(text, "… [983 more characters]") {
		t.Error("the lines are not cut")
	}
}

func TestSearchMissingPath(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"src/a.txt": "x"})
	if err := toolstest.Fails(t, w, "search", toolstest.Input{"pattern": "x", "paths": []string{"a.txt"}}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "did you mean src/a.txt?") {
		t.Errorf("%v", err)
	}
	// A comma in a name does not make a list.
	w.Put(t, "a,b.txt", "x\n")
	toolstest.Same(t, "text", toolstest.Run(t, w, "search", toolstest.Input{"pattern": "x", "paths": []string{"a,b.txt"}}).Text, "a,b.txt\n    1:x")
}

// Files with secrets are searched only if the call names them, which requires permission.
func TestSearch_Secrets(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{".env": "KEY=needle\n", "sub/x.pem": "needle\n", "a.txt": "needle\n", ".env.example": "KEY=needle\n"})
	w.Readable = func(path string) bool { return path != w.Path(".env") && path != w.Path("sub/x.pem") }
	for _, paths := range [][]string{{"."}, {"**/*"}, {".env*", "a.txt", "sub"}} {
		text := toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle", "paths": paths}).Text
		if strings.Contains(text, "KEY=needle\n") != strings.Contains(text, ".env.example") || !strings.Contains(text, "are not shown: ") || !strings.Contains(text, "a.txt") {
			t.Errorf("%q: %s", paths, text)
		}
		if strings.Contains(text, "\n.env\n") || strings.HasPrefix(text, ".env\n") || strings.Contains(text, "x.pem\n") {
			t.Errorf("%q: secrets are shown: %s", paths, text)
		}
	}
	if text := toolstest.Run(t, w, "search", toolstest.Input{"pattern": "needle", "paths": []string{".env"}}).Text; !strings.Contains(text, "KEY=needle") {
		t.Errorf("by its name: %s", text)
	}
}

// The name of a file must not look like a line of the result.
func TestNamesThatForgeLines(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names there have no such characters")
	}
	w := toolstest.NewWorld(t, map[string]string{"x.go\n    7:forged\nreal.go": "needle\n", "esc\x1b[2J": "needle\n", "plain.go": "needle\n"})
	for tool, in := range map[string]toolstest.Input{
		"search": {"pattern": "needle"}, "find": {"paths": []string{"."}}, "read": {"path": "."},
	} {
		text := toolstest.Run(t, w, tool, in).Text
		if strings.Contains(text, "\n    7:forged") || strings.Contains(text, "\x1b") || !strings.Contains(text, `"x.go\n    7:forged\nreal.go"`) || !strings.Contains(text, "plain.go") {
			t.Errorf("%s:\n%s", tool, text)
		}
	}
}
