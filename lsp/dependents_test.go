package lsp_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/lsp"
)

// TestDiagnostics_DependentFile checks that Diagnostics waits while a server checks the files that depend on a changed one, instead
// of returning the earlier diagnostics.
func TestDiagnostics_DependentFile(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	a, b := k.write("a.txt", "fine\n"), k.write("b.txt", "fine\n")
	one := k.session()
	s := one.server(t, a)
	if r, err := one.Diagnostics(in(t), a); err != nil || len(r.Diagnostics) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	one.hold(t, s, a)
	one.hold(t, s, b)
	one.types(b, "another text\n")
	one.hold(t, s, b)
	asked := make(chan *lsp.Report)
	go func() {
		r, err := one.Diagnostics(in(t), a)
		if err != nil {
			t.Error(err)
		}
		asked <- r
	}()
	// These requests are answered while Diagnostics waits.
	for range 20 {
		if err := s.Call(in(t), "test/pid", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	say(t, s, a, 1, "BUG by b.txt\n")
	r := <-asked
	if text := lsp.ReportText([]*lsp.Report{r}, filepath.Base, 50); !strings.Contains(text, "1 error") {
		t.Errorf("the report has the earlier diagnostics: %s", text)
	}
}
