package files_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

func BenchmarkRead(b *testing.B) {
	w := toolstest.NewWorld(b, map[string]string{"a.go": strings.Repeat("\tsome line of a program's text\n", 20_000)})
	toolstest.Bench(b, w, "read", toolstest.Input{"path": "a.go:10000-10100"})
}

// BenchmarkEdit changes a file of 1 MB back and forth.
func BenchmarkEdit(b *testing.B) {
	for name, eol := range map[string]string{"lf": "\n", "crlf": "\r\n"} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat("a line of forty characters, more or less"+eol, 12_500)
			text += "here" + eol + text
			w := toolstest.NewWorld(b, map[string]string{"big.txt": text})
			t := toolstest.Tool(b, "edit")
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

// BenchmarkEditMiss searches a file of 1 MB for the nearest lines.
func BenchmarkEditMiss(b *testing.B) {
	var text strings.Builder
	for i := range 25_000 {
		fmt.Fprintf(&text, "line %d of a file with different lines\n", i)
	}
	w := toolstest.NewWorld(b, map[string]string{"big.txt": text.String()})
	t := toolstest.Tool(b, "edit")
	call := w.Call(b, "edit", oneEdit("big.txt", "line 9999 of the file\nwith lines\nthat are nowhere\n", "x"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Run(b.Context(), call); err == nil {
			b.Fatal("it matched")
		}
	}
}
