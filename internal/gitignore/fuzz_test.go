package gitignore

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The fast matcher of ignore rules agrees with the general one.
func FuzzIgnore(f *testing.F) {
	for _, s := range []string{"*.log", "a*", "/a", "d/", "!a", "**/x", "a/**", "[a-c].go", "\\#x", "{a}", "x\\ ", "***", "a/*/b", "*"} {
		f.Add(s, "d/", "a.log")
		f.Add(s, "", "a")
	}
	f.Fuzz(func(t *testing.T, text, dir, name string) {
		// The general matcher mishandles bytes that are not UTF-8.
		if !utf8.ValidString(text) || !utf8.ValidString(name) || !utf8.ValidString(dir) || name == "" || strings.ContainsAny(name, "/\x00") || strings.Contains(dir, "//") || dir != "" && !strings.HasSuffix(dir, "/") || strings.HasPrefix(dir, "/") {
			t.Skip()
		}
		for _, rule := range parseIgnore(text) {
			general := rule
			general.shape = generalShape
			if rule.shape == literalShape && strings.ContainsAny(rule.glob, "{}") { // braces are literal there
				general.glob = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(rule.glob)
			}
			if got, want := rule.match(dir, name), general.match(dir, name); got != want {
				t.Errorf("%q on %q %q: %v, want %v", rule.glob, dir, name, got, want)
			}
		}
	})
}
