package lsp

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestTree_RecordedDuringScan checks that a change recorded during a scan is neither lost nor reported twice.
func TestTree_RecordedDuringScan(t *testing.T) {
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
	if events := tr.scan(t.Context()); events != nil {
		t.Fatalf("the first scan returned %v", events)
	}
	seen := tr.walk(t.Context())
	write("made", "x")
	if err := os.Remove(path("gone")); err != nil {
		t.Fatal(err)
	}
	tr.record([]FileEvent{{path("made"), FileCreated}, {path("gone"), FileDeleted}})
	write("old", "changed by others")
	if events := tr.compare(t.Context(), seen); events != nil {
		t.Errorf("recorded changes were returned again: %v", events)
	}
	if events, want := tr.scan(t.Context()), []FileEvent{{path("old"), FileChanged}}; !slices.Equal(events, want) {
		t.Errorf("the next scan returned %v, want %v", events, want)
	}
}
