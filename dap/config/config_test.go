package config_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/trust"
)

// machine is a fake machine: a home directory, a workspace, and the programs on PATH.
type machine struct {
	t          *testing.T
	home, root string
	onPath     []string
	env        []string
	trust      *trust.Session
	exe        map[int]string
}

func newMachine(t *testing.T, onPath ...string) *machine {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, home: filepath.Join(dir, "home"), root: filepath.Join(dir, "work"), onPath: onPath, exe: make(map[int]string)}
	m.trust = trust.NewSession(trust.Open(filepath.Join(m.home, ".gjc", "agent", "trust.json")))
	for _, d := range []string{m.home, m.root} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// write creates a file in the workspace, or in the home directory if the name begins with ~.
func (m *machine) write(name, text string) string {
	m.t.Helper()
	path := m.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
	return path
}

func (m *machine) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(m.home, filepath.FromSlash(rest))
	}
	return filepath.Join(m.root, filepath.FromSlash(name))
}

// usr returns the directory of the programs on PATH.
func usr(name string) string {
	if runtime.GOOS == "windows" {
		return `C:\usr\` + name + ".exe"
	}
	return "/usr/none/" + name
}

func (m *machine) options() config.Options {
	return config.Options{
		Roots: []string{m.root}, Home: m.home, AgentDir: filepath.Join(m.home, ".gjc", "agent"), Trust: m.trust,
		Env: func(context.Context) []string { return m.env },
		LookPath: func(command string, _ []string) (string, error) {
			if slices.Contains(m.onPath, command) {
				return usr(command), nil
			}
			return "", fmt.Errorf("%q: %w", command, fs.ErrNotExist)
		},
	}
}

func (m *machine) open() *config.Catalog { return m.catalog(m.options()) }

// catalog returns a catalog of the machine with other options.
func (m *machine) catalog(opts config.Options) *config.Catalog {
	c := config.New(opts)
	c.SetMachine(m.path("~/top"), func(pid int) (string, error) {
		if path, ok := m.exe[pid]; ok {
			return path, nil
		}
		return "", errors.ErrUnsupported
	})
	return c
}

func (m *machine) list(c *config.Catalog) *dap.Listing {
	m.t.Helper()
	l, err := c.List(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return l
}

func names(l *dap.Listing) string {
	var all []string
	for _, s := range l.Adapters {
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

func why(l *dap.Listing, name string) string {
	for _, u := range l.Unused {
		if u.Name == name {
			return u.Why
		}
	}
	return ""
}

// native has the debuggers that need no probe.
const lldb, codelldb = "lldb-dap", "codelldb"

func TestCatalog_Find(t *testing.T) {
	all := []string{lldb, codelldb, "dlv", "js-debug-adapter", "netcoredbg", "rdbg", "dart", "flutter", "bash-debug-adapter"}
	self, err := os.Executable() // a Go binary
	if err != nil {
		t.Fatal(err)
	}
	type files = map[string]string
	for _, tt := range []struct {
		name   string
		onPath []string
		files  files
		wanted dap.Wanted
		want   string
	}{
		{"a Go file", all, nil, dap.Wanted{Program: "cmd/main.go"}, "dlv"},
		{"a Go test", all, nil, dap.Wanted{Program: "x_test.go"}, "dlv"},
		{"a Go package", all, files{"pkg/a.go": "package a"}, dap.Wanted{Program: "pkg"}, "dlv"},
		{"another directory", all, files{"pkg/a.rb": "", "Gemfile": ""}, dap.Wanted{Program: "pkg"}, "rdbg"},
		{"a directory that says nothing", all, files{"pkg/a.txt": ""}, dap.Wanted{Program: "pkg"}, "error"},
		{"a Go binary", all, nil, dap.Wanted{Program: self}, "dlv"},
		{"a Go binary without dlv", []string{lldb}, nil, dap.Wanted{Program: self}, "lldb-dap"},
		{"a binary", all, files{"prog": "\x7fELF"}, dap.Wanted{Program: "prog"}, "lldb-dap"},
		{"a binary and only codelldb", []string{codelldb}, files{"prog": "\x7fELF"}, dap.Wanted{Program: "prog"}, "codelldb"},
		{"a Windows binary", all, nil, dap.Wanted{Program: "prog.exe"}, "lldb-dap"},
		{"C", all, files{"Makefile": ""}, dap.Wanted{Program: "main.c"}, "lldb-dap"},
		{"Zig", all, nil, dap.Wanted{Program: "main.zig"}, "lldb-dap"},
		{"a header", []string{codelldb}, nil, dap.Wanted{Program: "a.h"}, "error"}, // only gdb debugs these
		{"TypeScript", all, nil, dap.Wanted{Program: "a.ts"}, "js-debug-adapter"},
		{"capitals", all, nil, dap.Wanted{Program: "A.CS"}, "netcoredbg"},
		{"a script by its first line", all, files{"run": "#!/usr/bin/env ruby\n"}, dap.Wanted{Program: "run"}, "rdbg"},
		{"a script with options", all, files{"run": "#!/usr/bin/env -S node --harmony\n"}, dap.Wanted{Program: "run"}, "js-debug-adapter"},
		{"a shell script", all, files{"run": "#!/bin/bash\n"}, dap.Wanted{Program: "run"}, "bash-debug-adapter"},
		{"Dart", all, files{"pubspec.yaml": ""}, dap.Wanted{Program: "bin/main.dart"}, "dart-debug-adapter"},
		{"Flutter", all, files{"pubspec.yaml": "", "android/x": ""}, dap.Wanted{Program: "lib/main.dart"}, "flutter-debug-adapter"},
		{"an ending that nobody knows", all, files{"package.json": ""}, dap.Wanted{Program: "x.what"}, "js-debug-adapter"},
		{"nothing but markers", all, files{"go.mod": ""}, dap.Wanted{}, "dlv"},
		{"the nearest markers", all, files{"go.mod": "", "web/package.json": "", "web/src/x": ""}, dap.Wanted{Dir: "web/src"}, "js-debug-adapter"},
		{"nothing at all", all, nil, dap.Wanted{}, "error"},

		{"by name", all, nil, dap.Wanted{Adapter: "rdbg", Program: "main.go"}, "rdbg"},
		{"by name in capitals", all, nil, dap.Wanted{Adapter: "DLV"}, "dlv"},
		{"by type", all, nil, dap.Wanted{Adapter: "pwa-node"}, "js-debug-adapter"},
		{"by a type of several", all, nil, dap.Wanted{Adapter: "lldb"}, "codelldb"},
		{"by a type of several, one there", []string{lldb}, nil, dap.Wanted{Adapter: "lldb"}, "lldb-dap"},
		{"cppdbg without gdb", all, nil, dap.Wanted{Adapter: "cppdbg"}, "lldb-dap"},

		{"attach to a process of Go", all, nil, dap.Wanted{Attach: true, PID: 1}, "dlv"},
		{"attach to another process", all, nil, dap.Wanted{Attach: true, PID: 2}, "lldb-dap"},
		{"attach to .NET", all, nil, dap.Wanted{Attach: true, PID: 3}, "netcoredbg"},
		{"attach to node", all, nil, dap.Wanted{Attach: true, PID: 4}, "lldb-dap"}, // js-debug-adapter cannot attach to a process
		{"attach to a process that is not known", all, files{"go.mod": ""}, dap.Wanted{Attach: true, PID: 9}, "dlv"},
		{"attach to a process, nothing known", all, nil, dap.Wanted{Attach: true, PID: 9}, "lldb-dap"},
		{"attach to a port in Go", all, files{"go.mod": ""}, dap.Wanted{Attach: true, Remote: true}, "dlv"},
		{"attach to a port in node", all, files{"package.json": ""}, dap.Wanted{Attach: true, Remote: true}, "js-debug-adapter"},
		{"attach to a port in C", all, files{"CMakeLists.txt": ""}, dap.Wanted{Attach: true, Remote: true}, "lldb-dap"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, tt.onPath...)
			m.write(".git/HEAD", "")
			for name, text := range tt.files {
				m.write(name, text)
			}
			m.exe = map[int]string{1: self, 2: m.write("elf", "\x7fELF"), 3: "/usr/bin/dotnet", 4: "/usr/bin/node"}
			w := tt.wanted
			if w.Program != "" && !filepath.IsAbs(w.Program) {
				w.Program = m.path(w.Program)
			}
			if w.Dir != "" {
				w.Dir = m.path(w.Dir)
			}
			spec, err := m.open().Find(t.Context(), w)
			got := "error"
			if err == nil {
				got = spec.Name
			} else if _, ok := errors.AsType[*config.NotFoundError](err); !ok {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			if got != tt.want {
				t.Errorf("found %s (%v), want %s", got, err, tt.want)
			}
		})
	}
}

// TestNotFound checks that the error says what is missing, how to install it, and what is installed.
func TestNotFound(t *testing.T) {
	for _, tt := range []struct {
		onPath []string
		wanted dap.Wanted
		want   []string
	}{
		{nil, dap.Wanted{Program: "main.go"}, []string{"No debugger adapter available. Installed adapters: none. For main.go: dlv: ", "neither in the project nor on PATH; to get it: go install github.com/go-delve"}},
		{[]string{"rdbg", lldb}, dap.Wanted{Program: "main.go"}, []string{"Installed adapters: lldb-dap, rdbg."}},
		{[]string{"rdbg"}, dap.Wanted{Adapter: "dlvv"}, []string{`Unknown debugger adapter "dlvv". Did you mean "dlv"? Installed adapters: rdbg.`}},
		{[]string{"rdbg"}, dap.Wanted{Adapter: "dlv"}, []string{`The debugger adapter dlv cannot be used. Installed adapters: rdbg. dlv: the program "dlv" is`, "go install"}},
		{nil, dap.Wanted{}, []string{"No debugger adapter available. Installed adapters: none."}},
	} {
		m := newMachine(t, tt.onPath...)
		if tt.wanted.Program != "" {
			tt.wanted.Program = m.path(tt.wanted.Program)
		}
		_, err := m.open().Find(t.Context(), tt.wanted)
		if err == nil {
			t.Errorf("%+v: no error", tt.wanted)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: %v\nwant %s", tt.wanted, err, part)
			}
		}
	}
}

func TestCatalog_List(t *testing.T) {
	m := newMachine(t, lldb, "dlv")
	m.write("go.mod", "")
	m.write("~/dap.json", `{"rdbg": {"disabled": true}, "mine": {"command": "`+filepath.ToSlash(m.write("~/bin/mine.exe", ""))+`", "startTimeoutMs": 2000, "env": {"A": "b"}}, "broken": {"args": []}}`)
	m.write("~/.gjc/agent/dap.yaml", "adapters:\n  mine:\n    args: [x]\n  dlv:\n    args: [dap, --log, '${port}']\n")
	c := m.open()
	l := m.list(c)
	if got := names(l); got != "mine lldb-dap" {
		t.Errorf("adapters: %s", got)
	}
	mine := l.Adapters[0]
	if strings.Join(mine.Args, " ") != "x" || mine.Slow.Milliseconds() != 2000 || !slices.Equal(mine.Env, []string{"A=b"}) || mine.Connect != dap.ConnectStdio {
		t.Errorf("%+v", mine)
	}
	if got := why(l, "rdbg"); got != "turned off in "+m.path("~/dap.json")+":1" {
		t.Errorf("rdbg: %s", got)
	}
	if got := why(l, "dlv"); !strings.Contains(got, "connectMode must be dial or listen") {
		t.Errorf("dlv: %s", got)
	}
	if got := why(l, "netcoredbg"); !strings.Contains(got, "to get it: unpack a release of Samsung/netcoredbg") {
		t.Errorf("netcoredbg: %s", got)
	}
	for _, u := range l.Unused {
		if elsewhere := !slices.Contains([]string{"rdbg", "dlv"}, u.Name); u.Elsewhere != elsewhere {
			t.Errorf("%s: elsewhere is %v", u.Name, u.Elsewhere)
		}
	}
	problems := strings.Join(l.Problems, "\n")
	for _, part := range []string{`unknown adapter "broken" needs a command`, `adapter "dlv": its args have ${port}`} {
		if !strings.Contains(problems, part) {
			t.Errorf("problems:\n%s\nwant %s", problems, part)
		}
	}
	again := m.list(c)
	if again.Adapters[0] != mine {
		t.Error("a second search returned another pointer for the same adapter")
	}
	if spec, err := c.Find(t.Context(), dap.Wanted{Adapter: "mine"}); err != nil || spec != mine {
		t.Errorf("found %v, %v", spec, err)
	}
}

// TestCatalog_ProjectFiles checks that files of the project are ignored until the user trusts it, and that the defaults work.
func TestCatalog_ProjectFiles(t *testing.T) {
	m := newMachine(t, "dlv")
	m.write("dap.yaml", "dlv:\n  args: [dap, --evil]\n")
	m.write(".gjc/dap.json", `{"dlv": {"startTimeoutMs": 7}, "rdbg": {"disabled": true}}`)
	c := m.open()
	w := dap.Wanted{Program: m.path("main.go")}
	spec, err := c.Find(t.Context(), w)
	if err != nil || strings.Join(spec.Args, " ") != "dap" || spec.Slow.Milliseconds() != 7 {
		t.Fatalf("%+v, %v", spec, err)
	}
	l := m.list(c)
	if got := strings.Join(l.Problems, "\n"); !strings.Contains(got, m.path("dap.yaml")+": not used, because the workspace is not trusted yet") {
		t.Errorf("problems: %s", got)
	}
	if sub, err := c.UntrustedFor(t.Context(), dap.Wanted{Program: m.path("a.rb")}); err != nil || sub != nil {
		t.Errorf("asked about Go for a Ruby file: %+v, %v", sub, err)
	}
	sub, err := c.UntrustedFor(t.Context(), w)
	if err != nil || sub == nil {
		t.Fatalf("nobody is asked: %v", err)
	}
	if got := strings.Join(sub.Describe(), "|"); got != `dap.yaml|  adapter "dlv" has the arguments: dap --evil` {
		t.Errorf("the question is %q", got)
	}
	if all, err := c.Untrusted(t.Context()); err != nil || all == nil {
		t.Errorf("nobody is asked about the workspace: %v", err)
	}
	if err := c.Answer(t.Context(), sub, trust.Trusted, true); err != nil {
		t.Fatal(err)
	}
	if spec, err := c.Find(t.Context(), w); err != nil || strings.Join(spec.Args, " ") != "dap --evil" {
		t.Errorf("after yes: %+v, %v", spec, err)
	}
	// A modified file needs to be trusted again.
	m.write("dap.yaml", "dlv:\n  args: [dap, --worse]\n")
	c.Changed([]string{m.path("dap.yaml")})
	if spec, err := c.Find(t.Context(), w); err != nil || strings.Join(spec.Args, " ") != "dap" {
		t.Errorf("after a change: %+v, %v", spec, err)
	}
	sub, err = c.UntrustedFor(t.Context(), w)
	if err != nil || sub == nil || !slices.Equal(sub.Changed, []string{"dap.yaml"}) {
		t.Fatalf("the question is %+v, %v", sub, err)
	}
	if err := c.Answer(t.Context(), sub, trust.Denied, false); err != nil {
		t.Fatal(err)
	}
	if sub, err := c.UntrustedFor(t.Context(), w); err != nil || sub != nil {
		t.Errorf("asked again after no: %+v, %v", sub, err)
	}
	if got := strings.Join(m.list(c).Problems, "\n"); !strings.Contains(got, "you have denied this workspace") {
		t.Errorf("problems: %s", got)
	}
}

// TestCatalog_LocalPrograms checks that the project's own program is run only if the project is trusted, even if PATH leads
// into it.
func TestCatalog_LocalPrograms(t *testing.T) {
	name := "bin/dlv"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	m := newMachine(t)
	local := m.write(name, "")
	c := m.open()
	w := dap.Wanted{Program: m.path("main.go")}
	if _, err := c.Find(t.Context(), w); err == nil || !strings.Contains(err.Error(), local+" is the project's own program and is not run") {
		t.Errorf("error %v", err)
	}
	sub, err := c.UntrustedFor(t.Context(), w)
	if err != nil || sub == nil || len(sub.Programs) != 1 {
		t.Fatalf("the question is %+v, %v", sub, err)
	}
	if err := c.Answer(t.Context(), sub, trust.Trusted, false); err != nil {
		t.Fatal(err)
	}
	if spec, err := c.Find(t.Context(), w); err != nil || spec.Path != local {
		t.Errorf("after yes: %+v, %v", spec, err)
	}
}

func TestCatalog_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	c := newMachine(t, "dlv").open()
	if _, err := c.Find(ctx, dap.Wanted{Adapter: "dlv"}); !errors.Is(err, stop) {
		t.Errorf("Find: %v", err)
	}
	if _, err := c.List(ctx); !errors.Is(err, stop) {
		t.Errorf("List: %v", err)
	}
	if l, err := c.List(t.Context()); err != nil || names(l) != "dlv" {
		t.Errorf("afterwards: %v, %v", l, err)
	}
}

// TestCatalog_Roots checks that an adapter that is usable in one root is not listed as unused because of another root.
func TestCatalog_Roots(t *testing.T) {
	m := newMachine(t, "dlv", "rdbg")
	other := filepath.Join(m.root, "..", "other")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	m.write("dap.json", `{"dlv": {"disabled": true}}`)
	opts := m.options()
	opts.Roots = append(opts.Roots, other)
	c := m.catalog(opts)
	l := m.list(c)
	if got := names(l); got != "rdbg dlv" || why(l, "dlv") != "" || len(l.Unused) != 12 {
		t.Errorf("adapters %s, %d others", got, len(l.Unused))
	}
	if spec, err := c.Find(t.Context(), dap.Wanted{Program: filepath.Join(filepath.Clean(other), "a.go")}); err != nil || spec.Name != "dlv" {
		t.Errorf("%v, %v", spec, err)
	}
	if spec, err := c.Find(t.Context(), dap.Wanted{Program: m.path("a.go")}); err == nil {
		t.Errorf("%v", spec)
	}
}

// TestCatalog_NoRoots checks that a catalog without roots has the defaults and the user's own files.
func TestCatalog_NoRoots(t *testing.T) {
	m := newMachine(t, "dlv")
	opts := m.options()
	opts.Roots = nil
	c := m.catalog(opts)
	if spec, err := c.Find(t.Context(), dap.Wanted{Program: m.path("a.go")}); err != nil || spec.Name != "dlv" {
		t.Errorf("%v, %v", spec, err)
	}
	if sub, err := c.Untrusted(t.Context()); err != nil || sub != nil {
		t.Errorf("%v, %v", sub, err)
	}
}
