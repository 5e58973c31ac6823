package text_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/text"
)

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"äöü", 3, "äöü"},
		{"äöüß", 3, "äö…"},
		{"ab  cd", 4, "ab…"},
		{"abc", 1, "…"},
		{"日本語", 3, "日本語"},
	} {
		if got := text.Truncate(tt.in, tt.most); got != tt.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

func TestTruncateBytes(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"aäb", 2, "a…"},
		{"ä", 0, "…"},
	} {
		if got := text.TruncateBytes(tt.in, tt.most); got != tt.want {
			t.Errorf("TruncateBytes(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"abc", 3, "abc"},
		{"one\ntwo\nthree", 9, "three"},
		{"one\ntwo three", 10, "two three"},
		{"one two\nx", 6, " two\nx"},
		{"aäb", 2, "b"},
	} {
		if got := text.Tail(tt.in, tt.most); got != tt.want {
			t.Errorf("Tail(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

func TestLines(t *testing.T) {
	if got := text.OneLine(" a\t b\r\n\nc\xff "); got != "a b c\ufffd" {
		t.Errorf("OneLine: %q", got)
	}
	for in, want := range map[string]string{"": "", "\n a \r\nb": "a", "one": "one"} {
		if got := text.FirstLine(in); got != want {
			t.Errorf("FirstLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for want, noun := range map[string]string{"0 files": "file", "1 file": "file", "2 files": "file", "2 matches": "match", "2 classes": "class", "1 entry": "entry", "3 entries": "entry"} {
		if got := text.Count(int(want[0]-'0'), noun); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSplitFrontMatter(t *testing.T) {
	for in, want := range map[string]text.FrontMatter{
		"":                              {},
		"text":                          {Body: "text"},
		"---\na: 1\n---\ntext":          {Head: "a: 1\n", Body: "text", Found: true},
		"\ufeff--- \r\na: 1\r---\ttext": {Body: "--- \na: 1\n---\ttext", Unclosed: true},
		"---\r\na: 1\r\n---\t\r\ntext":  {Head: "a: 1\n", Body: "text", Found: true},
		"---\n---":                      {Found: true},
		"---\na rule across the page":   {Body: "---\na rule across the page"},
		"---\nname: x\n":                {Body: "---\nname: x\n", Unclosed: true},
		"text\n---\na: 1\n---\n":        {Body: "text\n---\na: 1\n---\n"},
	} {
		if diff := cmp.Diff(want, text.SplitFrontMatter(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

func TestCutField(t *testing.T) {
	type field struct {
		name, value string
		ok          bool
	}
	for in, want := range map[string]field{
		"a: b: c": {"a", "b: c", true}, "a_B-1:": {"a_B-1", "", true}, "a:\tb ": {"a", "b", true},
		"a:b": {}, ": b": {}, "a b: c": {}, "a": {}, "": {},
	} {
		if name, value, ok := text.CutField(in); (field{name, value, ok}) != want {
			t.Errorf("%q: %q, %q, %v", in, name, value, ok)
		}
	}
}
