package code_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/lsp"
)

// goModule is a small module that covers the actions.
var goModule = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.24\n",
	"shape/shape.go": `// Package shape has shapes.
package shape

// Shape has an area.
type Shape interface {
	Area() float64
}

// Square is a shape.
type Square struct {
	Side float64
	Name string
}

// Area is the side, squared.
func (s Square) Area() float64 { return s.Side * s.Side }

// Sum adds the areas of shapes.
func Sum(shapes []Shape) float64 {
	total := 0.0
	for _, s := range shapes {
		total += s.Area()
	}
	return total
}
`,
	"main.go": `package main

import (
	"fmt"

	"example.com/m/shape"
)

func main() {
	list := []shape.Shape{shape.Square{}}
	fmt.Println(shape.Sum(list))
	helper("é", shape.Sum(nil))
}
`,
	"helper.go": `package main

import "example.com/m/shape"

func helper(name string, n float64) {
	_ = name
	_ = shape.Sum(nil) + n
}
`,
	"bad.go": `package main

func broken() int {
	return "text"
}
`,
	"untidy.go": "package main\n\nfunc untidy()   {\nx := 1\n_ = x\n}\n",
}

func gopls(t testing.TB) *toolstest.World {
	t.Helper()
	path := testenv.NeedsGopls(t)
	w := toolstest.NewWorld(t, goModule)
	openServers(t, w, &fakeServers{Specs: []*lsp.Spec{{
		Name: "gopls", Path: path, Args: []string{"serve"}, FileTypes: []string{".go"}, RootMarkers: []string{"go.mod"},
		Settings:    []byte(`{"gopls":{"hints":{"assignVariableTypes":true,"parameterNames":true}}}`),
		InitOptions: []byte(`{"hints":{"assignVariableTypes":true,"parameterNames":true}}`),
	}}}, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTELEMETRY=off"))
	return w
}

func TestLSP_GoplsReads(t *testing.T) {
	w := gopls(t)
	for _, tt := range []struct {
		name  string
		in    toolstest.Input
		wants []string
	}{
		{
			"definition",
			toolstest.Input{"action": "definition", "file": "main.go", "line": 11, "symbol": "Sum"},
			[]string{"Found 1 definition:\nshape/shape.go:19:6\n  18: // Sum adds the areas of shapes.\n  19: func Sum(shapes []Shape) float64 {\n  20: "},
		},
		{"definition after a character of two bytes", toolstest.Input{"action": "definition", "file": "main.go", "line": 12, "symbol": "shape.Sum"}, []string{"shape/shape.go:19:6"}},
		{"definition without a line", toolstest.Input{"action": "definition", "file": "helper.go", "symbol": "Sum"}, []string{"shape/shape.go:19:6", "[No line was given; using Sum on line 7.]"}},
		{"definition outside", toolstest.Input{"action": "definition", "file": "main.go", "line": 11, "symbol": "Println"}, []string{"fmt/print.go:"}},
		{"type definition", toolstest.Input{"action": "type_definition", "file": "main.go", "line": 11, "symbol": "list"}, []string{"type definition"}},
		{"implementation", toolstest.Input{"action": "implementation", "file": "shape/shape.go", "line": 5, "symbol": "Shape"}, []string{"Found 1 implementation:\nshape/shape.go:10:6"}},
		{"references", toolstest.Input{"action": "references", "file": "shape/shape.go", "line": 19, "symbol": "Sum"}, []string{"Found 4 references:\nhelper.go:7:12\n", "main.go:11:20\n", "main.go:12:20\n  11: ", "shape/shape.go:19:6\n"}},
		{"hover", toolstest.Input{"action": "hover", "file": "main.go", "line": 11, "symbol": "Sum"}, []string{"func shape.Sum(shapes []shape.Shape) float64", "Sum adds the areas"}},
		{"signature", toolstest.Input{"action": "signature", "file": "main.go", "line": 12, "symbol": "helper"}, []string{"helper(name string, n float64)", "name string (at the position)"}},
		{"symbols", toolstest.Input{"action": "symbols", "file": "shape/shape.go"}, []string{"Symbols in shape/shape.go:\ninterface Shape", "  method Area", "struct Square", "  field Side float64 @ line 11\n", "function Sum func(shapes []Shape) float64 @ line 19"}},
		{"workspace symbols", toolstest.Input{"action": "symbols", "query": "Square"}, []string{"struct ", "shape/shape.go:10:6"}},
		{"calls", toolstest.Input{"action": "call_hierarchy", "file": "shape/shape.go", "line": 19, "symbol": "Sum"}, []string{"function Sum shape/shape.go:19:6\n  called by:\n", "function main main.go:9:6 (call at line 11, 12)\n", "function helper helper.go:5:6 (call at line 7)", "  calls:\n    "}},
		{"calls of one direction", toolstest.Input{"action": "call_hierarchy", "file": "shape/shape.go", "line": 19, "symbol": "Sum", "direction": "outgoing"}, []string{"  calls:\n"}},
		{"types", toolstest.Input{"action": "type_hierarchy", "file": "shape/shape.go", "line": 5, "symbol": "Shape"}, []string{"interface Shape", "  subtypes:\n", "Square"}},
		{"hints", toolstest.Input{"action": "inlay_hints", "file": "main.go"}, []string{`helper(«name: »"é", «n: »shape.Sum(«shapes: »nil))`}},
		{"folding", toolstest.Input{"action": "folding", "file": "main.go"}, []string{"folding ranges in main.go:\n3-6 [imports] import (", "9-12 func main() {"}},
		{"diagnostics", toolstest.Input{"action": "diagnostics", "file": "bad.go"}, []string{"bad.go: 1 error\n  4:9 [error] [compiler] cannot use \"text\""}},
		{"clean diagnostics", toolstest.Input{"action": "diagnostics", "file": "shape/shape.go"}, []string{"shape/shape.go: no problems (gopls)"}},
		{"diagnostics of a glob", toolstest.Input{"action": "diagnostics", "file": "*.go"}, []string{"bad.go: 1 error", "helper.go: no problems"}},
		{"diagnostics of what gopls is not for", toolstest.Input{"action": "diagnostics", "file": "{go.mod,bad.go}"}, []string{"go.mod: No language server found; nothing is known about it."}},
		{"code actions", toolstest.Input{"action": "code_actions", "file": "main.go", "line": 10, "symbol": "Square"}, []string{"code action", "Fill shape.Square"}},
		{"capabilities", toolstest.Input{"action": "capabilities"}, []string{"gopls:\n{", "\"renameProvider\""}},
		{"status", toolstest.Input{"action": "status"}, []string{"Active language servers: gopls\n- gopls: ready, pid "}},
		{"request", toolstest.Input{"action": "request", "query": "textDocument/hover", "file": "main.go", "line": 11, "symbol": "Sum"}, []string{"gopls ← textDocument/hover:\n{", "\"contents\""}},
		{"request with a payload", toolstest.Input{"action": "request", "query": "workspace/symbol", "payload": `{"query":"Square"}`}, []string{"gopls ← workspace/symbol:\n["}},
		{"request that is null", toolstest.Input{"action": "request", "query": "textDocument/hover", "file": "main.go", "line": 2}, []string{"gopls ← textDocument/hover:\nnull"}},
		{"reload", toolstest.Input{"action": "reload"}, []string{"Reloaded gopls"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.in["timeout"] = 60
			call := w.Call(t, "lsp", tt.in)
			p, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "lsp"), call)
			if err != nil {
				t.Fatal(err)
			}
			toolstest.Contains(t, res.Text, tt.wants...)
			for _, e := range p.Effects {
				if e.Action != approval.ActionRead {
					t.Errorf("an action that reads has the effect %+v", e)
				}
			}
			if res.IsError {
				t.Error("it is an error")
			}
			if strings.Contains(tt.name, "definition") && !strings.Contains(tt.name, "diag") && len(res.Locations) == 0 {
				t.Error("the editor has nothing to follow")
			}
		})
	}
	for _, tt := range []struct {
		name string
		in   toolstest.Input
		says string
	}{
		{"no symbol there", toolstest.Input{"action": "hover", "file": "main.go", "line": 1, "symbol": "Sum"}, `symbol "Sum" not found on line 1; it is on lines 11, 12`},
		{"no such occurrence", toolstest.Input{"action": "hover", "file": "main.go", "line": 11, "symbol": "Sum#2"}, `symbol "Sum" occurrence 2 is out of bounds on line 11 (found 1)`},
		{"no such line", toolstest.Input{"action": "hover", "file": "main.go", "line": 99}, "line 99 is beyond the end of main.go, which has 13 lines"},
		{"no such file", toolstest.Input{"action": "hover", "file": "shap.go", "line": 1}, "File not found: shap.go does not exist; did you mean shape/shape.go?"},
		{"a directory", toolstest.Input{"action": "hover", "file": "shape", "line": 1}, "shape is a directory"},
		{"no server", toolstest.Input{"action": "hover", "file": "go.mod", "line": 1}, "No language server found for go.mod; nothing is known about it."},
		{"no symbol", toolstest.Input{"action": "references", "file": "main.go", "line": 1}, "symbol is required for project-aware references"},
		{"no file", toolstest.Input{"action": "hover"}, "file parameter required; use `*`"},
		{"no query", toolstest.Input{"action": "symbols"}, "Error: query parameter required for workspace symbol search"},
		{"a bad direction", toolstest.Input{"action": "call_hierarchy", "file": "main.go", "line": 9, "symbol": "main", "direction": "up"}, "direction of call_hierarchy is incoming, outgoing or both"},
		{"a bad payload", toolstest.Input{"action": "request", "query": "workspace/symbol", "payload": "{"}, "Error: invalid JSON in payload: "},
		{"a method that there is not", toolstest.Input{"action": "request", "query": "textDocument/nothing", "file": "main.go"}, "LSP error from gopls on textDocument/nothing: "},
		{"a refused rename", toolstest.Input{"action": "rename", "file": "main.go", "line": 1, "symbol": "package", "new_name": "x"}, "gopls refuses to rename package: "},
		{"an action that there is not", toolstest.Input{"action": "dance"}, `unknown action "dance"; the actions are diagnostics, `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := toolstest.Fails(t, w, "lsp", tt.in); !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q, want %q", err, tt.says)
			}
		})
	}
}

