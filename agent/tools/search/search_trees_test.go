package search_test

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// standardLibrary returns the directory of Go's own packages, and module that of a module in go.mod. Both exist wherever the tests run.
func standardLibrary(t testing.TB) string { return filepath.Join(goSays(t, "env", "GOROOT"), "src") }

func module(t testing.TB, path string) string {
	return goSays(t, "list", "-m", "-f", "{{.Dir}}", path)
}

func goSays(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	out, err := cmd.Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("go %s: %q, %v", strings.Join(args, " "), dir, err)
	}
	return dir
}

// treeWorld is a world in a tree that the test must not change.
func treeWorld(t testing.TB, dir string) *toolstest.World {
	w := &toolstest.World{Dir: dir, FS: &toolstest.FS{Buffers: make(map[string]string)}, Values: agent.NewValues(nil)}
	t.Cleanup(func() { w.Values.Close(context.Background()) })
	return w
}

// treeSearches are searches of real trees. Those whose paths begin with "!" are only for the standard library.
var treeSearches = []toolstest.Input{
	// Texts.
	{"pattern": "TODO"},
	{"pattern": "context.Context"},
	{"pattern": "io.EOF", "skip": 40},
	{"pattern": "ErrUnexpectedEOF", "skip": 20},
	{"pattern": "e"},
	{"pattern": "zzyzxnowhere"},
	{"pattern": "\t"},
	{"pattern": "©"},
	{"pattern": "日本"},
	{"pattern": `\$\{`},
	{"pattern": `{}`},
	{"pattern": `map[string]`},
	{"pattern": `\Qmap[string]any{\E`},
	{"pattern": " "},
	// Case.
	{"pattern": "todo", "i": true},
	{"pattern": "STRASSE", "i": true},
	{"pattern": "k", "i": true, "skip": 100},
	{"pattern": "ſ|K", "i": true},
	{"pattern": "(?i)errshort"},
	{"pattern": "fatal(?i:ERROR)"},
	// Classes.
	{"pattern": `[0-9]{12,}`},
	{"pattern": `0x[[:xdigit:]]{16}\b`},
	{"pattern": `\p{Greek}`},
	{"pattern": `\p{Han}{3}`},
	{"pattern": `[^\x00-\x7F]`},
	{"pattern": `\pL\pN\pL\pN\pL`},
	{"pattern": `[[:upper:]]{20}`},
	{"pattern": `[αβγ]`},
	{"pattern": `\x{1F600}|\x{FFFD}`},
	{"pattern": `\W{30}`},
	// Anchors and words.
	{"pattern": `^package main$`},
	{"pattern": `^func \w+\(\) error \{$`},
	{"pattern": `^$`},
	{"pattern": `^\s*$`, "skip": 60},
	{"pattern": `\bgoto\b`},
	{"pattern": `\Bint\B`},
	{"pattern": `\Apackage`},
	{"pattern": `\}\z`},
	{"pattern": `;$`},
	{"pattern": `\s$`},
	{"pattern": `(^|\s)//go:build .*windows`},
	{"pattern": `^(?:a|b|)$`},
	// Choices, repetitions, matches that may be empty.
	{"pattern": `foo|bar|baz`},
	{"pattern": `(Read|Write)(At|From|To)\b`},
	{"pattern": `a.*b.*c.*d.*e.*f.*g.*h.*i.*j`},
	{"pattern": `(a|b|c|d)*z{3}`},
	{"pattern": `x*`},
	{"pattern": `.{300}`},
	{"pattern": `"[^"]{80,}"`},
	{"pattern": `(?s)a.b`},
	{"pattern": `(?-s)func.*func.*func`},
	{"pattern": `(?U)a+b+`},
	{"pattern": `(?P<name>if) (?P<other>else)`},
	// Paths.
	{"pattern": "package", "paths": []string{"**/*_test.go"}},
	{"pattern": "copyright", "i": true, "paths": []string{"**/*.s"}},
	{"pattern": "the", "paths": []string{"**/*.{md,txt}"}},
	{"pattern": "func", "paths": []string{"*"}},
	{"pattern": "func", "paths": []string{"**/[a-c]*.go"}},
	{"pattern": "func", "paths": []string{"**/*.go", "."}, "skip": 20},
	{"pattern": "png|PNG", "paths": []string{"**/testdata/**"}},
	{"pattern": "a", "gitignore": false, "skip": 80},
	{"pattern": "vendor", "gitignore": false},
	{"pattern": "a", "hidden": true},
	{"pattern": "true|false", "hidden": true, "gitignore": false},
	// Types and context.
	{"pattern": "func New", "types": []string{"go"}, "context": 0},
	{"pattern": "TODO", "types": []string{"md", "txt", "sh"}, "context": 5},
	{"pattern": "return", "types": []string{"go"}, "context": 20, "paths": []string{"**/*_test.*"}},
	{"pattern": "the", "types": []string{"yaml", "make"}, "context": 2},
	// One file, several scopes.
	{"pattern": "func", "paths": []string{"!strings/strings.go"}},
	{"pattern": "e", "paths": []string{"!net/http/server.go"}},
	{"pattern": "^", "paths": []string{"!go/ast/ast.go"}},
	{"pattern": "func New", "paths": []string{"!bytes", "!strings", "!strings/builder.go"}},
	{"pattern": "EOF", "paths": []string{"!io/*.go", "!os", "!io/io.go"}},
	{"pattern": "const", "paths": []string{"!net/http/h2_bundle.go", "!archive"}},
	{"pattern": "PNG", "paths": []string{"!image/testdata/video-001.png"}},
	{"pattern": "zip", "paths": []string{"!archive/zip/testdata"}},
}

// The two engines find the same bytes in real trees. Searches meant for a certain tree run only there. The two large trees share
// the others, because each search takes a second.
func TestSearchEnginesAgreeOnRealTrees(t *testing.T) {
	rg := testenv.NeedsTool(t, "rg")
	std := standardLibrary(t)
	repository := testenv.ModuleRoot(t)
	trees := []string{std, module(t, "golang.org/x/text"), module(t, "golang.org/x/sys"), module(t, "github.com/goccy/go-yaml"), module(t, "github.com/anthropics/anthropic-sdk-go"), repository}
	if testing.Short() || testenv.Race {
		trees = trees[1:3]
	}
	for _, dir := range trees {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			w := treeWorld(t, dir)
			for i, in := range treeSearches {
				in, own, ok := searchIn(in, dir == std)
				if !ok || !own && (dir == std && i%3 != 0 || dir == repository && i%3 != 1) {
					continue
				}
				t.Run(fmt.Sprint(in), func(t *testing.T) {
					if d := cmp.Diff(searchWith(t, w, in, rg), searchWith(t, w, in, "")); d != "" {
						t.Errorf("-ripgrep +own engine:\n%s", d)
					}
				})
			}
		})
	}
}

// searchIn returns a search without the marks in its paths. marked reports whether it had any; ok is false if it is not for this
// tree.
func searchIn(in toolstest.Input, std bool) (search toolstest.Input, marked, ok bool) {
	paths, ok := in["paths"].([]string)
	if !ok {
		return in, false, true
	}
	own := toolstest.Input{}
	maps.Copy(own, in)
	paths = slices.Clone(paths)
	for i, p := range paths {
		name, here := strings.CutPrefix(p, "!")
		if here && !std {
			return nil, true, false
		}
		marked = marked || here
		paths[i] = name
	}
	own["paths"] = paths
	return own, marked, true
}
