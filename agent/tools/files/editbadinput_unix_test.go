//go:build unix

package files_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// Every invalid input is answered with an explanation, and changes nothing.
func TestEditModes_BadInput(t *testing.T) {
	type call struct{ tool, in, want string }
	modes := map[files.EditMode][]call{
		files.EditReplace: {
			{"edit", `{}`, "path, edits missing"},
			{"edit", `{"path": null, "edits": null}`, "missing"},
			{"edit", `{"path": 1, "edits": []}`, "/path"},
			{"edit", `{"path": "f", "edits": {}}`, "/edits"},
			{"write", `{"path": "f"}`, "content missing"},
			{"write", `{"path": "f", "content": 5}`, "/content"},
			{"write", `{"path": "fifo.zip:x", "content": "x"}`, "fifo.zip is a device, a pipe or a socket"},
			{"undo", `[]`, "invalid tool input"},
		},
		files.EditPatch: {
			{"edit", `{"path": "f"}`, "edits missing"},
			{"edit", `{"path": "f", "edits": []}`, "edits is empty"},
			{"edit", `{"path": "f", "edits": [{"op": "delete", "diff": "x"}]}`, "delete takes neither diff"},
			{"edit", `{"path": "f", "edits": [{"op": "create", "rename": "x", "diff": "x"}]}`, "rename needs the op update"},
			{"edit", `{"path": "", "edits": [{"diff": "x"}]}`, "path is empty"},
			{"edit", `{"path": "f", "edits": [{"diff": "@@ -1 +1 @@\n--- a\n+b\n"}]}`, "lines are not in the file"},
			{"edit", `{"path": "f", "edits": [{"diff": "@@\n"}]}`, "is empty"},
			{"edit", `{"path": "f", "edits": [{"diff": "@@\n f\n"}]}`, "changes nothing"},
			{"edit", `{"path": "f", "edits": [{"diff": "@@\n-f\n+a\u0000b\n"}]}`, "NUL byte"},
			{"edit", `{"path": "dir", "edits": [{"diff": "@@\n-f\n+a\n"}]}`, "dir is a directory"},
			{"edit", `{"path": "bin", "edits": [{"diff": "@@\n-f\n+a\n"}]}`, "binary"},
			{"edit", `{"path": "fifo", "edits": [{"diff": "@@\n-f\n+a\n"}]}`, "a device, a pipe or a socket"},
			{"edit", `{"path": "huge", "edits": [{"diff": "@@\n-f\n+a\n"}]}`, "too much to change"},
			{"edit", `{"path": "broken", "edits": [{"diff": "@@\n-f\n+a\n"}]}`, "does not exist"},
			{"edit", `{"path": "dir", "edits": [{"op": "delete"}]}`, "directory"},
		},
		files.EditApplyPatch: {
			{"apply_patch", `{}`, "input missing"},
			{"apply_patch", `{"input": ""}`, "the first line must be"},
			{"apply_patch", `{"input": "*** Begin Patch\n*** End Patch"}`, "does nothing"},
			{"apply_patch", `{"input": "*** Begin Patch\n*** Update File: f\n*** End Patch"}`, "no hunk"},
			{"apply_patch", `{"input": "*** Begin Patch\n*** Update File: \n@@\n-a\n*** End Patch"}`, "path is missing"},
			{"apply_patch", `{"input": "*** Begin Patch\n*** Add File: x\nx\n*** End Patch"}`, "must begin with +"},
			{"apply_patch", `{"input": "*** Begin Patch\n*** Rename File: x\n*** End Patch"}`, "want \"*** Add File:\""},
			{"apply_patch", `{"input": "*** Begin Patch\n*** Delete File: f\n*** Update File: f\n@@\n-f\n+g\n*** End Patch"}`, "this call already deleted"},
			{"apply_patch", `{"input": "*** Begin Patch\n*** Update File: f\n*** Move to: dir\n*** End Patch"}`, "cannot become dir"},
		},
		files.EditHashline: {
			{"edit", `{"input": ""}`, "no operation"},
			{"edit", `{"input": "§\nx"}`, "is missing"},
			{"edit", `{"input": "§f\nx"}`, "is not an operation"},
			{"edit", `{"input": "§f\n≔9ab..2cd\n"}`, "is after"},
			{"edit", `{"input": "§f\n»1ab"}`, "inserts nothing"},
			{"edit", `{"input": "§f\n≔999999999999ab\n"}`, "has no anchor"},
			{"edit", `{"input": "§none\n≔1ab\n"}`, "does not exist"},
		},
	}
	w := toolstest.NewWorld(t, map[string]string{"f": "f\n", "bin": "\x00\x01", "dir/x": "x"})
	special(t, w)
	for mode, calls := range modes {
		for _, c := range calls {
			for _, tool := range tools.All(&tools.Settings{Edit: files.EditSettings{Mode: mode}}) {
				if tool.Spec().Name != c.tool {
					continue
				}
				_, _, err := toolstest.Do(t.Context(), tool, w.Call(t, c.tool, c.in))
				if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 4000 {
					t.Errorf("%s %s: %v, want %q", mode, c.in, err, c.want)
				}
			}
		}
	}
	for name, text := range map[string]string{"f": "f\n", "bin": "\x00\x01", "dir/x": "x"} {
		toolstest.Same(t, name, w.Disk(t, name), text)
	}
	if len(w.FS.Writes) > 0 {
		t.Errorf("written: %v", w.FS.Writes)
	}
}

// special creates files that are not text: a pipe, a sparse file of ten gigabytes, a link without a target.
func special(t *testing.T, w *toolstest.World) {
	t.Helper()
	for _, name := range []string{"fifo", "fifo.zip"} {
		if err := unix.Mkfifo(w.Path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.Put(t, "huge", "")
	if err := os.Truncate(w.Path("huge"), 10<<30); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", w.Path("broken")); err != nil {
		t.Fatal(err)
	}
}
