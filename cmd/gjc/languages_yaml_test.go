package main

import "slices"

func yamlServer() *languageServer {
	return &languageServer{
		name: "yamlls", env: npmServerEnv("yaml-language-server"),
		// It would fetch schemas from the network.
		home: map[string]string{".gjc/agent/lsp.json": `{"yamlls": {"settings": {"yaml": {"schemaStore": {"enable": false}}}}}`},
		files: map[string]string{
			".git/HEAD":   "ref: refs/heads/main\n",
			"schema.json": `{"type": "object", "properties": {"sides": {"type": "integer", "description": "How many sides it has."}, "color": {"enum": ["red", "blue"]}}}` + "\n",
			"shape.yaml":  "# yaml-language-server: $schema=./schema.json\nsides: 4\ncolor: red\n",
			"many.yaml":   "base: &base\n  side: 2\nsquare:\n  <<: *base\nunused: &unused 1\n",
			"untidy.yaml": "a:   1\nb: [1,2]\nc:\n    d:  2\n",
		},
		file: "shape.yaml", good: "color: red", bad: "color: green", problem: `Value is not accepted. Valid values: "red", "blue".`,
		asks: map[string][]languageAsk{
			"diagnostics":     asks("*.yaml", "**many.yaml**: 1 info\n- 5:9 info: Unused anchor \"&unused\"", "**shape.yaml**: no problems", "**untidy.yaml**: no problems"),
			"definition":      asks("many.yaml line=4 symbol=base", "Found 1 definition:\nmany.yaml:2:3\n"),
			"type_definition": lacks("many.yaml line=4 symbol=base", "textDocument/typeDefinition"),
			"implementation":  lacks("many.yaml line=4 symbol=base", "textDocument/implementation"),
			"references":      lacks("many.yaml line=1 symbol=base", "textDocument/references"),
			"hover":           asks("shape.yaml line=2 symbol=sides", "How many sides it has", "schema.json"),
			"signature":       lacks("shape.yaml line=2 symbol=sides", "textDocument/signatureHelp"),
			"symbols": slices.Concat(
				asks("many.yaml", "Symbols in many.yaml:\nmodule base @ line 1\n  number side 2 @ line 2\nmodule square @ line 3\n", "number unused 1 @ line 5"),
				lacks("query=base", "workspace/symbol"),
			),
			"call_hierarchy": lacks("many.yaml line=4 symbol=base", "textDocument/prepareCallHierarchy"),
			"type_hierarchy": lacks("many.yaml line=4 symbol=base", "textDocument/prepareTypeHierarchy"),
			"inlay_hints":    lacks("many.yaml", "textDocument/inlayHint"),
			"folding":        asks("many.yaml", "folding ranges in many.yaml:\n1-2 base: &base\n3-4 square:\n"),
			"capabilities":   asks("many.yaml", "yamlls:\n{", `"documentFormattingProvider"`),
			"request": slices.Concat(
				asks("shape.yaml query=textDocument/codeLens", "yamlls ← textDocument/codeLens:\n[", "schema.json"),
				asks(`{"query": "textDocument/selectionRange", "file": "many.yaml", "payload": "{\"textDocument\": {\"uri\": \"file:///none.yaml\"}, \"positions\": []}"}`,
					"yamlls ← textDocument/selectionRange:\n"),
			),
			"status": asks("", "Active language servers: yamlls\n- yamlls: ready, pid ", "root ., utf-16, 3 documents open"),
			"reload": asks("shape.yaml", "Reloaded yamlls"),
			"code_actions": slices.Concat(
				asks("many.yaml line=5", "1 code action:\n1. [quickfix] Delete unused anchor: &unused (yamlls)\n"),
				changes(`many.yaml line=5 apply=true "query=delete unused"`, "many.yaml: no problems (yamlls)", "many.yaml", "base: &base\n  side: 2\nsquare:\n  <<: *base\nunused: 1\n"),
			),
			"format": slices.Concat(
				changes("untidy.yaml", "untidy.yaml: no problems (yamlls)", "untidy.yaml", "a: 1\nb: [1, 2]\nc:\n    d: 2\n"),
				asks("untidy.yaml", "untidy.yaml is already formatted (yamlls)"),
			),
			"rename":      lacks("many.yaml line=1 symbol=base new_name=common", "textDocument/rename"),
			"rename_file": changes("untidy.yaml new_name=tidy.yaml", "tidy.yaml: no problems (yamlls)", "tidy.yaml", "a: 1\nb: [1, 2]\nc:\n    d: 2\n"),
		},
	}
}
