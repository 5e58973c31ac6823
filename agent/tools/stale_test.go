package tools_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp"
)

// askingServers is a catalog that has programs of the workspace's until the user has answered.
type askingServers struct {
	*fixedServers
	answered bool
}

func (a *askingServers) Untrusted(context.Context) (*trust.Subject, error) {
	if a.answered {
		return nil, nil
	}
	return &trust.Subject{Path: a.root, Programs: []string{"bin/server"}}, nil
}

func (a *askingServers) UntrustedFor(ctx context.Context, _ string) (*trust.Subject, error) {
	return a.Untrusted(ctx)
}

func (a *askingServers) Answer(context.Context, *trust.Subject, trust.State, bool) error {
	a.answered = true
	return nil
}

// openLanguages gives a world servers with what they do when files change.
func openLanguages(t *testing.T, w *toolstest.World, catalog lsp.Catalog, onWrite lsp.OnWrite) {
	t.Helper()
	testenv.NoLeaks(t)
	group := proc.NewGroup(nil)
	manager := lsp.NewManager(lsp.ManagerOptions{Children: group, Env: func(context.Context) []string { return os.Environ() }})
	w.Languages = manager.Open(lsp.WorkspaceOptions{Roots: []string{w.Dir}, Catalog: catalog, ReadFile: w.FS.ReadFile, OnWrite: onWrite})
	t.Cleanup(func() {
		w.Languages.Close()
		if err := manager.Close(context.Background()); err != nil {
			t.Error(err)
		}
		group.Close(context.Background())
	})
}

// What the user types while a question about trust is open is in the file that an edit or a write is of.
func TestChange_TypingWhileAsked(t *testing.T) {
	const typed = "one\ntwo\ntyped while the question was open\n"
	for name, in := range map[string]input{
		"edit":  oneEdit("a.x", "one", "1"),
		"write": {"path": "a.x", "content": "1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t, map[string]string{"a.x": "one\ntwo\n"})
			openLanguages(t, w, &askingServers{fixedServers: &fixedServers{root: w.Dir}}, lsp.OnWrite{DiagnoseEdits: true, DiagnoseWrites: true})
			call := w.Call(t, name, in)
			asked := 0
			call.Consent = func(context.Context, agent.Consent) (agent.Decision, error) {
				asked++
				w.FS.Buffers[w.Path("a.x")] = typed
				return agent.AllowAlways, nil
			}
			_, res, err := toolstest.Do(t.Context(), tool(t, name), call)
			if err != nil || asked != 1 {
				t.Fatalf("asked %d times: %v", asked, err)
			}
			if d, ok := res.Content[0].(agent.DiffContent); !ok || d.Old == nil || *d.Old != typed {
				t.Errorf("the diff is of another text: %+v", res.Content[0])
			}
			if name == "edit" {
				toolstest.Same(t, "the text", w.FS.Buffers[w.Path("a.x")], strings.Replace(typed, "one", "1", 1))
			}
		})
	}
}

// A file that changes while a server formats what is to replace it is not replaced.
func TestWrite_ChangedWhileFormatting(t *testing.T) {
	for _, name := range []string{"a.x", "new.x"} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t, map[string]string{"a.x": "one\n"})
			catalog := &fixedServers{root: w.Dir, specs: []*lsp.Spec{fakeSpec(t, w, "fake", fakeScript{
				Capabilities: provides("documentFormattingProvider"),
				Answers:      map[string][]any{"textDocument/formatting": {[]any{object{"range": span(0, 0, 0), "newText": "  "}}}},
			})}}
			openLanguages(t, w, &typingServers{catalog, func() { w.FS.Buffers[w.Path(name)] = "typed\n" }}, lsp.OnWrite{Format: true})
			err := fails(t, w, "write", input{"path": name, "content": "two\n"})
			wants(t, err.Error(), name+": the file has changed since the edit was worked out; call the tool again")
			toolstest.Same(t, "the text", w.FS.Buffers[w.Path(name)], "typed\n")
		})
	}
}

// typingServers has the user type whenever servers are looked for.
type typingServers struct {
	*fixedServers
	typed func()
}

func (s *typingServers) For(ctx context.Context, path string) ([]lsp.Candidate, error) {
	s.typed()
	return s.fixedServers.For(ctx, path)
}

// What is deleted is what was shown, in the editor too; a file without text is compared as well.
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
			[]any{object{"textDocument": object{"uri": "file://$W/b.x", "version": nil}, "edits": []any{object{"range": span(0, 0, 3), "newText": "new"}}}, remove},
			func(w *toolstest.World) { w.FS.Saved = func(_, text string) string { return text + "// saved\n" } }, false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, _ := fakeWorld(t, map[string]string{"a.x": "one\n", "b.x": tt.text, "c.x": "c\n"}, fakeScript{
				Capabilities: provides("renameProvider"), Answers: map[string][]any{"textDocument/rename": {object{"documentChanges": tt.step}}},
			})
			call := w.Call(t, "lsp", input{"action": "rename", "file": "a.x", "line": 1, "symbol": "one", "new_name": "two"})
			lspTool := tool(t, "lsp")
			if _, err := toolstest.Plan(t.Context(), lspTool, call); err != nil {
				t.Fatal(err)
			}
			tt.meanwhile(w)
			before := tree(t, w)
			_, err := lspTool.Run(t.Context(), call)
			if !tt.refused {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "nothing was changed: b.x was to be deleted: the file has changed since the edit was worked out; look at it and call the tool again") {
				t.Errorf("err = %v", err)
			}
			toolstest.Same(t, "the disk", tree(t, w), before)
		})
	}
}

// A file that changes between the first look and its turn stays too.
func TestApplyOperations_DeleteOfChangedFile(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	w.FS.Saved = func(_, text string) string {
		w.FS.Buffers[w.Path("b.txt")] = "typed\n"
		return text
	}
	_, err := tools.ApplyOperations(t.Context(), w.Call(t, "lsp", "{}"), []lsp.FileOperation{
		{Path: w.Path("a.txt"), Old: "a\n", New: "A\n"}, {Kind: lsp.RemoveFile, Path: w.Path("b.txt"), Old: "b\n"},
	})
	if err == nil || !strings.Contains(err.Error(), "b.txt was to be deleted: the file has changed") {
		t.Errorf("err = %v", err)
	}
	toolstest.Same(t, "the disk", tree(t, w), map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
}

// An edit of files in two roots is judged by its files, one effect for each root.
func TestLSP_EffectsOfTwoRoots(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.x": "one\n", "sub/b.x": "one\n"})
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "c.x"), []byte("one\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	w.Additional = []string{other}
	edits := []any{object{"range": span(0, 0, 3), "newText": "two"}}
	spec := fakeSpec(t, w, "fake", fakeScript{Capabilities: provides("renameProvider"), Answers: map[string][]any{
		"textDocument/rename": {object{"changes": object{"file://$W/a.x": edits, "file://$W/sub/b.x": edits, uri(filepath.Join(other, "c.x")): edits}}},
	}})
	withServers(t, w, &fixedServers{specs: []*lsp.Spec{spec}}, os.Environ())
	lspEdits(t, w, input{"action": "rename", "file": "a.x", "line": 1, "symbol": "one", "new_name": "two"},
		agent.Effect{Action: agent.ActionEdit, Paths: []string{w.Path("a.x"), w.Path("sub/b.x")}},
		agent.Effect{Action: agent.ActionEdit, Path: filepath.Join(other, "c.x")})
}
