//go:build unix

package config_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/trust"
)

// script creates a shell script.
func (m *machine) script(name, text string) string {
	m.t.Helper()
	// If a parallel test starts a process while the file is open for writing, the process inherits the file for a moment, and
	// the script cannot be run ("text file busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return m.write(name, "#!/bin/sh\n"+text+"\n")
}

// real is a machine whose PATH consists of the given directories in the home directory. It searches them on disk.
func (m *machine) real(path ...string) *config.Catalog {
	m.t.Helper()
	for i, p := range path {
		if strings.HasPrefix(p, "~/") || p == "tools" {
			path[i] = m.path(p)
		}
	}
	children := proc.NewGroup(nil)
	m.t.Cleanup(func() {
		if err := children.Close(context.Background()); err != nil {
			m.t.Error(err)
		}
	})
	opts := m.options()
	opts.LookPath, opts.Children = nil, children
	opts.Env = func(context.Context) []string {
		return append(m.env, "PATH="+strings.Join(path, ":"))
	}
	return m.catalog(opts)
}

// TestProbe_GDB checks that an old gdb and one without Python are rejected, and that each is probed once.
func TestProbe_GDB(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"new", `echo "GNU gdb (Debian 16.3-1) 16.3"; echo has Python`, ""},
		{"Fedora", `echo "GNU gdb (Fedora Linux) 15.2-4.fc41"; echo has Python`, ""},
		{"built from git", `echo "GNU gdb (GDB) 17.0.50.20251101-git"; echo has Python`, ""},
		{"old", `echo "GNU gdb (Debian 13.1-3) 13.1"; echo has Python`, "is version 13.1, and the Debug Adapter Protocol needs gdb 14 or newer"},
		{"without Python", `echo "GNU gdb (GDB) 16.3"; echo "Python scripting is not supported in this copy of GDB." >&2; exit 1`, "was built without Python"},
		{"broken", `echo "libfoo.so: cannot open" >&2; exit 127`, "did not print its version: libfoo.so: cannot open"},
		{"another program", `echo hello`, "did not print its version; gdb 14 or newer is needed"},
		{"a flood", `exec yes 9.9`, "did not answer within 3 seconds"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testenv.NoLeaks(t)
			m := newMachine(t)
			path := m.script("~/bin/gdb", `echo x >>`+m.path("~/asked")+"\n"+tt.script)
			c := m.real("~/bin", "/usr/bin", "/bin")
			spec, err := c.Find(t.Context(), dap.Wanted{Adapter: "gdb"})
			c.Changed(nil)
			_, again := c.Find(t.Context(), dap.Wanted{Adapter: "gdb"})
			if tt.want == "" {
				if err != nil || again != nil || spec.Path != path {
					t.Errorf("%+v, %v, %v", spec, err, again)
				}
			} else if err == nil || again == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "to get it: install gdb 14") {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if asked, err := os.ReadFile(m.path("~/asked")); err != nil || string(asked) != "x\n" {
				t.Errorf("asked %q, %v", asked, err)
			}
		})
	}
}

const (
	hasDebugpy = `echo "$0"`
	lacks      = `echo "Traceback" >&2; echo "ModuleNotFoundError: No module named 'debugpy'" >&2; exit 1`
)

