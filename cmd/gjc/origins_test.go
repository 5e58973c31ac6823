package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/cmd/gjc/internal/survey"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/testenv"
)

// TestOrigins prints what gjc makes of a repository of each program, in a directory of the repository. -update rewrites the listings.
func TestOrigins(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(filepath.Join("testdata", "origins", "*", "repo"))
	if err != nil || len(dirs) < 6 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		origin := filepath.Dir(dir)
		t.Run(filepath.Base(origin), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			out.WriteString(listOrigin(t, origin))
			golden := origin + ".golden"
			if testenv.Update() {
				if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), out.String()); diff != "" {
				t.Errorf("%s (-want +got), rewrite it with -update:\n%s", golden, diff)
			}
		})
	}
}

// listOrigin returns the listing of instructions for the directory app of a repository of a program.
func listOrigin(t *testing.T, origin string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(top, os.DirFS(origin)); err != nil {
		t.Fatal(err)
	}
	cwd, home := filepath.Join(top, "repo", "app"), filepath.Join(top, "home")
	if err := os.Mkdir(filepath.Join(top, "repo", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	found := survey.Read(permit.With(t.Context(), permit.Own()), &survey.Options{Instructions: instructionsIn(config.New(), filepath.Join(home, ".gjc", "agent"), home, cwd)})
	var out bytes.Buffer
	if err := found.Text(&out, cwd, home); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(out.String(), top, "")) {
		lines = append(lines, strings.Join(strings.Fields(filepath.ToSlash(line)), " "))
	}
	return strings.Join(lines, "\n") + "\n"
}
