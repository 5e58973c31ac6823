package files_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

const (
	firstConflict  = "<<<<<<< working tree\nours\n||||||| before\nbase\n=======\ntheirs\n>>>>>>> gjc/try\n"
	secondConflict = "<<<<<<< HEAD\nmine\n=======\nyours\n>>>>>>> other\n"
)

func TestWrite_Conflict(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{
		"a.txt": "top\n" + firstConflict + "middle\n" + secondConflict + "end\n",
		"b.txt": strings.ReplaceAll("top\n"+firstConflict, "\n", "\r\n") + strings.TrimSuffix(secondConflict, "\n"),
		"c.txt": secondConflict + "x\n" + secondConflict,
	})
	check := func(name, want string) {
		t.Helper()
		if data, err := os.ReadFile(w.Path(name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v; want %q", name, data, err, want)
		}
	}
	fails := func(in toolstest.Input, want string) {
		t.Helper()
		if err := toolstest.Fails(t, w, "write", in); !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want an error with %q", in, err, want)
		}
	}
	fails(toolstest.Input{"path": "conflict://1", "content": "x"}, "there is no conflict://1; read FILE:conflicts")
	for range 2 { // a conflict keeps its number
		res := toolstest.Run(t, w, "read", toolstest.Input{"path": "a.txt:conflicts"})
		for _, want := range []string{"conflict://1 lines 2-8", "conflict://2 lines 10-14"} {
			if !strings.Contains(res.Text, want) {
				t.Errorf("read: %s; want %q", res.Text, want)
			}
		}
	}
	fails(toolstest.Input{"path": "conflict://3", "content": "x"}, "there is no conflict://3")
	fails(toolstest.Input{"path": "conflict://x", "content": "x"}, "there is no conflict://x")
	fails(toolstest.Input{"path": "conflict://1/ours", "content": "x"}, "one side of a conflict")
	fails(toolstest.Input{"path": "conflict://2", "content": "@base"}, "a.txt:10: this conflict does not show its base")
	fails(toolstest.Input{"path": "conflict://*", "content": "@base"}, "a.txt:10: this conflict does not show its base")

	// The lines before a conflict may move it, and it stays the same one.
	w.Put(t, "a.txt", "new\ntop\n"+firstConflict+"middle\n"+secondConflict+"end\n")
	res := toolstest.Run(t, w, "write", toolstest.Input{"path": "conflict://2", "content": "both of us"})
	if want := "Resolved 1 conflict:\n  a.txt: 1 conflict, 1 left"; !strings.Contains(res.Text, want) {
		t.Errorf("result: %s; want %q", res.Text, want)
	}
	check("a.txt", "new\ntop\n"+firstConflict+"middle\nboth of us\nend\n")
	fails(toolstest.Input{"path": "conflict://2", "content": "again"}, "conflict://2 is no longer in a.txt as it was shown")
	toolstest.Run(t, w, "write", toolstest.Input{"path": "conflict://1", "content": "@base"})
	check("a.txt", "new\ntop\nbase\nmiddle\nboth of us\nend\n")
	toolstest.Run(t, w, "undo", toolstest.Input{})
	check("a.txt", "new\ntop\n"+firstConflict+"middle\nboth of us\nend\n")

	// All of several files at once, with the line ends of each; what is resolved already is left out.
	toolstest.Run(t, w, "read", toolstest.Input{"path": "b.txt:conflicts"})
	toolstest.Run(t, w, "read", toolstest.Input{"path": "c.txt:conflicts"})
	toolstest.Run(t, w, "write", toolstest.Input{"path": "conflict://*", "content": "@both"})
	check("a.txt", "new\ntop\nours\ntheirs\nmiddle\nboth of us\nend\n")
	check("b.txt", "top\r\nours\r\ntheirs\r\nmine\nyours\n")
	check("c.txt", "mine\nyours\nx\nmine\nyours\n")
	fails(toolstest.Input{"path": "conflict://*", "content": "@ours"}, "no conflict is left")
}

// Of two conflicts with the same text, the one that is named is replaced.
func TestWrite_ConflictTwice(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": secondConflict + "x\n" + secondConflict + "y\n" + strings.ReplaceAll(secondConflict, "\n", "\r\n")})
	toolstest.Run(t, w, "read", toolstest.Input{"path": "a.txt:conflicts"})
	toolstest.Run(t, w, "write", toolstest.Input{"path": "conflict://2", "content": "two"})
	toolstest.Run(t, w, "write", toolstest.Input{"path": "conflict://1", "content": ""})
	if data, err := os.ReadFile(w.Path("a.txt")); err != nil || string(data) != "x\ntwo\ny\n"+strings.ReplaceAll(secondConflict, "\n", "\r\n") {
		t.Errorf("%q, %v", data, err)
	}
	toolstest.Run(t, w, "write", toolstest.Input{"path": "conflict://3", "content": "a\nb"})
	if data, err := os.ReadFile(w.Path("a.txt")); err != nil || string(data) != "x\ntwo\ny\na\r\nb\r\n" {
		t.Errorf("%q, %v", data, err)
	}
}
