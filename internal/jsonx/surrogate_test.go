package jsonx_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// decode decodes strings as a reader of a stream does, one after the other.
func decode(t *testing.T, values ...string) string {
	t.Helper()
	var all strings.Builder
	half := rune(0)
	for _, raw := range values {
		var s, text string
		if err := jsonx.Unmarshal(jsonx.MarkSurrogates([]byte(raw)), &s); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		text, half = jsonx.JoinSurrogates(s, half)
		all.WriteString(text)
	}
	if half != 0 {
		all.WriteRune(utf8.RuneError)
	}
	return all.String()
}

func TestSurrogates(t *testing.T) {
	for _, tt := range []struct {
		in   []string
		want string
	}{
		{[]string{`"a\ud83d"`, `"\ude00b"`}, "a😀b"},
		{[]string{`"\uD83D"`, `"\uDE00"`}, "😀"},
		{[]string{`"\ud83d"`, `""`, `"\ude00"`}, "😀"},
		{[]string{`"\ud83d\ude00\ud83d"`, `"\ude01\ud83d"`, `"\ude02"`}, "😀😁😂"},
		{[]string{`"\ud83d\ude00"`}, "😀"},
		{[]string{`"\ud83d"`}, "\ufffd"},
		{[]string{`"\ude00"`}, "\ufffd"},
		{[]string{`"\ud83d"`, `"x\ude00"`}, "\ufffdx\ufffd"},
		{[]string{`"\ud83d"`, `"\ud83d\ude00"`}, "\ufffd😀"},
		{[]string{`"\ud83dx"`, `"\n\ude00"`}, "\ufffdx\n\ufffd"},
		// An escaped backslash does not begin an escape.
		{[]string{`"\\ud83d"`, `"\\ude00"`}, `\ud83d\ude00`},
		{[]string{`"\\\ud83d"`, `"\ude00\\"`}, `\😀\`},
		// Text that already contains the noncharacters is unchanged.
		{[]string{`"\ufdef"`, "\"\ufdef\ufdd0x\""}, "\ufdef\ufdef\ufdd0x"},
	} {
		if got := decode(t, tt.in...); got != tt.want {
			t.Errorf("%q: got %+q, want %+q", tt.in, got, tt.want)
		}
	}
	for _, plain := range []string{``, `{`, `"\`, `"\u`, `"\ud8`, `"\ud83d`, `"\ud83d\`, `"\ud83d\ude0`, `"\ud83d\ude00"`, `"\uzzzz\ud"`} {
		if got := string(jsonx.MarkSurrogates([]byte(plain))); got != plain && !strings.HasPrefix(plain, `"\ud83d`) {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

// FuzzSurrogates checks that text survives wherever its escapes are split.
func FuzzSurrogates(f *testing.F) {
	f.Add("a😀b\\", uint(3))
	f.Add("\ufdef\ufdd0\ufdd8\ufdd3\ufddd", uint(1))
	f.Fuzz(func(t *testing.T, text string, at uint) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, '\ufdef') {
			t.Skip()
		}
		var units []string
		for _, r := range text {
			if r > 0xFFFF {
				r -= 0x10000
				units = append(units, escape(0xD800+r>>10), escape(0xDC00+r&0x3FF))
			} else {
				units = append(units, escape(r))
			}
		}
		cut := int(at % uint(len(units)+1))
		if got := decode(t, `"`+strings.Join(units[:cut], "")+`"`, `"`+strings.Join(units[cut:], "")+`"`); got != text {
			t.Errorf("split at %d: got %+q, want %+q", cut, got, text)
		}
	})
}

func escape(r rune) string {
	const hex = "0123456789abcdef"
	return `\u` + string([]byte{hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15]})
}
