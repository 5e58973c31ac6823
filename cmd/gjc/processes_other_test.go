//go:build unix && !linux

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// marked returns the processes whose environment contains mark, with their command lines and environment.
func marked(t *testing.T, mark string) map[string]string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-E", "-ww", "-o", "pid=,command=").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, mark) {
			pid, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			found[pid] = rest
		}
	}
	return found
}

// wantNoneLeft checks the process table.
func wantNoneLeft(t *testing.T, mark string) {
	t.Helper()
	for pid, line := range marked(t, mark) {
		t.Errorf("process %s is left: %s", pid, line)
	}
}
