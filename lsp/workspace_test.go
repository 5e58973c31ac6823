package lsp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/lsp"
)

// oneServer is a catalog with one server.
type oneServer struct {
	spec *lsp.Spec
	root string
}

func (c *oneServer) For(_ context.Context, path string) ([]lsp.Candidate, error) {
	for _, t := range c.spec.FileTypes {
		if strings.HasSuffix(path, t) {
			return []lsp.Candidate{{Spec: c.spec, Root: c.root}}, nil
		}
	}
	return nil, nil
}

func (c *oneServer) List(context.Context) (*lsp.Listing, error) {
	return &lsp.Listing{Servers: []lsp.Candidate{{Spec: c.spec, Root: c.root}}}, nil
}

func (c *oneServer) Changed([]string) {}

// TestWorkspace_Gopls makes changes to a module and checks the reports of the real gopls.
func TestWorkspace_Gopls(t *testing.T) {
	testenv.NoLeaks(t)
	gopls := testenv.NeedsGopls(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("go.mod", "module example.com/m\n\ngo 1.24\n")
	one := "package m\n\nfunc One() int { return 1 }\n"
	a := write("a.go", one)
	b := write("b.go", "package m\n\nvar two = One() + One()\n")
	group := proc.NewGroup(nil)
	m := lsp.NewManager(lsp.ManagerOptions{Children: group, Env: func(context.Context) []string { return os.Environ() }, Version: "test"})
	defer func() {
		if err := m.Close(own(t)); err != nil {
			t.Error(err)
		}
		if err := group.Close(own(t)); err != nil {
			t.Error(err)
		}
	}()
	w := m.Open(lsp.WorkspaceOptions{
		Roots: []string{dir}, Catalog: &oneServer{&lsp.Spec{Name: "gopls", Path: gopls, Args: []string{"serve"}, FileTypes: []string{".go"}}, dir},
		ReadFile: func(_ context.Context, path string) ([]byte, error) { return os.ReadFile(path) },
	})
	defer w.Close()
	ctx, cancel := context.WithTimeout(own(t), 5*time.Minute)
	defer cancel()
	display := func(path string) string { return filepath.Base(path) }
	report := func(before map[string]string, paths ...string) string {
		return lsp.ReportText(w.Before(before).Report(ctx, time.Minute, paths), display, 50)
	}
	step := func(name, old, now, want string) {
		t.Helper()
		before := map[string]string{}
		path := filepath.Join(dir, name)
		if old != "" {
			before[path] = old
		}
		write(name, now)
		got := report(before, path)
		if !strings.Contains(got, "\n") && strings.Contains(want, "no problems (gopls)\n") {
			// On a busy machine, the diagnostics of other files are late.
			var late []*lsp.Report
			for late == nil && ctx.Err() == nil {
				late = w.Late()
			}
			got += "\n" + lsp.ReportText(late, display, 50)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
	two := "package m\n\nvar two = One() + One()\n"
	broken := strings.Replace(one, "1 }", `"one" }`, 1)
	step("a.go", one, broken, `a.go: 1 error (1 new)
  3:25 [error] [new] [compiler] cannot use "one" (untyped string constant) as int value in return statement (IncompatibleAssign)`)
	// A diagnostic that only moved is not new.
	moved := strings.Replace(broken, "func One", "// One is one.\nfunc One", 1) + "\nvar x = y\n"
	step("a.go", broken, moved, `a.go: 2 errors (1 new)
  6:9 [error] [new] [compiler] undefined: y (UndeclaredName)
  4:25 [error] [compiler] cannot use "one" (untyped string constant) as int value in return statement (IncompatibleAssign)`)
	step("a.go", moved, one, "a.go: no problems (gopls)")
	// New errors in other files are reported too.
	renamed := strings.ReplaceAll(one, "One", "Eins")
	step("a.go", one, renamed, `a.go: no problems (gopls)
b.go: 2 errors (2 new)
  3:11 [error] [new] [compiler] undefined: One (UndeclaredName)
  3:19 [error] [new] [compiler] undefined: One (UndeclaredName)`)
	step("a.go", renamed, one, "a.go: no problems (gopls)")
	// Two files at once.
	twice := strings.ReplaceAll(two, "One", "Eins")
	write("a.go", renamed)
	write("b.go", twice)
	if d := cmp.Diff("a.go: no problems (gopls)\nb.go: no problems (gopls)", report(map[string]string{a: one, b: two}, a, b)); d != "" {
		t.Errorf("two files: -want +got:\n%s", d)
	}
	write("a.go", one)
	write("b.go", two)
	if d := cmp.Diff("a.go: no problems (gopls)\nb.go: no problems (gopls)", report(map[string]string{a: renamed, b: twice}, a, b)); d != "" {
		t.Errorf("two files: -want +got:\n%s", d)
	}
	step("b.go", two, two+"\nvar three = Three\n", `b.go: 1 error (1 new)
  5:13 [error] [new] [compiler] undefined: Three (UndeclaredName)`)
	step("c.go", "", "package m\n\nconst Three = 3\n", "c.go: no problems (gopls)")
	for mended := false; !mended; { // gopls may publish it after the diagnostics of c.go
		r, err := w.Diagnostics(ctx, b)
		if err != nil || len(r.Silent) > 0 || ctx.Err() != nil {
			t.Fatalf("b.go, mended by c.go: %+v, %v", r, err)
		}
		mended = len(r.Diagnostics) == 0
	}
	// A change on the disk.
	if err := os.Remove(filepath.Join(dir, "c.go")); err != nil {
		t.Fatal(err)
	}
	w.Changed(lsp.FileEvent{Path: filepath.Join(dir, "c.go"), Type: lsp.FileDeleted})
	for ctx.Err() == nil {
		if r, err := w.Diagnostics(ctx, b); err == nil && len(r.Diagnostics) == 1 {
			break
		}
	}
	if ctx.Err() != nil {
		t.Error("the servers were not notified of a deleted file")
	}
}
