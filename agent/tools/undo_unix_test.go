//go:build unix

package tools_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/bridges"
)

// What comes back has the permissions that it had. A link does not come back as a copy of what it led to.
func TestUndo_Permissions(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"secret": "key\n", "tool": "\x7fELF\x00", "run.sh": "#!/bin/sh\n"})
	do := func(tl agent.Tool, in input) (string, error) {
		call := w.Call(t, tl.Spec().Name, in)
		call.FS = bridges.LocalFS{}
		_, res, err := toolstest.Do(t.Context(), tl, call)
		if err != nil {
			return "", err
		}
		return res.Text, nil
	}
	modes := map[string]os.FileMode{"secret": 0o600, "tool": 0o755, "run.sh": 0o640}
	patch := "*** Begin Patch\n"
	for name, mode := range modes {
		if err := os.Chmod(w.Path(name), mode); err != nil {
			t.Fatal(err)
		}
		patch += "*** Delete File: " + name + "\n"
	}
	remove := editTool(t, tools.EditApplyPatch)
	if _, err := do(remove, input{"input": patch + "*** End Patch"}); err != nil {
		t.Fatal(err)
	}
	if _, err := do(tool(t, "undo"), input{}); err != nil {
		t.Fatal(err)
	}
	for name, mode := range modes {
		if info, err := os.Stat(w.Path(name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %v", name, info, err, mode)
		}
	}
	if err := os.Symlink("secret", w.Path("link")); err != nil {
		t.Fatal(err)
	}
	if _, err := do(remove, input{"input": "*** Begin Patch\n*** Delete File: link\n*** End Patch"}); err != nil {
		t.Fatal(err)
	}
	if _, err := do(tool(t, "undo"), input{}); err == nil || !strings.Contains(err.Error(), "link was a link") {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Lstat(w.Path("link")); err == nil {
		t.Error("the link is a file now")
	}
}

// A file that was made through a link goes, and the link stays.
func TestUndo_BehindALink(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	if err := os.Symlink("there", w.Path("link")); err != nil {
		t.Fatal(err)
	}
	run(t, w, "write", input{"path": "link", "content": "new\n"})
	run(t, w, "undo", input{})
	if _, err := os.Lstat(w.Path("there")); err == nil {
		t.Error("the file is still there")
	}
	if target, err := os.Readlink(w.Path("link")); err != nil || target != "there" {
		t.Errorf("the link: %q, %v", target, err)
	}
}
