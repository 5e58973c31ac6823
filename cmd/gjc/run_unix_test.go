//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
	"github.com/gajae-code/gjc/internal/testenv"
)

// runCommand returns "gjc run" in a directory of its own.
func runCommand(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self(t), append([]string{"run"}, args...)...)
	cmd.Dir, cmd.Env = home, append(environment(home), testenv.RunEnv()...)
	cmd.WaitDelay = hang
	return cmd
}

// status returns the exit status of a command; -1 for a signal.
func status(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// resultOf returns the last line of a run's output.
func resultOf(t *testing.T, output string) *headless.Result {
	t.Helper()
	all := strings.Split(strings.TrimSpace(output), "\n")
	r := new(headless.Result)
	if err := json.Unmarshal([]byte(all[len(all)-1]), r); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return r
}

// A signal cancels the turn, which is stored as far as it came; another one ends the process at once.
func TestRun_Signals(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]bool{"one": false, "two": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := tempDir(t)
			prompt := "!wait"
			if second { // a command that takes two seconds to end
				prompt = "!bash trap '' TERM INT HUP; echo > started; while :; do sleep 0.01; done"
			}
			cmd := runCommand(t, home, "--output", "stream-json", "--allow", "bash", prompt)
			if second {
				cmd.Args = append(cmd.Args[:2:2], append([]string{"--mode", "auto"}, cmd.Args[2:]...)...)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			wanted := "session_info_update"
			if second {
				wanted = "in_progress"
			}
			for line := ""; !strings.Contains(line, wanted); {
				if line, err = lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			for started := filepath.Join(home, "started"); second; {
				if _, err := os.Stat(started); err == nil {
					break
				}
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if second {
				for line := ""; err == nil && cmd.Process.Signal(os.Interrupt) == nil; { // the first may not have arrived
					line, err = lines.ReadString('\n')
					_ = line
				}
			}
			rest, _ := io.ReadAll(lines)
			code := status(t, cmd.Wait())
			if second {
				if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); code != 130 && (!ok || ws.Signal() != syscall.SIGINT) {
					t.Errorf("it ended with %v", cmd.ProcessState)
				}
				return
			}
			r := resultOf(t, string(rest))
			if code != 130 || r.Status != headless.Interrupted || r.StopReason != "cancelled" {
				t.Errorf("status %d, %+v", code, r)
			}
			show := exec.CommandContext(t.Context(), self(t), "sessions", "show", string(r.SessionID))
			show.Env = append(environment(home), testenv.RunEnv()...)
			if text, err := show.CombinedOutput(); err != nil || !strings.Contains(string(text), "!wait") {
				t.Errorf("the stored session: %v\n%s", err, text)
			}
		})
	}
}

// A reader that has enough ends the run without a word; a full disk is reported.
func TestRun_Stdout(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := runCommand(t, home, "--output", "stream-json", "!say 200000")
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if code := status(t, cmd.Wait()); code != 1 || stderr.String() != "" {
		t.Errorf("status %d: %s", code, &stderr)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return // only Linux has it
	}
	defer func() { _ = full.Close() }()
	cmd = runCommand(t, home, "!say 2")
	stderr.Reset()
	cmd.Stdout, cmd.Stderr = full, &stderr
	if code := status(t, cmd.Run()); code != 1 || !strings.Contains(stderr.String(), "writing the result: ") {
		t.Errorf("status %d: %s", code, &stderr)
	}
}