// edits runs an action that changes files, checks its plan, and returns its result.
func lspEdits(t *testing.T, w *toolstest.World, in toolstest.Input, effects ...approval.Effect) *agent.Result {
	t.Helper()
	in["timeout"] = 60
	call := w.Call(t, "lsp", in)
	p, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "lsp"), call)
	if err != nil {
		t.Fatal(err)
	}
	got := []approval.Effect{}
	for _, e := range p.Effects {
		if e.Action != approval.ActionRead {
			got = append(got, approval.Effect{Action: e.Action, Path: e.Path, Paths: e.Paths})
		}
	}
	if len(effects) == 0 {
		effects = []approval.Effect{}
	}
	toolstest.Same(t, "effects", got, effects)
	return res
}

func TestLSP_GoplsRename(t *testing.T) {
	w := gopls(t)
	// The editor has unsaved text in both files, in which everything is further down than on the disk.
	for _, name := range []string{"main.go", "helper.go"} {
		w.FS.Buffers[w.Path(name)] = strings.Replace(goModule[name], "package main\n", "package main\n\n// unsaved\n", 1)
	}
	in := toolstest.Input{"action": "rename", "file": "main.go", "line": 13, "symbol": "Sum", "new_name": "Total", "apply": false}
	res := lspEdits(t, w, in)
	toolstest.Contains(t, res.Text, "Rename preview:\n", "  helper.go: 1 edit\n", "  main.go: 2 edits\n", "  shape/shape.go: ")
	toolstest.Same(t, "the disk after a preview", w.Disk(t, "shape/shape.go"), goModule["shape/shape.go"])

	delete(in, "apply")
	res = lspEdits(t, w, in, approval.Effect{Action: approval.ActionEdit, Paths: []string{w.Path("helper.go"), w.Path("main.go"), w.Path("shape/shape.go")}})
	toolstest.Contains(t, res.Text, "Applied rename:\n", "  helper.go: 1 edit\n", "  main.go: 2 edits\n", "Diagnostics:\n")
	for name, n := range map[string]int{"main.go": 2, "helper.go": 1} {
		text := w.FS.Buffers[w.Path(name)]
		if strings.Count(text, "shape.Total(") != n || strings.Contains(text, "Sum(") || !strings.Contains(text, "// unsaved") {
			t.Errorf("%s is now\n%s", name, text)
		}
		if w.Disk(t, name) != text {
			t.Errorf("%s is not saved", name)
		}
	}
	toolstest.Contains(t, w.Disk(t, "shape/shape.go"), "func Total(shapes []Shape)")
	diffs := 0
	for _, c := range res.Content {
		if _, ok := c.(agent.DiffContent); ok {
			diffs++
		}
	}
	if diffs != 3 {
		t.Errorf("%d diffs, want one for each of 3 files", diffs)
	}
	// The server has the new texts.
	again := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "references", "file": "main.go", "line": 13, "symbol": "Total"})
	toolstest.Contains(t, again.Text, "Found 4 references:")
}

