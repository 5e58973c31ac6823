package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gajae-code/gjc/internal/testenv"
)

// The command line, as scripts. Each script has a home directory of its own, without keys.
func TestScripts(t *testing.T) { runScripts(t, "script", nil) }

// The example in TypeScript, which Node.js runs without a compiler.
func TestScripts_TypeScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the script puts a link in front of PATH")
	}
	bin := t.TempDir()
	if err := os.Symlink(testenv.NeedsTypeScript(t), filepath.Join(bin, "node")); err != nil {
		t.Fatal(err)
	}
	runScripts(t, "typescript", []string{bin})
}

// runScripts runs the scripts of a directory, with directories before PATH.
func runScripts(t *testing.T, dir string, path []string) {
	t.Helper()
	goCache, err := goEnv()
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples", "extensions"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", dir),
		UpdateScripts: testenv.Update(),
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("USERPROFILE", home)
			env.Setenv(asGJC, "1")
			env.Setenv("EXAMPLES", examples)
			env.Setenv("SHELL", "/bin/sh")
			// The demo's tests use the compiled standard library.
			env.Vars = append(env.Vars, goCache...)
			env.Vars = append(env.Vars, testenv.RunEnv()...)
			if len(path) > 0 {
				env.Setenv("PATH", strings.Join(append(path, env.Getenv("PATH")), string(filepath.ListSeparator)))
			}
			return os.MkdirAll(home, 0o755)
		},
	})
}

func goEnv() ([]string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	if dir := os.Getenv("GOCACHE"); dir != "" {
		return []string{"GOCACHE=" + dir}, nil
	}
	return []string{"GOCACHE=" + filepath.Join(cache, "go-build")}, nil
}
