package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// benchTree is a workspace of 2,000 files of about 5 KB, with an ignore file as projects have it.
func benchTree(b *testing.B) *toolstest.World {
	files := map[string]string{
		".git/HEAD":  "ref: refs/heads/main\n",
		".gitignore": "*.log\n*.tmp\n/build/\nnode_modules/\ndist\n.env\n*.o\n*.a\n*.so\n/vendor/**/testdata\n!keep.log\n.DS_Store\n*~\n",
	}
	line := "func something(ctx context.Context, name string) (int, error) { return 0, nil }\n"
	for i := range 2000 {
		text := strings.Repeat(line, 60)
		if i%50 == 0 {
			text += "needle here\n"
		}
		files[fmt.Sprintf("pkg%02d/sub%d/file%04d.go", i%40, i%5, i)] = text
	}
	return toolstest.NewWorld(b, files)
}

func benchTool(b *testing.B, w *toolstest.World, name string, in input) {
	t := tool(b, name)
	call := w.Call(b, name, in)
	b.ReportAllocs()
	for b.Loop() {
		call.Decoded = nil
		if _, err := t.Run(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	w := benchTree(b)
	for name, pattern := range map[string]string{"literal": "needle", "class": `[a-z]+dle\s+h`, "common": `\bctx\b`} {
		b.Run("own/"+name, func(b *testing.B) {
			w.Programs = nil
			benchTool(b, w, "search", input{"pattern": pattern})
		})
		b.Run("ripgrep/"+name, func(b *testing.B) {
			w.Programs = ripgrepOnly{testenv.NeedsTool(b, "rg")}
			benchTool(b, w, "search", input{"pattern": pattern})
		})
	}
}

func BenchmarkFind(b *testing.B) {
	benchTool(b, benchTree(b), "find", input{"paths": []string{"**/file1*.go"}})
}

func BenchmarkRead(b *testing.B) {
	w := toolstest.NewWorld(b, map[string]string{"a.go": strings.Repeat("\tsome line of a program's text\n", 20_000)})
	benchTool(b, w, "read", input{"path": "a.go:10000-10100"})
}

// BenchmarkEdit changes a file of 1 MB to and fro.
func BenchmarkEdit(b *testing.B) {
	for name, eol := range map[string]string{"lf": "\n", "crlf": "\r\n"} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat("a line of forty characters, more or less"+eol, 12_500)
			text += "here" + eol + text
			w := toolstest.NewWorld(b, map[string]string{"big.txt": text})
			t := tool(b, "edit")
			there, back := w.Call(b, "edit", oneEdit("big.txt", "here\n", "there\n")), w.Call(b, "edit", oneEdit("big.txt", "there\n", "here\n"))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := t.Run(b.Context(), there); err != nil {
					b.Fatal(err)
				}
				if _, err := t.Run(b.Context(), back); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEditMiss looks for the nearest lines in a file of 1 MB.
func BenchmarkEditMiss(b *testing.B) {
	var text strings.Builder
	for i := range 25_000 {
		fmt.Fprintf(&text, "line %d of a file with different lines\n", i)
	}
	w := toolstest.NewWorld(b, map[string]string{"big.txt": text.String()})
	t := tool(b, "edit")
	call := w.Call(b, "edit", oneEdit("big.txt", "line 9999 of the file\nwith lines\nthat are nowhere\n", "x"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Run(b.Context(), call); err == nil {
			b.Fatal("it matched")
		}
	}
}

// The budget of a warm call of the tool lsp is 1 ms over the server's own time: "tool" less "request".
func BenchmarkLSP_Hover(b *testing.B) {
	w, _ := fakeWorld(b, map[string]string{"a.x": "package a\n\nfunc Add() {}\n"}, fakeScript{
		Capabilities: provides("hoverProvider"),
		Answers:      map[string][]any{"textDocument/hover": {object{"contents": "func Add()"}}},
	})
	in := input{"action": "hover", "file": "a.x", "line": 3, "symbol": "Add"}
	if _, err := tool(b, "lsp").Run(b.Context(), w.Call(b, "lsp", in)); err != nil {
		b.Fatal(err)
	}
	b.Run("tool", func(b *testing.B) { benchTool(b, w, "lsp", in) })
	b.Run("request", func(b *testing.B) {
		s := w.Languages.Active()[0]
		for b.Loop() {
			if err := s.Call(b.Context(), "textDocument/hover", map[string]any{"textDocument": map[string]any{"uri": uri(w.Path("a.x"))}}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The budget of a call of the tool debug is 1 ms a request over the adapter's own time: "tool" less "request". A step makes
// four requests.
func BenchmarkDebug(b *testing.B) {
	p := play(b)
	p.launch(b)
	b.Run("tool", func(b *testing.B) { benchTool(b, p.World, "debug", input{"action": "threads"}) })
	b.Run("request", func(b *testing.B) {
		s, err := p.Debugger.Sessions.Find("")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := s.Custom(b.Context(), "threads", nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("step", func(b *testing.B) { benchTool(b, p.World, "debug", input{"action": "step_over"}) })
}
