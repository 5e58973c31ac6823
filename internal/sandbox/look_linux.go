package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
)

// Process returns the program and the command line of a process that the box's programs know by an ID; ok is false for none, and for the
// processes that the box itself consists of.
func (b *Box) Process(ctx context.Context, pid int) (path, command string, ok bool) {
	a, err := b.look(ctx, &lookRequest{Process: pid})
	return a.Path, a.Text, err == nil && a.Found
}

// Listens reports whether a program listens on a TCP port inside the box.
func (b *Box) Listens(ctx context.Context, port int) bool {
	a, err := b.look(ctx, &lookRequest{Port: port})
	return err == nil && a.Found
}

// Busy reports whether programs run in the box. It is true if the box does not answer.
func (b *Box) Busy(ctx context.Context) bool {
	a, err := b.look(ctx, &lookRequest{})
	return err != nil || a.Found
}

func (b *Box) look(ctx context.Context, r *lookRequest) (answer, error) {
	return ask(ctx, b.socket, request{Look: r})
}

// look answers a question about the box.
func look(r *lookRequest) (a answer, err error) {
	switch {
	case r.Process != 0:
		var line []byte
		dir := "/proc/" + strconv.Itoa(r.Process)
		if line, err = os.ReadFile(dir + "/cmdline"); errors.Is(err, os.ErrNotExist) {
			return a, nil
		}
		a.Path, _ = os.Readlink(dir + "/exe") // the process may have ended
		a.Found = err == nil && !ownProcess(r.Process)
		a.Text = string(bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '}))
	case r.Port != 0:
		for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			table, err := os.ReadFile(name)
			if err == nil && listensIn(string(table), r.Port) {
				a.Found = true
			}
		}
	default:
		var entries []os.DirEntry
		entries, err = os.ReadDir("/proc")
		for _, e := range entries {
			if pid, err := strconv.Atoi(e.Name()); err == nil && !ownProcess(pid) {
				a.Found = true
			}
		}
	}
	return a, err
}

// ownProcess reports whether a process of the box is bubblewrap, the guard, or this one.
func ownProcess(pid int) bool { return pid == 1 || pid == os.Getpid() || pid == os.Getppid() }

// listensIn reports whether a table of the kernel's sockets has one that listens on a port (see proc_net_tcp in the kernel's documentation).
func listensIn(table string, port int) bool {
	const listening = "0A"
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[3] != listening {
			continue
		}
		at, err := strconv.ParseUint(fields[1][strings.LastIndexByte(fields[1], ':')+1:], 16, 16)
		if err == nil && int(at) == port {
			return true
		}
	}
	return false
}
