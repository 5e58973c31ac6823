package search_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// engineTree returns a workspace with a file for each way in which the engines could differ.
func engineTree(t testing.TB, repository bool) *toolstest.World {
	w := toolstest.NewWorld(t, map[string]string{
		"main.go":                  "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(needle)\n}\n",
		"a.go":                     "needle\n",
		"a/b.go":                   "x\nneedle\ny\nz\nneedle\n1\n2\n3\n4\n5\nneedle",
		"a/sub/c.txt":              "no\n  needle  \n",
		"a-b/d.go":                 "needle at a-b\n",
		"many.txt":                 strings.Repeat("needle\n", 30),
		"spread.txt":               strings.Repeat("needle\n1\n2\n3\n4\n5\n", 30),
		"nineteen.txt":             strings.Repeat("needle\n\n\n\n\n\n", 19) + "needle\nneedle\nneedle\nneedle\nneedle\nneedle\nx\n",
		"crlf.txt":                 "one\r\nneedle\r\nthree\r\n",
		"bom.txt":                  "\xEF\xBB\xBFneedle first\nx\n",
		"utf16.txt":                "\xFF\xFEn\x00e\x00e\x00d\x00l\x00e\x00\n\x00x\x00\n\x00",
		"latin1.txt":               "caf\xE9 needle \xE9\xE8\n\xFF before\n",
		"binary.bin":               "needle\x00needle\n",
		"late.bin":                 "needle\n" + strings.Repeat("text\n", 10) + "\x00\n",
		"long.txt":                 strings.Repeat("é", 2000) + "needle\n" + strings.Repeat("x", 1020) + "needle\n",
		"empty.txt":                "",
		"blank.txt":                "\n\n\nneedle\n\n",
		"unicode.txt":              "Straße NEEDLE Ünïcode\nnééd needlé\n",
		"braces.txt":               "a ${needle} b\n{needle}\nneedle{2}\nneedlee\n",
		".hidden/h.txt":            "needle hidden\n",
		".dotfile":                 "needle dot\n",
		"ignored.log":              "needle\n",
		"keep.log":                 "needle kept\n",
		"build/out.txt":            "needle\n",
		"src/build/out.txt":        "needle in src/build\n",
		"src/.gitignore":           "*.tmp\n!keep.tmp\n/only\n",
		"src/x.tmp":                "needle\n",
		"src/keep.tmp":             "needle kept\n",
		"src/only":                 "needle\n",
		"src/deep/only":            "needle deep\n",
		"src/deep/.ignore":         "by-ignore.txt\n",
		"src/deep/by-ignore.txt":   "needle\n",
		"sub/repo/x.log":           "needle\n",
		"doc/a/b/c/frotz":          "needle\n",
		"doc/frotz/x":              "needle\n",
		"node_modules/p/index.js":  "needle\n",
		"vendor/mod/a.go":          "needle\n",
		"vendor/mod/b.txt":         "needle\n",
		"we ird/sp ace & 'q'.txt":  "needle\n",
		"we ird/-dash.txt":         "needle\n",
		"glob/one.ts":              "needle\n",
		"glob/two.tsx":             "needle\n",
		"glob/deep/three.ts":       "needle\n",
		"glob/deep/.secret.ts":     "needle\n",
		"glob/é.ts":                "needle\n",
		"glob/deep/ignored.log":    "needle\n",
		"regex.txt":                "foo.bar()\nfooxbar\nfoo bar\n\tindent\nend needle",
		".gitignore":               "*.log\n!keep.log\n/build/\nnode_modules\ndoc/**/frotz\n# comment\n\n\\!literal\ntrailing.txt   \n",
		"trailing.txt":             "needle\n",
		"!literal":                 "needle\n",
		"unreadable-but-here.txt":  "needle\n",
		"src/nested/.rgignore":     "rg.txt\n",
		"src/nested/rg.txt":        "needle\n",
		"src/nested/unrelated.txt": "needle\n",
	})
	if repository {
		w.Put(t, ".git/HEAD", "ref: refs/heads/main\n")
		w.Put(t, ".git/needle", "needle\n")
		w.Put(t, ".git/info/exclude", "excluded.txt\n")
		w.Put(t, "excluded.txt", "needle\n")
		w.Put(t, "sub/repo/.git/HEAD", "ref: refs/heads/main\n")
	}
	w.Put(t, "big.txt", "needle\n"+strings.Repeat("a line of nothing\n", 300_000))
	if runtime.GOOS != "windows" {
		if err := os.Symlink(w.Path("a"), w.Path("link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(w.Path("a.go"), w.Path("linked.go")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(w.Path("unreadable-but-here.txt"), 0); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

var engineSearches = map[string]toolstest.Input{
	"plain":              {"pattern": "needle"},
	"second page":        {"pattern": "needle", "skip": 20},
	"third page":         {"pattern": "needle", "skip": 40},
	"after the end":      {"pattern": "needle", "skip": 400},
	"nothing":            {"pattern": "this is nowhere"},
	"case":               {"pattern": "NEEDLE", "i": true, "paths": []string{"unicode.txt", "a.go", "a"}},
	"case matters":       {"pattern": "NEEDLE"},
	"unicode case":       {"pattern": "straSSe|ünÏcode", "i": true},
	"no gitignore":       {"pattern": "needle", "gitignore": false, "paths": []string{"build", "src", "doc", "node_modules", "sub", "keep.log", "ignored.log"}},
	"inside ignored":     {"pattern": "needle", "paths": []string{"node_modules/p", "build"}},
	"below a rule":       {"pattern": "needle", "paths": []string{"src/deep", "doc/a/b", "src/nested"}},
	"ignored file named": {"pattern": "needle", "paths": []string{"ignored.log"}},
	"hidden named":       {"pattern": "needle", "paths": []string{".hidden", ".dotfile"}},
	"one file":           {"pattern": "needle", "paths": []string{"spread.txt"}},
	"one big file":       {"pattern": "needle", "paths": []string{"big.txt"}},
	"glob":               {"pattern": "needle", "paths": []string{"**/*.go"}},
	"glob in a dir":      {"pattern": "needle", "paths": []string{"glob/**/*.{ts,tsx}"}},
	"glob one level":     {"pattern": "needle", "paths": []string{"*.txt"}},
	"glob any character": {"pattern": "needle", "paths": []string{"glob/?.ts"}},
	"glob two, deep":     {"pattern": "needle", "paths": []string{"glob/**/?.{ts,tsx}"}},
	"glob ignored":       {"pattern": "needle", "paths": []string{"glob/**/*.log"}},
	"overlap":            {"pattern": "needle", "paths": []string{"a", "a/b.go", "a/*.go", "."}},
	"anchors":            {"pattern": "^needle$"},
	"line end":           {"pattern": "needle$", "paths": []string{"crlf.txt", "regex.txt", "a"}},
	"empty lines":        {"pattern": "^$", "paths": []string{"blank.txt", "empty.txt", "nineteen.txt"}},
	"blank or not":       {"pattern": "x*", "paths": []string{"blank.txt", "a.go"}},
	"text start":         {"pattern": `\Aneedle`, "paths": []string{"a", "bom.txt"}},
	"text end":           {"pattern": `needle\z`, "paths": []string{"a", "a.go"}},
	"word":               {"pattern": `\bneedle\b`, "paths": []string{"unicode.txt", "braces.txt"}},
	"white space":        {"pattern": `needle\s+`, "paths": []string{"a"}},
	"across lines":       {"pattern": `needle\s*y`, "paths": []string{"a"}},
	"negated class":      {"pattern": `x[^a]needle`, "paths": []string{"a"}},
	"template":           {"pattern": `\${needle}`, "paths": []string{"braces.txt"}},
	"bare brace":         {"pattern": `^{needle}`, "paths": []string{"braces.txt"}},
	"repetition":         {"pattern": `needle{2}`, "paths": []string{"braces.txt"}},
	"dot":                {"pattern": `foo.bar`, "paths": []string{"regex.txt"}},
	"dash":               {"pattern": `-dash|--needle|needle`, "paths": []string{"we ird"}},
	"dash first":         {"pattern": `-b`},
	"invalid":            {"pattern": "needle("},
	"line feed":          {"pattern": `needle\nx`},
	"look-ahead":         {"pattern": "needle(?=x)"},
	"literal quoting":    {"pattern": `\Qfoo.bar()\E`, "paths": []string{"regex.txt"}},
	"latin1":             {"pattern": "before|needle", "paths": []string{"latin1.txt"}},
	"utf16":              {"pattern": "^needle$", "paths": []string{"utf16.txt"}},
	"symlinks":           {"pattern": "needle", "paths": []string{"link", "linked.go"}},
}

// Both engines return the same bytes: the result must not depend on what is installed.
func TestSearchEnginesAgree(t *testing.T) {
	rg := testenv.NeedsTool(t, "rg")
	for _, repository := range []bool{true, false} {
		w := engineTree(t, repository)
		for name, in := range engineSearches {
			t.Run(fmt.Sprintf("%s/repository=%v", name, repository), func(t *testing.T) {
				own := searchWith(t, w, in, "")
				if d := cmp.Diff(own, searchWith(t, w, in, rg)); d != "" {
					t.Errorf("-own engine +ripgrep:\n%s", d)
				}
			})
		}
	}
}

// ripgrep 13 hangs on an empty match before a carriage return.
func TestSearch_CarriageReturns(t *testing.T) {
	rg := testenv.NeedsTool(t, "rg")
	files := map[string]string{"2/bad": "needle\r\r\n"}
	for i := range 5 {
		for j := range 5 {
			files[fmt.Sprintf("%d/%d", i, j)] = "x\n"
		}
	}
	w := toolstest.NewWorld(t, files)
	for _, pattern := range []string{"$", "[ ]*$"} {
		in := toolstest.Input{"pattern": pattern}
		own, other := searchWith(t, w, in, ""), searchWith(t, w, in, rg)
		if d := cmp.Diff(own, other); d != "" || !strings.Contains(own, "2/bad") {
			t.Errorf("%s (-own engine +ripgrep):\n%s", pattern, d)
		}
	}
}

func searchWith(t testing.TB, w *toolstest.World, in toolstest.Input, rg string) string {
	t.Helper()
	return searchBy(t, toolstest.Tool(t, "search"), w, in, rg)
}

func searchBy(t testing.TB, search agent.Tool, w *toolstest.World, in toolstest.Input, rg string) string {
	t.Helper()
	w.Programs = nil
	if rg != "" {
		w.Programs = ripgrepOnly{rg}
	}
	_, res, err := toolstest.Do(t.Context(), search, w.Call(t, "search", in))
	if err != nil {
		return "error: " + err.Error()
	}
	var text strings.Builder
	text.WriteString(res.Text)
	for _, loc := range res.Locations {
		rel, err := filepath.Rel(w.Dir, loc.Path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "\n@%s:%d", rel, loc.Line)
	}
	return text.String()
}

// Both engines omit the same hidden and globally ignored files.
func TestSearchEnginesAgreeOnWhatIsLeftOut(t *testing.T) {
	rg := testenv.NeedsTool(t, "rg")
	files := map[string]string{".gitignore": "!kept.log\n", "sub/.git/HEAD": "", "sub/.gitignore": "c.txt\n"}
	for _, name := range []string{
		"a.txt", "x.log", "kept.log", "build/a.txt", "d/build/a.txt", ".hidden/a.txt", ".hidden/x.log", ".github/w.yml", "sub/x.log", "sub/a.txt",
		"sub/c.txt", "sub/.env.d/a.txt", "d/.x/.y/a.txt", "d/.git", "sub/.git/needle",
	} {
		files[name] = "needle\n"
	}
	global := filepath.Join(t.TempDir(), "ignore")
	putIgnore := func(text string) {
		if err := os.WriteFile(global, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	set := toolstest.Settings()
	set.GlobalIgnore = global
	var search agent.Tool
	for _, tool := range tools.All(set) {
		if tool.Spec().Name == "search" {
			search = tool
		}
	}
	for i, repository := range []bool{true, false, true} {
		putIgnore([]string{"*.log\nbuild/\n", "*.log\n", "*.log\n/build\n"}[i])
		files := maps.Clone(files)
		if repository {
			files[".git/HEAD"] = "needle\n"
		}
		w := toolstest.NewWorld(t, files)
		for _, hidden := range []bool{true, false} {
			for _, ignore := range []bool{true, false} {
				for _, paths := range [][]string{nil, {"sub"}, {"**/*.txt"}, {".hidden"}, {"d", "build"}, {"x.log", "."}} {
					in := toolstest.Input{"pattern": "needle", "hidden": hidden, "gitignore": ignore}
					if paths != nil {
						in["paths"] = paths
					}
					with, without := searchBy(t, search, w, in, rg), searchBy(t, search, w, in, "")
					if d := cmp.Diff(with, without); d != "" {
						t.Errorf("tree %d, %v: -ripgrep +own engine:\n%s", i, in, d)
					}
					if strings.Contains(without, ".git/") {
						t.Errorf("repository %t, %v: something in .git is found:\n%s", repository, in, without)
					}
				}
			}
		}
		all := searchBy(t, search, w, toolstest.Input{"pattern": "needle"}, "")
		if got := strings.Contains(all, "x.log"); got == repository {
			t.Errorf("repository %t: what git ignores everywhere is found: %t", repository, got)
		}
		if hidden := searchBy(t, search, w, toolstest.Input{"pattern": "needle", "hidden": true}, ""); !strings.Contains(hidden, ".github/w.yml") || strings.Contains(all, ".github") {
			t.Errorf("repository %t: hidden files: with hidden\n%s\nwithout\n%s", repository, hidden, all)
		}
	}
}

// The limit applies at the same match, in whichever order ripgrep searches.
func TestSearchEnginesAgreeOnTheCap(t *testing.T) {
	rg := testenv.NeedsTool(t, "rg")
	files := make(map[string]string)
	for i := range 300 {
		files[fmt.Sprintf("d%d/f%d.txt", i%7, i)] = strings.Repeat("needle\n", i%25+1)
	}
	w := toolstest.NewWorld(t, files)
	for _, skip := range []int{0, 20, 100, 120, 140, 160, 180, 200} {
		in := toolstest.Input{"pattern": "needle", "skip": skip}
		own := searchWith(t, w, in, "")
		if d := cmp.Diff(own, searchWith(t, w, in, rg)); d != "" {
			t.Errorf("skip %d, -own engine +ripgrep:\n%s", skip, d)
		}
	}
	if last := searchWith(t, w, toolstest.Input{"pattern": "needle"}, ""); !strings.Contains(last, "stopped at 2000 matches") {
		t.Errorf("the cap is not told of:\n%s", last)
	}
}
