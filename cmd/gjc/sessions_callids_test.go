package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A server that counts its calls from zero in every response: an editor sees no ID twice in a session, even if the
// model no longer sees the earlier call.
func TestSessions_CallIDs(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer()
	model.Else(func(r providertest.Recorded) providertest.Step {
		var req struct {
			Messages []struct{ Role string }
			Tools    []json.RawMessage
		}
		if err := json.Unmarshal(r.Body, &req); err != nil {
			t.Error(err)
		}
		if len(req.Tools) == 0 || req.Messages[len(req.Messages)-1].Role == "tool" {
			return providertest.Step{providertest.Text("All is read.")} // also serves as a summary
		}
		return providertest.Step{providertest.Call("call_1", "read", `{"path":"a.txt"}`), providertest.Call("call_2", "read", `{"path":"a.txt"}`)}
	})
	t.Cleanup(model.Close)
	l := startLife(t, lifeOptions{home: scripted(t, model, 100_000, quick+"compaction: {keepRecentTokens: 1}\n")})
	writeFile(t, filepath.Join(l.work, "a.txt"), "text\n")
	id := l.begin()
	first := l.mark()
	l.turn("read it")
	again := messageOf(t, l.since(first), "agent_message_chunk", "All is read.")
	l.turn("and again")
	l.turn("/compact")
	l.turn("after a compaction")
	if done := l.branch(id, again); !done.Moved {
		t.Errorf("the branch is %+v", done)
	}
	l.turn("on another branch")
	l.turn("/clear")
	l.turn("after a clear")
	wantCallIDs(t, l.since(first), 5*2)

	fork := must(l.scenario, acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: id, Cwd: l.work}).SessionID
	l.stop()
	for _, session := range []acp.SessionID{id, fork} {
		next := startLife(t, lifeOptions{home: l.home, work: l.work})
		begin := next.mark()
		if _, lines := next.load(session); len(lines) == 0 {
			t.Errorf("the load of %s is empty", session)
		}
		next.turn("after a load")
		next.turn("/clear")
		next.turn("and a clear")
		wantCallIDs(t, next.since(begin), 2*2)
		next.stop()
	}
}

// wantCallIDs expects at least n tool calls, each with an ID of its own.
func wantCallIDs(t *testing.T, lines [][]byte, n int) {
	t.Helper()
	var ids []string
	for _, line := range lines {
		if u := updateIn(line); u != nil && u.SessionUpdate == "tool_call" {
			if slices.Contains(ids, u.ToolCallID) {
				t.Errorf("the call %s is there twice", u.ToolCallID)
			}
			ids = append(ids, u.ToolCallID)
		}
	}
	if len(ids) < n {
		t.Errorf("%d calls, want %d: %q", len(ids), n, ids)
	}
}
