package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/permissions"
	"github.com/gajae-code/gjc/internal/boundary"
)

// Where commands run is said before the first one of a workspace: once, until it changes. Nothing is said without a command.
func TestIntroduction_Once(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	first := startPeer(t, peerOptions{home: home})
	first.initialize(nil)
	here, there := first.work, tempDir(t)
	id := first.session("default")
	if _, before := first.answer(first.prompt(id, "!say hello")); strings.Contains(strings.Join(lines(before), "\n"), "sandbox") {
		t.Error("it is said without a command")
	}
	check := func(p *peer, id, want string) {
		t.Helper()
		if got := introductions(p, id, want); got != 1 {
			t.Errorf("%q is said %d times", want, got)
		}
		if got := introductions(p, id, "sandbox") + introductions(p, p.session("default"), "sandbox"); got != 0 {
			t.Errorf("it is said again, %d times", got)
		}
	}
	const detected = "sandbox" // which one depends on the machine
	check(first, id, detected)
	first.work = there
	check(first, first.session("default"), detected)
	first.stop()

	again := startPeer(t, peerOptions{home: home})
	again.initialize(nil)
	again.work = here
	if got := introductions(again, again.session("default"), "sandbox"); got != 0 {
		t.Errorf("another process says it again, %d times", got)
	}
	again.stop()

	writeFile(t, filepath.Join(home, ".gjc", "agent", "config.yml"), "bash: {sandbox: off}\n")
	off := startPeer(t, peerOptions{home: home})
	off.initialize(nil)
	off.work = here
	check(off, off.session("default"), "because bash.sandbox is off")
	off.stop()

	// That notices were shown is not an answer.
	list := exec.CommandContext(t.Context(), self(t), "permissions")
	list.Dir, list.Env = here, environment(home)
	if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), "no answers") {
		t.Errorf("gjc permissions: %v, %s", err, out)
	}
}

// introductions returns how many messages of a turn with a command contain a text before the question about the command.
func introductions(p *peer, session, text string) (n int) {
	p.t.Helper()
	prompt := p.prompt(session, "!bash touch made")
	question, before := p.until("the question", func(m message) bool { return m.Method == "session/request_permission" })
	p.reply(question, `{"outcome":{"outcome":"selected","optionId":"reject_once"}}`)
	_, after := p.answer(prompt)
	for _, m := range before {
		if strings.Contains(m.line, text) {
			n++
		}
	}
	for _, m := range after {
		if strings.Contains(m.line, "in a sandbox here") {
			p.t.Errorf("it is said after the question: %s", m.line)
		}
	}
	return n
}

// introduced notes that the notice has been shown in a workspace. Only the first turn with a command has it, and a load does not.
func introduced(t *testing.T, home, work string) {
	t.Helper()
	settings := boundary.Settings{Use: boundary.Auto, Find: func() (string, error) {
		found, err := findSandbox()
		if err != nil {
			return "", err
		}
		return string(found.Kind), nil
	}}
	state, _, _ := settings.Introduction()
	dir := filepath.Join(home, ".gjc", "agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := permissions.Open(dir).Introduce(t.Context(), work, state); err != nil {
		t.Fatal(err)
	}
}
