package server_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/boundary"
)

// everydayLines is the least number of lines in testdata/everyday.txt; maxEverydayQuestions is three in a hundred.
const (
	everydayLines        = 300
	maxEverydayQuestions = 9
)

// readEveryday returns the lines of testdata/everyday.txt: \n is the end of a line, and \\n a backslash and an n.
func readEveryday(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i := range lines {
		lines[i] = strings.NewReplacer(`\\n`, `\n`, `\n`, "\n").Replace(lines[i])
	}
	return lines
}

// everydayFiles are the files of a small project in several languages.
var everydayFiles = map[string]string{
	"README.md": "# Everyday\n\nA project.\n", ".gitignore": "out/\nbuild/\nnode_modules/\n.venv/\n__pycache__/\ntarget/\n.env\ncoverage.out\n", ".env.example": "KEY=\n",
	"go.mod": "module example.com/everyday\n\ngo 1.21\n", "main.go": "package main\n\nimport \"example.com/everyday/pkg\"\n\nfunc main() { println(pkg.Add(1, 2)) } // TODO: print it\n",
	"pkg/add.go":      "// Package pkg adds.\npackage pkg\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n",
	"pkg/add_test.go": "package pkg\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
	"package.json":    `{"name": "everyday", "version": "1.0.0", "main": "index.js", "scripts": {"test": "node --test", "build": "mkdir -p dist && cp index.js dist/", "lint": "node --check index.js"}}` + "\n",
	"index.js":        "console.log('hi')\n", "index.test.js": "require('node:test')('adds', () => {})\n",
	"hello.c": "//go:build ignore\n\n#include <stdio.h>\nint main(void) { puts(\"hi\"); return 0; }\n", "scripts/build.sh": "#!/bin/sh\nmkdir -p build && echo built > build/log\n",
	"Makefile":            "build:\n\tmkdir -p build\nall: build hello\nhello: hello.c\n\t$(CC) $(CFLAGS) -o build/hello hello.c\ntest:\n\t@echo ok\nclean:\n\trm -rf build\n.PHONY: build all test clean hello\n",
	"src/app/__init__.py": "def add(a, b):\n    return a + b\n", "src/app/__main__.py": "print('app')\n", "tests/test_app.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1, 1)\n",
	"requirements.txt": "requests==2.31.0\n", "Cargo.toml": "[package]\nname = \"everyday\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[[bin]]\nname = \"everyday\"\npath = \"src/main.rs\"\n", "src/main.rs": "fn main() {\n    println!(\"hi\");\n}\n",
}

// newEverydayProject returns the root and the home of a project under git, and the environment for its commands.
func newEverydayProject(t *testing.T) (w *target, environ []string) {
	t.Helper()
	base := machineDir(t, true)
	w = &target{dir: filepath.Join(base, "everyday"), home: filepath.Join(base, "home")}
	for name, text := range everydayFiles {
		w.put(t, filepath.Join(w.dir, name), text)
	}
	w.put(t, filepath.Join(w.home, ".gitconfig"), "[user]\n\tname = a\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n")
	environ = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "USER=a"}
	// A toolchain that is installed for the user is found by these.
	if home, err := os.UserHomeDir(); err == nil {
		environ = append(environ, "RUSTUP_HOME="+filepath.Join(home, ".rustup"), "PYENV_ROOT="+filepath.Join(home, ".pyenv"))
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "."},
		{"commit", "-qm", "first"},
		{"commit", "-q", "--allow-empty", "-m", "second"},
		{"remote", "add", "origin", "https://git.example.com/everyday.git"},
	} {
		c := exec.Command("git", args...)
		c.Dir, c.Env = w.dir, environ
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return w, environ
}

// Everyday commands run in auto mode without questions, but for a few.
func TestEveryday(t *testing.T) {
	needsBoundary(t)
	lines := readEveryday(t)
	if len(lines) < everydayLines {
		t.Fatalf("there are %d lines, want %d", len(lines), everydayLines)
	}
	w, environ := newEverydayProject(t)
	// The cache of the machine, which the tests have filled, saves minutes.
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	environ = append(environ, "GOCACHE="+strings.TrimSpace(string(goCache)))
	edge := testBoundary()
	edge.Caches = func() []string {
		getenv := func(name string) string {
			for _, pair := range environ {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		}
		return boundary.Caches(w.home, getenv, exec.LookPath)
	}
	s := startLines(t, w.dir, environ, approval.Policy{Boundary: edge, Home: w.home, Own: []string{filepath.Join(w.home, ".gjc", "agent")}}, approval.ModeAuto)
	var asking []string
	for _, line := range lines {
		begin := time.Now()
		output, asked := s.run(line, false)
		if len(asked) > 0 {
			asking = append(asking, fmt.Sprintf("%s\n\t%.600s", line, strings.Join(asked, "\n\t")))
		}
		t.Logf("%s (%s)\n%.300s", line, time.Since(begin).Round(time.Millisecond), output)
	}
	t.Logf("%d of %d lines ask:\n%s", len(asking), len(lines), strings.Join(asking, "\n"))
	if len(asking) > maxEverydayQuestions {
		t.Errorf("%d of %d lines ask, want at most %d", len(asking), len(lines), maxEverydayQuestions)
	}
}
