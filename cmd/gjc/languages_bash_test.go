package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

func bashServer() *languageServer {
	const (
		lib  = "#!/bin/bash\n\n# area squares a side.\narea() {\n  local side=$1\n  echo $((side * side))\n}\n"
		main = "#!/bin/bash\n# shellcheck source=lib.sh\nsource ./lib.sh\n\ntotal=$(area 2)\necho \"$total\"\n"
	)
	return &languageServer{
		name: "bashls",
		env: func(t *testing.T) []string {
			testenv.NeedsTool(t, "shellcheck") // the server's linter
			testenv.NeedsTool(t, "shfmt")      // the server's formatter
			return npmServerEnv("bash-language-server")(t)
		},
		files: map[string]string{
			".git/HEAD": "ref: refs/heads/main\n", "lib.sh": lib, "main.sh": main,
			"untidy.sh": "#!/bin/bash\nif true ;then\necho  \"x\"\nfi\n", "loose.sh": "#!/bin/bash\nls $1\n",
		},
		file: "main.sh", good: `echo "$total"`, bad: `echo "$totl"`, problem: "totl is referenced but not assigned",
		asks: map[string][]languageAsk{
			"diagnostics":     asks("*.sh", "**lib.sh**: no problems", "**loose.sh**: 1 info\n- 2:4 info: Double quote to prevent globbing", "**main.sh**: no problems"),
			"definition":      asks("main.sh line=5 symbol=area", "Found 1 definition:\nlib.sh:4:1\n", "4: area() {"),
			"type_definition": lacks("main.sh line=5 symbol=area", "textDocument/typeDefinition"),
			"implementation":  lacks("main.sh line=5 symbol=area", "textDocument/implementation"),
			"references":      asks("lib.sh line=4 symbol=area", "Found 2 references:\nlib.sh:4:1\n", "main.sh:5:9\n"),
			"hover":           asks("main.sh line=5 symbol=area", "Function: **area** - *defined in lib.sh*", "area squares a side."),
			"signature":       lacks("main.sh line=5 symbol=area", "textDocument/signatureHelp"),
			"symbols": slices.Concat(
				asks("lib.sh", "Symbols in lib.sh:\nfunction area @ line 4\nvariable side (in area) @ line 5"),
				asks("query=area", "Found 1 symbol matching \"area\":\nfunction area lib.sh:4:1"),
			),
			"call_hierarchy": lacks("main.sh line=5 symbol=area", "textDocument/prepareCallHierarchy"),
			"type_hierarchy": lacks("main.sh line=5 symbol=area", "textDocument/prepareTypeHierarchy"),
			"inlay_hints":    lacks("main.sh", "textDocument/inlayHint"),
			"folding":        lacks("main.sh", "textDocument/foldingRange"),
			"capabilities":   asks("main.sh", "bashls:\n{", `"renameProvider"`),
			"request":        asks("main.sh query=textDocument/documentHighlight line=5 symbol=total", "bashls ← textDocument/documentHighlight:\n[", "\"line\": 5,\n\t\t\t\t\"character\": 7\n"),
			"status":         asks("", "Active language servers: bashls\n- bashls: ready, pid ", "root ., utf-16, 4 documents open"),
			"reload":         asks("main.sh", "Reloaded bashls"),
			"code_actions": slices.Concat(
				asks("loose.sh line=2", "1 code action:\n1. [quickfix] Apply fix for SC2086 (bashls)\n"),
				changes(`loose.sh line=2 apply=true query="1"`, "loose.sh: no problems (bashls)", "loose.sh", "#!/bin/bash\nls \"$1\"\n"),
			),
			"format": slices.Concat(
				changes("untidy.sh", "untidy.sh: no problems (bashls)", "untidy.sh", "#!/bin/bash\nif true; then\n    echo \"x\"\nfi\n"),
				asks("untidy.sh", "untidy.sh is already formatted (bashls)"),
			),
			"rename": changes("lib.sh line=4 symbol=area new_name=surface", "main.sh: no problems (bashls)",
				"main.sh", strings.ReplaceAll(main, "area", "surface"), "lib.sh", strings.ReplaceAll(lib, "area()", "surface()")),
			"rename_file": changes("lib.sh new_name=shape.sh", "shape.sh: no problems (bashls)", "shape.sh", strings.ReplaceAll(lib, "area()", "surface()")),
		},
	}
}
