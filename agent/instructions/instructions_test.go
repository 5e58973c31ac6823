package instructions_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/instructions"
	"github.com/gajae-code/gjc/agent/userfiles"
)

// disk reads files from disk.
type disk struct{}

func (disk) ReadFile(_ context.Context, path string) ([]byte, error)  { return os.ReadFile(path) }
func (disk) Stat(_ context.Context, path string) (os.FileInfo, error) { return os.Stat(path) }
func (disk) RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// tree creates files below a new directory; a text "-> X" creates a symbolic link to X.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(filepath.FromSlash(strings.ReplaceAll(to, "DIR", dir)), path); err != nil {
				if runtime.GOOS == "windows" {
					t.Skipf("symbolic links need rights here: %v", err)
				}
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listing returns the items of a set, each in a line.
func listing(dir string, set *instructions.Set) []string {
	var all []string
	for _, it := range set.Items {
		line := fmt.Sprintf("%s %s", it.State, filepath.ToSlash(strings.TrimPrefix(it.Path, dir+string(filepath.Separator))))
		if it.Why != "" {
			line += ": " + filepath.ToSlash(strings.ReplaceAll(it.Why, dir+string(filepath.Separator), ""))
		}
		all = append(all, line)
	}
	return all
}

func compare(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// All files are found, the user's first and the nearest last; of one directory only the first kind is used, and nothing is used twice.
func TestLoad(t *testing.T) {
	dir := tree(t, map[string]string{
		"home/.claude/CLAUDE.md": "User of Claude.", "home/.codex/AGENTS.md": "User of Codex.", "home/.codex/AGENTS.override.md": "For a while.",
		"home/.gemini/GEMINI.md": "User of Claude.", "home/.gjc/AGENTS.md": "User of gjc.",
		"home/AGENTS.md":      "Not in the repository.",
		"home/repo/.git/HEAD": "x", "home/repo/AGENTS.md": "Top.", "home/repo/CLAUDE.md": "-> AGENTS.md", "home/repo/GEMINI.md": "Gemini's.",
		"home/repo/CLAUDE.local.md":     "Mine.",
		"home/repo/a/.claude/CLAUDE.md": "A.", "home/repo/a/b/GEMINI.md": "B.", "home/repo/a/b/AGENTS.md": "  \n",
		"home/repo/a/b/c/AGENTS.md": "Top.", "home/repo/a/b/c/AGENTS.override.md": "\xff\xfeO\x00v\x00e\x00r\x00.\x00",
		"lib/.git/HEAD": "x", "lib/CLAUDE.md": "Of the library.", "lib/sub/AGENTS.md": "\ufeffSub.\r\n",
	})
	home := filepath.Join(dir, "home")
	set := instructions.Load(t.Context(), &instructions.Options{
		Files: disk{}, Cwd: filepath.Join(home, "repo", "a", "b", "c"), Additional: []string{filepath.Join(dir, "lib", "sub")},
		Home: home, UserDir: filepath.Join(home, ".gjc"), Top: home, OS: "linux",
		Texts: []instructions.Item{{File: userfiles.File{Path: "config.yml"}, Text: "Configured."}},
	})
	compare(t, "files", []string{
		"used home/.gemini/GEMINI.md",
		"used home/.codex/AGENTS.override.md",
		"shadowed home/.codex/AGENTS.md: by home/.codex/AGENTS.override.md",
		"duplicate home/.claude/CLAUDE.md: of home/.gemini/GEMINI.md",
		"used home/.gjc/AGENTS.md",
		"used config.yml",
		"used home/repo/AGENTS.md",
		"shadowed home/repo/CLAUDE.md: by home/repo/AGENTS.md",
		"shadowed home/repo/GEMINI.md: by home/repo/AGENTS.md",
		"used home/repo/CLAUDE.local.md",
		"used home/repo/a/.claude/CLAUDE.md",
		"not used home/repo/a/b/AGENTS.md: is empty",
		"used home/repo/a/b/GEMINI.md",
		"used home/repo/a/b/c/AGENTS.override.md",
		"shadowed home/repo/a/b/c/AGENTS.md: by home/repo/a/b/c/AGENTS.override.md",
		"used lib/CLAUDE.md",
		"used lib/sub/AGENTS.md",
	}, listing(dir, set))
	if len(set.Problems) > 0 {
		t.Error(set.Problems)
	}
	prompt := set.Prompt()
	for _, want := range []string{"\n\nOver.\n", "AGENTS.md\n\nSub.\n"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("no %q in %s", want, prompt)
		}
	}
	if !set.Has("elsewhere", "Top.") || !set.Has(filepath.Join(home, "repo", "CLAUDE.md"), "x") || set.Has("elsewhere", "Gemini's.") {
		t.Error("Has does not find the files that are used")
	}
}

