package lsp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/lsp"
)

func TestFileURI(t *testing.T) {
	for _, tt := range []struct{ goos, path, uri string }{
		{"linux", "/w/a.go", "file:///w/a.go"},
		{"linux", "/w/a b#c?d%.go", "file:///w/a%20b%23c%3Fd%25.go"},
		{"linux", "/w/ä𝄞.go", "file:///w/%C3%A4%F0%9D%84%9E.go"},
		{"linux", "/w/a:b@c.go", "file:///w/a%3Ab%40c.go"},
		{"linux", `/w/a\b.go`, "file:///w/a%5Cb.go"},
		{"darwin", "/Users/x/[id].ts", "file:///Users/x/%5Bid%5D.ts"},
		{"windows", `C:\w\a b.go`, "file:///c%3A/w/a%20b.go"},
		{"windows", `\\server\share\a.go`, "file://server/share/a.go"},
		{"windows", `\\?\C:\w\a.go`, "file:///c%3A/w/a.go"},
		{"windows", `\\?\UNC\server\share\a.go`, "file://server/share/a.go"},
	} {
		if got := lsp.FileURI(tt.path, tt.goos); got != tt.uri {
			t.Errorf("FileURI(%q, %s) = %q, want %q", tt.path, tt.goos, got, tt.uri)
		}
	}
}

func TestFilePath(t *testing.T) {
	for _, tt := range []struct{ goos, uri, path string }{
		{"linux", "file:///w/a%20b.go", "/w/a b.go"},
		{"linux", "file:///w/a b.go", "/w/a b.go"},
		{"linux", "file://localhost/w/a.go", "/w/a.go"},
		{"linux", "FILE:///w/%C3%A4.go", "/w/ä.go"},
		{"linux", "file://server/share/a.go", ""},
		{"linux", "untitled:Untitled-1", ""},
		{"linux", "https://example.com/a", ""},
		{"linux", "file:///a%00b", ""},
		{"linux", "file:", ""},
		{"linux", "%zz", ""},
		{"windows", "file:///c%3A/w/a.go", `C:\w\a.go`},
		{"windows", "file:///C:/w/a.go", `C:\w\a.go`},
		{"windows", "file://server/share/a.go", `\\server\share\a.go`},
	} {
		got, err := lsp.FilePath(tt.uri, tt.goos)
		if got != tt.path || (err == nil) != (tt.path != "") {
			t.Errorf("FilePath(%q, %s) = %q, %v; want %q", tt.uri, tt.goos, got, err, tt.path)
		}
		if err != nil && !errors.Is(err, lsp.ErrNotAFile) {
			t.Errorf("FilePath(%q): %v", tt.uri, err)
		}
	}
}

// FuzzFileURI checks that FilePath reverses FileURI.
func FuzzFileURI(f *testing.F) {
	for _, s := range []string{"/", "/a b", "/%41", "/ä", "/\xff", "//x", "/a//b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
			return
		}
		got, err := lsp.FilePath(lsp.FileURI(path, "linux"), "linux")
		if err != nil || got != path {
			t.Errorf("%q comes back as %q, %v", path, got, err)
		}
	})
}