// The file changes before the user answers.
func TestLSP_GoplsStaleEdit(t *testing.T) {
	w := gopls(t)
	call := w.Call(t, "lsp", toolstest.Input{"action": "rename", "file": "main.go", "line": 11, "symbol": "list", "new_name": "shapes", "timeout": 60})
	tool := toolstest.Tool(t, "lsp")
	plan, err := toolstest.Plan(t.Context(), tool, call)
	if err != nil {
		t.Fatal(err)
	}
	w.Put(t, "main.go", "package main\n")
	_, err = toolstest.RunPlanned(t.Context(), tool, call, plan)
	if err == nil || !strings.Contains(err.Error(), "nothing was changed: main.go: the file has changed since the edit was planned") {
		t.Errorf("err = %v", err)
	}
	if err := os.Remove(w.Path("main.go")); err != nil {
		t.Fatal(err)
	}
	if _, err := toolstest.RunPlanned(t.Context(), tool, call, plan); err == nil || !strings.Contains(err.Error(), "File not found: main.go does not exist") {
		t.Errorf("err = %v", err)
	}
}

func TestLSP_GoplsCodeActions(t *testing.T) {
	w := gopls(t)
	in := toolstest.Input{"action": "code_actions", "file": "main.go", "line": 10, "symbol": "Square", "apply": true, "query": "fill shape.square"}
	res := lspEdits(t, w, in, approval.Effect{Action: approval.ActionEdit, Path: w.Path("main.go")})
	toolstest.Contains(t, res.Text, `Applied "Fill shape.Square":`, "+")
	toolstest.Contains(t, w.Disk(t, "main.go"), "Side: ")

	w.Put(t, "imports.go", "package main\n\nvar _ = fmt.Sprint(os.Args)\n")
	res = lspEdits(t, w, toolstest.Input{"action": "code_actions", "file": "imports.go", "apply": true, "query": "source.organizeImports"},
		approval.Effect{Action: approval.ActionEdit, Path: w.Path("imports.go")})
	toolstest.Contains(t, w.Disk(t, "imports.go"), "\"fmt\"", "\"os\"")
	toolstest.Contains(t, res.Text, "imports.go: no problems (gopls)")

	err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "code_actions", "file": "main.go", "line": 10, "symbol": "Square", "apply": true, "query": "make coffee"})
	toolstest.Contains(t, err.Error(), `no code action matches "make coffee". Available actions:`)
}

