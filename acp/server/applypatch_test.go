package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/providers/providertest"
)

// One permission covers a patch with every kind of change, its undo, and the restoration after a failure.
func TestApplyPatch_ThroughTheEditor(t *testing.T) {
	whole := `{"input": "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Delete File: b.txt\n*** Update File: c.txt\n*** Move to: sub/d.txt\n@@\n-c\n+C\n*** Add File: new/e.sh\n+#!/bin/sh\n*** End Patch"}`
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "apply_patch", whole)},
		providertest.Step{providertest.Text("done")},
		providertest.Step{providertest.Call("c2", "undo", `{}`)},
		providertest.Step{providertest.Text("undone")},
	), func(c *config) {
		c.server.Sessions.Tools = func() []agent.Tool {
			return tools.All(&tools.Settings{Edit: files.EditSettings{Mode: files.EditApplyPatch}})
		}
	})
	files := map[string]string{"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, err := e.NewSession(t.Context(), e.dir)
	if err != nil {
		t.Fatal(err)
	}
	check := func(want map[string]string) {
		t.Helper()
		for name, text := range want {
			if data, err := os.ReadFile(filepath.Join(e.dir, filepath.FromSlash(name))); text != string(data) || err != nil && text != "" {
				t.Errorf("%s: %q, %v; want %q", name, data, err, text)
			}
		}
		for _, u := range e.Updates(s.SessionID) {
			if c, ok := u.(*acp.ToolCallUpdate); ok && c.Status.Or("") == acp.ToolCallStatusFailed {
				t.Errorf("%s failed: %v", c.ToolCallID, c.Content.Or(nil))
			}
		}
	}
	e.say(s.SessionID, "go", acp.StopReasonEndTurn)
	check(map[string]string{"a.txt": "A\n", "b.txt": "", "c.txt": "", "sub/d.txt": "C\n", "new/e.sh": "#!/bin/sh\n"})
	if info, err := os.Stat(filepath.Join(e.dir, "new", "e.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the script is not executable: %v", err)
	}
	e.say(s.SessionID, "undo", acp.StopReasonEndTurn)
	check(map[string]string{"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n", "sub/d.txt": "", "new/e.sh": ""})
	left, err := filepath.Glob(filepath.Join(e.dir, ".gjc-removed-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("leftovers: %s", strings.Join(left, " "))
	}
}
