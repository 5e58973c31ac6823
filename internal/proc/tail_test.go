package proc_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/proc"
)

func TestTail_KeepsTheEnd(t *testing.T) {
	for _, test := range []struct {
		limit     int
		writes    []string
		want      string
		truncated bool
	}{
		{8, nil, "", false},
		{8, []string{"abc"}, "abc", false},
		{8, []string{"abcd", "efgh"}, "abcdefgh", false},
		{8, []string{"abcd", "efgh", "i"}, "bcdefghi", true},
		{4, []string{"abcdefghi"}, "fghi", true},
		{4, []string{"ab", "cdefghijk", "l"}, "ijkl", true},
		{4, []string{"xxé", "é"}, "éé", true},
		{3, []string{"éé"}, "é", true},               // the first byte is half a character
		{3, []string{"🦐"}, "", true},                 // not even one character fits
		{5, []string{"\x80\x80"}, "\x80\x80", false}, // invalid input stays as it is
		{0, []string{"abc"}, "", true},
	} {
		tail := proc.NewTail(test.limit)
		total := 0
		for _, w := range test.writes {
			if n, err := tail.Write([]byte(w)); n != len(w) || err != nil {
				t.Fatalf("Write(%q) = %d, %v", w, n, err)
			}
			total += len(w)
		}
		if got := tail.String(); got != test.want {
			t.Errorf("limit %d, writes %q: got %q, want %q", test.limit, test.writes, got, test.want)
		}
		if tail.Truncated() != test.truncated || tail.Total() != int64(total) {
			t.Errorf("limit %d, writes %q: truncated %v of %d", test.limit, test.writes, tail.Truncated(), tail.Total())
		}
	}
}

func FuzzTail(f *testing.F) {
	f.Add(4, "ab|cdé|f")
	f.Add(1, "é|é")
	f.Fuzz(func(t *testing.T, limit int, script string) {
		limit = min(max(limit, 0), 64)
		tail := proc.NewTail(limit)
		var all strings.Builder
		for part := range strings.SplitSeq(script, "|") {
			_, _ = tail.Write([]byte(part))
			all.WriteString(part)
		}
		got := tail.String()
		if !strings.HasSuffix(all.String(), got) || len(got) > limit {
			t.Fatalf("limit %d, %q: got %q", limit, all.String(), got)
		}
		if min(limit, len(all.String()))-len(got) >= utf8.UTFMax {
			t.Fatalf("limit %d, %q: got only %q", limit, all.String(), got)
		}
		if utf8.ValidString(all.String()) && !utf8.ValidString(got) {
			t.Fatalf("limit %d: %q is not UTF-8", limit, got)
		}
	})
}
