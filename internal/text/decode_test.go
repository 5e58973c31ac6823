package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/text"
)

func TestDecode(t *testing.T) {
	for data, want := range map[string]string{
		"": "", "a\nb": "a\nb", "\ufeff\ufeffa": "a", "\xff\xfea\x00\n\x00\xe4\x00": "a\nä", "\xfe\xff\x00a\xd8\x3d\xde\x00": "a😀",
	} {
		if got, _, ok := text.Decode([]byte(data)); !ok || got != want {
			t.Errorf("%q: %q, %t; want %q", data, got, ok, want)
		}
	}
	for data, want := range map[string]int{
		"a\n\x00": 2, "a\n\nb\xff": 3, "\xff\xfea\x00\n\x00\x00\x00": 2, "\xff\xfea\x00b": 1, "\xfe\xff\xd8\x3d\x00a": 1,
	} {
		if got, line, ok := text.Decode([]byte(data)); ok || line != want {
			t.Errorf("%q: %q, line %d; want line %d", data, got, line, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00"))
	f.Add([]byte("\ufeffa\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, line, ok := text.Decode(data)
		if ok && (!utf8.ValidString(got) || strings.ContainsRune(got, 0)) || !ok && (got != "" || line < 1) {
			t.Fatalf("%q: %q, %d, %t", data, got, line, ok)
		}
	})
}
