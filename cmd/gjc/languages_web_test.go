package main

import (
	"slices"
	"strings"
)

func htmlServer() *languageServer {
	const (
		index = `<!DOCTYPE html>
<html>
<body>
  <h1 id="top">Shapes</h1>
  <p class="note">a</p>
  <a href="other.html">other</a>
  <script>
    function area(side) {
      return side * side
    }
    area(2)
  </script>
  <style>
    .note { color: red; }
  </style>
</body>
</html>
`
		name = "vscode-html-language-server"
	)
	return &languageServer{
		name: name, env: npmServerEnv(name),
		// Without settings for css the server throws, and reports no problems.
		home: map[string]string{".gjc/agent/lsp.json": `{"` + name + `": {"settings": {"css": {}, "html": {}, "javascript": {}}}}`},
		files: map[string]string{
			"package.json": "{}\n", "index.html": index, "untidy.html": "<ul><li>a</li>\n      <li>b</li></ul>\n",
			"other.html": "<p>other</p>\n<style>\n  p { colr: red; }\n</style>\n",
		},
		file: "index.html", good: "return side * side", bad: "return side +", problem: "Expression expected",
		asks: map[string][]languageAsk{
			"diagnostics":     asks("*.html", "**index.html**: no problems", "**other.html**: 1 warning\n- 3:7 warning: Unknown property: 'colr'", "**untidy.html**: no problems"),
			"definition":      asks("index.html line=11 symbol=area", "Found 1 definition:\nindex.html:8:14\n", "8:     function area(side) {"),
			"type_definition": lacks("index.html line=11 symbol=area", "textDocument/typeDefinition"),
			"implementation":  lacks("index.html line=11 symbol=area", "textDocument/implementation"),
			"references":      asks("index.html line=8 symbol=area", "Found 2 references:\nindex.html:8:14\n", "index.html:11:5\n"),
			"hover":           asks("index.html line=4 symbol=h1", "The h1 element represents a section heading."),
			"signature":       asks("index.html line=11 symbol=area", "area(side: any): number\n", "side: any (at the position)"),
			"symbols": slices.Concat(
				asks("index.html", "Symbols in index.html:\nfunction area @ line 8\n", "field h1#top (in body) @ line 4\n", "field script (in body) @ line 7"),
				lacks("query=area", "workspace/symbol"),
			),
			"call_hierarchy": lacks("index.html line=11 symbol=area", "textDocument/prepareCallHierarchy"),
			"type_hierarchy": lacks("index.html line=11 symbol=area", "textDocument/prepareTypeHierarchy"),
			"inlay_hints":    lacks("index.html", "textDocument/inlayHint"),
			"folding":        asks("index.html", "folding ranges in index.html:\n", "7-11 <script>\n", "8-10 function area(side) {"),
			"capabilities":   asks("index.html", name+":\n{", `"renameProvider"`),
			"request":        asks("index.html query=textDocument/documentLink", name+" ← textDocument/documentLink:\n[", `"target": "file://W/other.html"`),
			"status":         asks("", "Active language servers: "+name+"\n- "+name+": ready, pid ", "root ., utf-16, 3 documents open"),
			"reload":         asks("index.html", "Reloaded "+name),
			"code_actions":   lacks("index.html line=14", "textDocument/codeAction"),
			"format": slices.Concat(
				changes("untidy.html", "untidy.html: no problems ("+name+")", "untidy.html", "<ul>\n      <li>a</li>\n      <li>b</li>\n</ul>\n"),
				asks("untidy.html", "untidy.html is already formatted ("+name+")"),
			),
			"rename": slices.Concat(
				changes("index.html line=5 symbol=p new_name=div", "index.html: no problems ("+name+")", "index.html", strings.ReplaceAll(index, `<p class="note">a</p>`, `<div class="note">a</div>`)),
				changes("index.html line=8 symbol=area new_name=surface", "index.html: no problems ("+name+")",
					"index.html", strings.ReplaceAll(strings.ReplaceAll(index, `<p class="note">a</p>`, `<div class="note">a</div>`), "area(", "surface(")),
			),
			"rename_file": changes("untidy.html new_name=tidy.html", "tidy.html: no problems ("+name+")", "tidy.html", "<ul>\n      <li>a</li>\n      <li>b</li>\n</ul>\n"),
		},
	}
}