func TestLSP_GoplsFormat(t *testing.T) {
	w := gopls(t)
	res := lspEdits(t, w, toolstest.Input{"action": "format", "file": "untidy.go"}, approval.Effect{Action: approval.ActionEdit, Path: w.Path("untidy.go")})
	toolstest.Contains(t, res.Text, "Applied format:\n", "-func untidy()   {")
	toolstest.Same(t, "untidy.go", w.Disk(t, "untidy.go"), "package main\n\nfunc untidy() {\n\tx := 1\n\t_ = x\n}\n")
	res = lspEdits(t, w, toolstest.Input{"action": "format", "file": "untidy.go"})
	toolstest.Contains(t, res.Text, "untidy.go is already formatted (gopls)")
}

func TestLSP_GoplsRenameFile(t *testing.T) {
	w := gopls(t)
	toolstest.Run(t, w, "lsp", toolstest.Input{"action": "hover", "file": "helper.go", "line": 5, "symbol": "helper", "timeout": 60})
	res := lspEdits(t, w, toolstest.Input{"action": "rename_file", "file": "helper.go", "new_name": "help/../helpers.go"}, approval.Effect{Action: approval.ActionMove, Paths: []string{w.Path("helper.go"), w.Path("helpers.go")}})
	toolstest.Contains(t, res.Text, "Applied rename_file:\n", "RENAME helper.go → helpers.go")
	if _, err := os.Stat(w.Path("helper.go")); err == nil {
		t.Error("the old file is still there")
	}
	toolstest.Same(t, "helpers.go", w.Disk(t, "helpers.go"), goModule["helper.go"])
	again := toolstest.Run(t, w, "lsp", toolstest.Input{"action": "references", "file": "main.go", "line": 12, "symbol": "helper"})
	toolstest.Contains(t, again.Text, "helpers.go:5:6")
	if strings.Contains(again.Text, "helper.go:") {
		t.Errorf("the server still has the old file:\n%s", again.Text)
	}

	res = lspEdits(t, w, toolstest.Input{"action": "rename_file", "file": "shape", "new_name": "geometry/shape"}, approval.Effect{Action: approval.ActionMove, Paths: []string{w.Path("shape"), w.Path("geometry/shape")}})
	toolstest.Contains(t, res.Text, "RENAME shape → geometry/shape")
	toolstest.Same(t, "the file in the directory", w.Disk(t, "geometry/shape/shape.go"), goModule["shape/shape.go"])

	for _, tt := range []struct{ from, to, says string }{
		{"main.go", "go.mod", "go.mod exists already; rename_file does not replace files"},
		{"main.go", "./main.go", "file and new_name are the same"},
		{"none.go", "x.go", "File not found: none.go"},
		{"geometry", "geometry/x", "geometry cannot be moved into itself"},
		{"main.go", "", "rename_file needs file and new_name"},
	} {
		if err := toolstest.Fails(t, w, "lsp", toolstest.Input{"action": "rename_file", "file": tt.from, "new_name": tt.to}); !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s to %q: %v", tt.from, tt.to, err)
		}
	}
}

