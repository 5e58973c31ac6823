package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// npmServerEnv returns an environment that has the named servers of testdata/lsp on PATH.
func npmServerEnv(names ...string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		from, bin := testenv.NeedsLanguageServers(t), testenv.DirOutsideTemp(t)
		for _, name := range names {
			if err := os.Symlink(filepath.Join(from, name), filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
		return []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
	}
}

func typescriptServer() *languageServer {
	const (
		square = `/** A shape has an area. */
export interface Shape {
  area(): number
}

export class Square implements Shape {
  constructor(readonly side: number) {}
  area(): number {
    return this.side * this.side
  }
}
`
		main = `import { Square, type Shape } from "./shape.js"

/** Adds areas. */
export function total(start: number, shapes: Shape[]): number {
  let sum = start
  for (const s of shapes) {
    sum += s.area()
  }
  return sum
}

const squares = [new Square(2)]
console.log(total(0, squares))
`
		name = "typescript-language-server"
	)
	return &languageServer{
		name: name, env: npmServerEnv(name),
		files: map[string]string{
			"tsconfig.json": `{"compilerOptions": {"strict": true, "target": "es2022", "module": "nodenext"}, "include": ["*.ts"]}` + "\n",
			"package.json":  `{"name": "calc", "type": "module"}` + "\n",
			"shape.ts":      square, "main.ts": main,
			"fix.ts":    "export const side = new Square(3).side\n",
			"untidy.ts": "export const   xs=[1,2]\nexport function f( ) {return xs}\n",
		},
		file: "main.ts", good: "let sum = start", bad: "let sum: string = start", problem: "Type 'number' is not assignable to type 'string'",
		asks: map[string][]languageAsk{
			"diagnostics": slices.Concat(
				asks("*.ts", "**fix.ts**: 1 error\n- 1:25 error: Cannot find name 'Square'", "**main.ts**: no problems"),
				asks("* apply=false", "**fix.ts**: 1 error\n- 1:25 error: "),
			),
			"definition":      asks("main.ts line=7 symbol=area", "Found 1 definition:\nshape.ts:3:3\n", "3:   area(): number"),
			"type_definition": asks("main.ts line=6 symbol=s", "Found 1 type definition:\nshape.ts:2:18\n"),
			"implementation":  asks("shape.ts line=3 symbol=area", "Found 1 implementation:\nshape.ts:8:3\n"),
			"references":      asks("shape.ts line=3 symbol=area", "Found 3 references:\nmain.ts:7:14\n", "shape.ts:3:3\n", "shape.ts:8:3\n"),
			"hover":           asks("main.ts line=13 symbol=total", "function total(start: number, shapes: Shape[]): number", "Adds areas."),
			"signature":       asks("main.ts line=13 symbol=total", "total(start: number, shapes: Shape[]): number\n", "start: number (at the position)", "Adds areas."),
			"symbols": slices.Concat(
				asks("shape.ts", "Symbols in shape.ts:\ninterface Shape @ line 2\n  method area @ line 3\nclass Square @ line 6\n", "  property side @ line 7"),
				asks("query=Square", "matching \"Square\":\nclass Square shape.ts:6:1\n"),
			),
			"call_hierarchy": asks("main.ts line=4 symbol=total", "function total main.ts:4:17\n", "called by:\n    module main.ts main.ts:1:1 (call at line 13)\n", "calls:\n    method area shape.ts:3:3 (call at line 7)"),
			"type_hierarchy": lacks("shape.ts line=6 symbol=Square", "textDocument/prepareTypeHierarchy"),
			"inlay_hints":    asks("main.ts", "5:   let sum« : number» = start\n", "12: const squares« : Square[]» = [new Square(«side: »2)]\n", "total(«start: »0, «shapes: »squares))"),
			"folding":        asks("main.ts", "folding ranges in main.ts:\n3-3 [comment] /** Adds areas. */\n", "4-9 export function total(", "6-7 for (const s of shapes) {\n"),
			"capabilities":   asks("main.ts", name+":\n{", `"renameProvider"`),
			"request":        asks("main.ts query=textDocument/documentHighlight line=7 symbol=sum", name+" ← textDocument/documentHighlight:\n[", "\"line\": 8,\n\t\t\t\t\"character\": 9\n"),
			"status":         asks("", "Active language servers: "+name+"\n- "+name+": ready, pid ", "root ., utf-16, 4 documents open"),
			"reload":         asks("main.ts", "Reloaded "+name),
			"code_actions": slices.Concat(
				asks("fix.ts line=1 symbol=Square", `[quickfix] Add import from "./shape.js" (preferred)`),
				changes(`fix.ts line=1 symbol=Square apply=true "query=add import"`, "fix.ts: no problems ("+name+")",
					"fix.ts", "import { Square } from \"./shape.js\";\n\nexport const side = new Square(3).side\n"),
			),
			"format": slices.Concat(
				changes("untidy.ts", "untidy.ts: no problems ("+name+")", "untidy.ts", "export const xs = [1, 2]\nexport function f() { return xs }\n"),
				asks("untidy.ts", "untidy.ts is already formatted ("+name+")"),
			),
			"rename": changes("main.ts line=7 symbol=area new_name=surface", "main.ts: no problems ("+name+")",
				"main.ts", strings.ReplaceAll(main, "area()", "surface()"), "shape.ts", strings.ReplaceAll(square, "area()", "surface()")),
			"rename_file": changes("shape.ts new_name=lib/square.ts", "main.ts: no problems ("+name+")",
				"main.ts", strings.ReplaceAll(strings.ReplaceAll(main, "area()", "surface()"), "./shape.js", "./lib/square.js"),
				"lib/square.ts", strings.ReplaceAll(square, "area()", "surface()"),
				"fix.ts", "import { Square } from \"./lib/square.js\";\n\nexport const side = new Square(3).side\n"),
		},
	}
}