// Imports are read from the workspace, or for the user's files from home; cycles and code are no imports.
func TestLoad_Imports(t *testing.T) {
	deep := map[string]string{
		"w/.git/HEAD": "x", "w/sub/x": "x", "home/notes/style.md": "Style.", "home/.env": "KEY=1", "outside.md": "Outside.",
		"home/.claude/CLAUDE.md": "See @~/notes/style.md, @../.env and @../../outside.md.",
		"w/CLAUDE.md": "@docs/a.md (@docs/b.md). Mail me@docs/c.md, `@docs/c.md` or ``x ` @docs/c.md``.\n```\n@docs/c.md\n```\n~~~~ sh\n@docs/c.md\n~~~\n@docs/c.md\n~~~~\n" +
			"    @docs/c.md\n@nothing @docs @team @~/notes/style.md @../outside.md @.env @link.md @docs/with\\ space.md\n",
		"w/docs/a.md": "A imports @b.md and @../CLAUDE.md", "w/docs/b.md": "B imports @a.md", "w/docs/c.md": "C.", "w/.env": "KEY=2", "w/link.md": "-> ../outside.md",
		"w/docs/with space.md": "Space.",
		"w/sub/AGENTS.md":      "@1.md", "w/sub/6.md": "6.",
	}
	for i := 1; i < 6; i++ {
		deep[fmt.Sprintf("w/sub/%d.md", i)] = fmt.Sprintf("%d @%d.md", i, i+1)
	}
	dir := tree(t, deep)
	set := instructions.Load(t.Context(), &instructions.Options{
		Files: disk{}, Cwd: filepath.Join(dir, "w", "sub"), Home: filepath.Join(dir, "home"), OS: "linux",
	})
	compare(t, "files", []string{
		"used home/notes/style.md",
		"not used home/.env: it may hold secrets, which models do not get; it is not imported by home/.claude/CLAUDE.md",
		"not used outside.md: it is outside your home directory; it is not imported by home/.claude/CLAUDE.md",
		"used home/.claude/CLAUDE.md",
		"used w/docs/b.md",
		"used w/docs/a.md",
		"not used w/.env: it may hold secrets, which models do not get; it is not imported by w/CLAUDE.md",
		"used w/docs/with space.md",
		"used w/CLAUDE.md",
		"not used w/sub/6.md: imports are nested more than 5 deep; it is not imported by w/sub/5.md",
		"used w/sub/5.md", "used w/sub/4.md", "used w/sub/3.md", "used w/sub/2.md", "used w/sub/1.md",
		"used w/sub/AGENTS.md",
	}, listing(dir, set))
	if len(set.Problems) != 4 {
		t.Error(set.Problems)
	}
}