// The whole workspace: the problems that the servers report, and the project's own checker, which requires permission like a
// command.
func TestLSP_GoplsWorkspaceDiagnostics(t *testing.T) {
	w := gopls(t)
	term := &toolstest.Terminal{Chunks: []toolstest.Chunk{{Text: "./bad.go:4:9: cannot use \"text\"\n"}}, Exit: agent.ExitStatus{Code: 1}}
	w.Terminal = term
	toolstest.Run(t, w, "lsp", toolstest.Input{"action": "diagnostics", "file": "bad.go", "timeout": 60})
	call := w.Call(t, "lsp", toolstest.Input{"action": "diagnostics", "file": "*", "timeout": 60})
	p, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "lsp"), call)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Effects) != 1 || p.Effects[0].Action != approval.ActionCommand || !strings.HasPrefix(p.Effects[0].Command, "go build -o ") {
		t.Errorf("effects %+v", p.Effects)
	}
	toolstest.Contains(t, res.Text, "Workspace diagnostics of the language servers:\nbad.go: 1 error\n", "Workspace diagnostics (go):\n./bad.go:4:9: cannot use", "Command exited with code 1")

	res = toolstest.Run(t, w, "lsp", toolstest.Input{"action": "diagnostics", "file": "*", "apply": false, "timeout": 60})
	toolstest.Contains(t, res.Text, "bad.go: 1 error\n")
	if strings.Contains(res.Text, "(go)") {
		t.Errorf("the checker ran:\n%s", res.Text)
	}
}
