package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// acpx is the command line client acpx, with gjc as its agent.
type acpx struct {
	t          *testing.T
	home, work string
	env        []string
	program    string
	agent      string
}

func newACPX(t *testing.T) *acpx {
	t.Helper()
	x := &acpx{t: t, home: tempDir(t), work: tempDir(t)}
	x.env = environment(x.home, markOf(t))
	x.program = filepath.Join(testenv.NeedsInterop(t), "node_modules", "acpx", "dist", "cli.js")
	if strings.ContainsAny(self(t)+x.home, " '\"") {
		testenv.Skip(t, "acpx splits the agent's command at blanks, and the directory for temporary files has one")
	}
	x.agent = self(t) + " acp --rpc-log " + x.log()
	return x
}

func (x *acpx) log() string { return filepath.Join(x.home, "rpc.log") }

func (x *acpx) args(args ...string) []string {
	return append([]string{x.program, "--agent", x.agent, "--cwd", x.work, "--ttl", "60", "--timeout", "60"}, args...)
}

// run runs one command, which must exit with code.
func (x *acpx) run(code int, args ...string) string {
	x.t.Helper()
	out, err := node(x.t, x.env, x.work, x.args(args...)...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		x.t.Fatal(err)
	}
	if got != code {
		x.t.Errorf("acpx %v ended with code %d, want %d", args, got, code)
	}
	return out
}

// wants runs one command, which must succeed and print every part.
func (x *acpx) wants(parts []string, args ...string) {
	x.t.Helper()
	out := x.run(0, args...)
	for _, part := range parts {
		if !strings.Contains(out, part) {
			x.t.Errorf("acpx %v does not print %q:\n%s", args, part, out)
		}
	}
}

// acpx runs single prompts, each in a process of its own.
func TestInterop_ACPX_Exec(t *testing.T) {
	t.Parallel()
	testenv.LongWithRace(t)
	x := newACPX(t)
	writeFile(t, filepath.Join(x.work, "a.txt"), "one\n")
	x.wants([]string{"[tool] Read a.txt (completed)", "[tool] Edit a.txt (completed)", "[tool] cat a.txt (completed)", "[done] end_turn"},
		"--approve-all", "exec", "!think hm\n!plan look; change\n!read a.txt\n!edit a.txt one => two\n!bash cat a.txt")
	if data, err := os.ReadFile(filepath.Join(x.work, "a.txt")); err != nil || string(data) != "two\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	// Code 5 is acpx's for a denied permission.
	if out := x.run(5, "--deny-all", "exec", "!bash touch refused.txt"); !strings.Contains(out, "(failed)") {
		t.Errorf("the refused command did not fail:\n%s", out)
	}
	out := x.run(1, "--format", "json", "exec", "!fail quota")
	if !strings.Contains(out, `"kind":"quota"`) {
		t.Errorf("the model's failure is not reported:\n%s", out)
	}
	// Without the client's file system and terminals, gjc reads files and runs commands itself.
	x.wants([]string{"[tool] Read a.txt (completed)", "[tool] echo local (completed)", "[done] end_turn"},
		"--no-fs", "--no-terminal", "--approve-all", "exec", "!read a.txt\n!bash echo local")
	wantEmptyExcept(t, x.work, "a.txt")
	x.wantLog("session/prompt", 3)
}

