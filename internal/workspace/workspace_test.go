package workspace

import (
	"slices"
	"strings"
	"testing"
)

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		goos, dir, file, want string
		ok                    bool
	}{
		{"linux", "/w", "/w/a/b.go", "a/b.go", true},
		{"linux", "/w", "/w", "", true},
		{"linux", "/w/", "/w/a", "a", true},
		{"linux", "/w", "/w2/a", "", false},
		{"linux", "/w", "/W/a", "", false},
		{"linux", "/w", "/w/../x", "", false},
		{"linux", "/", "/x", "x", true},
		{"linux", "/w", "/", "", false},
		{"windows", `C:\w`, `c:\W\a\b.go`, "a/b.go", true},
		{"windows", `C:\w`, `C:/w/a`, "a", true},
		{"windows", `C:\w`, `D:\w\a`, "", false},
		{"windows", `C:\`, `C:\a`, "a", true},
		{"windows", `C:\w`, `\\?\C:\w\a`, "a", true},
		{"windows", `\\host\share`, `\\HOST\share\a`, "a", true},
		{"windows", `\\host\share`, `\\?\UNC\host\share\a`, "a", true},
		{"windows", `\\host\share`, `\\host\share2\a`, "", false},
	} {
		if got, ok := Within(tt.dir, tt.file, tt.goos); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %s in %s: %q, %v", tt.goos, tt.file, tt.dir, got, ok)
		}
	}
}

func TestProgramNames(t *testing.T) {
	for _, tt := range []struct{ goos, command, pathext, want string }{
		{"linux", "gopls", ".EXE", "gopls"},
		{"windows", "gopls", "", "gopls.com gopls.exe gopls.bat gopls.cmd"},
		{"windows", "gopls", ".EXE;;.CMD", "gopls.exe gopls.cmd"},
		{"windows", "gopls.EXE", "", "gopls.EXE"},
		{"windows", "server.v2", ".EXE", "server.v2.exe"},
	} {
		if got := strings.Join(ProgramNames(tt.command, tt.goos, tt.pathext), " "); got != tt.want {
			t.Errorf("%s %s: %q", tt.goos, tt.command, got)
		}
	}
	if !slices.Contains(LocalDirs("windows"), ".venv/Scripts") || !slices.Contains(LocalDirs("linux"), ".venv/bin") || len(LocalDirs("linux")) != 6 {
		t.Error("local directories")
	}
}

func TestHasMarker(t *testing.T) {
	tree := map[string]Directory{
		"/w":           {"Makefile": true, "x.cabal": true, "prisma": true, "a": true, "go.[mod": true},
		"/w/prisma":    {"schema.prisma": true},
		"/w/a":         {"b": true},
		"/w/a/b":       {"c.sln": true},
		"/w/Makefile":  nil,
		"/w/a/b/c.sln": nil,
	}
	list := func(dir string) Directory { return tree[strings.ReplaceAll(dir, `\`, "/")] }
	for _, tt := range []struct {
		goos, marker string
		want         bool
	}{
		{"linux", "Makefile", true},
		{"linux", "makefile", false},
		{"darwin", "makefile", true},
		{"windows", "MAKEFILE", true},
		{"linux", "*.cabal", true},
		{"linux", "*.CABAL", false},
		{"windows", "*.CABAL", true},
		{"linux", "*.hs", false},
		{"linux", "prisma/schema.prisma", true},
		{"linux", "./prisma/schema.prisma", true},
		{"linux", "*/*.prisma", true},
		{"linux", "prisma/other", false},
		{"linux", "*/b/*.sln", true},
		{"linux", "**/*.sln", false}, // ** does not match nested directories
		{"linux", "go.[mod", true},   // an invalid pattern matches literally
		{"linux", "{x,y}.cabal", true},
		{"linux", "Makefile/x", false},
		{"linux", "", false},
	} {
		if got := hasMarker("/w", []string{"nothing", tt.marker}, tt.goos, list); got != tt.want {
			t.Errorf("%s: %q is %v", tt.goos, tt.marker, got)
		}
	}
}
