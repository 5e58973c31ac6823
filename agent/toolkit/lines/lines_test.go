package lines_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/toolkit/lines"
)

// The regions between two texts, applied as splices, turn one into the other, except for line endings and the end of the text.
func FuzzChanged(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc\n")
	f.Add("", "a")
	f.Add("a\r\nb", "b\na\n")
	f.Add("a\na\na\n", "a\na\n")
	f.Fuzz(func(t *testing.T, old, now string) {
		if strings.Contains(strings.ReplaceAll(old+"|"+now, "\r\n", ""), "\r") {
			return // at the end of a line it looks like part of a line ending
		}
		a, b := lines.Parse(old), lines.Parse(now)
		regions := lines.Changed(a, b)
		var splices []lines.Splice
		for _, r := range regions {
			splices = append(splices, lines.Splice{Start: r.OldStart, End: r.OldEnd, With: b.Lines()[r.Start:r.End]})
		}
		text, err := a.Apply(splices)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines.Parse(text).Lines(); !slices.Equal(got, b.Lines()) {
			// An empty last line without a line ending looks like no line.
			if strings.Join(got, "\n") != strings.TrimSuffix(strings.Join(b.Lines(), "\n"), "\n") {
				t.Errorf("%q to %q: got %q", old, now, text)
			}
		}
		for i, l := range a.Lines() {
			if n, ok := lines.Now(regions, i); ok && b.Line(n) != l {
				t.Errorf("%q to %q: line %d is said to be at %d", old, now, i, n)
			}
		}
	})
}

// A splice changes nothing next to it.
func FuzzApply(f *testing.F) {
	f.Add("a\r\nb\nc", 1, 2, "x\ny", 0)
	f.Add("a", 0, 1, "", 2)
	f.Add("", 0, 0, "x", 0)
	f.Fuzz(func(t *testing.T, text string, start, end int, with string, final int) {
		parsed := lines.Parse(text)
		if start < 0 || end < start || end > parsed.Len() || final < 0 || final > 2 || strings.ContainsAny(with, "\r\n") {
			return
		}
		got, err := parsed.Apply([]lines.Splice{{Start: start, End: end, With: []string{with}, Final: lines.Final(final)}})
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.SplitAfter(text, "\n")
		head := strings.Join(parts[:start], "")
		if !strings.HasPrefix(got, head) {
			t.Errorf("%q: %q does not begin with %q", text, got, head)
		}
		if end < parsed.Len() {
			if tail := strings.Join(parts[end:], ""); !strings.HasSuffix(got, tail) {
				t.Errorf("%q: %q does not end with %q", text, got, tail)
			}
		} else if open := !strings.HasSuffix(got, "\n"); got != "" && with != "" && open != (lines.Final(final) == lines.Strip || lines.Final(final) == lines.Keep && parsed.Open()) {
			t.Errorf("%q: %q ends in the wrong way", text, got)
		}
	})
}

func TestApply_Overlap(t *testing.T) {
	text := lines.Parse("a\nb\nc\n")
	for _, splices := range [][]lines.Splice{
		{{Start: 0, End: 2}, {Start: 1, End: 3}}, {{Start: 2, End: 4}}, {{Start: 2, End: 1}}, {{Start: -1, End: 1}},
	} {
		if got, err := text.Apply(splices); err == nil {
			t.Errorf("%v: %q", splices, got)
		}
	}
}

func TestReindent(t *testing.T) {
	for _, tt := range []struct{ given, found, lines, want []string }{
		{[]string{"    a {", "        b"}, []string{"\ta {", "\t\tb"}, []string{"    x {", "            y", "z"}, []string{"\tx {", "\t\t\ty", "z"}},
		{[]string{"a"}, []string{"    a"}, []string{"x", "  y", ""}, []string{"    x", "      y", ""}},
		{[]string{"\ta"}, []string{"    a"}, []string{"\tx", "\t\ty"}, []string{"    x", "        y"}},
		{[]string{"a", "a"}, []string{" a", "  a"}, []string{"x"}, []string{"x"}},
	} {
		if got := lines.Reindent(tt.given, tt.found, tt.lines); !slices.Equal(got, tt.want) {
			t.Errorf("%q found as %q: %q became %q, want %q", tt.given, tt.found, tt.lines, got, tt.want)
		}
	}
}
