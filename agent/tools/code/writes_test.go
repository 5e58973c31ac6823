package code_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp"
)

// askingServers is a catalog whose programs of the workspace are untrusted until the user has answered.
type askingServers struct {
	*fakeServers
	answered bool
}

func (a *askingServers) Untrusted(context.Context) (*trust.Subject, error) {
	if a.answered {
		return nil, nil
	}
	return &trust.Subject{Path: a.Root, Programs: []string{"bin/server"}}, nil
}

func (a *askingServers) UntrustedFor(ctx context.Context, _ string) (*trust.Subject, error) {
	return a.Untrusted(ctx)
}

func (a *askingServers) Answer(context.Context, *trust.Subject, trust.State, bool) error {
	a.answered = true
	return nil
}

// openLanguages adds language servers and settings for writes to a world.
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

// Text that the user types while a trust question is open is part of the file that an edit or a write changes.
func TestChange_TypingWhileAsked(t *testing.T) {
	const typed = "one\ntwo\ntyped while the question was open\n"
	for name, in := range map[string]toolstest.Input{
		"edit":  {"path": "a.x", "edits": []any{toolstest.Input{"old_text": "one", "new_text": "1"}}},
		"write": {"path": "a.x", "content": "1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t, map[string]string{"a.x": "one\ntwo\n"})
			openLanguages(t, w, &askingServers{fakeServers: &fakeServers{Root: w.Dir}}, lsp.OnWrite{DiagnoseEdits: true, DiagnoseWrites: true})
			call := w.Call(t, name, in)
			asked := 0
			call.Consent = func(context.Context, agent.Consent) (agent.Decision, error) {
				asked++
				w.FS.Buffers[w.Path("a.x")] = typed
				return agent.AllowAlways, nil
			}
			_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, name), call)
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

// A file that changes while a server formats its new text is not overwritten.
func TestWrite_ChangedWhileFormatting(t *testing.T) {
	for _, name := range []string{"a.x", "new.x"} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t, map[string]string{"a.x": "one\n"})
			catalog := &fakeServers{Root: w.Dir, Specs: []*lsp.Spec{serverSpec(t, w, "fake", serverScript{
				Capabilities: provides("documentFormattingProvider"),
				Answers:      map[string][]any{"textDocument/formatting": {[]any{object{"range": lineSpan(0, 0, 0), "newText": "  "}}}},
			})}}
			openLanguages(t, w, &typingServers{catalog, func() { w.FS.Buffers[w.Path(name)] = "typed\n" }}, lsp.OnWrite{Format: true})
			err := toolstest.Fails(t, w, "write", toolstest.Input{"path": name, "content": "two\n"})
			toolstest.Contains(t, err.Error(), name+": the file has changed since the edit was planned; call the tool again")
			toolstest.Same(t, "the text", w.FS.Buffers[w.Path(name)], "typed\n")
		})
	}
}

// typingServers simulates a user who types whenever servers are looked up.
type typingServers struct {
	*fakeServers
	typed func()
}

func (s *typingServers) For(ctx context.Context, path string) ([]lsp.Candidate, error) {
	s.typed()
	return s.fakeServers.For(ctx, path)
}
