package lsp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/lsp"
)

// The budget is 1 ms over the server's own time: here all of it is the process that echoes.
func BenchmarkServer_WarmCall(b *testing.B) {
	s := start(b, script{}, nil)
	if err := s.Start(in(b)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Call(b.Context(), "test/echo", map[string]int{"line": 1}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// The budget is 2 ms: a character typed in the middle of a file of 1 MB, up to the pipe.
func BenchmarkServer_ChangeOf1MB(b *testing.B) {
	s := start(b, script{}, nil)
	half := strings.Repeat("some line of text, as there are many\n", 1<<19/37)
	texts := [2]string{half + "x" + half, half + "xy" + half}
	s.hold("a.txt", texts[1]).Release()
	n := 0
	for b.Loop() {
		d, err := s.Hold(b.Context(), s.path("a.txt"), texts[n%2])
		if err != nil {
			b.Fatal(err)
		}
		d.Release()
		n++
	}
}

// The budget is 20 ms.
func BenchmarkPublish10000(b *testing.B) {
	one := `{"range":{"start":{"line":%d,"character":8},"end":{"line":%d,"character":14}},"severity":1,"code":"UndeclaredName","codeDescription":{"href":"https://pkg.go.dev/golang.org/x/tools/internal/typesinternal#UndeclaredName"},"source":"compiler","message":"undefined: something%d","data":{"fix":%d}}`
	list := make([]string, 10_000)
	for i := range list {
		list[i] = fmt.Sprintf(one, i, i, i, i)
	}
	body := []byte(`{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":"file:///w/a.go","version":1,"diagnostics":[` + strings.Join(list, ",") + `]}}`)
	publish := lsp.NewPublisher()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if n := publish(body); n != len(list) {
			b.Fatal(n)
		}
	}
}
