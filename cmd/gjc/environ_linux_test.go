package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// A command cannot read gjc's original environment. The user is not root here, because root can read it anyway.
func TestEnviron_IsHiddenFromCommands(t *testing.T) {
	t.Parallel()
	attr := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
	}
	probe := exec.CommandContext(t.Context(), "true")
	probe.SysProcAttr = attr
	if err := probe.Run(); err != nil {
		testenv.Skip(t, "there are no user namespaces: %v", err)
	}
	p := startPeer(t, peerOptions{env: []string{"GJC_TEST_API_KEY=sk-planted"}, attr: attr})
	p.initialize(nil)
	id := p.session("default") // what the user has seen runs outside of the sandbox
	does := func(command string) string {
		prompt := p.prompt(id, "!bash "+command)
		p.reply(p.called("session/request_permission"), `{"outcome":{"outcome":"selected","optionId":"allow_once"}}`)
		_, before := p.answer(prompt)
		return strings.Join(lines(before), "\n")
	}
	if output := does(`id -u; readlink /proc/$$/exe; head -n 1 /proc/$PPID/status`); !strings.Contains(output, `1000\n/`) || !strings.Contains(output, "Name:") {
		t.Errorf("the test is not what it should be: %s", output)
	}
	if output := does(`cat /proc/$PPID/environ`); !strings.Contains(output, "Permission denied") || strings.Contains(output, "sk-planted") {
		t.Errorf("gjc's: %s", output)
	}
	p.stop()
}
