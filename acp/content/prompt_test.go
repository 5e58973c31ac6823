package content

import (
	"path/filepath"
	"testing"
)

func TestFilePath(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///w/a.go":               "/w/a.go",
		"file://localhost/w/a.go":      "/w/a.go",
		"file:///w/a%20b%23c.go":       "/w/a b#c.go",
		"file:///w/%C3%A4.go":          "/w/ä.go",
		"file:///C:/Users/x/a.go":      "C:/Users/x/a.go",
		"file:///c%3A/Users/x/a.go":    "c:/Users/x/a.go",
		"file://server/share/dir/a.go": "//server/share/dir/a.go",
		"https://example.com/a.go":     "",
		"a.go":                         "",
		"file:":                        "",
		"%zz":                          "",
	} {
		got, ok := filePath(uri)
		if got != filepath.FromSlash(want) || ok != (want != "") {
			t.Errorf("filePath(%q) = %q, %v; want %q", uri, got, ok, want)
		}
	}
}