// A workspace cannot import a file of the user's, nor one outside of it.
func TestLoad_ImportsOutside(t *testing.T) {
	dir := tree(t, map[string]string{
		"w/.git/HEAD": "x", "home/notes.md": "Notes.", "outside.md": "Outside.", "w/AGENTS.md": "@~/notes.md @../outside.md @link.md @in.md", "w/link.md": "-> ../outside2.md",
		"outside2.md": "Two.", "w/in.md": "-> sub/real.md", "w/sub/real.md": "Real.",
	})
	set := instructions.Load(t.Context(), &instructions.Options{Files: disk{}, Cwd: filepath.Join(dir, "w"), Home: filepath.Join(dir, "home"), OS: "linux"})
	compare(t, "files", []string{
		"not used home/notes.md: a file of a workspace cannot import from your home directory; it is not imported by w/AGENTS.md",
		"not used outside.md: it is outside the workspace; it is not imported by w/AGENTS.md",
		"not used w/link.md: it is outside the workspace; it is not imported by w/AGENTS.md",
		"used w/in.md",
		"used w/AGENTS.md",
	}, listing(dir, set))
}

// The nearest files are kept when there is too much, and the rest is named.
func TestLoad_Limits(t *testing.T) {
	dir := tree(t, map[string]string{
		"w/.git/HEAD": "x", "w/AGENTS.md": strings.Repeat("top ", 1000), "w/a/AGENTS.md": strings.Repeat("middle ", 1000), "w/a/b/AGENTS.md": strings.Repeat("near ", 1000),
	})
	set := instructions.Load(t.Context(), &instructions.Options{
		Files: disk{}, Cwd: filepath.Join(dir, "w", "a", "b"), OS: "linux", Limits: instructions.Limits{Total: 9 << 10, File: 6 << 10},
	})
	compare(t, "files", []string{
		"left out w/AGENTS.md: the limit of 9 KiB is reached", "used w/a/AGENTS.md: cut to 4217 of 6999 bytes", "used w/a/b/AGENTS.md",
	}, listing(dir, set))
	if len(set.Problems) != 1 || !strings.Contains(set.Problems[0].Reason, "AGENTS.md is left out") || !strings.Contains(set.Problems[0].Reason, "AGENTS.md is cut") {
		t.Error(set.Problems)
	}
	prompt := set.Prompt()
	if len(prompt) > 10<<10 || !strings.Contains(prompt, "(omitted: the limit of 9 KiB is reached. Read the file if") || !strings.Contains(prompt, "(This file was cut to") {
		t.Errorf("%d bytes: %.200s", len(prompt), prompt)
	}
}

// Bad files are named once, and the rest works.
func TestLoad_BadInput(t *testing.T) {
	dir := tree(t, map[string]string{
		"w/.git/HEAD": "x", "w/AGENTS.md/x": "a directory", "w/CLAUDE.md": "bin\x00ary", "w/GEMINI.md": "-> nothing", "w/.claude/CLAUDE.md": "-> ../../outside.md",
		"outside.md": "Outside.", "w/CLAUDE.local.md": strings.Repeat("x", 2<<20), "w/a/AGENTS.md": "Good.", "w/a/CLAUDE.local.md": "-> ../.env", "w/.env": "KEY=1",
		"home/.claude/CLAUDE.md/x": "x", "home/.gemini/GEMINI.md": "-> nothing",
	})
	set := instructions.Load(t.Context(), &instructions.Options{Files: disk{}, Cwd: filepath.Join(dir, "w", "a"), Home: filepath.Join(dir, "home"), OS: "linux"})
	compare(t, "files", []string{
		"not used home/.gemini/GEMINI.md: dangling symbolic link",
		"not used home/.claude/CLAUDE.md: is not a regular file",
		"not used w/AGENTS.md: is not a regular file",
		"not used w/CLAUDE.md: is neither UTF-8 nor UTF-16 text",
		"not used w/.claude/CLAUDE.md: a symbolic link points outside w; it is not followed",
		"not used w/GEMINI.md: dangling symbolic link",
		"not used w/CLAUDE.local.md: the file is larger than 1 MiB",
		"used w/a/AGENTS.md",
		"not used w/a/CLAUDE.local.md: it is a link to a file with secrets, which models do not get",
	}, listing(dir, set))
	if len(set.Problems) != 8 {
		t.Error(set.Problems)
	}
}