func cssServer() *languageServer {
	const (
		main = "@import \"base.css\";\n\n:root {\n  --accent: red;\n}\n\n.note {\n  color: var(--accent);\n  margin: 0;\n}\n"
		name = "vscode-css-language-server"
	)
	return &languageServer{
		name: name, env: npmServerEnv(name),
		// Without settings the server throws, and reports no problems.
		home: map[string]string{".gjc/agent/lsp.json": `{"` + name + `": {"settings": {"css": {}, "scss": {}, "less": {}}}}`},
		files: map[string]string{
			"package.json": "{}\n", "main.css": main, "base.css": "body {\n  margin: 0;\n}\n", "typo.css": "p {\n  colr: red;\n}\n", "untidy.css": "p{color:red;\nmargin:0}\n",
		},
		file: "main.css", good: "margin: 0", bad: "margn: 0", problem: "Unknown property: 'margn'",
		asks: map[string][]languageAsk{
			"diagnostics":     asks("*.css", "**base.css**: no problems", "**main.css**: no problems", "**typo.css**: 1 warning\n- 2:3 warning: Unknown property: 'colr'"),
			"definition":      asks("main.css line=8 symbol=--accent", "Found 1 definition:\nmain.css:4:3\n", "4:   --accent: red;"),
			"type_definition": lacks("main.css line=8 symbol=--accent", "textDocument/typeDefinition"),
			"implementation":  lacks("main.css line=8 symbol=--accent", "textDocument/implementation"),
			"references":      asks("main.css line=4 symbol=--accent", "Found 2 references:\nmain.css:4:3\n", "main.css:8:14\n"),
			"hover":           asks("main.css line=8 symbol=color", "Sets the color of an element's text"),
			"signature":       lacks("main.css line=8 symbol=var", "textDocument/signatureHelp"),
			"symbols": slices.Concat(
				asks("main.css", "Symbols in main.css:\nclass :root @ line 3\nclass .note @ line 7"),
				lacks("query=note", "workspace/symbol"),
			),
			"call_hierarchy": lacks("main.css line=8 symbol=color", "textDocument/prepareCallHierarchy"),
			"type_hierarchy": lacks("main.css line=8 symbol=color", "textDocument/prepareTypeHierarchy"),
			"inlay_hints":    lacks("main.css", "textDocument/inlayHint"),
			"folding":        asks("main.css", "2 folding ranges in main.css:\n3-4 :root {\n7-9 .note {"),
			"capabilities":   asks("main.css", name+":\n{", `"renameProvider"`),
			"request":        asks("main.css query=textDocument/documentLink", name+" ← textDocument/documentLink:\n[", `"target": "file://W/base.css"`),
			"status":         asks("", "Active language servers: "+name+"\n- "+name+": ready, pid ", "root ., utf-16, 4 documents open"),
			"reload":         asks("main.css", "Reloaded "+name),
			"code_actions": slices.Concat(
				asks("typo.css line=2", "Rename to 'color' ("+name+")\n"),
				changes(`typo.css line=2 apply=true "query=rename to 'color'"`, "typo.css: no problems ("+name+")", "typo.css", "p {\n  color: red;\n}\n"),
			),
			"format": slices.Concat(
				changes("untidy.css", "untidy.css: no problems ("+name+")", "untidy.css", "p {\n    color: red;\n    margin: 0\n}\n"),
				asks("untidy.css", "untidy.css is already formatted ("+name+")"),
			),
			"rename":      changes("main.css line=8 symbol=--accent new_name=--tone", "main.css: no problems ("+name+")", "main.css", strings.ReplaceAll(main, "--accent", "--tone")),
			"rename_file": changes("base.css new_name=reset.css", "reset.css: no problems ("+name+")", "reset.css", "body {\n  margin: 0;\n}\n"),
		},
	}
}

