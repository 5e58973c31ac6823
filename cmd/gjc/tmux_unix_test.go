//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

// pane is a terminal of tmux that runs one command.
type pane struct {
	t      *testing.T
	tmux   string
	socket string
	env    []string
}

// startPane runs a shell command on a terminal of a size, in a directory.
func startPane(t *testing.T, dir string, env []string, columns, rows int, command string) *pane {
	t.Helper()
	tmux := testenv.NeedsTool(t, "tmux")
	sockets, err := os.MkdirTemp("/tmp", "gjc-tmux-") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	p := &pane{t: t, tmux: tmux, socket: filepath.Join(sockets, "s"), env: env}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen:\n%s", p.screen())
		}
		pid := p.run("display-message", "-p", "#{pid}")
		p.run("kill-server")
		if n, err := strconv.Atoi(strings.TrimSpace(pid)); err == nil {
			awaitGone(t, n)
		}
		_ = os.RemoveAll(sockets)
	})
	p.run("-f", os.DevNull, "-u", "start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-sg", "escape-time", "0", ";",
		"new-session", "-d", "-c", dir, "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), command)
	return p
}

// awaitGone waits until a process that is not ours has ended.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); syscall.Kill(pid, 0) == nil; <-tick.C {
		if time.Since(begin) > hang {
			t.Errorf("process %d is left", pid)
			return
		}
	}
}

// run runs a command of tmux and returns its output; "" if there is no server any longer.
func (p *pane) run(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(p.tmux, append([]string{"-S", p.socket}, args...)...)
	cmd.Env = p.env
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil && !p.t.Failed() && !strings.Contains(failure.String(), "no server") {
		p.t.Errorf("tmux %v: %v: %s", args, err, failure.String())
	}
	return out.String()
}

// keys presses keys by their names in tmux.
func (p *pane) keys(names ...string) {
	p.t.Helper()
	p.run(append([]string{"send-keys", "-t", ":"}, names...)...)
}

// text types characters.
func (p *pane) text(s string) {
	p.t.Helper()
	p.run("send-keys", "-t", ":", "-l", "--", s)
}

// enter types a line.
func (p *pane) enter(line string) {
	p.t.Helper()
	p.text(line)
	p.keys("Enter")
}

// paste pastes a text as a terminal does.
func (p *pane) paste(s string) {
	p.t.Helper()
	p.run("set-buffer", "--", s)
	p.run("paste-buffer", "-p", "-t", ":")
}

// screen returns what the terminal shows, without empty lines at the end.
func (p *pane) screen() string {
	return strings.TrimRight(p.run("capture-pane", "-p", "-t", ":"), "\n")
}

// coloured is like screen, with escape sequences.
func (p *pane) coloured() string { return p.run("capture-pane", "-p", "-e", "-t", ":") }

// cursor returns the column of the cursor.
func (p *pane) cursor() string {
	return strings.TrimSpace(p.run("display-message", "-p", "-t", ":", "#{cursor_x}"))
}

// await waits until the screen contains a text, and returns it.
func (p *pane) await(text string) string {
	p.t.Helper()
	return p.until("shows "+strconv.Quote(text), func(s string) bool { return strings.Contains(s, text) })
}

// awaitEnd waits until the last line of the screen ends with a text.
func (p *pane) awaitEnd(text string) string {
	p.t.Helper()
	return p.until("ends with "+strconv.Quote(text), func(s string) bool { return strings.HasSuffix(s, text) })
}

// completes presses Tab until the last line of the screen ends with a text. A key that comes before the commands of the session does nothing.
func (p *pane) completes(text string) {
	p.t.Helper()
	looks := 0
	p.until("ends with "+strconv.Quote(text), func(s string) bool {
		if strings.HasSuffix(s, text) {
			return true
		}
		if looks%100 == 0 {
			p.keys("Tab")
		}
		looks++
		return false
	})
}

// until waits until the screen fulfils a condition.
func (p *pane) until(condition string, fulfilled func(screen string) bool) string {
	p.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond) // tmux has no event for this
	defer tick.Stop()
	for begin := time.Now(); ; <-tick.C {
		s := p.screen()
		if fulfilled(s) {
			return s
		}
		if time.Since(begin) > hang || p.t.Failed() {
			p.t.Fatalf("no screen %s", condition)
		}
	}
}
