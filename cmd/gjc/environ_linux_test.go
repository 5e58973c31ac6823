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
	id := p.session("auto")
	if output := p.does(id, "bash", object{"command": `id -u; readlink /proc/$$/exe; head -n 1 /proc/$PPID/status`}); !strings.Contains(output, `1000\n/`) || !strings.Contains(output, "Name:") {
		t.Errorf("the test is not what it should be: %s", output)
	}
	// Its plain name would ask a question.
	if output := p.does(id, "bash", object{"command": `name=environ; cat "/proc/$PPID/$name"`}); !strings.Contains(output, "Permission denied") || strings.Contains(output, "sk-planted") {
		t.Errorf("gjc's: %s", output)
	}
	p.stop()
}