// context.fileName of Gemini CLI's settings names what is read in place of GEMINI.md: the nearest file of the workspace counts, else the
// user's. A name that leads out, or to secrets, is refused.
func TestLoad_GeminiNames(t *testing.T) {
	const both = `{"context": {"fileName": ["AGENTS.md", "CONTEXT.md"]}}`
	for name, c := range map[string]struct {
		user, repo, app string
		want            []string
		problems        []string
	}{
		"none": {want: []string{"used home/.gemini/GEMINI.md", "used w/AGENTS.md", "shadowed w/GEMINI.md: by w/AGENTS.md", "used w/app/GEMINI.md"}},
		"of the user": {
			user: `{"context": {"fileName": "CONTEXT.md"}, /* more */ "x": 1}`,
			want: []string{"used home/.gemini/CONTEXT.md", "used w/AGENTS.md", "used w/CONTEXT.md", "used w/app/CONTEXT.md"},
		},
		"a list":                 {repo: both, want: []string{"used home/.gemini/AGENTS.md", "used home/.gemini/CONTEXT.md", "used w/AGENTS.md", "used w/CONTEXT.md", "used w/app/CONTEXT.md"}},
		"the nearest":            {user: `{"contextFileName": "CONTEXT.md"}`, repo: `{"contextFileName": "x.md"}`, app: `{"contextFileName": "docs/own.md"}`, want: []string{"used w/AGENTS.md", "used w/app/docs/own.md"}},
		"nothing":                {user: `{"context": {"fileName": []}}`, want: []string{"used w/AGENTS.md"}},
		"others and GEMINI.md":   {app: `{"context": {"fileName": ["GEMINI.md", "CONTEXT.md"]}}`, want: []string{"used home/.gemini/GEMINI.md", "used home/.gemini/CONTEXT.md", "used w/AGENTS.md", "shadowed w/GEMINI.md: by w/AGENTS.md", "used w/CONTEXT.md", "used w/app/GEMINI.md", "used w/app/CONTEXT.md"}},
		"out, secret and absent": {app: `{"context": {"fileName": ["../AGENTS.md", "/etc/passwd", ".env", "", "none.md"]}}`, want: []string{"used w/AGENTS.md"}, problems: []string{`"../AGENTS.md", which is no path`, `"/etc/passwd", which is no path`, `".env", which may hold secrets`, `"", which is no path`}},
		"a wrong type":           {app: `{"context": {"fileName": 5}}`, want: []string{"used home/.gemini/GEMINI.md", "used w/AGENTS.md", "shadowed w/GEMINI.md: by w/AGENTS.md", "used w/app/GEMINI.md"}, problems: []string{"must be a name or a list"}},
		"broken":                 {app: `{"context": `, want: []string{"used home/.gemini/GEMINI.md", "used w/AGENTS.md", "shadowed w/GEMINI.md: by w/AGENTS.md", "used w/app/GEMINI.md"}, problems: []string{"its context.fileName is not used"}},
		"a link out":             {app: "-> ../../../home/secret.json", want: []string{"used home/.gemini/GEMINI.md", "used w/AGENTS.md", "shadowed w/GEMINI.md: by w/AGENTS.md", "used w/app/GEMINI.md"}},
	} {
		files := map[string]string{
			"w/.git/HEAD": "x", "w/AGENTS.md": "Top.", "w/GEMINI.md": "Top of Gemini.", "w/CONTEXT.md": "Context.", "w/app/GEMINI.md": "App.", "w/app/CONTEXT.md": "Context of app.",
			"w/app/docs/own.md": "Own.", "w/app/.env": "KEY=1", "home/.gemini/GEMINI.md": "User.", "home/.gemini/CONTEXT.md": "Context of the user.", "home/.gemini/AGENTS.md": "Agents of the user.",
			"home/secret.json": both,
		}
		for path, text := range map[string]string{"home": c.user, "w": c.repo, "w/app": c.app} {
			if text != "" {
				files[path+"/.gemini/settings.json"] = text
			}
		}
		dir := tree(t, files)
		set := instructions.Load(t.Context(), &instructions.Options{Files: disk{}, Cwd: filepath.Join(dir, "w", "app"), Home: filepath.Join(dir, "home"), OS: "linux"})
		compare(t, name, c.want, listing(dir, set))
		if len(set.Problems) != len(c.problems) {
			t.Errorf("%s: problems %v", name, set.Problems)
			continue
		}
		for i, want := range c.problems {
			if !strings.Contains(set.Problems[i].String(), want) {
				t.Errorf("%s: the problem %q, want %q", name, set.Problems[i], want)
			}
		}
	}
	dir := tree(t, map[string]string{"w/.git/HEAD": "x", "w/.gemini/settings.json": both, "w/a/CONTEXT.md": "Below.", "w/a/GEMINI.md": "no"})
	got := instructions.Nested(t.Context(), &instructions.Options{Files: disk{}, Cwd: filepath.Join(dir, "w")}, filepath.Join(dir, "w", "a", "x.go"))
	if len(got) != 1 || got[0].Text != "Below." {
		t.Errorf("below the root: %+v", got)
	}
}

