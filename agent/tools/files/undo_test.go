package files_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// A change that cannot be undone does not block the others.
func TestUndo_Continues(t *testing.T) {
	for _, test := range []struct {
		name string
		// change is made by the tools after that of a, and meanwhile is made by another program.
		change    func(t *testing.T, w *toolstest.World)
		meanwhile func(t *testing.T, w *toolstest.World)
		// want is the expected text of undo, as a result or, with fails, as an error.
		want  []string
		fails bool
	}{
		{"a new file that is gone", func(t *testing.T, w *toolstest.World) {
			toolstest.Run(t, w, "write", toolstest.Input{"path": "z", "content": "new"})
		}, func(t *testing.T, w *toolstest.World) { remove(t, w, "z") }, []string{"nothing left to do", "Gone already: z."}, false},
		{"a file that is gone", func(t *testing.T, w *toolstest.World) {
			toolstest.Run(t, w, "read", toolstest.Input{"path": "old"})
			toolstest.Run(t, w, "write", toolstest.Input{"path": "old", "content": "new"})
		}, func(t *testing.T, w *toolstest.World) { remove(t, w, "old") }, []string{"nothing was undone: old was deleted since", "(Write a)"}, true},
		{"a file that has changed", func(t *testing.T, w *toolstest.World) {
			toolstest.Run(t, w, "write", toolstest.Input{"path": "z", "content": "new"})
		}, func(t *testing.T, w *toolstest.World) { w.Put(t, "z", "newer") }, []string{"nothing was undone: z: the file has changed since", "(Write a)"}, true},
		{"a file that is a directory now", func(t *testing.T, w *toolstest.World) {
			toolstest.Run(t, w, "write", toolstest.Input{"path": "z", "content": "new"})
		}, func(t *testing.T, w *toolstest.World) {
			remove(t, w, "z")
			w.Put(t, "z/in", "it")
		}, []string{"nothing was undone: z is a directory", "(Write a)"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := toolstest.NewWorld(t, map[string]string{"old": "old"})
			toolstest.Run(t, w, "write", toolstest.Input{"path": "a", "content": "first"})
			test.change(t, w)
			test.meanwhile(t, w)
			var reported string
			if test.fails {
				reported = toolstest.Fails(t, w, "undo", toolstest.Input{}).Error()
			} else {
				reported = toolstest.Run(t, w, "undo", toolstest.Input{}).Text
			}
			for _, want := range test.want {
				if !strings.Contains(reported, want) {
					t.Errorf("told: %s; want %q", reported, want)
				}
			}
			toolstest.Run(t, w, "undo", toolstest.Input{})
			if _, err := os.Stat(w.Path("a")); err == nil {
				t.Error("the change before was not undone")
			}
			if told := toolstest.Fails(t, w, "undo", toolstest.Input{}).Error(); !strings.Contains(told, "nothing to undo") {
				t.Errorf("told at the end: %s", told)
			}
		})
	}
}

func remove(t *testing.T, w *toolstest.World, name string) {
	t.Helper()
	if err := os.Remove(w.Path(name)); err != nil {
		t.Fatal(err)
	}
}
