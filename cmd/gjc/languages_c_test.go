package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

func cServer() *languageServer {
	const (
		header = `#pragma once

/// A shape has an area.
struct Shape {
  virtual int area() const = 0;
};

struct Square : Shape {
  int side = 0;
  int area() const override;
};
`
		square = `#include "shape.hpp"

int Square::area() const { return side * side; }
`
		main = `#include "shape.hpp"

/// Adds areas.
int total(int start, const Shape &a) {
  int sum = start;
  sum += a.area();
  return sum;
}

int main() {
  Square s;
  return total(s.side, s);
}
`
	)
	return &languageServer{
		name: "clangd",
		env: func(t *testing.T) []string {
			testenv.NeedsTool(t, "clangd")
			return nil
		},
		files: map[string]string{
			"shape.hpp": header, "shape.cpp": square, "main.cpp": main,
			"loose.cpp": "int half(int x) {\n  auto y = x / 2;\n  return y;\n}\n", "untidy.cpp": "int   f( int x ){return x;}\n",
		},
		prepare: func(t *testing.T, work string) {
			var commands []map[string]any
			for _, file := range []string{"main.cpp", "shape.cpp", "loose.cpp", "untidy.cpp"} {
				commands = append(commands, map[string]any{"directory": work, "file": file, "arguments": []string{"c++", "-std=c++17", "-c", file}})
			}
			data, err := json.Marshal(commands)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(work, "compile_commands.json"), string(data))
		},
		file: "main.cpp", good: "sum += a.area();", bad: "sum += a.size();", problem: "o member named 'size' in 'Shape'",
		asks: map[string][]languageAsk{
			"diagnostics":     asks("*.cpp", "**loose.cpp**: no problems", "**main.cpp**: no problems", "**shape.cpp**: no problems"),
			"definition":      asks("main.cpp line=12 symbol=side", "Found 1 definition:\nshape.hpp:9:7\n", "9:   int side = 0;"),
			"type_definition": asks("main.cpp line=12 symbol=s", "Found 1 type definition:\nshape.hpp:8:8\n"),
			"implementation":  asks("shape.hpp line=5 symbol=area", "Found 1 implementation:\nshape.", "area() const"),
			"references":      asks("shape.hpp line=9 symbol=side", "Found 4 references:\nmain.cpp:12:18\n", "shape.cpp:3:35\n", "shape.cpp:3:42\n", "shape.hpp:9:7\n"),
			"hover":           asks("main.cpp line=12 symbol=total", "### function `total`", "int total(int start, const Shape &a)", "Adds areas."),
			"signature":       asks("main.cpp line=12 symbol=total", "total(int start, const Shape &a) -> int\n", "int start (at the position)", "Adds areas."),
			"symbols": slices.Concat(
				asks("shape.hpp", "Symbols in shape.hpp:\nstruct Shape struct @ line 4\n  method area int () const @ line 5\nstruct Square struct @ line 8\n  field side int @ line 9\n"),
				asks("query=Square", "Found 1 symbol matching \"Square\":\nstruct Square shape.hpp:8:8"),
			),
			"call_hierarchy": slices.Concat(
				asks("main.cpp line=4 symbol=total direction=incoming", "function total main.cpp:4:5\n", "called by:\n    function main main.cpp:10:5 (call at line 12)"),
				asks("main.cpp line=4 symbol=total", "called by:\n    function main main.cpp:10:5 (call at line 12)"),
			),
			"type_hierarchy": either(
				asks("shape.hpp line=8 symbol=Square", "struct Square shape.hpp:8:8\n", "supertypes:\n    struct Shape shape.hpp:4:8\n", "subtypes: none"),
				lacks("", "textDocument/prepareTypeHierarchy"), // before version 15
			),
			"inlay_hints":  either(asks("main.cpp", "12:   return total(«start: »s.side, «a: »s);"), lacks("", "textDocument/inlayHint")),
			"folding":      either(asks("main.cpp", "2 folding ranges in main.cpp:\n4-7 [region] int total(int start, const Shape &a) {\n10-12 "), lacks("", "textDocument/foldingRange")),
			"capabilities": asks("main.cpp", "clangd:\n{", `"renameProvider"`),
			"request":      asks("main.cpp query=textDocument/documentHighlight line=6 symbol=sum", "clangd ← textDocument/documentHighlight:\n[", "\"character\": 9,\n\t\t\t\t\"line\": 6\n"),
			"status":       asks("", "Active language servers: clangd\n- clangd: ready, pid ", "clangd version ", "root ., utf-", "5 documents open"),
			"reload":       asks("main.cpp", "Reloaded clangd"),
			"code_actions": slices.Concat(
				asks("loose.cpp line=2 symbol=auto", "1 code action:\n1. [refactor] ", " type (clangd)\n"),
				changes(`loose.cpp line=2 symbol=auto apply=true query="1"`, "loose.cpp: no problems (clangd)",
					"loose.cpp", "int half(int x) {\n  int y = x / 2;\n  return y;\n}\n"),
			),
			"format": slices.Concat(
				changes("untidy.cpp", "untidy.cpp: no problems (clangd)", "untidy.cpp", "int f(int x) { return x; }\n"),
				asks("untidy.cpp", "untidy.cpp is already formatted (clangd)"),
			),
			"rename": changes("main.cpp line=12 symbol=side new_name=edge", "main.cpp: no problems (clangd)",
				"main.cpp", strings.ReplaceAll(main, "side", "edge"), "shape.cpp", strings.ReplaceAll(square, "side", "edge"),
				"shape.hpp", strings.ReplaceAll(header, "side", "edge")),
			"rename_file": changes("shape.cpp new_name=square.cpp", "square.cpp: no problems (clangd)",
				"square.cpp", strings.ReplaceAll(square, "side", "edge")),
		},
	}
}
