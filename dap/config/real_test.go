package config_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

// patience is long enough for adapters on a busy machine.
const patience = 90 * time.Second

// thisMachine returns a catalog of the programs on this machine, with more directories on PATH.
func thisMachine(t *testing.T, root string, path ...string) *config.Catalog {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		testenv.Skip(t, "no home directory: %v", err)
	}
	return config.New(config.Options{Roots: []string{root}, Home: home, Env: func(context.Context) []string {
		return append(os.Environ(), "PATH="+strings.Join(append(path, os.Getenv("PATH")), string(filepath.ListSeparator)))
	}})
}

// TestCatalog_Machine checks that the adapters that are found on this machine are programs.
func TestCatalog_Machine(t *testing.T) {
	list, err := thisMachine(t, t.TempDir()).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Adapters)+len(list.Unused) < 14 {
		t.Errorf("%d adapters and %d others", len(list.Adapters), len(list.Unused))
	}
	for _, s := range list.Adapters {
		t.Logf("%s: %s %q %q", s.Name, s.Path, s.Args, s.Notes)
		if info, err := os.Stat(s.Path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v", s.Path, err)
		}
	}
}

// run starts a prepared launch with breakpoints, and returns the session at its first stop.
func run(t *testing.T, p *config.Prepared, breakpoints ...dap.Breakpoint) (*dap.Session, *dap.Snapshot) {
	t.Helper()
	ctx, cancel := context.WithTimeout(permit.With(t.Context(), permit.Own()), patience)
	t.Cleanup(cancel)
	children := proc.NewGroup(nil)
	d := dap.NewDebugger(dap.Options{Children: children, Env: func(context.Context) []string { return os.Environ() }})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			t.Error(err)
		}
		_ = children.Close(ctx)
	})
	for _, b := range breakpoints {
		d.Plan(b)
	}
	s, err := d.Start(ctx, &p.Start)
	if err != nil {
		t.Fatalf("%v\n%+v", err, p.Start)
	}
	if err := s.Wait(ctx); err != nil {
		t.Fatalf("%v\n%+v", err, p.Start)
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if snap.State != dap.StateStopped || snap.Frame == nil {
		t.Fatalf("the program is %s (%v), output %q", snap.State, snap.Ended, snap.Output)
	}
	return s, snap
}

// value returns the value of an expression in the stopped program.
func value(t *testing.T, s *dap.Session, expression string) string {
	t.Helper()
	v, err := s.Evaluate(t.Context(), expression, "watch", 0)
	if err != nil {
		t.Fatal(err)
	}
	return v.Value
}

// prepared finds an adapter and prepares a launch for it. It skips the test if the adapter is not installed.
func prepared(t *testing.T, c *config.Catalog, adapter string, l config.Launch) *config.Prepared {
	t.Helper()
	spec, err := c.Find(t.Context(), dap.Wanted{Program: l.Program, Adapter: adapter, Dir: l.Dir})
	if err != nil {
		testenv.Skip(t, "%v", err)
	}
	p, err := config.PrepareLaunch(spec, l)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReal_Python checks that debugpy understands a prepared launch: program, arguments, environment and directory.
func TestReal_Python(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "main.py")
	write(t, program, "import os, sys\nx = os.environ['A']\ny = sys.argv[1:]\nz = os.getcwd()\nprint(x)\n")
	write(t, filepath.Join(dir, ".vscode", "launch.json"), `{"configurations": [{
  "name": "Run it", "type": "debugpy", "request": "launch", "program": "${file}", "args": "one 'two three'", "envFile": "vars", "justMyCode": true, // all of it
}]}`)
	write(t, filepath.Join(dir, "vars"), "A=from a file\n")
	c := thisMachine(t, dir)
	stop := dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: program, Line: 5}
	for _, from := range []string{"the tool", "launch.json"} {
		t.Run(from, func(t *testing.T) {
			p := prepared(t, c, "", config.Launch{
				Program: program, Args: []string{"one", "two three"}, Dir: dir, Env: map[string]string{"A": "from a file"}, StopOnEntry: new(false),
			})
			if from == "launch.json" {
				made, err := c.Configuration(t.Context(), "run it", config.Resolve{File: program})
				if err != nil {
					t.Fatal(err)
				}
				if p, err = config.PrepareConfiguration(p.Adapter, made); err != nil {
					t.Fatal(err)
				}
			}
			s, snap := run(t, p, stop)
			if snap.Frame.Line != 5 || snap.Frame.Path != program {
				t.Errorf("it stopped at %s:%d", snap.Frame.Path, snap.Frame.Line)
			}
			if x, y, z := value(t, s, "x"), value(t, s, "y"), value(t, s, "z"); x != "'from a file'" || y != "['one', 'two three']" || z != "'"+dir+"'" {
				t.Errorf("x = %s, y = %s, z = %s", x, y, z)
			}
		})
	}
}

// fakePytest replaces pytest: it runs a test by its ID.
const fakePytest = `import sys
file, name = sys.argv[1].split("::")
scope = {"__name__": "test"}
with open(file) as f:
    exec(compile(f.read(), file, "exec"), scope)
scope[name]()
`

