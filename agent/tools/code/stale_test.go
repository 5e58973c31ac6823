package code_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/lsp"
)

// A file is deleted only if its content is that which was shown, in the editor, too. A file that is not text is compared as well.
func TestLSP_DeletesWhatWasSeen(t *testing.T) {
	remove := object{"kind": "delete", "uri": "file://$W/b.x"}
	for _, tt := range []struct {
		name, text string
		step       []any
		meanwhile  func(w *toolstest.World)
		refused    bool
	}{
		{"unchanged", "old\n", []any{remove}, func(*toolstest.World) {}, false},
		{"empty, unchanged", "", []any{remove}, func(*toolstest.World) {}, false},
		{"on the disk", "old\n", []any{remove}, func(w *toolstest.World) { w.Put(t, "b.x", "an hour of work\n") }, true},
		{"in the editor", "old\n", []any{remove}, func(w *toolstest.World) { w.FS.Buffers[w.Path("b.x")] = "an hour of work\n" }, true},
		{"an empty file", "", []any{remove}, func(w *toolstest.World) { w.Put(t, "b.x", "an hour of work\n") }, true},
		{"no text", "\x00\x01", []any{remove}, func(w *toolstest.World) { w.Put(t, "b.x", "\x00\x02") }, true},
		{
			"replaced by another file", "old\n",
			[]any{object{"kind": "rename", "oldUri": "file://$W/c.x", "newUri": "file://$W/b.x", "options": object{"overwrite": true}}},
			func(w *toolstest.World) { w.Put(t, "b.x", "an hour of work\n") }, true,
		},
		{
			"edited before", "old\n",
			[]any{object{"textDocument": object{"uri": "file://$W/b.x", "version": nil}, "edits": []any{object{"range": lineSpan(0, 0, 3), "newText": "new"}}}, remove},
			func(w *toolstest.World) { w.FS.Saved = func(_, text string) string { return text + "// saved\n" } }, false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, _ := serverWorld(t, map[string]string{"a.x": "one\n", "b.x": tt.text, "c.x": "c\n"}, serverScript{
				Capabilities: provides("renameProvider"), Answers: map[string][]any{"textDocument/rename": {object{"documentChanges": tt.step}}},
			})
			call := w.Call(t, "lsp", toolstest.Input{"action": "rename", "file": "a.x", "line": 1, "symbol": "one", "new_name": "two"})
			lspTool := toolstest.Tool(t, "lsp")
			plan, err := toolstest.Plan(t.Context(), lspTool, call)
			if err != nil {
				t.Fatal(err)
			}
			tt.meanwhile(w)
			before := toolstest.Tree(t, w)
			_, err = toolstest.RunPlanned(t.Context(), lspTool, call, plan)
			if !tt.refused {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "nothing was changed: b.x cannot be deleted: the file has changed since the edit was planned; read it and call the tool again") {
				t.Errorf("err = %v", err)
			}
			toolstest.Same(t, "the disk", toolstest.Tree(t, w), before)
		})
	}
}

// An edit of files in two roots has one effect for each root.
func TestLSP_EffectsOfTwoRoots(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.x": "one\n", "sub/b.x": "one\n"})
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "c.x"), []byte("one\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	w.Additional = []string{other}
	edits := []any{object{"range": lineSpan(0, 0, 3), "newText": "two"}}
	spec := serverSpec(t, w, "fake", serverScript{Capabilities: provides("renameProvider"), Answers: map[string][]any{
		"textDocument/rename": {object{"changes": object{"file://$W/a.x": edits, "file://$W/sub/b.x": edits, fileURI(filepath.Join(other, "c.x")): edits}}},
	}})
	openServers(t, w, &fakeServers{Specs: []*lsp.Spec{spec}}, os.Environ())
	lspEdits(t, w, toolstest.Input{"action": "rename", "file": "a.x", "line": 1, "symbol": "one", "new_name": "two"},
		approval.Effect{Action: approval.ActionEdit, Paths: []string{w.Path("a.x"), w.Path("sub/b.x")}},
		approval.Effect{Action: approval.ActionEdit, Path: filepath.Join(other, "c.x")})
}

// A rename or a format of a file outside the roots is one question, about the edit: it covers reading the file. If nothing is edited, the
// question is about reading it.
func TestLSP_EditsOutsideAskOnce(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	path := filepath.Join(t.TempDir(), "c.x")
	if err := os.WriteFile(path, []byte("one\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	edits := []any{object{"range": lineSpan(0, 0, 3), "newText": "two"}}
	action := object{"title": "Fix", "edit": object{"changes": object{fileURI(path): edits}}, "command": object{"title": "Fix", "command": "fix"}}
	capabilities := provides("renameProvider", "documentFormattingProvider", "codeActionProvider")
	capabilities["executeCommandProvider"] = object{"commands": []string{"fix"}}
	spec := serverSpec(t, w, "fake", serverScript{Capabilities: capabilities, Answers: map[string][]any{
		"textDocument/rename":     {object{"changes": object{fileURI(path): edits}}},
		"textDocument/formatting": {edits, []any{}},
		"textDocument/codeAction": {[]any{action}},
	}})
	openServers(t, w, &fakeServers{Specs: []*lsp.Spec{spec}}, os.Environ())
	for _, tt := range []struct {
		in   toolstest.Input
		want []approval.Action
	}{
		{toolstest.Input{"action": "rename", "line": 1, "symbol": "one", "new_name": "two"}, []approval.Action{approval.ActionEdit}},
		{toolstest.Input{"action": "format"}, []approval.Action{approval.ActionEdit}},
		{toolstest.Input{"action": "format"}, []approval.Action{approval.ActionRead}}, // nothing is left to do
		{toolstest.Input{"action": "rename", "line": 1, "symbol": "one", "new_name": "two", "apply": false}, []approval.Action{approval.ActionRead}},
		{toolstest.Input{"action": "code_actions", "query": "Fix", "apply": true}, []approval.Action{approval.ActionEdit, approval.ActionCommand}},
	} {
		tt.in["file"] = path
		p := toolstest.MustPlan(t, w, "lsp", tt.in)
		var got []approval.Action
		for i := range p.Effects {
			got = append(got, p.Effects[i].Action)
		}
		if !p.AskLater || !slices.Equal(got, tt.want) {
			t.Errorf("%v: the effects are %v, want %v; asked later: %v", tt.in, got, tt.want, p.AskLater)
		}
	}
}
