package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gjc is killed in the middle of a turn: its command dies too, and the next gjc finds the conversation up to the last
// complete entry.
func TestKilled(t *testing.T) {
	t.Parallel()
	mark := markOf(t)
	p := startPeer(t, peerOptions{env: []string{mark}})
	p.initialize(nil)
	id := p.session("auto")
	p.say(id, "remembered")
	p.prompt(id, `!bash echo re""ady; exec sleep 600`)
	p.until("the output", func(m message) bool { return strings.Contains(m.line, "ready") })
	var child int
	for pid := range marked(t, mark) {
		if pid != p.cmd.Process.Pid {
			child = pid
		}
	}
	if child == 0 {
		t.Fatal("there is no child process: the test tests nothing")
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	wantGone(t, child)
	wantNoneLeft(t, mark)

	// The disk has only half of a line.
	files, err := filepath.Glob(filepath.Join(p.home, ".gjc", "agent", "sessions", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("session files %v, %v", files, err)
	}
	f, err := os.OpenFile(files[0], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"type":"message","id":"torn","mess`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	again := startPeer(t, peerOptions{home: p.home})
	again.initialize(nil)
	var list struct {
		Sessions []struct{ SessionID, Title string }
	}
	if err := json.Unmarshal(again.call("session/list", object{}), &list); err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionID != id {
		t.Errorf("list %+v, %v", list, err)
	}
	m, replay := again.answer(again.request("session/load", object{"sessionId": id, "cwd": p.work, "mcpServers": []any{}}))
	if m.Error != nil {
		t.Fatalf("load: %s", m.line)
	}
	text := strings.Join(lines(replay), "\n")
	for _, want := range []string{"!say remembered", `"agent_message_chunk"`, "exec sleep 600"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not replayed:\n%s", want, text)
		}
	}
	if strings.Contains(text, "torn") {
		t.Errorf("the torn line is replayed:\n%s", text)
	}
	again.say(id, "alive")
	again.stop()
}
