package code_test

import (
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// The budget of a warm call of the tool lsp is 1 ms on top of the server's own time: "tool" minus "request".
func BenchmarkLSP_Hover(b *testing.B) {
	w, _ := serverWorld(b, map[string]string{"a.x": "package a\n\nfunc Add() {}\n"}, serverScript{
		Capabilities: provides("hoverProvider"),
		Answers:      map[string][]any{"textDocument/hover": {object{"contents": "func Add()"}}},
	})
	in := toolstest.Input{"action": "hover", "file": "a.x", "line": 3, "symbol": "Add"}
	if _, err := toolstest.Tool(b, "lsp").Run(b.Context(), w.Call(b, "lsp", in)); err != nil {
		b.Fatal(err)
	}
	b.Run("tool", func(b *testing.B) { toolstest.Bench(b, w, "lsp", in) })
	b.Run("request", func(b *testing.B) {
		s := w.Languages.Active()[0]
		for b.Loop() {
			if err := s.Call(b.Context(), "textDocument/hover", map[string]any{"textDocument": map[string]any{"uri": fileURI(w.Path("a.x"))}}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