func jsonServer() *languageServer {
	const (
		schema = `{
  "type": "object",
  "properties": {
    "side": {"$ref": "#/definitions/length"}
  },
  "definitions": {
    "length": {"type": "integer", "description": "How long it is."}
  }
}
`
		name = "vscode-json-language-server"
	)
	return &languageServer{
		name: name, env: npmServerEnv(name),
		files: map[string]string{
			"package.json": "{}\n", "schema.json": schema, "shape.json": "{\n  \"$schema\": \"./schema.json\",\n  \"side\": 2\n}\n",
			"broken.json": "{\n  \"a\": 1\n  \"b\": 2\n}\n", "untidy.json": "{\"b\":1,\n\"a\":[1,2]}\n",
		},
		file: "shape.json", good: `"side": 2`, bad: `"side": "x"`, problem: `Incorrect type. Expected "integer".`,
		asks: map[string][]languageAsk{
			"diagnostics":     asks("*.json", "**broken.json**: 1 error\n- 3:3 error: Expected comma", "**schema.json**: no problems", "**shape.json**: no problems"),
			"definition":      lacks("schema.json line=4 symbol=#/definitions/length", "textDocument/definition"),
			"type_definition": lacks("schema.json line=4 symbol=length", "textDocument/typeDefinition"),
			"implementation":  lacks("schema.json line=4 symbol=length", "textDocument/implementation"),
			"references":      lacks("schema.json line=7 symbol=length", "textDocument/references"),
			"hover":           asks("shape.json line=3 symbol=side", "How long it is"),
			"signature":       lacks("shape.json line=3 symbol=side", "textDocument/signatureHelp"),
			"symbols": slices.Concat(
				asks("schema.json", "Symbols in schema.json:\nstring type object @ line 2\nmodule properties @ line 3\n  module side @ line 4\n    string $ref #/definitions/length @ line 4\n"),
				lacks("query=side", "workspace/symbol"),
			),
			"call_hierarchy": lacks("shape.json line=3 symbol=side", "textDocument/prepareCallHierarchy"),
			"type_hierarchy": lacks("shape.json line=3 symbol=side", "textDocument/prepareTypeHierarchy"),
			"inlay_hints":    lacks("shape.json", "textDocument/inlayHint"),
			"folding":        asks("schema.json", "3 folding ranges in schema.json:\n3-4 [object] \"properties\": {\n", "1-8 [object] {"),
			"capabilities":   asks("shape.json", name+":\n{", `"documentFormattingProvider"`),
			"request":        asks("schema.json query=textDocument/documentLink", name+" ← textDocument/documentLink:\n[", `"target": "file://W/schema.json#7,15"`),
			"status":         asks("", "Active language servers: "+name+"\n- "+name+": ready, pid ", "root ., utf-16, 5 documents open"),
			"reload":         asks("shape.json", "Reloaded "+name),
			"code_actions": slices.Concat(
				asks("untidy.json", "1 code action:\n1. [source.sort.json] Sort JSON ("+name+")\n"),
				// The action's command is one of VS Code, which no server implements.
				refuses(`untidy.json apply=true "query=sort json"`, name),
			),
			"format": slices.Concat(
				changes("untidy.json", "untidy.json: no problems ("+name+")", "untidy.json", "{\n    \"b\": 1,\n    \"a\": [\n        1,\n        2\n    ]\n}\n"),
				asks("untidy.json", "untidy.json is already formatted ("+name+")"),
			),
			"rename":      lacks("shape.json line=3 symbol=side new_name=length", "textDocument/rename"),
			"rename_file": changes("schema.json new_name=scheme.json", "scheme.json: no problems ("+name+")", "scheme.json", schema),
		},
	}
}
