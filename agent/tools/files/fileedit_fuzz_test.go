package files

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/toolkit"
)

// naiveEdit makes an edit literally, for text without carriage returns.
func naiveEdit(text string, e *textEdit) (string, bool) {
	first := strings.Index(text, e.OldText)
	if first < 0 || !e.All && first != strings.LastIndex(text, e.OldText) {
		return "", false
	}
	return strings.ReplaceAll(text, e.OldText, e.NewText), true
}

func FuzzEdit(f *testing.F) {
	f.Add("one\ntwo\n", "two", "2", "", "", false)
	f.Add("a\na\n", "a\n", "b\n", "b", "c", true)
	f.Add("aaa", "aa", "b", "", "", false)
	f.Add("x\n\ny", "\n", "", "xy", "z", true)
	f.Fuzz(func(t *testing.T, text, old1, new1, old2, new2 string, all bool) {
		if strings.Contains(text+"|"+old1+"|"+new1+"|"+old2+"|"+new2, "\r") {
			t.Skip("line ends are given below")
		}
		edits := []textEdit{{old1, new1, all}, {old2, new2, !all}}
		if old2 == "" {
			edits = edits[:1]
		}
		if checkEdits(edits) != nil {
			return
		}
		want, ok := text, true
		for i := range edits {
			if ok {
				want, ok = naiveEdit(want, &edits[i])
			}
		}
		ok = ok && want != text
		got, loose, err := applyEdits("f", text, edits)
		if err == nil && len(loose) > 0 {
			return // matched by ignoring white space, which naiveEdit does not try
		}
		if (err == nil) != ok || ok && got != want {
			t.Fatalf("%q %v: got %q, %v; want %q, %v", text, edits, got, err, want, ok)
		}
		// The same text with CRLF line endings gives the same result with CRLF line endings, whichever line endings the edits have.
		if !strings.Contains(text, "\n") {
			return
		}
		crlf := strings.ReplaceAll(text, "\n", "\r\n")
		got, _, err = applyEdits("f", crlf, edits)
		if (err == nil) != ok || ok && got != strings.ReplaceAll(want, "\n", "\r\n") {
			t.Fatalf("CRLF %q %v: got %q, %v; want %q, %v", text, edits, got, err, want, ok)
		}
		for i := range edits {
			edits[i].OldText = strings.ReplaceAll(edits[i].OldText, "\n", "\r\n")
			edits[i].NewText = strings.ReplaceAll(edits[i].NewText, "\n", "\r\n")
		}
		if again, _, _ := applyEdits("f", crlf, edits); again != got {
			t.Fatalf("CRLF edits %q %v: got %q, want %q", text, edits, again, got)
		}
	})
}

// An edit preserves the bytes outside its match in a file with mixed line endings.
func FuzzEditMixedLineEnds(f *testing.F) {
	f.Add("a\r\n", "x", "\nb\r\n")
	f.Add("\n\r\n\r", "\r\nmid\n", "\r\n")
	f.Fuzz(func(t *testing.T, before, middle, after string) {
		text := before + middle + after
		flat := toolkit.LineFeeds(middle)
		if flat == "" || strings.HasSuffix(before, "\r") || strings.HasSuffix(middle, "\r") || strings.Count(toolkit.LineFeeds(text), flat) != 1 {
			t.Skip("the cut is in a line end, or the middle is not unique")
		}
		got, loose, err := applyEdits("f", text, []textEdit{{OldText: middle, NewText: "NEW"}})
		if err != nil {
			if strings.Contains(text, "NEW") || len(occurrences(toolkit.LineFeeds(text), flat, false)) != 1 {
				return
			}
			t.Fatal(err)
		}
		if got != before+"NEW"+after && len(loose) == 0 {
			t.Errorf("%q %q %q: got %q", before, middle, after, got)
		}
	})
}