// TestProbe_Python checks that the first Python with debugpy is used, and that a note reports it if an earlier Python was skipped.
func TestProbe_Python(t *testing.T) {
	for _, tt := range []struct {
		name    string
		scripts map[string]string
		trusted bool
		want    string // the program, or a part of the error
		note    string
	}{
		{"the first one", map[string]string{"~/a/python3": hasDebugpy, "~/b/python3": hasDebugpy}, false, "~/a/python3", ""},
		{"the second one", map[string]string{"~/a/python3": lacks, "~/b/python3": hasDebugpy}, false, "~/b/python3", "~/a/python3 cannot import it; programs run in ~/b/python3 too"},
		{"python without a 3", map[string]string{"~/b/python": hasDebugpy}, false, "~/b/python", ""},
		{"a shim", map[string]string{"~/a/python3": `test "$PYENV_DIR" = ` + "WORK && echo /opt/versions/3.12/bin/python3"}, false, "/opt/versions/3.12/bin/python3", ""},
		{"none has it", map[string]string{"~/a/python3": lacks, "~/b/python3": lacks}, false, "no Python has debugpy: ~/a/python3, ~/b/python3 cannot import it; to get it: pip install debugpy", ""},
		{"one that lacks it", map[string]string{"~/a/python3": lacks}, false, "~/a/python3 cannot import debugpy: ModuleNotFoundError: No module named 'debugpy'; to get it", ""},
		{"no Python", nil, false, "no Python found", ""},
		{"a venv that is not trusted", map[string]string{".venv/bin/python3": hasDebugpy, "~/a/python3": hasDebugpy}, false, "~/a/python3", ".venv/bin/python3 is the project's own program and is not run"},
		{"a venv alone that is not trusted", map[string]string{".venv/bin/python3": hasDebugpy}, false, ".venv/bin/python3 is the project's own program and is not run", ""},
		{"a venv", map[string]string{".venv/bin/python3": hasDebugpy, "~/a/python3": hasDebugpy}, true, ".venv/bin/python3", ""},
		{"a venv without it", map[string]string{"venv/bin/python": lacks, "~/a/python3": hasDebugpy}, true, "~/a/python3", "programs run in the project's"},
		{"one that is silent", map[string]string{"~/a/python3": "exit 0", "~/b/python3": hasDebugpy}, false, "~/b/python3", "~/a/python3 cannot"},
		{"one that hangs", map[string]string{"~/a/python3": "sleep 600 & wait", "~/b/python3": hasDebugpy}, false, "~/b/python3", "~/a/python3 cannot"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testenv.NoLeaks(t)
			m := newMachine(t)
			put := func(s string) string {
				return strings.NewReplacer("~/", m.home+"/", "WORK", m.root).Replace(s)
			}
			for name, text := range tt.scripts {
				m.script(name, put(text))
			}
			// A probe must not import code of the project.
			m.write("debugpy.py", "")
			c := m.real("~/a", "~/b", "/usr/none")
			m.env = append(m.env, "HOME="+m.home)
			if tt.trusted {
				sub, err := c.Untrusted(t.Context())
				if err != nil || sub == nil {
					t.Fatalf("no question: %v", err)
				}
				if err := c.Answer(t.Context(), sub, trust.Trusted, true); err != nil {
					t.Fatal(err)
				}
			}
			spec, err := c.Find(t.Context(), dap.Wanted{Program: m.path("x.py")})
			if err != nil {
				if !strings.Contains(err.Error(), put(tt.want)) {
					t.Errorf("error %v, want %s", err, put(tt.want))
				}
				return
			}
			want := put(tt.want)
			if !filepath.IsAbs(want) {
				want = m.path(want)
			}
			if spec.Path != want {
				t.Errorf("found %s, want %s", spec.Path, want)
			}
			if notes := strings.Join(spec.Notes, "\n"); !strings.Contains(notes, put(tt.note)) || (notes == "") != (tt.note == "") {
				t.Errorf("notes %q, want %q", notes, put(tt.note))
			}
			if python, ok := spec.LaunchDefaults["python"]; ok != strings.Contains(tt.note, "the project's own") && ok != strings.Contains(tt.note, "run in the project's") {
				t.Errorf("programs run in %v", python)
			}
		})
	}
}