// acpx keeps a session over many commands: resume, modes, options, cancelling, the list, closing.
func TestInterop_ACPX_Session(t *testing.T) {
	t.Parallel()
	testenv.LongWithRace(t)
	x := newACPX(t)
	id := strings.TrimSpace(x.run(0, "--format", "quiet", "sessions", "new", "--name", "s"))
	if id == "" {
		t.Fatal("sessions new printed no id")
	}
	x.wants([]string{"hello", "[done] end_turn"}, "prompt", "-s", "s", "!say hello")
	x.wants(nil, "set-mode", "-s", "s", "plan")
	x.wants([]string{"(failed)"}, "--approve-all", "prompt", "-s", "s", "!write a.txt no")
	x.run(1, "set-mode", "-s", "s", "nosuch")
	x.wants([]string{"high"}, "set", "-s", "s", "thinking", "high")
	x.wants([]string{"offline/demo"}, "set", "-s", "s", "model", "offline/demo")
	x.wants([]string{"!say hello", "hello"}, "sessions", "history", "s")
	x.cancel()
	x.wants([]string{"again", "[done] end_turn"}, "prompt", "-s", "s", "!say again")
	x.wants([]string{id, "!say hello"}, "--format", "json", "sessions", "list")
	x.wants(nil, "sessions", "close", "s")
	wantEmptyExcept(t, x.work)
	x.wantLog("session/set_mode", 1)
	x.wantLog("session/set_config_option", 2)
	x.wantLog("session/resume", 1)
	x.wantLog("session/close", 1)
	// With the session its background process ends, and so does its agent.
	wantAllGone(t, markOf(t))
}

// acpx also passes MCP servers, returns to a session by its ID, and passes the user's input.
func TestInterop_ACPX_More(t *testing.T) {
	t.Parallel()
	testenv.LongWithRace(t)
	x := newACPX(t)
	// A prompt of exec is the first of its session, and does not wait long: the server starts quickly.
	servers, err := json.Marshal(object{"mcpServers": []any{object{
		"name": "pocket", "command": self(t), "args": []any{},
		"env": []any{object{"name": asMCP, "value": "plain"}, object{"name": "WHO", "value": "by acpx"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(x.home, "mcp.json")
	writeFile(t, config, string(servers))
	x.wants([]string{"[tool] pocket: run (completed)", "ran run", "who by acpx", "[done] end_turn"},
		"--mcp-config", config, "--approve-all", "exec", "!mcp run {}\n!mcp who {}")
	x.wants([]string{"/compact", "[done] end_turn"}, "--model", "offline/demo", "exec", "/help")

	id := strings.TrimSpace(x.run(0, "--format", "quiet", "sessions", "new", "--name", "one"))
	x.wants([]string{"first"}, "prompt", "-s", "one", "!say first")
	x.wants(nil, "sessions", "close", "one")
	if again := strings.TrimSpace(x.run(0, "--format", "quiet", "sessions", "new", "--name", "two", "--resume-session", id)); again != id {
		t.Errorf("acpx went back to the session %s and got %s", id, again)
	}
	x.wants([]string{"!say first"}, "--approve-all", "prompt", "-s", "two", "/dump")
	x.wants(nil, "sessions", "close", "two")
	wantEmptyExcept(t, x.work)
	x.wantLog("session/resume", 2)
	wantAllGone(t, markOf(t))
}

// cancel begins a turn that waits, and ends it from another process.
func (x *acpx) cancel() {
	x.t.Helper()
	ctx, stop := context.WithTimeout(x.t.Context(), hang)
	defer stop()
	cmd := exec.CommandContext(ctx, testenv.NeedsTool(x.t, "node"), x.args("--format", "json", "prompt", "-s", "s", "!think first\n!wait")...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = x.env, x.work, hang
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		x.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	stopped := ""
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "agent_thought_chunk") {
			x.wants([]string{"cancel"}, "cancel", "-s", "s")
		}
		var m struct{ Result struct{ StopReason string } }
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.Result.StopReason != "" {
			stopped = m.Result.StopReason
		}
	}
	// acpx may end in any way then.
	_ = cmd.Wait()
	if stopped != "cancelled" {
		x.t.Errorf("the prompt stopped with %q", stopped)
	}
}

// wantLog validates the message logs of all agents against the schema, and expects a minimum number of messages of a
// kind.
func (x *acpx) wantLog(kind string, least int) {
	x.t.Helper()
	check := newWireCheck(x.t)
	check.replay(x.log())
	if n := check.seen(kind); n < least {
		x.t.Errorf("%d messages %s, want %d or more", n, kind, least)
	}
}
