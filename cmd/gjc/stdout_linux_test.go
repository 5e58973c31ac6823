package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A child inherits neither the pipe of the protocol nor that of the editor's messages.
func TestStdout_NotInherited(t *testing.T) {
	t.Parallel()
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	_, before := p.answer(p.prompt(p.session("auto"), "!bash ls -l /proc/self/fd"))
	text := strings.Join(lines(before), "\n")
	if !strings.Contains(text, "pipe:[") {
		t.Fatalf("the command did not list its descriptors:\n%s", text)
	}
	for _, fd := range []string{"0", "1", "2"} {
		pipe, err := os.Readlink(filepath.Join("/proc", fmt.Sprint(p.cmd.Process.Pid), "fd", fd))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, pipe) {
			t.Errorf("the child has descriptor %s of its parent (%s):\n%s", fd, pipe, text)
		}
	}
	info, err := p.stdout.(*os.File).Stat()
	if err != nil {
		t.Fatal(err)
	}
	if protocol := fmt.Sprintf("pipe:[%d]", info.Sys().(*syscall.Stat_t).Ino); strings.Contains(text, protocol) {
		t.Errorf("the child has the pipe of the protocol (%s):\n%s", protocol, text)
	}
	p.stop()
}
