package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/survey"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/trust"
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
	answers := trust.NewSession(nil)
	list := func(dir string) string {
		t.Helper()
		agentDir := filepath.Join(home, ".gjc", "agent")
		found := survey.Read(permit.With(t.Context(), permit.Own()), &survey.Options{
			Instructions: instructionsIn(&host{}, config.New(), agentDir, home, dir), Trust: answers,
			MCP: &mcpfiles.Options{AgentDir: agentDir, Roots: []string{dir}, Trust: answers, Home: home, Getenv: func(string) string { return "" }},
		})
		var out bytes.Buffer
		if err := found.Text(&out, dir, home); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(strings.ReplaceAll(out.String(), top, "")) {
			lines = append(lines, strings.Join(strings.Fields(filepath.ToSlash(line)), " "))
		}
		return strings.Join(lines, "\n") + "\n"
	}
	// Servers and hooks belong to the root of a session, which is the top of the repository here, before and after a yes to all.
	repo := filepath.Join(top, "repo")
	listing := list(cwd) + "\nAs a root:\n" + programsIn(list(repo))
	for _, sub := range append(mcpfiles.Subjects([]string{repo}), hooks.Load(hooks.Options{Roots: []string{repo}}).Subject(repo)) {
		if q := answers.Question(sub); sub != nil && q != nil {
			if err := q.Answer(t.Context(), true, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	return listing + "\nOnce trusted:\n" + programsIn(list(repo))
}

// programsIn returns the lines of a listing about MCP servers and hooks, and the problems.
func programsIn(listing string) string {
	var kept strings.Builder
	for line := range strings.Lines(listing) {
		if strings.HasPrefix(line, "MCP server ") || strings.HasPrefix(line, "hook ") || strings.HasPrefix(line, "Problem: ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// CODEX_HOME is where Codex has the user's files, all of them.
func TestOrigins_CodexHome(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	for name, text := range map[string]string{
		"codex/AGENTS.md": "Of Codex. @more.md", "codex/more.md": "More.", "codex/prompts/draft.md": "Draft it.", "codex/skills/s/SKILL.md": "---\nname: s\n---\nDo it.", "codex/agents/a.md": "---\nname: a\ndescription: d\n---\nYou help.",
		"home/.codex/AGENTS.md": "The usual place.", "home/.codex/prompts/other.md": "Other.", "home/.agents/AGENTS.md": "Others stay.", "repo/.codex/prompts/theirs.md": "Theirs.",
	} {
		writeFile(t, filepath.Join(top, filepath.FromSlash(name)), text)
	}
	for value, want := range map[string][]string{
		filepath.Join(top, "codex"): {"codex/AGENTS.md", "codex/agents/a.md", "codex/more.md", "codex/prompts/draft.md", "codex/skills/s/SKILL.md", "home/.agents/AGENTS.md", "repo/.codex/prompts/theirs.md"},
		"codex":                     {"home/.agents/AGENTS.md", "home/.codex/AGENTS.md", "home/.codex/prompts/other.md", "repo/.codex/prompts/theirs.md"},
	} {
		h := &host{env: []string{"CODEX_HOME=" + value}}
		found := survey.Read(t.Context(), &survey.Options{Instructions: instructionsIn(h, config.New(), filepath.Join(top, "gjc"), filepath.Join(top, "home"), filepath.Join(top, "repo"))})
		var got []string
		for _, f := range found.Files {
			rel, err := filepath.Rel(top, f.Path)
			if err != nil {
				t.Fatal(err)
			}
			if f.State != "used" {
				t.Errorf("%s is %s: %s", rel, f.State, f.Why)
			}
			got = append(got, filepath.ToSlash(rel))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("CODEX_HOME=%s (-want +got):\n%s", value, diff)
		}
	}
}
