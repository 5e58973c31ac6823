package edits_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/lsp"
)

// A file that changes between the check and its deletion is not deleted.
func TestApplyOperations_DeleteOfChangedFile(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	w.FS.Saved = func(_, text string) string {
		w.FS.Buffers[w.Path("b.txt")] = "typed\n"
		return text
	}
	_, err := applyOperations(t.Context(), w.Call(t, "lsp", "{}"), []lsp.FileOperation{
		{Path: w.Path("a.txt"), Old: "a\n", New: "A\n"}, {Kind: lsp.RemoveFile, Path: w.Path("b.txt"), Old: "b\n"},
	})
	if err == nil || !strings.Contains(err.Error(), "b.txt cannot be deleted: the file has changed") {
		t.Errorf("err = %v", err)
	}
	toolstest.Same(t, "the disk", toolstest.Tree(t, w), map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
}
