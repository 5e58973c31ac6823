package lsp_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/lsp"
)

func TestGopls(t *testing.T) {
	path := testenv.NeedsGopls(t)
	testenv.NoLeaks(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.24\n", "a.go": "package m\n\nfunc A() int { return 1 }\n", "b.go": "package m\n\nvar B = A()\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	children := proc.NewGroup(nil)
	s := lsp.NewServer(lsp.ServerOptions{
		Spec: &lsp.Spec{Name: "gopls", Path: path, Args: []string{"serve"}, Settings: jsonx.Raw(`{"gopls":{"staticcheck":true}}`)},
		Root: root, Children: children, Env: proc.Environ(os.Environ(), "GOFLAGS=-mod=mod"), Version: "test",
		RequestTimeout: time.Minute,
	})
	t.Cleanup(func() {
		if err := s.Close(in(t)); err != nil || children.Len() != 0 {
			t.Errorf("%v, %d children", err, children.Len())
		}
	})
	ctx, cancel := context.WithTimeout(own(t), 3*time.Minute) // gopls reads the standard library first
	defer cancel()
	a := filepath.Join(root, "a.go")
	check := func(text, want string) {
		t.Helper()
		d, err := s.Hold(ctx, a, text)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Release()
		list, fresh, err := d.Diagnostics(ctx)
		if err != nil || !fresh {
			t.Fatalf("%v, %v\n%s", fresh, err, s.Status().Log)
		}
		if got := strings.Join(messages(list), "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check("package m\n\nfunc A() int { return \"ä\" }\n", "cannot use")
	if !s.WaitIdle(ctx, timeout) {
		t.Errorf("busy with %q", s.Status().Progress)
	}
	check("package m\n\nfunc A() int { return 2 }\n", "")
	var locations []protocol.Location
	err = s.Call(ctx, "textDocument/references", jsonx.Raw(`{"textDocument":{"uri":"`+lsp.FileURI(a, runtime.GOOS)+`"},"position":{"line":2,"character":5},"context":{"includeDeclaration":false}}`), &locations)
	if err != nil || len(locations) != 1 || !strings.HasSuffix(string(locations[0].URI), "/b.go") {
		t.Errorf("references: %v, %v", locations, err)
	}
	// gopls registers watchers; a new file changes its diagnostics.
	c := filepath.Join(root, "c.go")
	if err := os.WriteFile(c, []byte("package m\n\nvar C = A()\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.FilesChanged(ctx, []lsp.FileEvent{{Path: c, Type: lsp.FileCreated}})
	err = s.Call(ctx, "textDocument/references", jsonx.Raw(`{"textDocument":{"uri":"`+lsp.FileURI(a, runtime.GOOS)+`"},"position":{"line":2,"character":5},"context":{"includeDeclaration":false}}`), &locations)
	if err != nil || len(locations) != 2 {
		t.Errorf("references with the new file: %v, %v", locations, err)
	}
	for method, want := range map[string]bool{"textDocument/rename": true, "textDocument/inlayHint": true, "textDocument/prepareTypeHierarchy": true, "textDocument/linkedEditingRange": false} {
		if s.Supports(method, a) != want {
			t.Errorf("%s: %v", method, !want)
		}
	}
	if info := s.Status().Info; !strings.HasPrefix(info, "gopls v") && info != "gopls (devel)" {
		t.Errorf("info = %q", info)
	}
}
