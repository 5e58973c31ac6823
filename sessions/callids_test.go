package sessions_test

import (
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// A log has the calls of all branches, including cleared ones, also after a restart.
func TestLog_HasCall(t *testing.T) {
	store := sessions.NewStore(t.TempDir(), nil)
	log, err := store.Create(t.Context(), sessions.Header{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	add := func(m providers.Message) {
		if _, err := log.AppendMessage(&m); err != nil {
			t.Fatal(err)
		}
	}
	call := func(id string) providers.Message {
		return providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{
			providers.Text{Text: "I look."}, providers.ToolCall{ID: id, Name: "read", Input: jsonx.Raw(`{}`)},
		}}
	}
	if log.HasCall("left") {
		t.Error("an empty log has a call")
	}
	add(call("left"))
	if err := log.Rewind(""); err != nil {
		t.Fatal(err)
	}
	add(call("cleared"))
	if err := log.Clear(); err != nil {
		t.Fatal(err)
	}
	add(providers.Message{Role: providers.RoleTool, ToolCallID: "callless", ToolName: "read"})
	check := func() {
		t.Helper()
		for id, want := range map[string]bool{"left": true, "cleared": true, "callless": true, "other": false, "": false} {
			if got := log.HasCall(id); got != want {
				t.Errorf("HasCall(%q) = %v", id, got)
			}
		}
	}
	check()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if log, err = store.Open(t.Context(), log.ID()); err != nil {
		t.Fatal(err)
	}
	check()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}
