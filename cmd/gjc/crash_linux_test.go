package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
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

// gjc is killed while two helpers work in worktrees: the next gjc removes the worktree without changes, and names the other one with the
// command that removes it.
func TestKilled_Worktrees(t *testing.T) {
	t.Parallel()
	testenv.NeedsTool(t, "git")
	p := startPeer(t, peerOptions{})
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = p.work, p.cmd.Env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	agents := filepath.Join(p.home, ".gjc", "agent", "agents")
	if err := os.MkdirAll(agents, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(agents, "apart.md"): "---\nname: apart\ndescription: works in a worktree\nisolation: worktree\n---\nYou work apart.\n",
		filepath.Join(p.work, "f.txt"):    "old\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("add", "f.txt")
	git("-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "first")
	p.initialize(nil)
	p.prompt(p.session("auto"), `!task @apart !bash echo re""ady1; exec sleep 600 | !bash echo new > f.txt; echo re""ady2; exec sleep 600`)
	ready := make(map[string]bool)
	p.until("the output of both", func(m message) bool {
		for _, word := range []string{"ready1", "ready2"} {
			ready[word] = ready[word] || strings.Contains(m.line, word)
		}
		return ready["ready1"] && ready["ready2"]
	})
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	trees, err := filepath.Glob(filepath.Join(p.home, ".local", "state", "gjc", "worktrees", "*"))
	if err != nil || len(trees) != 2 {
		t.Fatalf("worktrees %q, %v", trees, err)
	}

	again := startPeer(t, peerOptions{home: p.home})
	again.initialize(object{"session": object{"notices": object{}}})
	again.request("session/new", object{"cwd": again.work, "mcpServers": []any{}})
	notice, _ := again.until("the notice", func(m message) bool { return strings.Contains(m.line, "1 changed file in the worktree") })
	left, err := filepath.Glob(filepath.Join(p.home, ".local", "state", "gjc", "worktrees", "*", "tree", "*"))
	if err != nil || len(left) != 1 || !strings.Contains(notice.line, left[0]) {
		t.Fatalf("worktrees %q, %v; the notice: %s", left, err, notice.line)
	}
	if data, err := os.ReadFile(filepath.Join(left[0], "f.txt")); err != nil || string(data) != "new\n" {
		t.Errorf("the work: %q, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(p.work, "f.txt")); err != nil || string(data) != "old\n" {
		t.Errorf("the workspace: %q, %v", data, err)
	}
	git("worktree", "remove", "--force", left[0])
	if got := git("worktree", "list"); strings.Count(got, "\n") != 1 {
		t.Errorf("git knows %s", got)
	}
	again.stop()
}
