package files_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// The user's changes since the file was read are kept: by a second edit in a call, under another name of the file, below a renamed
// directory, or when the file is deleted.
func TestSeen_UserWork(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	long, theirs := b.String(), strings.Replace(b.String(), "line 31\n", "USER\n", 1)
	const first, second = "@@\n line 4\n-line 5\n+L5\n", "@@\n line 29\n-line 30\n+L30\n"
	patch := func(text string) toolstest.Input {
		return toolstest.Input{"input": "*** Begin Patch\n" + text + "*** End Patch"}
	}
	write := toolstest.Input{"path": "l.txt", "content": "model\n"}
	for _, tt := range []struct {
		name, read, changed, mine, theirs string
		prepare                           func(t *testing.T, w *toolstest.World)
		tool                              string
		mode                              files.EditMode
		in                                toolstest.Input
	}{
		{name: "two edits", read: "a.txt", changed: "a.txt", mine: long, theirs: theirs, mode: files.EditPatch, in: toolstest.Input{"path": "a.txt", "edits": []any{toolstest.Input{"diff": first}, toolstest.Input{"diff": second}}}},
		{name: "two sections", read: "a.txt", changed: "a.txt", mine: long, theirs: theirs, mode: files.EditApplyPatch, in: patch("*** Update File: a.txt\n" + first + "*** Update File: a.txt\n" + second)},
		{name: "written by a link", read: "a.txt", changed: "a.txt", mine: "one\n", theirs: "USER\n", tool: "write", in: write},
		{name: "read by a link", read: "l.txt", changed: "a.txt", mine: "one\n", theirs: "one\nUSER\n", tool: "edit", in: oneEdit("a.txt", "one", "1")},
		{name: "below a directory", read: "d/x.txt", changed: "e/x.txt", mine: "one\n", theirs: "USER\n", tool: "write", in: toolstest.Input{"path": "e/x.txt", "content": "model\n"}, prepare: func(t *testing.T, w *toolstest.World) {
			move := w.Call(t, "apply_patch", patch("*** Update File: d\n*** Move to: e\n"))
			if _, _, err := toolstest.Do(t.Context(), editTool(t, files.EditApplyPatch), move); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "deleted", read: "a.txt", changed: "a.txt", mine: "one\n", theirs: "USER\n", mode: files.EditApplyPatch, in: patch("*** Delete File: a.txt\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := strings.Replace(tt.read, "l.txt", "a.txt", 1)
			w := toolstest.NewWorld(t, map[string]string{name: tt.mine})
			if name == "a.txt" {
				if err := os.Symlink("a.txt", w.Path("l.txt")); err != nil {
					t.Skip(err)
				}
			}
			toolstest.Run(t, w, "read", toolstest.Input{"path": tt.read})
			if tt.prepare != nil {
				tt.prepare(t, w)
			}
			w.Put(t, tt.changed, tt.theirs)
			tl := toolstest.Tool(t, cmp.Or(tt.tool, "edit"))
			if tt.mode != "" {
				tl = editTool(t, tt.mode)
			}
			_, _, err := toolstest.Do(t.Context(), tl, w.Call(t, tl.Spec().Name, tt.in))
			if err == nil || !strings.Contains(err.Error(), "changed since you read it") {
				t.Errorf("err = %v", err)
			}
			if got := w.Disk(t, tt.changed); got != tt.theirs {
				t.Errorf("the file has %q", got)
			}
		})
	}
}
