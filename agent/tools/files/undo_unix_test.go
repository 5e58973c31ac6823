//go:build unix

package files_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/bridges"
)

// A restored file has its old permissions. A link is not restored as a copy of its target.
func TestUndo_Permissions(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"secret": "key\n", "tool": "\x7fELF\x00", "run.sh": "#!/bin/sh\n"})
	do := func(tl agent.Tool, in toolstest.Input) (string, error) {
		call := w.Call(t, tl.Spec().Name, in)
		call.FS = bridges.LocalFS{}
		_, res, err := toolstest.Do(t.Context(), tl, call)
		if err != nil {
			return "", err
		}
		return res.Text, nil
	}
	modes := map[string]os.FileMode{"secret": 0o600, "tool": 0o755, "run.sh": 0o640}
	var patch strings.Builder
	patch.WriteString("*** Begin Patch\n")
	for name, mode := range modes {
		if err := os.Chmod(w.Path(name), mode); err != nil {
			t.Fatal(err)
		}
		patch.WriteString("*** Delete File: " + name + "\n")
	}
	remove := editTool(t, files.EditApplyPatch)
	if _, err := do(remove, toolstest.Input{"input": patch.String() + "*** End Patch"}); err != nil {
		t.Fatal(err)
	}
	if _, err := do(toolstest.Tool(t, "undo"), toolstest.Input{}); err != nil {
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
	if _, err := do(remove, toolstest.Input{"input": "*** Begin Patch\n*** Delete File: link\n*** End Patch"}); err != nil {
		t.Fatal(err)
	}
	if _, err := do(toolstest.Tool(t, "undo"), toolstest.Input{}); err == nil || !strings.Contains(err.Error(), "link was a link") {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Lstat(w.Path("link")); err == nil {
		t.Error("the link is a file now")
	}
}

// A file that was created through a link is removed, and the link is kept.
func TestUndo_ThroughALink(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	if err := os.Symlink("there", w.Path("link")); err != nil {
		t.Fatal(err)
	}
	toolstest.Run(t, w, "write", toolstest.Input{"path": "link", "content": "new\n"})
	toolstest.Run(t, w, "undo", toolstest.Input{})
	if _, err := os.Lstat(w.Path("there")); err == nil {
		t.Error("the file is still there")
	}
	if target, err := os.Readlink(w.Path("link")); err != nil || target != "there" {
		t.Errorf("the link: %q, %v", target, err)
	}
}

// A link without a target is reported as such, and two names of a file do not count as two files.
func TestLinks_Named(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "one\ntwo\n"})
	for link, to := range map[string]string{"b.txt": "a.txt", "gone.txt": "nowhere"} {
		if err := os.Symlink(to, w.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": "gone.txt"}); !strings.Contains(err.Error(), "gone.txt is a link to nowhere, which does not exist") {
		t.Errorf("err = %v", err)
	}
	patch := "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: b.txt\n@@\n-two\n+2\n*** End Patch"
	tl := editTool(t, files.EditApplyPatch)
	if _, _, err := toolstest.Do(t.Context(), tl, w.Call(t, "apply_patch", toolstest.Input{"input": patch})); err == nil || !strings.Contains(err.Error(), "a.txt and b.txt are the same file") {
		t.Errorf("err = %v", err)
	}
	if got := w.Disk(t, "a.txt"); got != "one\ntwo\n" {
		t.Errorf("a.txt has %q", got)
	}
}
