package attempts

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// ReadFile reads a file. It returns an error if there is none.
type ReadFile func(ctx context.Context, path string) ([]byte, error)

// maxManifest bounds the files that are read to find a command.
const maxManifest = 1 << 20

// FindCheck returns the command line that tests the project in a directory, judging by its files; empty if it finds none.
func FindCheck(ctx context.Context, read ReadFile, dir string) string {
	content := func(name string) (string, bool) {
		data, err := read(ctx, filepath.Join(dir, name))
		return string(data), err == nil && len(data) <= maxManifest
	}
	has := func(name string) bool { _, ok := content(name); return ok }
	if has("go.mod") {
		return "go build ./... && go vet ./... && go test ./..."
	}
	if has("Cargo.toml") {
		return "cargo test"
	}
	if manifest, ok := content("package.json"); ok {
		if command := nodeCheck(manifest, has); command != "" {
			return command
		}
	}
	if slices.ContainsFunc([]string{"pytest.ini", "conftest.py", "tox.ini"}, has) {
		return "python3 -m pytest -q"
	}
	for _, name := range []string{"pyproject.toml", "setup.cfg"} {
		if text, ok := content(name); ok && strings.Contains(text, "pytest") {
			return "python3 -m pytest -q"
		}
	}
	for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
		text, ok := content(name)
		if !ok {
			continue
		}
		for _, target := range []string{"test", "check"} {
			if hasTarget(text, target) {
				return "make " + target
			}
		}
	}
	return ""
}

// nodeCheck returns the command for a package.json: its tests, or else what builds or checks it.
func nodeCheck(manifest string, has func(string) bool) string {
	var p struct {
		Scripts map[string]string `json:"scripts"`
	}
	if jsonx.Unmarshal([]byte(manifest), &p) != nil {
		return ""
	}
	runner := "npm run"
	switch {
	case has("pnpm-lock.yaml"):
		runner = "pnpm run"
	case has("yarn.lock"):
		runner = "yarn run"
	case has("bun.lock") || has("bun.lockb"):
		runner = "bun run"
	}
	for _, name := range []string{"test", "build", "lint"} {
		script := strings.TrimSpace(p.Scripts[name])
		if script == "" || strings.Contains(script, "no test specified") { // as npm init writes it
			continue
		}
		return runner + " " + name
	}
	return ""
}

// hasTarget reports whether a makefile has a rule for a target.
func hasTarget(makefile, target string) bool {
	for line := range strings.Lines(makefile) {
		names, rest, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(rest, "=") || strings.HasPrefix(line, "\t") {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			if name == target {
				return true
			}
		}
	}
	return false
}
