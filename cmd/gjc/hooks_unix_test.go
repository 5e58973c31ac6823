//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A blocking hook of the workspace forbids a command if the user trusts it, which is asked once, and again when the
// hook's script has changed. Without trust the hook does not run, and the command does.
func TestHooks_Project(t *testing.T) {
	p := startPeer(t, peerOptions{})
	ran := filepath.Join(p.work, "ran")
	script := filepath.Join(p.work, ".gjc", "hooks", "no.sh")
	writeFile(t, filepath.Join(p.work, ".gjc", "hooks", "bash.yml"), "hooks:\n- {event: tool_call, tools: bash, command: [sh, .gjc/hooks/no.sh], blocking: true}\n")
	writeFile(t, script, "grep -q '\"name\":\"bash\"' && touch ran\necho '{\"block\":true,\"reason\":\"no commands today\"}'\n")
	p.initialize(nil)
	// turn runs a command and answers the question with the option of a kind; empty for no question.
	turn := func(id, kind string) string {
		t.Helper()
		_ = os.Remove(ran)
		req := p.prompt(id, "!bash echo $((40+2))x")
		var before []message
		if kind != "" {
			ask, updates := p.until("a question", func(m message) bool { return m.Method == "session/request_permission" })
			before = updates
			if !strings.Contains(ask.line, "Trust this workspace") || !strings.Contains(ask.line, ".gjc/hooks/no.sh") {
				t.Errorf("the question is %s", ask.line)
			}
			var q struct {
				Options []struct{ OptionID, Kind string } `json:"options"`
			}
			if err := json.Unmarshal(ask.Params, &q); err != nil {
				t.Fatal(err)
			}
			for _, o := range q.Options {
				if o.Kind == kind {
					p.reply(ask, `{"outcome":{"outcome":"selected","optionId":"`+o.OptionID+`"}}`)
				}
			}
		}
		m, rest := p.answer(req)
		if m.Error != nil {
			t.Fatal(m.line)
		}
		for _, m := range append(before, rest...) {
			if m.Method == "session/request_permission" {
				t.Errorf("a question: %s", m.line)
			}
		}
		return strings.Join(lines(append(before, rest...)), "\n")
	}
	hookRan := func() bool {
		_, err := os.Stat(ran)
		return err == nil
	}
	first := p.session("auto")
	if out := turn(first, "reject_once"); !strings.Contains(out, "42x") || hookRan() || !strings.Contains(out, "gjc trust add") {
		t.Errorf("without trust the hook ran (%v), or the command did not:\n%s", hookRan(), out)
	}
	if out := turn(first, ""); !strings.Contains(out, "42x") || hookRan() || strings.Contains(out, "gjc trust add") {
		t.Errorf("the second time:\n%s", out)
	}
	second := p.session("auto")
	for _, kind := range []string{"allow_always", ""} {
		if out := turn(second, kind); strings.Contains(out, "42x") || !hookRan() || !strings.Contains(out, "no commands today") {
			t.Errorf("with trust the hook ran: %v:\n%s", hookRan(), out)
		}
	}
	list := exec.CommandContext(t.Context(), self(t), "trust")
	list.Env = environment(p.home)
	if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), ".gjc/hooks/bash.yml, .gjc/hooks/no.sh") {
		t.Errorf("gjc trust: %s, %v", out, err)
	}
	writeFile(t, script, "touch ran\nexit 1\n")
	if out := turn(second, "allow_once"); strings.Contains(out, "42x") || !hookRan() || !strings.Contains(out, "exit code 1") {
		t.Errorf("a hook that fails: it ran %v:\n%s", hookRan(), out)
	}
	p.stop()
}

// A hook that takes too long is ended with all its processes, including those that ignore signals or hold its output
// open.
func TestHooks_Timeout(t *testing.T) {
	t.Parallel()
	mark, agentDir := markOf(t), tempDir(t)
	writeFile(t, filepath.Join(agentDir, "hooks.yml"), "hooks:\n- {name: slow, event: tool_call, tools: bash, command: [sh, slow.sh], timeout: 1, blocking: true}\n")
	p := startPeer(t, peerOptions{args: []string{"--agent-dir", agentDir}, env: []string{mark}})
	writeFile(t, filepath.Join(p.work, "slow.sh"), "sh -c 'trap \"\" TERM HUP INT; echo up >> started; while :; do sleep 1000; done' &\n"+
		"(sleep 1000 & echo up >> started) > /dev/null &\nwhile :; do [ \"$(cat started | wc -l)\" -ge 2 ] && echo all >> started && break; sleep 0.05; done\nexec sleep 1000\n")
	p.initialize(nil)
	id := p.session("auto")
	m, before := p.answer(p.prompt(id, "!bash echo $((40+2))x"))
	updates := strings.Join(lines(before), "\n")
	if m.Error != nil || !strings.Contains(updates, "it timed out after 1s") || strings.Contains(updates, "42x") {
		t.Errorf("%s\n%s", m.line, updates)
	}
	started, err := os.ReadFile(filepath.Join(p.work, "started"))
	if err != nil || !strings.HasSuffix(string(started), "all\n") {
		t.Errorf("the hook has started %q, %v", started, err)
	}
	// None of them ends by itself; the kernel may need a moment for killed ones.
	left := func() (all []string) {
		for _, line := range marked(t, mark) {
			if strings.Contains(line, "sleep") || strings.Contains(line, "slow.sh") {
				all = append(all, line)
			}
		}
		return all
	}
	for begin := time.Now(); len(left()) > 0 && time.Since(begin) < hang; {
		runtime.Gosched()
	}
	if all := left(); len(all) > 0 {
		t.Errorf("the hook has left %q", all)
	}
	p.stop()
	wantNoneLeft(t, mark)
}
