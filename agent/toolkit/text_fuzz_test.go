package toolkit

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A valid selector is in order, and still selects the same lines after a round trip.
func FuzzSelector(f *testing.F) {
	for _, s := range []string{"a", "a:1", "a:1-2", "a:1+2", "a:L1-L3,7,9-", "a:raw", "a:1-2:raw", "a:raw:5", "a:1:2", "a:0", "a:3-1", ":1", "a:", "a:,", "C:\\x", "a:1,,2", "artifact://1:3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		base, sel, err := SplitSelector(path)
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
		for _, r := range sel.Ranges {
			if r.First < 1 || r.Last != 0 && r.Last < r.First || last == 0 || last > 0 && r.First <= last+1 {
				t.Errorf("%q: ranges %v", path, sel.Ranges)
			}
			last = r.Last
		}
		if base == path && (sel.Raw || sel.Ranges != nil) {
			t.Errorf("%q: a selector out of nothing", path)
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
		text, enc, err := DecodeText(data)
		if !utf8.ValidString(text) {
			t.Errorf("%q: text %q", data, text)
		}
		if err == nil && string(EncodeText(text, enc)) != string(data) {
			t.Errorf("%q came back as %q", data, EncodeText(text, enc))
		}
	})
}

func FuzzPlainOutput(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "1%\r2%\n", "a\bb", "\x1b]0;t\x07x", "\x1b", "\x1b[", "\u0085x", "é\b\b", "\r\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		got := PlainOutput(s)
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
		if PlainOutput(got) != got {
			t.Errorf("%q: %q is not final", s, got)
		}
	})
}
