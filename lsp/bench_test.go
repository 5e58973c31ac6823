package lsp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/lsp"
)

// BenchmarkServer_WarmCall measures a call to a server that echoes. The budget is 1 ms.
func BenchmarkServer_WarmCall(b *testing.B) {
	s := start(b, script{}, nil)
	if err := s.Start(in(b)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Call(own(b), "test/echo", map[string]int{"line": 1}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkServer_ChangeOf1MB measures the change of one character in the middle of a 1 MB file, up to the write. The budget is
// 2 ms.
func BenchmarkServer_ChangeOf1MB(b *testing.B) {
	s := start(b, script{}, nil)
	half := strings.Repeat("some line of text, as there are many\n", 1<<19/37)
	texts := [2]string{half + "x" + half, half + "xy" + half}
	s.hold("a.txt", texts[1]).Release()
	n := 0
	for b.Loop() {
		d, err := s.Hold(own(b), s.path("a.txt"), texts[n%2])
		if err != nil {
			b.Fatal(err)
		}
		d.Release()
		n++
	}
}

// BenchmarkPublish10000 measures a notification with 10,000 diagnostics. The budget is 20 ms.
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
