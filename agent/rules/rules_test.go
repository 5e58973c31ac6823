package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/rules"
	"github.com/gajae-code/gjc/agent/userfiles"
)

// write creates files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// problemTexts returns the problems without the directory.
func problemTexts(dir string, problems []userfiles.Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, strings.ReplaceAll(strings.ReplaceAll(p.String(), dir, ""), `\`, "/"))
	}
	return all
}

// Rules of all kinds are found, in order of precedence, with the settings of their files.
func TestLoad(t *testing.T) {
	dir, user := t.TempDir(), t.TempDir()
	work := filepath.Join(dir, "sub")
	write(t, user, map[string]string{"rules/go.md": "User's Go.", "rules/mine.mdc": "Mine."})
	write(t, dir, map[string]string{
		".git/HEAD": "ref", ".gjc/rules/go.md": "---\ndescription: top\n---\nTop's Go.", ".clinerules/a.md": "Cline A.", ".clinerules/b.txt": "no",
		".github/copilot-instructions.md":         "Copilot.",
		".github/instructions/ts.instructions.md": "---\napplyTo: \"**/*.ts,**/*.tsx\"\n---\nTypeScript.",
		".github/instructions/x.md":               "no",
	})
	write(t, work, map[string]string{
		".gjc/rules/go.md":         "---\r\ndescription: Go code\r\nglobs: [\"*.go\", \"internal/\"]\r\n---\r\nUse gofumpt.\r\n",
		".gjc/rules/always.md":     "---\nalwaysApply: true\n---\nBe kind.",
		".gjc/rules/plain.md":      "# Releases\n\nTag them.",
		".cursor/rules/ts.mdc":     "---\ndescription: \nglobs: *.ts, src/**/*.{js,jsx}\nalwaysApply: false\n---\nNo any.",
		".cursor/rules/go.mdc":     "Shadowed.",
		".cursor/rules/no-log.mdc": "---\ncondition: console\\.log\\(\n---\nUse the logger.",
	})
	book, problems := rules.Load(t.Context(), rules.Options{UserDir: user, Roots: []string{work}})
	if got := problemTexts(dir, problems); got != nil {
		t.Errorf("problems: %q", got)
	}
	var got []string
	for _, r := range book.All() {
		how := "listed"
		switch {
		case r.Trigger != nil:
			how = "stream"
		case r.Always:
			how = "always"
		}
		got = append(got, fmt.Sprintf("%s %s %q %q", r.Name, how, r.Globs, r.Text))
	}
	want := []string{
		`a always [] "Cline A."`,
		`always always [] "Be kind."`,
		`copilot-instructions always [] "Copilot."`,
		`go listed ["*.go" "internal/"] "Use gofumpt."`,
		`mine listed [] "Mine."`,
		`no-log stream [] "Use the logger."`,
		`plain listed [] "# Releases\n\nTag them."`,
		`ts listed ["*.ts" "src/**/*.{js,jsx}"] "No any."`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if r := book.Find("plain"); r == nil || r.Description != "Releases" {
		t.Errorf("plain: %+v", r)
	}
	if book.Find("no-log") != nil {
		t.Error("a rule with a condition can be read beforehand")
	}
	for file, want := range map[string]string{
		"x.go": "go", "a/b/x.go": "go", "internal/y.txt": "go", "y.txt": "", "a/x.ts": "ts", "src/a/x.jsx": "ts", "x.jsx": "", "../x.go": "",
	} {
		var names []string
		for _, r := range book.About(filepath.Join(work, filepath.FromSlash(file)), []string{work}) {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("about %s: %q, want %q", file, got, want)
		}
	}
	if book.Stale(t.Context()) {
		t.Error("stale already")
	}
	write(t, work, map[string]string{".gjc/rules/new.md": "New."})
	if !book.Stale(t.Context()) {
		t.Error("a new rule is not seen")
	}
}

// Invalid rules are reported with their positions and omitted. The others are loaded.
func TestLoad_BadInput(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		".gjc/rules/good.md":     "Good.",
		".gjc/rules/open.md":     "---\ndescription: x\nno end",
		".gjc/rules/list.md":     "---\n- a\n- b\n---\nText.",
		".gjc/rules/type.md":     "---\ndescription: x\nalwaysApply: 3\n---\nText.",
		".gjc/rules/yaml.md":     "---\ndescription: x\n  : y: [\n---\nText.",
		".gjc/rules/glob.md":     "---\nglobs: \"a[\"\n---\nText.",
		".gjc/rules/regex.md":    "---\ncondition: \"a(\"\n---\nText.",
		".gjc/rules/scope.md":    "---\ncondition: a\nscope: everywhere\n---\nText.",
		".gjc/rules/mode.md":     "---\ncondition: a\ninterruptMode: now\n---\nText.",
		".gjc/rules/empty.md":    "---\ndescription: x\n---\n",
		".gjc/rules/binary.md":   "a\x00b",
		".gjc/rules/utf16.md":    "\xff\xfeA\x00\x00",
		".gjc/rules/huge.md":     strings.Repeat("x", 10<<20),
		".gjc/rules/line.md":     "---\nJust a line across the page.",
		".gjc/rules/dir.md/x.md": "no",
	})
	book, problems := rules.Load(t.Context(), rules.Options{Roots: []string{dir}})
	want := []string{
		"/.gjc/rules/binary.md:1: is neither UTF-8 nor UTF-16 text; it is ignored",
		"/.gjc/rules/dir.md: is not a regular file",
		"/.gjc/rules/empty.md: has no text",
		`/.gjc/rules/glob.md:2: globs: invalid glob "a["; the rule is ignored`,
		"/.gjc/rules/huge.md: is larger than 64 KiB; it is ignored",
		`/.gjc/rules/list.md:2: the front matter must be lines "key: value"; the rule is ignored`,
		"/.gjc/rules/mode.md:3: interruptMode must be always, never, prose-only or tool-only; the rule is ignored",
		`/.gjc/rules/open.md:1: the front matter is not closed by a line "---"; the rule is ignored`,
		"/.gjc/rules/regex.md:2: the condition \"a(\" is not an RE2 pattern: error parsing regexp: missing closing ): `a(`; the rule is ignored",
		`/.gjc/rules/scope.md:2: a scope must be text, thinking, tool, tool:NAME or tool:NAME(glob), not "everywhere"; the rule is ignored`,
		"/.gjc/rules/type.md:3: alwaysApply must be true or false; the rule is ignored",
		"/.gjc/rules/utf16.md:1: is neither UTF-8 nor UTF-16 text; it is ignored",
	}
	got := problemTexts(dir, problems)
	if i := len(got) - 1; i >= 0 && strings.HasPrefix(got[i], "/.gjc/rules/yaml.md:") {
		got = got[:i]
	} else {
		t.Error("no word about yaml.md")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"good", "line"}, book.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// Links out of the workspace are not followed, links within it are.
func TestLoad_Links(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	write(t, out, map[string]string{"secret.md": "Secret.", "rules/x.md": "X."})
	write(t, dir, map[string]string{"docs/style.md": "Style.", ".gjc/rules/a.md": "A."})
	for link, to := range map[string]string{
		".gjc/rules/style.md": "../../docs/style.md", ".gjc/rules/out.md": filepath.Join(out, "secret.md"), ".gjc/rules/loop.md": "loop.md",
		".cursor": out,
	} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skip(err)
		}
	}
	book, problems := rules.Load(t.Context(), rules.Options{Roots: []string{dir}})
	if diff := cmp.Diff([]string{"a", "style"}, book.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := strings.Join(problemTexts(dir, problems), "\n"); !strings.Contains(got, "/.gjc/rules/out.md: a symbolic link points outside") ||
		!strings.Contains(got, "/.gjc/rules/loop.md") || !strings.Contains(got, "/.cursor/rules: a symbolic link points outside") {
		t.Errorf("problems:\n%s", got)
	}
}

// Any file results in a rule or a problem, and no rule has an empty text.
func FuzzLoad(f *testing.F) {
	f.Add("---\nglobs: *.ts\ncondition: [a, b]\nscope: tool:edit(*.go)\n---\nText")
	f.Add("---\n---\n")
	f.Add("---\ndescription: &a [*a]\n---\nx")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		write(t, dir, map[string]string{".gjc/rules/r.md": text})
		book, problems := rules.Load(t.Context(), rules.Options{Roots: []string{dir}})
		if len(book.All())+len(problems) != 1 {
			t.Errorf("%d rules, problems %v", len(book.All()), problems)
		}
		for _, r := range book.All() {
			if r.Text == "" || strings.ContainsAny(r.Description, "\r\n") {
				t.Errorf("%+v", r)
			}
			book.About(filepath.Join(dir, "a.go"), []string{dir})
		}
	})
}

// streamRule returns a book with one rule with a condition.
func streamRule(t *testing.T, head string) *rules.Book {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{".gjc/rules/r.md": "---\n" + head + "\n---\nText."})
	book, problems := rules.Load(t.Context(), rules.Options{Roots: []string{dir}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return book
}

func yes(*rules.Rule) bool { return true }

// The division of an answer into pieces does not affect what matches.
func TestWatch_Pieces(t *testing.T) {
	for _, tt := range []struct {
		head, text string
		want       bool
	}{
		{`condition: 'console\.log\('`, "I add console.log(x).", true},
		{`condition: 'console\.log\('`, "I add console. log(x).", false},
		{`condition: '\bfoo\b'`, "a foobar", false},
		{`condition: '\bfoo\b'`, "a foo", true},
		{`condition: 'end$'`, "the end of it", false},
		{`condition: 'end$'`, "the end", true},
		{`condition: '(?m)^TODO'`, "x\nTODO", true},
		{`condition: [nothing, 'ü+ber']`, "süüber", true},
		{`condition: 'x.*y'`, strings.Repeat("a", 9000) + "x" + strings.Repeat("b", 1500) + "y.", true},
	} {
		book := streamRule(t, tt.head)
		for _, n := range []int{1, 2, 3, 7, 5000, 1 << 20} {
			w := rules.NewWatch(book, yes)
			found := 0
			for rest := tt.text; rest != ""; {
				piece := rest[:min(n, len(rest))]
				rest = rest[len(piece):]
				found += len(w.Prose(rules.Text, piece))
			}
			found += len(w.End())
			if found > 1 || (found == 1) != tt.want {
				t.Errorf("%s in %.20q by %d: %d matches", tt.head, tt.text, n, found)
			}
		}
	}
}

// A scope selects where to match; the arguments of calls are matched as decoded strings.
func TestWatch_Scopes(t *testing.T) {
	for _, tt := range []struct {
		head string
		want string
	}{
		{`condition: 'f\("x"\)'`, "text edit write"},
		{"condition: 'f\\(\"x\"\\)'\nscope: thinking", "thinking"},
		{"condition: 'f\\(\"x\"\\)'\nscope: [text, tool:write]", "text write"},
		{"condition: 'f\\(\"x\"\\)'\nscope: tool:*(*.go)", "edit"},
		{`condition: "*.go"`, "edit"},
		{`condition: "**/*.md"`, "write"},
		{"condition: nothing\nscope: text, tool", ""},
	} {
		book := streamRule(t, tt.head)
		var got []string
		say := func(name string, fn func(w *rules.Watch) []rules.Match) {
			w := rules.NewWatch(book, yes)
			if found := append(fn(w), w.End()...); len(found) > 0 {
				got = append(got, name)
			}
		}
		say("text", func(w *rules.Watch) []rules.Match { return w.Prose(rules.Text, `f("x")`) })
		say("thinking", func(w *rules.Watch) []rules.Match { return w.Prose(rules.Thinking, `f("x")`) })
		for tool, path := range map[string]string{"edit": "a/b.go"} {
			say(tool, func(w *rules.Watch) (all []rules.Match) {
				w.Begin("1", tool)
				w.Begin("2", "other")
				for _, c := range []byte(`{"path":"` + path + `","new":"f(\"x\u0022)` + `"}`) {
					all = append(append(all, w.Input("1", string(c))...), w.Input("2", "{}")...)
				}
				return all
			})
		}
		say("write", func(w *rules.Watch) []rules.Match {
			w.Begin("1", "write")
			return w.Input("1", `{"content":"f(\"x\")\n","file_path":"docs\/a.md"}`)
		})
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", tt.head, diff)
		}
	}
}
