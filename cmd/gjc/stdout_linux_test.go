package main

import (
	"fmt"
	"os"
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
	// Both ends of a pipe have one number; only root can list gjc's own descriptors.
	for name, end := range map[string]any{"stdin": p.stdin, "the protocol": p.stdout, "stderr": p.stderr} {
		info, err := end.(interface{ Stat() (os.FileInfo, error) }).Stat()
		if err != nil {
			t.Fatal(err)
		}
		if own := fmt.Sprintf("pipe:[%d]", info.Sys().(*syscall.Stat_t).Ino); strings.Contains(text, own) {
			t.Errorf("the child has the pipe of %s (%s):\n%s", name, own, text)
		}
	}
	p.stop()
}
