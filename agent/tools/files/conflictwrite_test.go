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

// A conflict that was shown can be read by its address, as its file has it now.
func TestRead_Conflict(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "top\n" + firstConflict + "middle\n" + secondConflict, "b.txt": secondConflict + "x\n" + secondConflict})
	for address, want := range map[string]string{
		"conflict://1": "there is no conflict://1", "conflict://x": "there is no conflict://x", "conflict://0": "there is no conflict://0", "conflict://1/other": "the sides of a conflict are",
		"conflict://": "there is no conflict://",
	} {
		if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": address}); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error with %q", address, err, want)
		}
	}
	toolstest.Run(t, w, "read", toolstest.Input{"path": "a.txt:conflicts"})
	toolstest.Run(t, w, "read", toolstest.Input{"path": "b.txt:conflicts"})
	w.Put(t, "a.txt", "new\ntop\n"+firstConflict+"middle\nresolved\n")
	for address, want := range map[string]string{
		"conflict://1":        "conflict://1 in a.txt, lines 3-9\nours (working tree):\n    4|ours\nbase (before):\n    6|base\ntheirs (gjc/try):\n    8|theirs",
		"conflict://1/base":   "conflict://1 in a.txt, lines 3-9\nbase (before):\n    6|base",
		"conflict://4/theirs": "conflict://4 in b.txt, lines 7-11\ntheirs (other):\n   10|yours",
		"conflict://*": "conflict://1 in a.txt, lines 3-9\nours (working tree):\n    4|ours\nbase (before):\n    6|base\ntheirs (gjc/try):\n    8|theirs\n\n" +
			"conflict://3 in b.txt, lines 1-5\nours (HEAD):\n    2|mine\ntheirs (other):\n    4|yours\n\n" +
			"conflict://4 in b.txt, lines 7-11\nours (HEAD):\n    8|mine\ntheirs (other):\n   10|yours",
	} {
		if got := toolstest.Run(t, w, "read", toolstest.Input{"path": address}).Text; got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	for address, want := range map[string]string{"conflict://2": "conflict://2 is no longer in a.txt as it was shown", "conflict://4/base": "does not show its base"} {
		if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": address}); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error with %q", address, err, want)
		}
	}
	toolstest.Run(t, w, "write", toolstest.Input{"path": "conflict://*", "content": "@ours"})
	if got := toolstest.Run(t, w, "read", toolstest.Input{"path": "conflict://*"}).Text; got != "No conflict is left of those that were shown." {
		t.Error(got)
	}
}