// TestReal_Pytest checks that a pytest test is run by its ID.
func TestReal_Pytest(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "test_a.py")
	write(t, file, "def test_no():\n    assert False\n\ndef test_yes():\n    n = 41\n    n += 1\n    assert n == 42\n")
	p := prepared(t, thisMachine(t, dir), "", config.Launch{Program: file + "::test_yes", Dir: dir, StopOnEntry: new(false)})
	if err := exec.CommandContext(t.Context(), p.Adapter.Path, "-c", "import pytest").Run(); err != nil {
		write(t, filepath.Join(dir, "pytest.py"), fakePytest)
	}
	s, snap := run(t, p, dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: file, Line: 7})
	if n := value(t, s, "n"); n != "42" || snap.Frame.Name != "test_yes" {
		t.Errorf("n = %s in %s", n, snap.Frame.Name)
	}
}

// TestReal_C checks that lldb-dap accepts a prepared launch, including one of type cppdbg.
func TestReal_C(t *testing.T) {
	cc := testenv.NeedsTool(t, "cc")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	source, program := filepath.Join(dir, "main.c"), filepath.Join(dir, "prog")
	write(t, source, "#include <stdlib.h>\nint main(int n, char **v) {\n  char *a = getenv(\"A\");\n  char *b = n > 1 ? v[1] : 0;\n  return a == b;\n}\n")
	if out, err := exec.CommandContext(t.Context(), cc, "-g", "-O0", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write(t, filepath.Join(dir, ".vscode", "launch.json"), `{"configurations": [{"name": "C", "type": "cppdbg", "request": "launch", "program": "${workspaceFolder}/prog",
"args": ["one two"], "environment": [{"name": "A", "value": "x=y"}], "MIMode": "lldb", "stopAtEntry": false, "setupCommands": [{"text": "settings set target.max-string-summary-length 100"}]}]}`)
	c := thisMachine(t, dir)
	for _, from := range []string{"the tool", "launch.json"} {
		t.Run(from, func(t *testing.T) {
			p := prepared(t, c, "lldb-dap", config.Launch{
				Program: program, Args: []string{"one two"}, Dir: dir, Env: map[string]string{"A": "x=y"}, StopOnEntry: new(false),
			})
			if from == "launch.json" {
				made, err := c.Configuration(t.Context(), "C", config.Resolve{})
				if err != nil {
					t.Fatal(err)
				}
				if p, err = config.PrepareConfiguration(p.Adapter, made); err != nil {
					t.Fatal(err)
				}
			}
			s, snap := run(t, p, dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: source, Line: 5})
			if snap.Frame.Line != 5 {
				t.Errorf("it stopped at %s:%d", snap.Frame.Path, snap.Frame.Line)
			}
			if a, b := value(t, s, "a"), value(t, s, "b"); !strings.Contains(a, `"x=y"`) || !strings.Contains(b, `"one two"`) {
				t.Errorf("a = %s, b = %s", a, b)
			}
		})
	}
}

// TestReal_Go checks that dlv understands a prepared launch: of a package in another module than the directory's, and of a
// test by name.
func TestReal_Go(t *testing.T) {
	dlv := testenv.NeedsDelve(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, test := filepath.Join(dir, "sub", "main.go"), filepath.Join(dir, "sub", "main_test.go")
	write(t, filepath.Join(dir, "sub", "go.mod"), "module example.com/sub\n\ngo 1.24\n")
	write(t, main, "package main\n\nimport \"os\"\n\nfunc main() {\n\targs := os.Args[1:]\n\tif len(args) > 0 {\n\t\tprintln(args[0], os.Getenv(\"A\"))\n\t}\n}\n")
	write(t, test, "package main\n\nimport \"testing\"\n\nfunc TestNo(t *testing.T) { t.Fatal() }\n\nfunc TestYes(t *testing.T) {\n\tn := 42\n\tt.Log(n)\n}\n")
	c := thisMachine(t, dir, filepath.Dir(dlv))
	p := prepared(t, c, "", config.Launch{Program: main, Args: []string{"one two"}, Dir: dir, TempDir: t.TempDir(), StopOnEntry: new(false)})
	s, snap := run(t, p, dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: main, Line: 8})
	if got := value(t, s, "args[0]"); got != `"one two"` || snap.Frame.Line != 8 {
		t.Errorf("args[0] = %s at %s:%d", got, snap.Frame.Path, snap.Frame.Line)
	}
	p = prepared(t, c, "", config.Launch{Program: filepath.Dir(test), Mode: "test", Args: []string{"-run", "TestYes"}, Dir: dir, TempDir: t.TempDir(), StopOnEntry: new(false)})
	s, snap = run(t, p, dap.Breakpoint{Kind: dap.SourceBreakpoint, Path: test, Line: 9})
	if got := value(t, s, "n"); got != "42" || snap.Frame.Line != 9 {
		t.Errorf("n = %s at %s:%d", got, snap.Frame.Path, snap.Frame.Line)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "sub", "__debug*")); err != nil || len(left) > 0 {
		t.Errorf("left in the project: %q, %v", left, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
