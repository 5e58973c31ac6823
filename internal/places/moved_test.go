package places

import (
	"path/filepath"
	"testing"
)

func TestMoved(t *testing.T) {
	at := func(path string) string { return filepath.FromSlash(path) }
	for path, want := range map[string]string{"/a": "/x/y", "/a/b/c": "/x/y/b/c", "/a/..b": "/x/y/..b", "/ab": "", "/": "", "/b/a": "", "a": ""} {
		got, ok := Moved(at(path), at("/a"), at("/x/y"))
		switch {
		case want == "" && (ok || got != at(path)):
			t.Errorf("%s, which is not in /a: %s, %v", path, got, ok)
		case want != "" && (!ok || got != at(want)):
			t.Errorf("%s: %s, %v", path, got, ok)
		}
	}
}
