package lsp_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/lsp"
)

// FuzzDifference checks that the difference converts the old text into the new one, in each encoding.
func FuzzDifference(f *testing.F) {
	for _, s := range [][2]string{
		{"", "a"},
		{"a", ""},
		{"abc", "abc"},
		{"a\r\nb", "a\nb"},
		{"a\rb", "a\r\nb"},
		{"a\r\nb", "a\rb"},
		{"\r\n\r\n", "\r\n"},
		{"x𝄞y", "x𝄢y"},
		{"ä", "ö"},
		{"aXa", "aXaXa"},
		{"\n\n\n", "\n\n"},
		{"e\u0301", "e\u0300"},
		{"𝄞𝄞", "𝄞"},
		{strings.Repeat("a", 200), strings.Repeat("a", 100) + "b" + strings.Repeat("a", 99)},
		{"a\xffb", "a\xffc"},
		{"\xffx\ny", "\xffx\nz"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, old, now string) {
		for _, e := range []lsp.Encoding{lsp.UTF8, lsp.UTF16, lsp.UTF32} {
			r, text := lsp.Difference(old, now, e)
			// The server reads replacement characters for invalid UTF-8.
			have, want := valid(old), valid(now)
			got := text
			if r != nil {
				got = applyAsServer(have, *r, text, e)
			}
			if valid(got) != want {
				t.Fatalf("%s: %q becomes %q, not %q, by %v %q", e, have, got, want, r, text)
			}
			if r != nil && old == now && (r.Start != r.End || text != "") {
				t.Fatalf("no change is %v %q", r, text)
			}
			if r != nil && strings.HasPrefix(text, "\n") {
				if at := offsetAsServer(have, r.Start, e); at > 0 && have[at-1] == '\r' {
					t.Fatalf("%q to %q: a CRLF is split", old, now)
				}
			}
		}
	})
}

// valid replaces each invalid byte by a replacement character, like JSON.
func valid(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r) // utf8.RuneError for an invalid byte
	}
	return b.String()
}

func offsetAsServer(text string, p protocol.Position, e lsp.Encoding) int {
	return fakeOffset(text, int(p.Line), int(p.Character), string(e))
}

func applyAsServer(text string, r protocol.Range, with string, e lsp.Encoding) string {
	return text[:offsetAsServer(text, r.Start, e)] + with + text[offsetAsServer(text, r.End, e):]
}

func TestDifference_Minimal(t *testing.T) {
	old := strings.Repeat("some line of text\n", 5000)
	now := old[:40000] + "X" + old[40000:]
	r, text := lsp.Difference(old, now, lsp.UTF16)
	if r == nil || r.Start != r.End || len(text) != 1 || !utf8.ValidString(text) {
		t.Errorf("%v %q", r, text)
	}
}
