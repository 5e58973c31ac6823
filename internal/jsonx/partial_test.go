package jsonx_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// extract reads text in fragments of n bytes.
func extract(text string, n int) string {
	m := jsonx.NewStringMember("plan")
	var b strings.Builder
	for ; len(text) > n; text = text[n:] {
		b.WriteString(m.Add(text[:n]))
	}
	b.WriteString(m.Add(text))
	return b.String()
}

func TestStringMember(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"title":"t","plan":"# Plan\n\n1. \"Go\" \\ \/ \tx"}`, "# Plan\n\n1. \"Go\" \\ / \tx"},
		{`{"plan":"é 😀 \u00e9 \ud83d\ude00 \ud83dx \ude00"}`, "é 😀 é 😀 \ufffdx \ufffd"},
		{`{"a":{"plan":"inner"},"b":["plan","x"],"c":"plan","plan" : "outer","plan":"again"}`, "outer"},
		{`{"planned":"no","pla":"no","\u0070lan":"yes"}`, "yes"},
		{`{"plan":["no"],"x":"no"}`, ""},
		{`{"plan":7,"x":"no"}`, ""},
		{`{"plan":"cut off`, "cut off"},
		{`{"plan":"cut \u00`, "cut "},
		{`["plan","no"]`, ""},
		{``, ""},
	} {
		for n := 1; n <= len(tt.text)+1; n++ {
			if got := extract(tt.text, n); got != tt.want {
				t.Errorf("%s in fragments of %d bytes: %q, want %q", tt.text, n, got, tt.want)
			}
		}
	}
}

// Whatever the fragments are, a valid object yields the value of the member, and other text is not invalid UTF-8.
func FuzzStringMember(f *testing.F) {
	f.Add(`{"plan":"a\n\u00e9\ud83d\ude00"}`, 3)
	f.Add(`{"x":{"plan":"no"},"plan":"yes"}`, 1)
	f.Add(`}}{"plan":"\`, 2)
	f.Fuzz(func(t *testing.T, text string, n int) {
		got := extract(text, max(1, n))
		if !utf8.ValidString(got) {
			t.Errorf("%q is not valid", got)
		}
		var object map[string]jsonx.Raw
		if !utf8.ValidString(text) || jsonx.Unmarshal([]byte(text), &object) != nil || object["plan"] == nil {
			return
		}
		var want string
		if jsonx.Unmarshal(object["plan"], &want) != nil || strings.Contains(want, "\ufffd") {
			return
		}
		if got != want && strings.Count(text, `"plan"`) <= 1 && !strings.Contains(text, `\u`) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	})
}
