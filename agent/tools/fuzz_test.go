package tools

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A selector that parses must be in order, and must name the same lines when it is written out again.
func FuzzSelector(f *testing.F) {
	for _, s := range []string{"a", "a:1", "a:1-2", "a:1+2", "a:L1-L3,7,9-", "a:raw", "a:1-2:raw", "a:raw:5", "a:1:2", "a:0", "a:3-1", ":1", "a:", "a:,", "C:\\x", "a:1,,2", "artifact://1:3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		base, sel, err := splitSelector(path)
		if !strings.HasPrefix(path, base) {
			t.Fatalf("%q: base %q", path, base)
		}
		if err != nil {
			if base != path {
				t.Errorf("%q: an error and the base %q", path, base)
			}
			return
		}
		last := -1
		for _, r := range sel.ranges {
			if r.first < 1 || r.last != 0 && r.last < r.first || last == 0 || last > 0 && r.first <= last+1 {
				t.Errorf("%q: ranges %v", path, sel.ranges)
			}
			last = r.last
		}
		if base == path && (sel.raw || sel.ranges != nil) {
			t.Errorf("%q: a selector out of nothing", path)
		}
	})
}

// naiveEdit is an edit by the letter, for texts without carriage returns.
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
			return // found with white space left out, which the letter knows nothing of
		}
		if (err == nil) != ok || ok && got != want {
			t.Fatalf("%q %v: got %q, %v; want %q, %v", text, edits, got, err, want, ok)
		}
		// The same text with CRLF line ends must become the same with CRLF line ends, whichever the edits use.
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

// In a file of mixed line ends, what an edit does not touch keeps its bytes.
func FuzzEditMixedLineEnds(f *testing.F) {
	f.Add("a\r\n", "x", "\nb\r\n")
	f.Add("\n\r\n\r", "\r\nmid\n", "\r\n")
	f.Fuzz(func(t *testing.T, before, middle, after string) {
		text := before + middle + after
		flat := lineFeeds(middle)
		if flat == "" || strings.HasSuffix(before, "\r") || strings.HasSuffix(middle, "\r") || strings.Count(lineFeeds(text), flat) != 1 {
			t.Skip("the cut is in a line end, or the middle is not unique")
		}
		got, loose, err := applyEdits("f", text, []textEdit{{OldText: middle, NewText: "NEW"}})
		if err != nil {
			if strings.Contains(text, "NEW") || len(occurrences(lineFeeds(text), flat, false)) != 1 {
				return
			}
			t.Fatal(err)
		}
		if got != before+"NEW"+after && len(loose) == 0 {
			t.Errorf("%q %q %q: got %q", before, middle, after, got)
		}
	})
}

func FuzzEncoding(f *testing.F) {
	f.Add([]byte("text"))
	f.Add([]byte("\xEF\xBB\xBFtext"))
	f.Add([]byte("\xFF\xFEa\x00"))
	f.Add([]byte("\xFE\xFF\x00a"))
	f.Add([]byte("\xFF\xFEa\x00\x00\xD8b\x00"))
	f.Add([]byte("\xFE\xFF\xD8\x00"))
	f.Add([]byte("\xFF\xFE\xFD\xFF=\xD8\x00\xDE"))
	f.Add([]byte("caf\xE9"))
	f.Add([]byte("a\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, enc, err := decodeText(data)
		if !utf8.ValidString(text) {
			t.Errorf("%q: text %q", data, text)
		}
		if err == nil && string(encodeText(text, enc)) != string(data) {
			t.Errorf("%q came back as %q", data, encodeText(text, enc))
		}
	})
}

func FuzzPlainOutput(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "1%\r2%\n", "a\bb", "\x1b]0;t\x07x", "\x1b", "\x1b[", "\u0085x", "é\b\b", "\r\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		got := plainOutput(s)
		if !utf8.ValidString(got) || len(got) > len(s) {
			t.Errorf("%q: %q", s, got)
		}
		for _, r := range got {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7F && r < 0xA0 {
				t.Errorf("%q: %q holds %q", s, got, r)
			}
		}
		if strings.Count(got, "\n") > strings.Count(s, "\n") {
			t.Errorf("%q: %q has more lines", s, got)
		}
		if plainOutput(got) != got {
			t.Errorf("%q: %q is not final", s, got)
		}
	})
}
