//go:build unix

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Only the protocol reaches stdout: not a child's output, not writes to a descriptor that it inherits or to its
// parent's, not the process's own output.
func TestStdout_IsTheProtocolsAlone(t *testing.T) {
	t.Parallel()
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	id := p.session("default") // what the user has seen runs outside of the sandbox
	for _, command := range []string{
		`echo '{"jsonrpc":"2.0","method":"noise: child"}'`,
		`echo 'noise: child on stderr' >&2`,
		`test -e /proc/self/fd || exit 0; echo 'noise: the parent' >/proc/$PPID/fd/1`,
	} {
		// p.read fails the test on any line that is not part of the protocol, and the rules fail it on one that is out of order.
		prompt := p.prompt(id, "!bash "+command)
		p.reply(p.called("session/request_permission"), `{"outcome":{"outcome":"selected","optionId":"allow_once"}}`)
		m, _ := p.answer(prompt)
		if m.Error != nil {
			t.Errorf("%s: %s", command, m.line)
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	noises := []string{"noise: os.Stdout", "noise: descriptor 1", "noise: println"}
	// The noise comes when the signal is handled, concurrently with gjc's work.
	for range 500 {
		p.say(id, "fine")
		if stderr := p.stderrText.String(); !slices.ContainsFunc(noises, func(want string) bool { return !strings.Contains(stderr, want) }) {
			break
		}
	}
	p.stop()
	<-p.drained
	for _, want := range noises {
		if !strings.Contains(p.stderrText.String(), want) {
			t.Errorf("%q is not on stderr", want)
		}
	}
}

// A panic ends the process, and its output goes to stderr.
func TestStdout_Panic(t *testing.T) {
	t.Parallel()
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	if err := p.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if rest := p.rest(); len(rest) > 0 {
		t.Errorf("on stdout: %v", lines(rest))
	}
	if p.cmd.ProcessState.ExitCode() != 2 || !strings.Contains(p.stderrText.String(), "noise: panic") {
		t.Errorf("ended with %v", p.err)
	}
}

// initialize needs nothing from the machine, and changes nothing.
func TestInitialize_WithoutAnything(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		env  []string
	}{
		{"no home", []string{"HOME=/nonexistent/home"}},
		{"empty home", nil},
		{"unusable agent directory", []string{"GJC_CODING_AGENT_DIR=/dev/null/agent"}},
		{"no path", []string{"PATH="}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := startPeer(t, peerOptions{env: append(tt.env, "TMPDIR="+t.TempDir())})
			m, before := p.answer(p.request("initialize", object{"protocolVersion": 1, "clientCapabilities": object{}}))
			if len(before) > 0 {
				t.Errorf("before the first answer came %v", lines(before))
			}
			var resp struct {
				ProtocolVersion   int
				AgentCapabilities struct{ LoadSession bool }
			}
			if err := json.Unmarshal(m.Result, &resp); err != nil || resp.ProtocolVersion != 1 || !resp.AgentCapabilities.LoadSession {
				t.Errorf("initialize: %s", m.line)
			}
			p.stop()
			for _, dir := range []string{p.home, p.cmd.Dir, p.work} {
				wantEmpty(t, dir)
			}
			<-p.drained
			if s := p.stderrText.String(); s != "" {
				t.Errorf("stderr: %s", s)
			}
		})
	}
}
