package code_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent/tools/code"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/lsp"
)

func TestFindSpot(t *testing.T) {
	const text = "package p\n\n// Name is a name.\nfunc Name(nAme, rename int) { Name(Name_, e\u0301te\u0301) }\n\t𝄞, größe := x.Größe, pkg.Name\nA::b->c; p.q()\n"
	for _, tt := range []struct {
		name   string
		line   int
		symbol string
		// want is the line and the text after the position.
		wantLine int
		want     string
		note     bool
	}{
		{"whole names only", 4, "Name", 3, "Name(nAme", false},
		{"the second", 4, "Name#2", 3, "Name(Name_", false},
		{"of another case", 4, "NAME_", 3, "Name_,", false},
		{"as it is written before another case", 4, "nAme", 3, "nAme,", false},
		{"combining marks are letters", 4, "e\u0301te\u0301", 3, "e\u0301te\u0301)", false},
		{"after what has two units", 5, "größe", 4, "größe :=", false},
		{"the last of a qualified name", 5, "x.Größe", 4, "Größe,", false},
		{"of another case and qualified", 5, "X.GRÖSSE", 0, "", false},
		{"a name in other text", 5, ":= x", 4, "x.Größe", false},
		{"qualified in another way", 6, "A::b->c", 5, "c; p", false},
		{"with a parenthesis", 6, "p.q(", 5, "p.q(", false},
		{"no symbol", 5, "", 4, "𝄞, größe", false},
		{"no symbol and an empty line", 2, "", 1, "\n//", false},
		{"no line", 0, "Name", 3, "Name(nAme", true},
		{"no line, in code before comments", 0, "name", 2, "name.", true},
		{"no line, the third", 0, "Name#3", 4, "Name\nA", true},
		{"nothing", 0, "", 0, "package", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line, offset, note, err := code.FindSpot(lsp.NewText(text), "p.go", tt.line, tt.symbol)
			if tt.want == "" {
				if err == nil {
					t.Errorf("found %q", text[offset:])
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if line != tt.wantLine || !strings.HasPrefix(text[offset:], tt.want) || (note != "") != tt.note {
				t.Errorf("line %d, %.20q, note %q; want line %d, %q", line, text[offset:], note, tt.wantLine, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		line   int
		symbol string
		want   string
	}{
		{1, "Name", `symbol "Name" not found on line 1; it is on lines 3, 4, 5`},
		{1, "größe", `symbol "größe" not found on line 1; it is on line 5`},
		{1, "nowhere", `symbol "nowhere" not found on line 1, nor anywhere else in the file`},
		{4, "Name#9", `symbol "Name" occurrence 9 is out of bounds on line 4 (found 2)`},
		{0, "nowhere", `symbol "nowhere" not found in p.go`},
		{0, "package#2", `symbol "package" occurrence 2 is out of bounds in p.go (found 1)`},
		{7, "", "invalid tool input for lsp: line 7 is beyond the end of p.go, which has 6 lines"},
	} {
		_, _, _, err := code.FindSpot(lsp.NewText(text), "p.go", tt.line, tt.symbol)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%d %s: %v, want %s", tt.line, tt.symbol, err, tt.want)
		}
	}
}

// Every position is within the text, at the start of a character, and at the symbol.
func FuzzFindSpot(f *testing.F) {
	f.Add("a b\nname name\n", 2, "name#2")
	f.Add("\r\n\rK k\n", 0, "K")
	f.Add("", 0, "")
	f.Add("a\xff.b", 1, "a")
	f.Fuzz(func(t *testing.T, text string, line int, symbol string) {
		if line < 0 || strings.ContainsAny(symbol, "\r\n") {
			return // rejected earlier
		}
		_, offset, _, err := code.FindSpot(lsp.NewText(text), "f", line, symbol)
		if err != nil {
			return
		}
		if offset < 0 || offset > len(text) {
			t.Fatalf("%q: offset %d", text, offset)
		}
		if offset < len(text) && utf8.ValidString(text) && !utf8.RuneStart(text[offset]) {
			t.Errorf("%q: offset %d is inside a character", text, offset)
		}
	})
}

func TestLSPWire(t *testing.T) {
	for raw, want := range map[string]string{
		`null`: "", `"  plain "`: "plain", `{"kind":"markdown","value":"**b**"}`: "**b**", `{"language":"go","value":"func F()\n"}`: "```go\nfunc F()\n```",
		`["a",{"language":"go","value":"x"},"",{"value":"b"}]`: "a\n\n```go\nx\n```\n\nb", `{"value":7}`: "", `7`: "",
	} {
		toolstest.Same(t, raw, code.Markup(raw), want)
	}
	for _, tt := range []struct{ raw, want string }{
		{`"n int"`, "n int"}, {`[5,10]`, "n int"}, {`[0,99]`, "func(n int)"}, {`[7,3]`, ""}, {`{}`, "?"},
	} {
		toolstest.Same(t, tt.raw, code.ParameterLabel("func(n int)", tt.raw), tt.want)
	}
}
