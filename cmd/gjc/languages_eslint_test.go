package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

func eslintServer() *languageServer {
	// A linter does not receive requests that need types.
	unknown := func(args string) []languageAsk {
		return refuses(args, "No language server found for main.js; nothing is known about it.")
	}
	return &languageServer{
		name: "eslint", env: npmServerEnv("vscode-eslint-language-server"),
		// The server throws if one of these is missing.
		home: map[string]string{".gjc/agent/lsp.json": `{"eslint": {"settings": {
			"codeAction": {"disableRuleComment": {"enable": true, "location": "separateLine"}, "showDocumentation": {"enable": true}},
			"codeActionOnSave": {"mode": "all"}, "experimental": {"useFlatConfig": false}, "format": true, "nodePath": null,
			"onIgnoredFiles": "off", "options": {}, "problems": {"shortenToSingleLine": false}, "quiet": false, "rulesCustomizations": [],
			"useESLintClass": true, "workingDirectory": {"mode": "location"}
		}}}`},
		files: map[string]string{
			"package.json":     `{"name": "calc", "type": "module"}` + "\n",
			"eslint.config.js": `export default [{rules: {"no-undef": "error", "prefer-const": "warn", "no-extra-semi": "error"}}]` + "\n",
			"main.js":          "import { area } from \"./shape.js\"\n\nconst side = 2\n\nexport const total = area(side)\n",
			"shape.js":         "export function area(side) {\n  let other = side\n  return side * other\n}\n",
			"untidy.js":        "export const one = 1;;\n",
		},
		prepare: func(t *testing.T, work string) {
			modules := filepath.Join(work, "node_modules")
			if err := os.Mkdir(modules, 0o755); err != nil {
				t.Fatal(err)
			}
			eslint := filepath.Join(testenv.ModuleRoot(t), "testdata", "lsp", "node_modules", "eslint")
			if err := os.Symlink(eslint, filepath.Join(modules, "eslint")); err != nil {
				t.Fatal(err)
			}
		},
		file: "main.js", good: "area(side)", bad: "area(sides)", problem: "'sides' is not defined",
		asks: map[string][]languageAsk{
			"diagnostics": asks("*.js", "**main.js**: no problems", "**shape.js**: 1 warning\n- 2:7 warning: 'other' is never reassigned. Use 'const' instead.",
				"**untidy.js**: 1 error\n- 1:22 error: Unnecessary semicolon."),
			"definition":      unknown("main.js line=5 symbol=area"),
			"type_definition": unknown("main.js line=5 symbol=area"),
			"implementation":  unknown("main.js line=5 symbol=area"),
			"references":      unknown("main.js line=5 symbol=area"),
			"hover":           unknown("main.js line=5 symbol=area"),
			"signature":       unknown("main.js line=5 symbol=area"),
			"symbols":         slices.Concat(unknown("main.js"), refuses("query=area", "No language server found for this action; nothing is known about it.")),
			"call_hierarchy":  unknown("main.js line=5 symbol=area"),
			"type_hierarchy":  unknown("main.js line=5 symbol=area"),
			"inlay_hints":     unknown("main.js"),
			"folding":         unknown("main.js"),
			"capabilities":    asks("main.js", "eslint:\n{", `"diagnosticProvider"`),
			"request":         asks("shape.js query=textDocument/diagnostic", "eslint ← textDocument/diagnostic:\n{", `"code": "prefer-const"`),
			"status":          asks("", "Active language servers: eslint\n- eslint: ready, linter, pid ", "root ., utf-16, 4 documents open"),
			"reload":          asks("main.js", "Reloaded eslint"),
			"code_actions": slices.Concat(
				asks("shape.js line=2", "[quickfix] Fix this prefer-const problem (preferred) (eslint)\n", "Disable prefer-const for this line (eslint)\n"),
				changes(`shape.js line=2 apply=true "query=fix this"`, "shape.js: no problems (eslint)",
					"shape.js", "export function area(side) {\n  const other = side\n  return side * other\n}\n"),
			),
			"format":      changes("untidy.js", "untidy.js: no problems (eslint)", "untidy.js", "export const one = 1;\n"),
			"rename":      unknown("main.js line=5 symbol=area new_name=surface"),
			"rename_file": changes("untidy.js new_name=tidy.js", "tidy.js: no problems (eslint)", "tidy.js", "export const one = 1;\n"),
		},
	}
}