// Of two runs in one session, the second is refused.
func TestRun_SessionInUse(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	first := runCommand(t, home, "--output", "stream-json", "!wait")
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line := ""
	for !strings.Contains(line, "session_info_update") {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	var update struct {
		Params struct{ SessionID string }
	}
	if err := json.Unmarshal([]byte(line), &update); err != nil {
		t.Fatal(err)
	}
	text, err := runCommand(t, home, "--resume", update.Params.SessionID, "hello").CombinedOutput()
	if code := status(t, err); code != 1 || !strings.Contains(string(text), "in use") {
		t.Errorf("status %d: %s", code, text)
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, lines)
	if code := status(t, first.Wait()); code != 130 {
		t.Errorf("the first one ended with %d", code)
	}
	if code := status(t, runCommand(t, home, "--resume", update.Params.SessionID, "hello").Run()); code != 0 {
		t.Errorf("afterwards it ended with %d", code)
	}
}

// On a terminal the user is asked, also if the prompt comes from a pipe.
func TestRun_AsksOnTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed  string
		pipe   bool
		status int
		ran    bool
	}{{"y\n", false, 0, true}, {"y\n", true, 0, true}, {"n\n", false, 3, false}, {"\n", false, 3, false}, {"a\n", false, 0, true}} {
		home := tempDir(t)
		cmd := runCommand(t, home, "--output", "json", "--ask", "terminal")
		var out strings.Builder
		cmd.Stdout = &out
		master, tty, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		const prompt = "!bash echo > ran"
		if cmd.Stdin, cmd.Stderr = tty, tty; tt.pipe {
			cmd.Stdin = strings.NewReader(prompt)
		} else {
			cmd.Args = append(cmd.Args, prompt)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = tty.Close()
		_ = master.SetReadDeadline(time.Now().Add(hang))
		screen := ""
		for part := make([]byte, 4096); !strings.Contains(screen, "\n> "); {
			n, err := master.Read(part)
			if screen += string(part[:n]); err != nil {
				t.Fatalf("%v: %s", err, screen)
			}
		}
		for _, want := range []string{"echo > ran", "y      Allow once", "n      Reject"} {
			if !strings.Contains(screen, want) {
				t.Errorf("no %q on the screen:\n%s", want, screen)
			}
		}
		if _, err := io.WriteString(master, tt.typed); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, master) }() // ends when master is closed
		code := status(t, cmd.Wait())
		_ = master.Close()
		_, err = os.Stat(filepath.Join(home, "ran"))
		if code != tt.status || (err == nil) != tt.ran {
			t.Errorf("%q: status %d, ran: %v; %s", tt.typed, code, err == nil, &out)
		}
	}
}

// Images, MCP servers, directories and system prompts reach the session.
func TestRun_Prompt(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	f, err := os.Create(filepath.Join(home, "a.png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(png.Encode(f, image.NewGray(image.Rect(0, 0, 2, 2))), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "more"), 0o700); err != nil {
		t.Fatal(err)
	}
	servers, err := json.Marshal(object{"mcpServers": object{"fake": object{"command": self(t), "env": object{asMCP: "fake"}}}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, "servers.json"), string(servers))
	out, err := runCommand(t, home, "--output", "json", "--image", "a.png", "--add-dir", "more", "--mcp", "servers.json", "--append-system", "Speak in rhymes.",
		"!mcp fake_who {}").Output()
	if code := status(t, err); code != 0 {
		t.Fatalf("status %d: %s", code, out)
	}
	r := resultOf(t, string(out))
	files, err := filepath.Glob(filepath.Join(home, ".gjc", "agent", "sessions", "*", "*"+string(r.SessionID)+"*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	stored, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Speak in rhymes.", "image/png", `/more"`, "mcp__fake_who"} {
		if !strings.Contains(string(stored), want) {
			t.Errorf("no %q in the session:\n%s", want, stored)
		}
	}
}

// On a terminal, gjc alone says in five lines what to do next; what it names exists.
func TestWelcome(t *testing.T) {
	t.Parallel()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = master.Close() }()
	cmd := exec.CommandContext(t.Context(), self(t))
	cmd.Env = environment(tempDir(t))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(master)
	if err != nil && !errors.Is(err, syscall.EIO) { // the other end is closed
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")), "\n")
	if len(lines) != 5 {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	root := newRoot(&host{}, new(options))
	for _, line := range lines[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "  gjc "), " ")
		if sub, _, err := root.Find([]string{name}); err != nil || sub == root {
			t.Errorf("there is no command %q", name)
		}
	}
}
