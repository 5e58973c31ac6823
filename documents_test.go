package gjc

import (
	"cmp"
	"html"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// row is a row of the table of packages: the packages that it names, what they hold, and what they may import.
var row = regexp.MustCompile("(?m)^\\| (`[a-z0-9/, `-]+`) \\| (.*) \\| (.*) \\|\n")

// TestArchitectureDocument holds the table of docs/architecture.md to the table of this test: every package has a row, below those
// of the packages that it may import, and the row names them. -update sorts the rows and writes the last column.
func TestArchitectureDocument(t *testing.T) {
	const document = "docs/architecture.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	at := row.FindAllSubmatchIndex(text, -1)
	if len(at) == 0 {
		t.Fatalf("%s has no table of packages; has its form changed?", document)
	}
	type entry struct {
		names []string
		text  string
	}
	var rows []entry
	place := make(map[string]int)
	for i, m := range at {
		if i > 0 && at[i-1][1] != m[0] {
			t.Fatalf("%s: the table of packages is in several parts", document)
		}
		names := strings.Split(strings.ReplaceAll(string(text[m[2]:m[3]]), "`", ""), ", ")
		for _, name := range names {
			if _, known := layers[name]; !known {
				t.Errorf("%s names %s, which the layers table does not", document, name)
			}
			if _, twice := place[name]; twice {
				t.Errorf("%s has two rows for %s", document, name)
			}
			place[name] = i
			if mayImport(name) != mayImport(names[0]) {
				t.Errorf("%s: %s and %s have one row and may import different packages", document, names[0], name)
			}
		}
		rows = append(rows, entry{names, "| " + string(text[m[2]:m[3]]) + " | " + string(text[m[4]:m[5]]) + " | " + mayImport(names[0]) + " |\n"})
	}
	for name := range layers {
		if _, ok := place[name]; !ok {
			t.Errorf("%s has no row for `%s`", document, name)
		}
	}
	if t.Failed() {
		return
	}

	// Each row comes as soon as those that it needs are there, in the order that the document has.
	var sorted strings.Builder
	done := make(map[string]bool)
	waits := func(name string) bool {
		needs := layers[name]
		if slices.Contains(needs, "*") { // all that are not for everything themselves
			needs = slices.DeleteFunc(slices.Collect(maps.Keys(layers)), func(other string) bool { return slices.Contains(layers[other], "*") })
		}
		return slices.ContainsFunc(needs, func(dep string) bool { return !done[dep] })
	}
	for left := rows; len(left) > 0; {
		i := slices.IndexFunc(left, func(r entry) bool { return !slices.ContainsFunc(r.names, waits) })
		if i < 0 {
			t.Fatalf("the layers table has a circle, or names a package that it does not have: %v", left)
		}
		sorted.WriteString(left[i].text)
		for _, name := range left[i].names {
			done[name] = true
		}
		left = slices.Delete(slices.Clone(left), i, i+1)
	}
	want := string(text[:at[0][0]]) + sorted.String() + string(text[at[len(at)-1][1]:])
	if want == string(text) {
		return
	}
	if testenv.Update() {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the table of packages of %s is not that of arch_test.go; run go test . -update", document)
}

// mayImport words what a package may import.
func mayImport(name string) string {
	deps := slices.Sorted(slices.Values(layers[name]))
	switch {
	case len(deps) == 0:
		return "–"
	case deps[0] == "*":
		return "everything"
	default:
		return strings.Join(deps, ", ")
	}
}

// documents calls fn for each document that people read.
func documents(t *testing.T, fn func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md" || strings.HasPrefix(filepath.ToSlash(path), "agent/"): // texts for models
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fn(filepath.ToSlash(path), string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	// mention is a file of this repository that a document names.
	mention = regexp.MustCompile(`\b(?:acp|agent|bridges|cmd|dap|docs|internal|lsp|mcp|providers|sessions|testdata|tools)/[\w./-]*\w\.(?:go|md|mod|json|yml|mjs|txtar)\b`)
)

// TestDocumentLinks checks that the links of documents lead somewhere, and that the files which they name exist.
func TestDocumentLinks(t *testing.T) {
	headings := func(text string) map[string]bool {
		all := make(map[string]bool)
		for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			all[anchor(m[1])] = true
		}
		return all
	}
	links := 0
	documents(t, func(path, text string) {
		plain := fenced.ReplaceAllString(text, "")
		for _, m := range link.FindAllStringSubmatch(plain, -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // of the web
			}
			links++
			other, file := text, path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), filepath.FromSlash(target))
				info, err := os.Stat(file)
				if err != nil {
					t.Errorf("%s links to %s: %v", path, m[1], err)
					continue
				}
				if info.IsDir() {
					continue
				}
				data, err := os.ReadFile(file)
				if err != nil {
					t.Error(err)
				}
				other = string(data)
			}
			if fragment != "" && !headings(other)[fragment] {
				t.Errorf("%s links to %s, and %s has no such heading", path, m[1], file)
			}
		}
		for _, m := range mention.FindAllStringIndex(plain, -1) {
			if m[0] > 0 && strings.ContainsAny(plain[m[0]-1:m[0]], "/.~$:-") {
				continue // a part of another path
			}
			if name := plain[m[0]:m[1]]; !exists(name) && !exists(filepath.Join(filepath.Dir(path), name)) {
				t.Errorf("%s names %s, which is not there", path, name)
			}
		}
	})
	if links < 20 {
		t.Errorf("%d links; has their form changed?", links)
	}
}

