package lsp

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What is noted while the roots are looked at is neither lost nor found again, on whichever side of it the look came by.
func TestTree_NotedDuringALook(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(path(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("gone", "")
	write("old", "")
	tr := &tree{roots: []string{dir}}
	if events := tr.look(t.Context()); events != nil {
		t.Fatalf("the first look finds %v", events)
	}
	seen := tr.walk(t.Context())
	write("made", "x")
	if err := os.Remove(path("gone")); err != nil {
		t.Fatal(err)
	}
	tr.note([]FileEvent{{path("made"), FileCreated}, {path("gone"), FileDeleted}})
	write("old", "changed by others")
	if events := tr.settle(t.Context(), seen); events != nil {
		t.Errorf("told again, or of a file that is there: %v", events)
	}
	if events, want := tr.look(t.Context()), []FileEvent{{path("old"), FileChanged}}; !slices.Equal(events, want) {
		t.Errorf("the next look finds %v, want %v", events, want)
	}
}
