package files_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// Every invalid input is answered with an explanation.
func TestRead_BadInput(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.go": "package a\n"})
	for _, in := range []string{
		"", "null", "[]", "7", `"a.go"`, "{", `{}`, `{"path": null}`, `{"path": 7}`, `{"path": ["a.go"]}`, `{"path": {}}`, `{"path": ""}`, `{"path": "\u0000"}`,
		`{"path": "a.go", "limit": 5}`, `{"path": "a.go", "path": "b.go"}`, `{"Path": "a.go"}`, `{"path": "a.go:0"}`, `{"path": "a.go:9-3"}`, `{"path": "a.go:1+0"}`,
		`{"path": "` + strings.Repeat("x", 1<<20) + `"}`, `{"path": "` + strings.Repeat("a.zip:", 10_000) + `"}`, `{"path": "a.go:` + strings.Repeat("9", 10_000) + `"}`,
		`{"path": "a.go:conflicts:raw"}`, `{"path": "gopher://a/b"}`, `{"path": "https://"}`, `{"path": "artifact://"}`, `{"path": "artifact://../../etc/passwd"}`,
	} {
		if _, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "read"), w.Call(t, "read", in)); err == nil {
			t.Errorf("%.60s: %.100q", in, res.Text)
		} else if len(err.Error()) > 2<<20 {
			t.Errorf("%.60s: an error of %d bytes", in, len(err.Error()))
		}
	}
}

// Paths that are not regular files.
func TestRead_OddPaths(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a\nb.txt": "odd\n", "dir.zip/x": "y", "a.zip.txt": "text\n"})
	if err := os.Symlink("nowhere", w.Path("broken")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if err := os.Symlink("broken.zip", w.Path("loop.zip")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop.zip", w.Path("broken.zip")); err != nil {
		t.Fatal(err)
	}
	toolstest.Same(t, "a name with a line end", toolstest.Run(t, w, "read", toolstest.Input{"path": "a\nb.txt:1"}).Text, "    1|odd")
	toolstest.Same(t, "not an archive's name", toolstest.Run(t, w, "read", toolstest.Input{"path": "a.zip.txt"}).Text, "    1|text")
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": "broken"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": "loop.zip:a"}); err == nil {
		t.Error("a circle of links was read")
	}
}
