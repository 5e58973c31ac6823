package files_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit/hashline"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// localMap has local files in memory.
type localMap map[string]string

func (m localMap) Read(_ context.Context, address string) ([]byte, error) {
	text, ok := m[address]
	if !ok {
		return nil, fmt.Errorf("there is no %s: %w", address, fs.ErrNotExist)
	}
	return []byte(text), nil
}

func (m localMap) Write(_ context.Context, address string, data []byte) error {
	m[address] = string(data)
	return nil
}

func (m localMap) List(context.Context) (map[string]int64, error) {
	all := make(map[string]int64)
	for address, text := range m {
		all[strings.TrimPrefix(address, "local://")] = int64(len(text))
	}
	return all, nil
}

// doIn plans and runs a call with an edit mode. The plan of a call on local files has no effect that a user or a mode could refuse.
func doIn(t *testing.T, w *toolstest.World, mode files.EditMode, name string, in any) (*agent.Result, error) {
	t.Helper()
	for _, tool := range tools.All(&tools.Settings{Edit: files.EditSettings{Mode: mode}}) {
		if tool.Spec().Name != name {
			continue
		}
		plan, res, err := toolstest.Do(t.Context(), tool, w.Call(t, name, in))
		if plan != nil {
			for _, e := range plan.Effects {
				if e.Action != approval.ActionRead {
					t.Errorf("%s has the effect %+v", name, e)
				}
			}
		}
		return res, err
	}
	t.Fatalf("there is no tool %s", name)
	return nil, nil
}

func TestLocal_ReadAndWrite(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	local := localMap{}
	w.Local = local
	for _, tt := range []struct {
		tool string
		in   toolstest.Input
		want string // of the result, or of the error
	}{
		{"read", toolstest.Input{"path": "local://"}, "(there are no local:// files yet; write creates them)"},
		{"write", toolstest.Input{"path": "local://plan.md", "content": "# Plan\none\ntwo\n"}, "Wrote 15 bytes to local://plan.md (created)."},
		{"write", toolstest.Input{"path": "local://notes/a.md", "content": "x"}, "Wrote 1 byte to local://notes/a.md (created)."},
		{"read", toolstest.Input{"path": "local://"}, "local://notes/a.md (1 byte)\nlocal://plan.md (15 bytes)"},
		{"read", toolstest.Input{"path": "local://plan.md"}, "    1|# Plan\n    2|one\n    3|two"},
		{"read", toolstest.Input{"path": "local://plan.md:2-2:raw"}, "one"},
		{"write", toolstest.Input{"path": "local://plan.md", "content": "# Plan\n"}, "Wrote 7 bytes to local://plan.md (replaced)."},
		{"read", toolstest.Input{"path": "local://none"}, "there is no local://none: file does not exist; there are notes/a.md, plan.md"},
		{"write", toolstest.Input{"path": "local://plan.md", "content": "\x00"}, "invalid tool input for write: the content contains NUL bytes; write is for text"},
	} {
		res, err := doIn(t, w, files.EditReplace, tt.tool, tt.in)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = res.Text
		}
		toolstest.Same(t, fmt.Sprint(tt.tool, tt.in), got, tt.want)
	}
	// Another agent has changed what this one has read.
	local["local://plan.md"] = "# Their plan\n"
	if _, err := doIn(t, w, files.EditReplace, "write", toolstest.Input{"path": "local://plan.md", "content": "mine"}); err == nil || !strings.Contains(err.Error(), "Their plan") {
		t.Errorf("overwriting a change: %v", err)
	}
	w.Local = nil
	for tool, in := range map[string]toolstest.Input{
		"read": {"path": "local://plan.md"}, "write": {"path": "local://plan.md", "content": "x"},
		"edit": {"path": "local://plan.md", "edits": []any{toolstest.Input{"old_text": "a", "new_text": "b"}}},
	} {
		if _, err := doIn(t, w, files.EditReplace, tool, in); err == nil || !strings.Contains(err.Error(), "this session has no local:// files") {
			t.Errorf("%s without local files: %v", tool, err)
		}
	}
}

func TestLocal_Edit(t *testing.T) {
	const text = "# Plan\none\ntwo\n"
	edit := func(path string) map[files.EditMode]any {
		return map[files.EditMode]any{
			files.EditReplace:    toolstest.Input{"path": path, "edits": []any{toolstest.Input{"old_text": "one", "new_text": "1"}}},
			files.EditPatch:      toolstest.Input{"path": path, "edits": []any{toolstest.Input{"diff": "@@\n # Plan\n-one\n+1\n two\n"}}},
			files.EditApplyPatch: toolstest.Input{"input": "*** Begin Patch\n*** Update File: " + path + "\n@@\n # Plan\n-one\n+1\n two\n*** End Patch"},
			files.EditHashline:   toolstest.Input{"input": "§" + path + "\n≔" + hashline.Anchor(2, "one") + "\n1\n"},
		}
	}
	for mode, in := range edit("local://plan.md") {
		tool := "edit"
		if mode == files.EditApplyPatch {
			tool = "apply_patch"
		}
		w := toolstest.NewWorld(t, nil)
		local := localMap{"local://plan.md": text}
		w.Local = local
		if mode == files.EditHashline {
			res, err := doIn(t, w, mode, "read", toolstest.Input{"path": "local://plan.md"})
			if err != nil || !strings.Contains(res.Text, hashline.Anchor(2, "one")+"|one") {
				t.Errorf("read: %v, %v", res, err)
			}
		}
		if _, err := doIn(t, w, mode, tool, in); err != nil || local["local://plan.md"] != "# Plan\n1\ntwo\n" {
			t.Errorf("%s: %v, the file has %q", mode, err, local["local://plan.md"])
		}
		if _, err := doIn(t, w, mode, tool, edit("local://none.md")[mode]); err == nil || !strings.Contains(err.Error(), "there are plan.md") {
			t.Errorf("%s of a missing file: %v", mode, err)
		}
		if len(local) != 1 {
			t.Errorf("%s: the files are %v", mode, local)
		}
	}
}

// A patch that would leave the workspace half changed, or delete local files, changes nothing.
func TestLocal_RefusedPatches(t *testing.T) {
	for name, patch := range map[string]string{
		"with a file": "*** Update File: local://plan.md\n@@\n-one\n+1\n*** Update File: a.txt\n@@\n-a\n+b\n",
		"delete":      "*** Delete File: local://plan.md\n",
		"move":        "*** Update File: local://plan.md\n*** Move to: a.md\n@@\n-one\n+1\n",
		"move in":     "*** Update File: a.txt\n*** Move to: local://b.md\n@@\n-a\n+b\n",
	} {
		w := toolstest.NewWorld(t, map[string]string{"a.txt": "a\n"})
		local := localMap{"local://plan.md": "one\n"}
		w.Local = local
		if _, err := doIn(t, w, files.EditApplyPatch, "apply_patch", toolstest.Input{"input": "*** Begin Patch\n" + patch + "*** End Patch"}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if len(local) != 1 || local["local://plan.md"] != "one\n" || w.Disk(t, "a.txt") != "a\n" {
			t.Errorf("%s: the files are %v and %q", name, local, w.Disk(t, "a.txt"))
		}
	}
}
