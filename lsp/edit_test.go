package lsp_test

import (
	"errors"
	"testing"

	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/lsp"
)

func edit(l1, c1, l2, c2 uint32, text string) protocol.TextEdit {
	return protocol.TextEdit{Range: protocol.Range{Start: protocol.Position{Line: l1, Character: c1}, End: protocol.Position{Line: l2, Character: c2}}, NewText: text}
}

func TestText_Apply(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		edits      []protocol.TextEdit
		want       string
	}{
		{"none", "a\n", nil, "a\n"},
		{"in any order", "one two\nthree\n", []protocol.TextEdit{edit(1, 0, 1, 5, "3"), edit(0, 0, 0, 3, "1"), edit(0, 4, 0, 7, "2")}, "1 2\n3\n"},
		{"insertions keep their order", "x", []protocol.TextEdit{edit(0, 0, 0, 0, "a"), edit(0, 0, 0, 0, "b")}, "abx"},
		{"insertion before a replacement", "xy", []protocol.TextEdit{edit(0, 1, 0, 2, "z"), edit(0, 1, 0, 1, "-")}, "x-z"},
		{"insertion after a replacement", "xy", []protocol.TextEdit{edit(0, 0, 0, 1, "z"), edit(0, 1, 0, 1, "-")}, "z-y"},
		{"touching", "abcd", []protocol.TextEdit{edit(0, 0, 0, 2, "1"), edit(0, 2, 0, 4, "2")}, "12"},
		{"the whole with an end that is too far", "a\nb\n", []protocol.TextEdit{edit(0, 0, 99, 99, "new\n")}, "new\n"},
		{"line ends stay", "a\r\nb\r\n", []protocol.TextEdit{edit(0, 0, 0, 9, "x")}, "x\r\nb\r\n"},
		{"surrogates", "𝄞a𝄞", []protocol.TextEdit{edit(0, 2, 0, 3, "b")}, "𝄞b𝄞"},
		{"at the end", "a", []protocol.TextEdit{edit(1, 0, 1, 0, "\n")}, "a\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := lsp.NewText(tt.text).Apply(tt.edits, lsp.UTF16)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestText_ApplyErrors(t *testing.T) {
	text := lsp.NewText("abcdef\n")
	if _, err := text.Apply([]protocol.TextEdit{edit(0, 0, 0, 3, "x"), edit(0, 2, 0, 4, "y")}, lsp.UTF8); !errors.Is(err, lsp.ErrOverlap) ||
		err.Error() != "overlapping LSP edits: 1:1-1:4 conflicts with 1:3-1:5" {
		t.Errorf("overlap: %v", err)
	}
	if _, err := text.Apply([]protocol.TextEdit{edit(0, 1, 0, 3, "x"), edit(0, 2, 0, 2, "y")}, lsp.UTF8); !errors.Is(err, lsp.ErrOverlap) {
		t.Errorf("an insertion inside a replacement: %v", err)
	}
	if _, err := text.Apply([]protocol.TextEdit{edit(0, 4, 0, 2, "x")}, lsp.UTF8); err == nil {
		t.Error("no error for a range that ends before its start")
	}
}

// FuzzApply checks that edits that replace text with itself change nothing.
func FuzzApply(f *testing.F) {
	f.Add("one\ntwo\r\n𝄞", 1, 5, 8)
	f.Fuzz(func(t *testing.T, s string, a, b, c int) {
		text := lsp.NewText(s)
		at := func(n int) int { return text.Offset(text.Position(min(max(n, 0), len(s)), lsp.UTF16), lsp.UTF16) }
		x, y, z := at(a), at(b), at(c)
		if !(x <= y && y <= z) {
			return
		}
		piece := func(from, to int) protocol.TextEdit {
			return protocol.TextEdit{Range: protocol.Range{Start: text.Position(from, lsp.UTF16), End: text.Position(to, lsp.UTF16)}, NewText: s[from:to]}
		}
		got, err := text.Apply([]protocol.TextEdit{piece(y, z), piece(x, y)}, lsp.UTF16)
		if err != nil || got != s {
			t.Errorf("%q becomes %q, %v", s, got, err)
		}
	})
}
