package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// goServerEnv returns an environment with gopls on PATH, and with this machine's caches, because those of a new home
// are empty.
func goServerEnv(t *testing.T) []string {
	t.Helper()
	return goBuildEnv(t, "gopls", testenv.NeedsGopls(t))
}

// goBuildEnv returns an environment that can build Go programs, with a program on PATH.
func goBuildEnv(t *testing.T, name, path string) []string {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "GOFLAGS=", "GOWORK=off"}
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH"}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		env = append(env, names[i]+"="+value)
	}
	return env
}

func goServer() *languageServer {
	const (
		square = `// Package shape has shapes.
package shape

// Shape has an area.
type Shape interface {
	Area() int
}

// Square is a shape.
type Square struct{ Side int }

// Area is the side squared.
func (s Square) Area() int { return s.Side * s.Side }
`
		main = `package main

import (
	"fmt"

	"example.com/calc/shape"
)

// total adds areas.
func total(start int, shapes ...shape.Shape) int {
	sum := start
	for _, s := range shapes {
		sum += s.Area()
	}
	return sum
}

func main() {
	fmt.Println(total(0, shape.Square{Side: 2}))
}
`
	)
	return &languageServer{
		name: "gopls", env: goServerEnv,
		// By default there are no hints, and problems of several changed files are reported a second later.
		home: map[string]string{".gjc/agent/lsp.json": `{"gopls": {"settings": {"gopls": {"hints": {"parameterNames": true}, "diagnosticsDelay": "0s"}}}}`},
		files: map[string]string{
			"go.mod": "module example.com/calc\n\ngo 1.24\n", "shape/shape.go": square, "main.go": main,
			"fill.go":   "package main\n\nimport \"example.com/calc/shape\"\n\nvar _ = shape.Square{}\n",
			"untidy.go": "package main\n\nvar   _ = []int{1,2}\n",
		},
		file: "main.go", good: "sum := start", bad: `sum := ""`, problem: "mismatched types string and int",
		asks: map[string][]languageAsk{
			"diagnostics": slices.Concat(
				asks("*.go", "**fill.go**: no problems", "**main.go**: no problems", "**untidy.go**: no problems"),
				asks("*", "$ go build -o ", "(no output)"),
			),
			"definition":      asks("main.go line=13 symbol=Area", "Found 1 definition:\nshape/shape.go:6:2\n", "6: \tArea() int"),
			"type_definition": asks("main.go line=13 symbol=s", "Found 1 type definition:\nshape/shape.go:5:6\n"),
			"implementation":  asks("shape/shape.go line=6 symbol=Area", "Found 1 implementation:\nshape/shape.go:13:17\n"),
			"references":      asks("shape/shape.go line=10 symbol=Square", "Found 4 references:\nfill.go:5:15\n", "main.go:19:29\n", "shape/shape.go:10:6\n", "shape/shape.go:13:9\n"),
			"hover":           asks("main.go line=19 symbol=total", "func total(start int, shapes ...shape.Shape) int", "total adds areas."),
			"signature":       asks("main.go line=19 symbol=total", "total(start int, shapes ...shape.Shape) int\n", "start int (at the position)"),
			"symbols": slices.Concat(
				asks("shape/shape.go", "Symbols in shape/shape.go:\ninterface Shape", "\n  method Area", "\nstruct Square", "\n  field Side int @ line 10\n", "method (Square).Area func() int @ line 13"),
				asks("query=Square", "matching \"Square\":\nstruct Square (example.com/calc/shape) shape/shape.go:10:6\n"),
			),
			"call_hierarchy": asks("main.go line=10 symbol=total", "function total main.go:10:6\n", "called by:\n    function main main.go:18:6 (call at line 19)\n", "calls:\n    function Area shape/shape.go:6:2 (call at line 13)"),
			"type_hierarchy": asks("shape/shape.go line=10 symbol=Square", "Square shape/shape.go:10:6\n", "supertypes:\n    interface Shape shape/shape.go:5:6\n", "subtypes: none"),
			"inlay_hints":    asks("main.go", "inlay hints in main.go", "19: \tfmt.Println(«a...: »total(«start: »0, «shapes...: »shape.Square{Side: 2}))"),
			"folding":        asks("main.go", "4 folding ranges in main.go:\n3-6 [imports] import (\n", "10-15 func total(start int, shapes ...shape.Shape) int {\n", "12-13 for _, s := range shapes {\n"),
			"capabilities":   asks("main.go", "gopls:\n{", `"renameProvider"`),
			"request":        asks("main.go query=textDocument/documentHighlight line=13 symbol=sum", "gopls ← textDocument/documentHighlight:\n[", "\"line\": 10,\n\t\t\t\t\"character\": 1\n", "\"line\": 14,\n\t\t\t\t\"character\": 8\n"),
			"status":         asks("", "Active language servers: gopls\n- gopls: ready, pid ", "gopls v", "root ., utf-16, 4 documents open"),
			"reload":         asks("main.go", "Reloaded gopls"),
			"code_actions": slices.Concat(
				asks("fill.go line=5 symbol=Square", "Fill shape.Square (gopls)\n"),
				changes(`fill.go line=5 symbol=Square apply=true "query=fill shape.square"`, "fill.go: no problems (gopls)",
					"fill.go", "package main\n\nimport \"example.com/calc/shape\"\n\nvar _ = shape.Square{\n\tSide: 0,\n}\n"),
			),
			"format": slices.Concat(
				changes("untidy.go", "untidy.go: no problems (gopls)", "untidy.go", "package main\n\nvar _ = []int{1, 2}\n"),
				asks("untidy.go", "untidy.go is already formatted (gopls)"),
			),
			"rename": changes("main.go line=19 symbol=Square new_name=Box", "main.go: no problems (gopls)",
				"main.go", strings.ReplaceAll(main, "Square", "Box"), "shape/shape.go", strings.ReplaceAll(square, "Square", "Box"),
				"fill.go", "package main\n\nimport \"example.com/calc/shape\"\n\nvar _ = shape.Box{\n\tSide: 0,\n}\n"),
			"rename_file": changes("shape/shape.go new_name=shape/box.go", "shape/box.go: no problems (gopls)",
				"shape/box.go", strings.ReplaceAll(square, "Square", "Box")),
		},
	}
}
