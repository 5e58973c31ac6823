package memorylog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/memorylog"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// The log in memory behaves like the log on disk. IDs differ, so entries are compared by their texts.
func TestLogs(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) agent.Log{
		"memory": func(*testing.T) agent.Log { return memorylog.New() },
		"disk": func(t *testing.T) agent.Log {
			l, err := sessions.NewStore(t.TempDir(), nil).Create(t.Context(), sessions.Header{ID: "s1", Cwd: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t)
			add := func(role providers.Role, parts ...providers.Part) string {
				t.Helper()
				id, err := l.AppendMessage(&providers.Message{Role: role, Parts: parts})
				if err != nil {
					t.Fatal(err)
				}
				return id
			}
			add(providers.RoleUser, providers.Text{Text: "one"})
			two := add(providers.RoleAssistant, providers.Text{Text: "two"}, providers.ToolCall{ID: "c1", Name: "read", Input: []byte("{}")})
			if l.Leaf() != two || !l.HasCall("c1") || l.HasCall("c2") {
				t.Errorf("leaf %q, want %q; calls c1 %v, c2 %v", l.Leaf(), two, l.HasCall("c1"), l.HasCall("c2"))
			}
			three := add(providers.RoleUser, providers.Text{Text: "three"})
			if err := l.Rewind(two); err != nil {
				t.Fatal(err)
			}
			add(providers.RoleUser, providers.Text{Text: "four"})
			wantTexts(t, l, "one", "two", "four")
			if _, err := l.BranchWithSummary(two, sessions.BranchSummary{FromID: three, Summary: "the way not taken"}); err != nil {
				t.Fatal(err)
			}
			add(providers.RoleUser, providers.Text{Text: "five"})
			wantTexts(t, l, "one", "two", "summary: the way not taken", "five")
			if path, err := l.PathTo(two); err != nil || len(path) == 0 || path[len(path)-1].Ref().ID != two {
				t.Errorf("path %v, %v", path, err)
			}
			if _, err := l.PathTo("none"); err == nil {
				t.Error("a path to an unknown entry")
			}
			if err := l.Clear(); err != nil {
				t.Fatal(err)
			}
			if messages, err := l.Messages(); err != nil || len(messages) > 0 {
				t.Errorf("after Clear: %v, %v", messages, err)
			}
			if !l.HasCall("c1") {
				t.Error("a cleared log has forgotten a call")
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func wantTexts(t *testing.T, l agent.Log, want ...string) {
	t.Helper()
	var got []string
	for e, err := range l.Walk() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case sessions.MessageEntry:
			got = append(got, e.Message.Text())
		case sessions.BranchSummary:
			got = append(got, "summary: "+e.Summary)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
