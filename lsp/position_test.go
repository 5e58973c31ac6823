package lsp_test

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/lsp"
)

func TestText_Positions(t *testing.T) {
	const text = "ab\r\nä𝄞e\u0301x\ny\rz\n"
	// lines: "ab", "ä𝄞éx" (é as two code points), "y", "z", ""
	for _, tt := range []struct {
		offset             int
		line               uint32
		utf8, utf16, utf32 uint32
	}{
		{0, 0, 0, 0, 0},
		{2, 0, 2, 2, 2},   // after ab
		{3, 0, 2, 2, 2},   // between CR and LF
		{4, 1, 0, 0, 0},   // ä
		{5, 1, 0, 0, 0},   // inside ä
		{6, 1, 2, 1, 1},   // 𝄞
		{8, 1, 2, 1, 1},   // inside 𝄞
		{10, 1, 6, 3, 2},  // e
		{11, 1, 7, 4, 3},  // the combining accent
		{13, 1, 9, 5, 4},  // x
		{14, 1, 10, 6, 5}, // end of the line
		{15, 2, 0, 0, 0},
		{17, 3, 0, 0, 0},
		{19, 4, 0, 0, 0},
		{99, 4, 0, 0, 0},
	} {
		for e, want := range map[lsp.Encoding]uint32{lsp.UTF8: tt.utf8, lsp.UTF16: tt.utf16, lsp.UTF32: tt.utf32} {
			if got := lsp.NewText(text).Position(tt.offset, e); got != (protocol.Position{Line: tt.line, Character: want}) {
				t.Errorf("offset %d in %s: %v, want %d:%d", tt.offset, e, got, tt.line, want)
			}
		}
	}
}

func TestText_OffsetsOfStrangePositions(t *testing.T) {
	text := lsp.NewText("ab\n𝄞c\n")
	for _, tt := range []struct {
		p    protocol.Position
		want int
	}{
		{protocol.Position{Line: 0, Character: 9}, 2},       // past the end of the line
		{protocol.Position{Line: 1, Character: 1}, 3},       // between surrogates
		{protocol.Position{Line: 1, Character: 1 << 31}, 8}, // far past the end
		{protocol.Position{Line: 2, Character: 0}, 9},       // the empty last line
		{protocol.Position{Line: 7, Character: 3}, 9},       // no such line
		{protocol.Position{Line: 1<<32 - 1, Character: 1<<32 - 1}, 9},
	} {
		if got := text.Offset(tt.p, lsp.UTF16); got != tt.want {
			t.Errorf("offset of %v is %d, want %d", tt.p, got, tt.want)
		}
	}
	if n := text.Lines(); n != 3 || text.Line(0) != "ab" || text.Line(2) != "" || text.Line(3) != "" || text.Line(-1) != "" {
		t.Errorf("%d lines", n)
	}
}

// The start of each character survives a round trip through a position in every encoding, and UTF-16 lengths match the standard
// library's.
func FuzzPositions(f *testing.F) {
	for _, s := range []string{"", "a", "\r\n", "\r\r\n\n", "ä𝄞\n", "a\xffb", "e\u0301", "\u2028"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, at int) {
		text := lsp.NewText(s)
		at = min(max(at, 0), len(s))
		for _, e := range []lsp.Encoding{lsp.UTF8, lsp.UTF16, lsp.UTF32} {
			p := text.Position(at, e)
			back := text.Offset(p, e)
			if back > at || at-back >= utf8.UTFMax {
				t.Fatalf("%q: offset %d is %v in %s, and that is %d", s, at, p, e, back)
			}
			if text.Position(back, e) != p {
				t.Fatalf("%q: %v in %s is %d, and that is %v", s, p, e, back, text.Position(back, e))
			}
		}
		for n := range text.Lines() {
			line := text.Line(n)
			if !utf8.ValidString(line) {
				continue
			}
			start := text.Offset(protocol.Position{Line: uint32(n)}, lsp.UTF16)
			end := text.Position(start+len(line), lsp.UTF16)
			if want := uint32(len(utf16.Encode([]rune(line)))); end.Character != want {
				t.Fatalf("line %q has %d units, want %d", line, end.Character, want)
			}
		}
	})
}

// Texts with and without CR are split into lines by different code; both find the same lines.
func TestText_LinesOfBothKinds(t *testing.T) {
	for _, s := range []string{"", "\n", "a", "a\n", "\n\na\n\n", "ä\n𝄞"} {
		plain, other := lsp.NewText(s), lsp.NewText(strings.ReplaceAll(s, "\n", "\r\n"))
		if plain.Lines() != other.Lines() || plain.Lines() != strings.Count(s, "\n")+1 {
			t.Fatalf("%q: %d and %d lines", s, plain.Lines(), other.Lines())
		}
		for n, line := range strings.Split(s, "\n") {
			if plain.Line(n) != line || other.Line(n) != line {
				t.Errorf("%q: line %d is %q and %q", s, n, plain.Line(n), other.Line(n))
			}
		}
	}
}
