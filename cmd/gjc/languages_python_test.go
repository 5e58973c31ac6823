package main

import (
	"slices"
	"strings"
)

func pythonServer() *languageServer {
	const (
		square = `class Shape:
    """A shape has an area."""

    def area(self) -> int:
        raise NotImplementedError


class Square(Shape):
    def __init__(self, side: int) -> None:
        self.side = side

    def area(self) -> int:
        return self.side * self.side
`
		main = `from shape import Shape, Square


def total(start: int, shapes: list[Shape]) -> int:
    """Adds areas."""
    sum = start
    for s in shapes:
        sum += s.area()
    return sum


print(total(0, [Square(2)]))
`
	)
	return &languageServer{
		name: "pyright", env: npmServerEnv("pyright-langserver"),
		files: map[string]string{
			"pyrightconfig.json": "{}\n", "shape.py": square, "main.py": main, "broken.py": "import shape\n\nprint(shape.Circle)\n",
		},
		file: "main.py", good: "sum = start", bad: "sum: str = start", problem: `Type "int" is not assignable to declared type "str"`,
		asks: map[string][]languageAsk{
			"diagnostics": asks("*.py", "**broken.py**: 1 error\n- 3:13 error: \"Circle\" is not a known attribute of module \"shape\"", "**main.py**: no problems", "**shape.py**: no problems"),
			"definition":  asks("main.py line=8 symbol=area", "Found 1 definition:\nshape.py:4:9\n", "4:     def area(self) -> int:"),

			"type_definition": asks("main.py line=7 symbol=s", "Found 1 type definition:\nshape.py:1:7\n"),
			"implementation":  lacks("shape.py line=4 symbol=area", "textDocument/implementation"),
			"references":      asks("shape.py line=8 symbol=Square", "Found 3 references:\nmain.py:1:26\n", "main.py:12:17\n", "shape.py:8:7\n"),
			"hover":           asks("main.py line=12 symbol=total", "(function) def total(", "shapes: list[Shape]", "Adds areas."),
			"signature":       asks("main.py line=12 symbol=total", "(start: int, shapes: list[Shape]) -> int\n", "start: int (at the position)", "Adds areas."),
			"symbols": slices.Concat(
				asks("shape.py", "Symbols in shape.py:\nclass Shape @ line 1\n  method area @ line 4\nclass Square @ line 8\n  method __init__ @ line 9\n"),
				asks("query=Square", "Found 1 symbol matching \"Square\":\nclass Square shape.py:8:7"),
			),
			"call_hierarchy": asks("main.py line=4 symbol=total", "function total main.py:4:5\n", "called by:\n    module (module) main.py main.py:1:1 (call at line 12)\n", "calls:\n    method area shape.py:4:9 (call at line 8)"),
			"type_hierarchy": lacks("shape.py line=8 symbol=Square", "textDocument/prepareTypeHierarchy"),
			"inlay_hints":    lacks("main.py", "textDocument/inlayHint"),
			"folding":        lacks("main.py", "textDocument/foldingRange"),
			"capabilities":   asks("main.py", "pyright:\n{", `"renameProvider"`),
			"request":        asks("main.py query=textDocument/documentHighlight line=8 symbol=sum", "pyright ← textDocument/documentHighlight:\n[", "\"line\": 8,\n\t\t\t\t\"character\": 11\n"),
			"status":         asks("", "Active language servers: pyright\n- pyright: ready, pid ", "root ., utf-16, 3 documents open"),
			"reload":         asks("main.py", "Reloaded pyright"),
			// It has code actions for missing stubs only.
			"code_actions": slices.Concat(
				asks("broken.py line=3 symbol=Circle", "No code actions available"),
				refuses("broken.py apply=true query=source.organizeImports", "no code actions available"),
			),
			"format": lacks("main.py", "textDocument/formatting"),
			"rename": changes("main.py line=12 symbol=Square new_name=Box", "main.py: no problems (pyright)",
				"main.py", strings.ReplaceAll(main, "Square", "Box"), "shape.py", strings.ReplaceAll(square, "Square", "Box")),
			"rename_file": changes("shape.py new_name=box.py", "box.py: no problems (pyright)",
				"box.py", strings.ReplaceAll(square, "Square", "Box"), "main.py", strings.ReplaceAll(main, "Square", "Box")),
		},
	}
}
