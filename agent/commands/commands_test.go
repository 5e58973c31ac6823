package commands_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/testenv"
)

// tree creates files below a new directory; a text "-> X" creates a symbolic link to X.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if to, ok := strings.CutPrefix(text, "-> "); ok {
		if err = os.Symlink(to, path); err != nil && runtime.GOOS == "windows" {
			t.Skipf("symbolic links need rights here: %v", err)
		}
	} else {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, o commands.Options) *commands.Set {
	t.Helper()
	set, problems := commands.Load(t.Context(), o)
	for _, p := range problems {
		t.Errorf("problem: %v", p)
	}
	return set
}

// expand returns the text of a command, and whether there is one.
func expand(set *commands.Set, name, args string) (string, bool) {
	p := set.Expand(name, args)
	if p == nil {
		return "", false
	}
	return p.Text(), true
}

func TestGolden(t *testing.T) {
	root, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	set, problems := commands.Load(t.Context(), commands.Options{
		UserDir: filepath.Join(root, "user"), Foreign: true,
		ProjectDirs: []string{filepath.Join(root, "project"), filepath.Join(root, "other")},
	})
	// Fields of other programs have no effect.
	for _, p := range problems {
		if !strings.HasPrefix(p.Reason, "unknown field ") {
			t.Errorf("problem: %v", p)
		}
	}
	if len(problems) != 3 {
		t.Errorf("problems: %v", problems)
	}
	var b strings.Builder
	for _, c := range set.Commands() {
		fmt.Fprintf(&b, "%s | %s | %s\n", c.Name, c.Hint, c.Description)
	}
	for _, s := range set.Skills() {
		fmt.Fprintf(&b, "skill %s | %s | %s\n", s.Name, s.Description, s.Path)
	}
	for _, prompt := range []string{
		"/review 12 'data races' \"and more\"", "/review", "/git:commit", `/git:commit fix: "all"  of it`, "/team:front:style",
		"/team:front:style only\nsrc/", "/skill:pdf", "/skill:pdf  page 3 ", "/skill:db x", "/claude-only a", "/second",
		"/skill:none", "/commit",
	} {
		name, args, ok := commands.Parse(prompt)
		if !ok {
			t.Fatalf("%q is no command", prompt)
		}
		text, ok := expand(set, name, args)
		fmt.Fprintf(&b, "\n======== %q, known: %t\n%s\n", prompt, ok, text)
	}
	got := strings.ReplaceAll(b.String(), root, "ROOT")
	if filepath.Separator == '\\' {
		got = regexp.MustCompile(`ROOT\S*`).ReplaceAllStringFunc(got, filepath.ToSlash)
	}
	golden := filepath.Join("testdata", "expanded.golden.txt")
	if testenv.Update() {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s (-want +got), rewrite it with -update:\n%s", golden, diff)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"/a": "a|", "/a b": "a|b", "/a  b \n c\n": "a|b \n c", "/a\nb": "a|b", "/a\tb": "a|b", "/a\u00a0b": "a|b",
		"/skill:x y": "skill:x|y", "/skill:": "skill:|", "/dir:name": "dir:name|", "/Änder": "Änder|", "/a?": "a?|",
	} {
		name, args, ok := commands.Parse(text)
		if got := name + "|" + args; !ok || got != want {
			t.Errorf("Parse(%q) = %q, %t; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "/", "/ a", " /a", "\n/a", "a /b", "//a", "/usr/bin/env x", "/a/b", "/\n", `/c:\x`, "/a\x00", "/\xff",
		"/" + strings.Repeat("x", 101),
	} {
		if name, args, ok := commands.Parse(text); ok || name != "" || args != "" {
			t.Errorf("Parse(%q) = %q, %q, %t", text, name, args, ok)
		}
	}
}

func TestExpand_Arguments(t *testing.T) {
	dir := tree(t, map[string]string{
		"commands/words.md": "<$1><$2><$3><$@><$ARGUMENTS>", "commands/none.md": "text\n", "commands/price.md": "It costs $10 or $.",
		"commands/last.md": "all $ARGUMENTS",
	})
	set := load(t, commands.Options{UserDir: dir})
	for _, test := range []struct{ name, args, want string }{
		{"words", "", "<><><><><>"},
		{"words", "a b", "<a><b><><a b><a b>"},
		{"words", `"a  b" 'c d'e "" f`, `<a  b><c de><><a  b c de  f><"a  b" 'c d'e "" f>`},
		{"words", `a\ b \"c\" "d\"e\\" 'f\'`, `<a b><"c"><d"e\><a b "c" d"e\ f\><a\ b \"c\" "d\"e\\" 'f\'>`},
		{"words", `C:\x\y "no end`, `<C:\x\y><no end><><C:\x\y no end><C:\x\y "no end>`},
		{"words", `$2 $ARGUMENTS $@`, `<$2><$ARGUMENTS><$@><$2 $ARGUMENTS $@><$2 $ARGUMENTS $@>`},
		{"words", `it's \`, `<its \><><><its \><it's \>`},
		{"none", "", "text"},
		{"none", " x  y ", "text\n\nx  y"},
		{"price", "", "It costs $10 or $."},
		{"price", "x", "It costs $10 or $.\n\nx"},
		{"last", "", "all"},
	} {
		if got, ok := expand(set, test.name, test.args); !ok || got != test.want {
			t.Errorf("%s %s:\n got %s\nwant %s", test.name, test.args, got, test.want)
		}
	}
	if got, ok := expand(set, "nothing", "x"); ok || got != "" {
		t.Errorf("an unknown command gives %q", got)
	}
}

func TestLoad_Problems(t *testing.T) {
	outside := tree(t, map[string]string{"secret.md": "top secret", "dir/x.md": "top secret", "skill/SKILL.md": "top secret"})
	big := strings.Repeat("x", 64<<10)
	project := tree(t, map[string]string{
		".gjc/commands/good.md":        "good",
		".gjc/commands/full.md":        big,
		".gjc/commands/big.md":         big + "x",
		".gjc/commands/latin.md":       "one\ntwo\nd\xe9j\xe0 vu",
		".gjc/commands/empty.md":       "---\ndescription: x\n---\n \n",
		".gjc/commands/two words.md":   "x",
		".gjc/commands/skill/x.md":     "x",
		".gjc/commands/open.md":        "---\ndescription: not closed\n\nbody",
		".gjc/commands/rule.md":        "---\n\nnot front matter",
		".gjc/commands/odd.md":         "---\ndescription: d\nno colon here\nlist:\n  - a\n  - b: c\n- d\ndescription: e\n---\nbody",
		".gjc/commands/notes.txt":      "not a command",
		".gjc/commands/.hidden.md":     "hidden",
		".gjc/commands/.git/x.md":      "hidden",
		".gjc/commands/away.md":        "-> " + filepath.Join(outside, "secret.md"),
		".gjc/commands/climb.md":       "-> ../../../" + filepath.Base(outside) + "/secret.md",
		".gjc/commands/awaydir":        "-> " + filepath.Join(outside, "dir"),
		".gjc/commands/nowhere.md":     "-> missing.md",
		".gjc/commands/inside.md":      "-> good.md",
		".gjc/skills/away":             "-> " + filepath.Join(outside, "skill"),
		".gjc/skills/file/SKILL.md":    "-> " + filepath.Join(outside, "secret.md"),
		".gjc/skills/bad/SKILL.md":     "---\nname: no spaces\n---\nx",
		".gjc/skills/group/a/SKILL.md": "too deep",
		".gjc/skills/plain.md":         "not a skill",
		".gjc/skills/a/SKILL.md":       "---\nname: same\n---\nx",
		".gjc/skills/b/SKILL.md":       "---\nname: same\n---\ny",
		".gjc/skills/dir/SKILL.md/x":   "",
	})
	set, problems := commands.Load(t.Context(), commands.Options{ProjectDirs: []string{project, filepath.Join(project, "missing")}})
	var got []string
	for _, p := range problems {
		rel, err := filepath.Rel(filepath.Join(project, ".gjc"), p.Path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.ReplaceAll(userfiles.Problem{Path: filepath.ToSlash(rel), Line: p.Line, Reason: p.Reason}.String(), project, "ROOT"))
		if strings.Contains(p.Reason, "top secret") {
			t.Errorf("%v tells what is in the file", p)
		}
	}
	want := []string{
		"commands/away.md: a symbolic link points outside ROOT; it is not followed",
		"commands/awaydir: a symbolic link points outside ROOT; it is not followed",
		"commands/big.md: is larger than 64 KiB; it is ignored",
		"commands/climb.md: a symbolic link points outside ROOT; it is not followed",
		"commands/empty.md: has no text",
		"commands/latin.md:3: is neither UTF-8 nor UTF-16 text; it is ignored",
		"commands/nowhere.md: dangling symbolic link",
		`commands/odd.md:3: a front matter line must be "key: value"`,
		"commands/odd.md:8: description occurs twice; the first one is used",
		`commands/odd.md:4: unknown field "list"; it is ignored`,
		`commands/open.md:1: the front matter is not closed by a line "---", so it is treated as text`,
		"commands/skill/x.md: names that begin with skill: belong to skills; rename the directory",
		`commands/two words.md: invalid command name "two words"; use letters, digits, - and _`,
		"skills/away: a symbolic link points outside ROOT; it is not followed",
		"skills/b/SKILL.md: another file defines /skill:same and takes precedence",
		`skills/bad/SKILL.md: invalid command name "no spaces"; use letters, digits, - and _`,
		"skills/dir/SKILL.md: is not a regular file",
		"skills/file/SKILL.md: a symbolic link points outside ROOT; it is not followed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	var names []string
	for _, c := range set.Commands() {
		names = append(names, c.Name)
		if text, _ := expand(set, c.Name, ""); strings.Contains(text, "top secret") {
			t.Errorf("%s: %s", c.Name, text)
		}
	}
	if diff := cmp.Diff("full good inside odd open rule skill:same", strings.Join(names, " ")); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if text, _ := expand(set, "odd", ""); text != "body" {
		t.Errorf("odd = %q", text)
	}
}

// The user's directory may consist of links, as in dotfile repositories.
func TestLoad_UserLinks(t *testing.T) {
	dotfiles := tree(t, map[string]string{"a.md": "from afar", "skill/SKILL.md": "skill from afar", "more/b.md": "more"})
	dir := tree(t, map[string]string{
		"commands/a.md": "-> " + filepath.Join(dotfiles, "a.md"), "skills/s": "-> " + filepath.Join(dotfiles, "skill"),
		"commands/more": "-> " + filepath.Join(dotfiles, "more"),
	})
	set := load(t, commands.Options{UserDir: dir})
	for name, want := range map[string]string{"a": "from afar", "more:b": "more", "skill:s": "skill from afar"} {
		if got, ok := expand(set, name, ""); !ok || !strings.HasPrefix(got, want) {
			t.Errorf("%s = %q, %t", name, got, ok)
		}
	}
	loop := tree(t, map[string]string{"commands/x.md": "x"})
	write(t, filepath.Join(loop, "commands", "again"), "-> .")
	set, problems := commands.Load(t.Context(), commands.Options{UserDir: loop})
	if len(problems) != 1 || len(set.Commands()) > 20 {
		t.Errorf("a loop of links: %v, %d commands", problems, len(set.Commands()))
	}
}

func TestLoad_Precedence(t *testing.T) {
	file := func(text string) map[string]string {
		return map[string]string{".gjc/commands/c.md": text, ".gjc/skills/s/SKILL.md": text, ".claude/commands/f.md": text, "commands/c.md": text}
	}
	one, two, home := tree(t, file("one")), tree(t, file("two")), tree(t, file("home"))
	user := tree(t, map[string]string{"commands/c.md": "user", "skills/s/SKILL.md": "user", "commands/f.md": "user"})
	for _, test := range []struct {
		opts    commands.Options
		c, s, f string
	}{
		{commands.Options{}, "", "", ""},
		{commands.Options{ProjectDirs: []string{one, two}, UserDir: user}, "one", "one", "user"},
		{commands.Options{ProjectDirs: []string{two, one}}, "two", "two", ""},
		{commands.Options{UserDir: user, Foreign: true, Home: home}, "user", "user", "user"},
		{commands.Options{ProjectDirs: []string{two}, Foreign: true, Home: home}, "two", "two", "two"},
		{commands.Options{Foreign: true, Home: home}, "", "", "home"},
		{commands.Options{Home: home}, "", "", ""},
	} {
		set := load(t, test.opts)
		for name, want := range map[string]string{"c": test.c, "skill:s": test.s, "f": test.f} {
			got, _ := expand(set, name, "")
			if got, _, _ = strings.Cut(got, "\n"); got != want {
				t.Errorf("%+v: /%s = %q, want %q", test.opts, name, got, want)
			}
		}
	}
}

func TestLoad_EndsWithTheContext(t *testing.T) {
	dir := tree(t, map[string]string{"commands/a.md": "a"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	set, problems := commands.Load(ctx, commands.Options{UserDir: dir})
	if len(set.Commands()) != 0 || len(problems) != 0 {
		t.Errorf("%v, %v", set.Commands(), problems)
	}
}

func TestStale(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for name, change := range map[string]func(t *testing.T, project, user string){
		"a command is written again": func(t *testing.T, project, _ string) {
			write(t, filepath.Join(project, ".gjc/commands/a.md"), "another text")
		},
		"a command of the same size": func(t *testing.T, project, _ string) {
			path := filepath.Join(project, ".gjc/commands/a.md")
			write(t, path, "b")
			if err := os.Chtimes(path, later, later); err != nil {
				t.Fatal(err)
			}
		},
		"a new command":       func(t *testing.T, project, _ string) { write(t, filepath.Join(project, ".gjc/commands/b.md"), "b") },
		"a new directory":     func(t *testing.T, project, _ string) { write(t, filepath.Join(project, ".gjc/commands/d/b.md"), "b") },
		"a command in a dir":  func(t *testing.T, project, _ string) { write(t, filepath.Join(project, ".gjc/commands/dir/b.md"), "b") },
		"a command goes":      func(t *testing.T, project, _ string) { remove(t, filepath.Join(project, ".gjc/commands/a.md")) },
		"all commands go":     func(t *testing.T, project, _ string) { remove(t, filepath.Join(project, ".gjc")) },
		"the first user's":    func(t *testing.T, _, user string) { write(t, filepath.Join(user, "commands/a.md"), "a") },
		"the first skill":     func(t *testing.T, _, user string) { write(t, filepath.Join(user, "skills/s/SKILL.md"), "a") },
		"a skill gets a file": func(t *testing.T, project, _ string) { write(t, filepath.Join(project, ".gjc/skills/e/SKILL.md"), "a") },
		"a skill is changed": func(t *testing.T, project, _ string) {
			write(t, filepath.Join(project, ".gjc/skills/s/SKILL.md"), "another")
		},
		"a link finds a file":  func(t *testing.T, project, _ string) { write(t, filepath.Join(project, ".gjc/commands/missing"), "a") },
		"nothing that matters": nil,
	} {
		t.Run(name, func(t *testing.T) {
			project := tree(t, map[string]string{
				".gjc/commands/a.md": "a", ".gjc/commands/dir/a.md": "a", ".gjc/skills/s/SKILL.md": "s", ".gjc/skills/e/notes.md": "n",
				".gjc/commands/link.md": "-> missing",
			})
			user := t.TempDir()
			// File system clocks can be coarse, so make existing files old.
			old := time.Now().Add(-time.Hour)
			for _, dir := range []string{".gjc/commands", ".gjc/commands/dir", ".gjc/skills", ".gjc/skills/e", ".gjc/skills/s"} {
				if err := os.Chtimes(filepath.Join(project, dir), old, old); err != nil {
					t.Fatal(err)
				}
			}
			set, _ := commands.Load(t.Context(), commands.Options{ProjectDirs: []string{project}, UserDir: user})
			if set.Stale(t.Context()) {
				t.Error("stale at once")
			}
			write(t, filepath.Join(project, "main.go"), "package main")
			if change == nil {
				if set.Stale(t.Context()) {
					t.Error("stale by a file that is none of its own")
				}
				return
			}
			change(t, project, user)
			if !set.Stale(t.Context()) {
				t.Error("not noticed")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if set.Stale(ctx) {
				t.Error("looks on when nobody waits")
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	for i := range 100 {
		path := filepath.Join(dir, ".gjc", "commands", fmt.Sprintf("c%d.md", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("---\ndescription: d\n---\n"+strings.Repeat("text $1\n", 100)), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	o := commands.Options{ProjectDirs: []string{dir}, UserDir: filepath.Join(dir, "none")}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			commands.Load(b.Context(), o)
		}
	})
	set, _ := commands.Load(b.Context(), o)
	b.Run("stale", func(b *testing.B) {
		for b.Loop() {
			if set.Stale(b.Context()) {
				b.Fatal("stale")
			}
		}
	})
}
