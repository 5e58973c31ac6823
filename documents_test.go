package gjc

import (
	"cmp"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"html"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// TestArchitectureDocument checks docs/reference/packages.md against the package comments and the layers table. The page lists
// every package below those that it may import. -update rewrites it.
func TestArchitectureDocument(t *testing.T) {
	comments := make(map[string]string)
	sources(t, func(path string, text []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Error(err)
			return
		}
		if file.Doc != nil {
			_, says, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(new(doc.Package).Synopsis(file.Doc.Text()), "Package "), "Command "), " ")
			comments[filepath.ToSlash(filepath.Dir(path))] = strings.NewReplacer("[", "", "]", "", "|", `\|`, "<", `\<`).Replace(strings.TrimRight(says, ".:"))
		}
	})
	var b strings.Builder
	b.WriteString("# Packages\n\nA package may import only those that its row names, which are above it, and those below it in its own folder. [Architecture](../architecture.md) explains the direction.\n\n" +
		"| Package | What it does | May import |\n|---|---|---|\n")
	done := make(map[string]bool)
	waits := func(name string) bool {
		needs := layers[name]
		if slices.Contains(needs, "*") { // all packages that may not themselves import everything
			needs = slices.DeleteFunc(slices.Collect(maps.Keys(layers)), func(other string) bool { return slices.Contains(layers[other], "*") })
		}
		return slices.ContainsFunc(needs, func(dep string) bool { return !done[dep] })
	}
	for left := slices.Sorted(maps.Keys(layers)); len(left) > 0; {
		i := slices.IndexFunc(left, func(name string) bool { return !waits(name) })
		if i < 0 {
			t.Fatalf("the layers table has a circle, or names a package that it does not have: %v", left)
		}
		if comments[left[i]] == "" {
			t.Errorf("package %s has no comment, or no files", left[i])
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", left[i], comments[left[i]], mayImport(left[i]))
		done[left[i]] = true
		left = slices.Delete(left, i, i+1)
	}
	testenv.Document(t, "docs/reference/packages.md", b.String())
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

// rooms are the folders with a node of their own in the diagram of docs/architecture.md; other folders belong to the nearest one
// above them.
var rooms = []string{"acp", "acp/content", "acp/server", "agent", "agent/approval", "agent/extensions", "agent/toolkit", "agent/tools", "bridges", "cmd", "conformance", "dap", "internal", "lsp", "mcp", "providers", "sessions"}

// roomOf returns the room of a package; empty for packages that only tests and generators use.
func roomOf(pkg string) string {
	if base := path.Base(pkg); strings.HasSuffix(base, "test") || base == "generate" || base == "testenv" {
		return ""
	}
	room := ""
	for _, r := range rooms {
		if (pkg == r || strings.HasPrefix(pkg, r+"/")) && len(r) > len(room) {
			room = r
		}
	}
	return room
}

// diagram returns the layers table as a flowchart of rooms, without arrows that follow from others. It fails the test if the
// imports of rooms form a cycle.
func diagram(t *testing.T) string {
	t.Helper()
	imports := make(map[string]map[string]bool)
	for pkg, deps := range layers {
		from := roomOf(pkg)
		if from == "" {
			continue
		}
		if imports[from] == nil {
			imports[from] = make(map[string]bool)
		}
		if slices.Contains(deps, "*") {
			deps = slices.Collect(maps.Keys(layers))
		}
		for _, dep := range deps {
			if to := roomOf(dep); to != "" && to != from && !strings.HasPrefix(dep, "cmd/") {
				imports[from][to] = true
			}
		}
	}
	var reaches func(from, to string, seen map[string]bool) bool
	reaches = func(from, to string, seen map[string]bool) bool {
		for next := range imports[from] {
			if next == to || !seen[next] && func() bool { seen[next] = true; return reaches(next, to, seen) }() {
				return true
			}
		}
		return false
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for _, from := range rooms {
		if reaches(from, from, make(map[string]bool)) {
			t.Errorf("%s imports itself by way of other rooms", from)
		}
		for _, to := range slices.Sorted(maps.Keys(imports[from])) {
			indirect := false
			for other := range imports[from] {
				indirect = indirect || other != to && reaches(other, to, make(map[string]bool))
			}
			if !indirect {
				fmt.Fprintf(&b, "  %s[%s] --> %s[%s]\n", strings.ReplaceAll(from, "/", "_"), from, strings.ReplaceAll(to, "/", "_"), to)
			}
		}
	}
	return b.String() + "```\n"
}

// TestArchitectureDiagram checks the diagram in docs/architecture.md against the layers table. -update rewrites it.
func TestArchitectureDiagram(t *testing.T) {
	const file = "docs/architecture.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(data), "```mermaid\n")
	_, after, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatalf("%s has no diagram", file)
	}
	want := before + diagram(t) + after
	if testenv.Update() {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(data) != want {
		t.Errorf("the diagram of %s is not that of the layers table; run ./task docs", file)
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
		case d.IsDir() || filepath.Ext(path) != ".md" || strings.HasPrefix(filepath.ToSlash(path), "agent/"): // those in agent are for models
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
	// mention matches the path of a file in this repository.
	mention = regexp.MustCompile(`\b(?:acp|agent|bridges|cmd|dap|docs|internal|lsp|mcp|providers|sessions|testdata|tools)/[\w./-]*\w\.(?:go|md|mod|json|yml|mjs|txtar)\b`)
)

// TestDocumentLinks checks that the links in documents resolve, and that the files that documents name exist.
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
				continue // a link to the web
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

// anchor returns the URL fragment of a heading.
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

// TestChangelog checks that each change begins with its kind.
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
	steady := func(line string) string { // with durations and white space normalized
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
