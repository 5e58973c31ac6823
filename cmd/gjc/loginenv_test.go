//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// An editor started by a desktop passes on the desktop's PATH: children get the PATH of the user's login shell, however
// noisy or slow its profile is, and nothing else of the shell.
func TestLoginEnv(t *testing.T) {
	testenv.NoLeaks(t)
	dir := t.TempDir()
	tools := filepath.Join(dir, "tools")
	if err := os.MkdirAll(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	shell := func(script string) string {
		path := filepath.Join(t.TempDir(), "shell")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := `[ "$1" = -l ] && [ "$2" = -c ] || exit 9
PATH=` + tools + `:/usr/bin:/bin; SECRET=sk-x; export PATH SECRET
`
	for _, tt := range []struct {
		name, shell string
		want        bool // whether the shell's PATH is used
	}{
		{"plain", shell(run + `eval "$3"`), true},
		{"noisy profile", shell(run + "echo PATH=/wrong; echo welcome\n" + `eval "$3"`), true},
		{"variable of several lines", shell(run + "X='a\nPATH=/wrong'; export X\n" + `eval "$3"`), true},
		{"failing", shell("exit 3"), false},
		{"none", "", false},
		{"relative", "sh", false},
		{"missing", filepath.Join(dir, "no-such-shell"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &host{env: []string{"HOME=" + dir, "SHELL=" + tt.shell, "PATH=/usr/bin:/usr/bin", "KEEP=1"}}
			if !h.fromDesktop() {
				t.Error("a process without SHLVL was started by a shell?")
			}
			path := ""
			env := h.loginEnv(t.Context())
			for _, kv := range env {
				name, value, _ := strings.Cut(kv, "=")
				switch name {
				case "PATH":
					path = value
				case "SECRET":
					t.Error("a variable of the shell's is passed on")
				}
			}
			if len(env) != 4 {
				t.Errorf("environment %q", env)
			}
			if got := strings.HasPrefix(path, tools+":"); got != tt.want {
				t.Errorf("PATH %q", path)
			}
			if strings.Count(":"+path+":", ":/usr/bin:") != 1 {
				t.Errorf("PATH %q names /usr/bin not once", path)
			}
		})
	}
	if (&host{env: []string{"SHLVL=1"}}).fromDesktop() {
		t.Error("a process with SHLVL was not started by a shell?")
	}
}

// A caller that cannot wait for a hanging shell continues without it.
func TestLoginEnv_ShellHangs(t *testing.T) {
	testenv.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "shell")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	life, end := context.WithCancel(t.Context())
	h := &host{env: []string{"SHELL=" + path, "PATH=/usr/bin"}}
	env := h.loginEnvOnce(life)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := env(ctx); len(got) != 2 || got[1] != "PATH=/usr/bin" {
		t.Errorf("environment %q", got)
	}
	end()
	if got := env(t.Context()); len(got) != 2 {
		t.Errorf("environment %q", got)
	}
}
