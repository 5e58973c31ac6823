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
