package walk

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// The fast matcher agrees with the glob, and no glob causes a panic.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"**/*.go", "**/a", "**/a*", "*", "*.go", "**/*", "**", "a/**/b.go", "**/[ab]*", "**/{a,b}.go", "**/*a*", "**/.*", "d/*.go"} {
		f.Add(s, "d/a.go")
		f.Add(s, "a/x/b.go")
		f.Add(s, ".hidden")
	}
	f.Fuzz(func(t *testing.T, pattern, rel string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(rel) || !doublestar.ValidatePattern(pattern) || strings.ContainsAny(rel, "\x00\\") || rel == "" || strings.HasPrefix(rel, "/") || strings.HasSuffix(rel, "/") || strings.Contains(rel, "//") {
			t.Skip()
		}
		base := filepath.FromSlash("/base/dir")
		g := Glob{Base: base, Pattern: pattern}
		want := pattern == "" || doublestar.MatchUnvalidated(pattern, rel)
		if got := g.Matcher()(base + string(filepath.Separator) + filepath.FromSlash(rel)); got != want {
			t.Errorf("%q on %q: %v, want %v", pattern, rel, got, want)
		}
		g.Last() // for ripgrep
	})
}

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