// TestLocate_Alternatives covers other names of a program; the highest version is used.
func TestLocate_Alternatives(t *testing.T) {
	for _, tt := range []struct {
		name, adapter string
		programs      []string
		env           []string
		want          string
	}{
		{"its own name", "lldb-dap", []string{"~/a/lldb-dap", "~/a/lldb-dap-19"}, nil, "~/a/lldb-dap"},
		{"the highest version", "lldb-dap", []string{"~/a/lldb-dap-9", "~/b/lldb-dap-19", "~/a/lldb-dap-18", "~/b/lldb-dap-test"}, nil, "~/b/lldb-dap-19"},
		{"the older name", "lldb-dap", []string{"~/a/lldb-vscode-14", "~/a/lldb-vscode-15"}, nil, "~/a/lldb-vscode-15"},
		{"beside PATH", "lldb-dap", []string{"~/top/usr/lib/llvm-17/bin/lldb-dap", "~/top/usr/lib/llvm-19/bin/lldb-dap", "~/top/usr/lib/llvm-20/bin/other"}, nil, "~/top/usr/lib/llvm-19/bin/lldb-dap"},
		{"an extension", "codelldb", []string{"~/.vscode/extensions/vadimcn.vscode-lldb-1.9.2/adapter/codelldb", "~/.vscode/extensions/vadimcn.vscode-lldb-1.11.0/adapter/codelldb"}, nil, "~/.vscode/extensions/vadimcn.vscode-lldb-1.11.0/adapter/codelldb"},
		{"GOBIN", "dlv", []string{"~/gobin/dlv", "~/go/bin/dlv"}, []string{"GOBIN=~/gobin"}, "~/gobin/dlv"},
		{"GOPATH", "dlv", []string{"~/second/bin/dlv", "~/go/bin/dlv"}, []string{"GOPATH=~/first:~/second"}, "~/second/bin/dlv"},
		{"Go's default", "dlv", []string{"~/go/bin/dlv"}, []string{"GOBIN=relative"}, "~/go/bin/dlv"},
		{"a place in the project", "dlv", []string{"tools/dlv"}, []string{"GOBIN=WORK/tools"}, ""},
		{"a version in the project", "lldb-dap", []string{"tools/lldb-dap-19", "~/b/lldb-dap-14"}, nil, "~/b/lldb-dap-14"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			put := strings.NewReplacer("~/", m.home+"/", "WORK", m.root)
			for _, p := range tt.programs {
				m.write(p, "")
			}
			for _, e := range tt.env {
				m.env = append(m.env, put.Replace(e))
			}
			spec, err := m.real("tools", "~/a", "~/b").Find(t.Context(), dap.Wanted{Adapter: tt.adapter})
			got := ""
			if err == nil {
				got = spec.Path
			}
			if got != put.Replace(tt.want) {
				t.Errorf("found %q (%v), want %q", got, err, put.Replace(tt.want))
			}
		})
	}
}

// TestLocate_NamedCommand checks that a command in a file overrides the alternatives.
func TestLocate_NamedCommand(t *testing.T) {
	m := newMachine(t)
	m.write("~/a/lldb-dap-19", "")
	m.write("~/dap.json", `{"lldb-dap": {"command": "my-lldb"}, "debugpy": {"command": "~/own/python"}}`)
	m.script("~/own/python", hasDebugpy)
	m.script("~/a/python3", hasDebugpy)
	m.write("~/opt/other-3/bin/dlv", "")
	m.write("~/.gjc/agent/dap.json", `{"dlv": {"alternatives": ["./dlv", "/opt/other-*/bin/dlv"]}}`)
	m.write("dlv", "")
	c := m.real("~/a", "/usr/none")
	if spec, err := c.Find(t.Context(), dap.Wanted{Adapter: "dlv"}); err == nil {
		t.Errorf("found %s", spec.Path)
	}
	m.write("~/top/opt/other-3/bin/dlv", "")
	c.Changed(nil)
	if spec, err := c.Find(t.Context(), dap.Wanted{Adapter: "dlv"}); err != nil || spec.Path != m.path("~/top/opt/other-3/bin/dlv") {
		t.Errorf("%+v, %v", spec, err)
	}
	if spec, err := c.Find(t.Context(), dap.Wanted{Adapter: "lldb-dap"}); err == nil {
		t.Errorf("found %s", spec.Path)
	}
	if spec, err := c.Find(t.Context(), dap.Wanted{Adapter: "debugpy"}); err != nil || spec.Path != m.path("~/own/python") {
		t.Errorf("%+v, %v", spec, err)
	}
}

// TestCatalog_Environ checks that PATH has no directory in a project that is not trusted.
func TestCatalog_Environ(t *testing.T) {
	m := newMachine(t)
	m.write("tools/x", "")
	env, err := m.real("tools", "relative", "~/a").Environ(t.Context())
	if err != nil || env[len(env)-1] != "PATH="+m.path("~/a") {
		t.Errorf("%q, %v", env, err)
	}
}
