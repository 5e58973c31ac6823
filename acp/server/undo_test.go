package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The user undoes a change by the model. The mode requires no permission for it, and the model is notified.
func TestCommandUndo(t *testing.T) {
	var reported []string
	tell := providertest.Check(func(req *providers.Request) { reported = append(reported, req.Messages[len(req.Messages)-1].Text()) })
	e := start(t, scripted(
		providertest.Step{
			providertest.Call("c1", "write", `{"path":"a.txt","content":"one\n"}`),
			providertest.Call("c2", "write", `{"path":"b.txt","content":"two\n"}`),
		},
		providertest.Step{providertest.Text("Written.")},
		providertest.Step{tell, providertest.Text("I see.")},
		providertest.Step{tell, providertest.Text("Nothing new.")},
	))
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	read := func(name string) string {
		t.Helper()
		path := filepath.Join(e.dir, name)
		if text, ok := e.Buffer(path); ok {
			return text
		}
		data, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(data)
	}
	mode := func(m approval.Mode) {
		t.Helper()
		if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: id, ModeID: acp.SessionModeID(m)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := read("b.txt"); got != "two\n" {
		t.Fatalf("b.txt has %q", got)
	}
	mode(approval.ModePlan)
	if got, _ := e.after(id, "/undo"); !strings.Contains(got, "/undo: plan mode changes nothing") || read("b.txt") != "two\n" {
		t.Errorf("in plan mode: %q", got)
	}
	mode(approval.ModeStrict)
	got, updates := e.after(id, "/undo")
	if !strings.Contains(got, "Undone: ") || !strings.Contains(got, "b.txt") || read("b.txt") != "" || read("a.txt") != "one\n" {
		t.Errorf("%q; a.txt has %q, b.txt has %q", got, read("a.txt"), read("b.txt"))
	}
	if slices.Contains(e.Calls(), "session/request_permission") {
		t.Error("what the user typed was asked for")
	}
	if k := kinds(updates); !containsAll(strings.Join(k, " "), "tool_call", "tool_call_update") {
		t.Errorf("the editor received %v", k)
	}
	e.say(id, "and now?", acp.StopReasonEndTurn)
	e.say(id, "and now?", acp.StopReasonEndTurn)
	if len(reported) != 2 || !containsAll(reported[0], "and now?", "The user has called the tool undo:", "b.txt") || strings.Contains(reported[1], "undo") {
		t.Errorf("the model received %q", reported)
	}
	if got, _ := e.after(id, "/undo"); !strings.Contains(got, "Undone: ") || read("a.txt") != "" {
		t.Errorf("%q; a.txt has %q", got, read("a.txt"))
	}
	if got, _ := e.after(id, "/undo"); !strings.Contains(got, "/undo: nothing to undo") {
		t.Errorf("%q", got)
	}
}