func exists(path string) bool {
	_, err := os.Stat(filepath.FromSlash(path))
	return err == nil
}

// anchor is the fragment by which a heading is linked to.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
			return r
		default:
			return -1
		}
	}, strings.ToLower(heading))
}

// TestChangelog checks that each change says first what kind it is of.
func TestChangelog(t *testing.T) {
	kinds := map[string]int{"Added": 0, "Changed": 0, "Fixed": 0, "Removed": 0}
	files, err := filepath.Glob("docs/changelog/unreleased/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		kind, rest, _ := strings.Cut(string(text), ": ")
		if _, known := kinds[kind]; !known || strings.TrimSpace(rest) == "" || filepath.Ext(path) != ".md" || !strings.HasSuffix(rest, "\n") {
			t.Errorf("%s must be Markdown that begins with one of %s, a colon and a blank, and ends its last line", filepath.ToSlash(path),
				strings.Join(slices.SortedFunc(maps.Keys(kinds), cmp.Compare), ", "))
		}
	}
}

// TestTroubleshooting checks that gjc has every message that docs/troubleshooting.md quotes as a symptom. An ellipsis stands for any text.
func TestTroubleshooting(t *testing.T) {
	text, err := os.ReadFile("docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	sources(t, func(_ string, text []byte) { code.Write(text) })
	symptoms := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1)
	if len(symptoms) < 25 {
		t.Errorf("%d quoted symptoms; has their form changed?", len(symptoms))
	}
	for _, m := range symptoms {
		for part := range strings.SplitSeq(m[1], "…") {
			if part = strings.TrimSpace(part); !strings.Contains(code.String(), strings.ReplaceAll(part, `"`, `\"`)) {
				t.Errorf("docs/troubleshooting.md quotes %q; no code has %q", m[1], part)
			}
		}
	}
}

// TestPicture checks that the picture of the demo shows lines of the demo's output.
func TestPicture(t *testing.T) {
	picture, err := os.ReadFile("docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	steady := func(line string) string { // without durations, and with single blanks
		return regexp.MustCompile(`[0-9.]+s\b`).ReplaceAllString(strings.Join(strings.Fields(line), " "), "0s")
	}
	shown := make(map[string]bool)
	for line := range strings.Lines(string(readme)) {
		shown[steady(line)] = true
	}
	lines := regexp.MustCompile(`<text [^>]*>([^<]*)</text>`).FindAllStringSubmatch(string(picture), -1)
	if len(lines) < 20 || len(picture) > 100_000 {
		t.Errorf("docs/demo.svg has %d lines in %d bytes", len(lines), len(picture))
	}
	for _, m := range lines {
		if line := steady(html.UnescapeString(m[1])); !shown[line] {
			t.Errorf("docs/demo.svg shows %q, which the README's transcript does not have", line)
		}
	}
}