func TestNested(t *testing.T) {
	dir := tree(t, map[string]string{
		"w/.git/HEAD": "x", "w/AGENTS.md": "Top.", "w/a/AGENTS.md": "A.", "w/a/b/CLAUDE.md": "B.", "w/a/b/GEMINI.md": "no", "w/node_modules/p/AGENTS.md": "Package.", "w/.x/AGENTS.md": "Hidden.",
	})
	w := filepath.Join(dir, "w")
	for file, want := range map[string]string{
		"main.go": "", "a/x.go": "A.", "a/b/c/x.go": "A. B.", "node_modules/p/x.js": "", ".x/y": "", "../other": "",
	} {
		var got []string
		for _, it := range instructions.Nested(t.Context(), &instructions.Options{Files: disk{}, Cwd: w}, filepath.Join(w, filepath.FromSlash(file))) {
			got = append(got, it.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", file, got, want)
		}
	}
}

func TestSystem(t *testing.T) {
	dir := tree(t, map[string]string{
		"u/SYSTEM.md": "The user's.", "u/TITLE_SYSTEM.md": "Titles.", "w/.git/HEAD": "x", "w/.gjc/SYSTEM.md": "Top's @x.md", "w/x.md": "x", "w/a/.gjc/SYSTEM.md": "Near.",
		"w/a/.gjc/APPEND_SYSTEM.md": "-> ../../../outside", "outside": "x",
	})
	opts := &instructions.Options{Files: disk{}, Cwd: filepath.Join(dir, "w", "a"), UserDir: filepath.Join(dir, "u"), OS: "linux"}
	content, set := instructions.System(t.Context(), opts, userfiles.SystemFile)
	compare(t, content, []string{"used w/a/.gjc/SYSTEM.md", "shadowed w/.gjc/SYSTEM.md: by w/a/.gjc/SYSTEM.md", "shadowed u/SYSTEM.md: by w/a/.gjc/SYSTEM.md"}, listing(dir, set))
	if content != "Near." {
		t.Error(content)
	}
	if content, _ := instructions.System(t.Context(), opts, userfiles.TitleFile); content != "Titles." {
		t.Error(content)
	}
	if content, set := instructions.System(t.Context(), opts, userfiles.AppendFile); content != "" || len(set.Problems) != 1 {
		t.Error(content, set.Problems)
	}
}

func FuzzMentions(f *testing.F) {
	f.Add("@a.md `@b` @c\\ d ~~~\n@e")
	f.Add("```x\n@a\n````\n@b")
	f.Fuzz(func(t *testing.T, content string) {
		for _, name := range instructions.Mentions(content) {
			if name == "" || strings.ContainsAny(name, "`\n\x00") {
				t.Fatalf("%q of %q", name, content)
			}
		}
	})
}
