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
	if events := tr.scan(own(t)); events != nil {
		t.Fatalf("the first scan returned %v", events)
	}
	seen := tr.walk(own(t))
	write("made", "x")
	if err := os.Remove(path("gone")); err != nil {
		t.Fatal(err)
	}
	tr.record([]FileEvent{{path("made"), FileCreated}, {path("gone"), FileDeleted}})
	write("old", "changed by others")
	if events := tr.compare(own(t), seen); events != nil {
		t.Errorf("recorded changes were returned again: %v", events)
	}
	if events, want := tr.scan(own(t)), []FileEvent{{path("old"), FileChanged}}; !slices.Equal(events, want) {
		t.Errorf("the next scan returned %v, want %v", events, want)
	}
}
