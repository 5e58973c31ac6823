package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

// node runs a program of the interop directory with Node.js and returns its stdout.
func node(t *testing.T, env []string, dir string, args ...string) (stdout string, err error) {
	t.Helper()
	program := testenv.NeedsTool(t, "node")
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	version, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), "."); len(major) < 2 || major < "20" {
		testenv.Skip(t, "the clients need node 20 or newer, and this is %s", version)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, dir, hang
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err = cmd.Run()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("node %s\nstdout: %s\nstderr: %s", strings.Join(args, " "), &out, &stderr)
		}
	})
	return out.String(), err
}

type sdkTool struct{ Title, Kind, Status string }

type sdkTurn struct {
	Text, Thoughts, User string
	Tools                []sdkTool
	Diffs                []struct{ Path, OldText, NewText string }
	Plan, Terminals      []string
}

type sdkSummary struct {
	Calls, Updates, Errors map[string]int
	Stops                  map[string]string
	Permissions            []struct {
		Title string
		Kinds []string
	}
	Commands   []string
	Title      string
	Initialize struct {
		ProtocolVersion int
		AgentInfo       struct{ Name string }
	}
	Session struct {
		Modes   struct{ CurrentModeID string }
		Options []string
	}
	Work, Refused, Cancelled, Planning, Replay, Loaded, Resumed sdkTurn
	File, Terminal, Mode                                        string
	List                                                        []struct {
		Same  bool
		Title string
	}
	Unreleased int
	Exit       struct {
		Code   *int
		Signal string
	}
}

// The official TypeScript SDK drives the program through a whole session, over stdin and stdout and by its clients for the network.
func TestInterop_TypeScriptSDK(t *testing.T) {
	t.Parallel()
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			driveSession(t, transport)
		})
	}
}

func driveSession(t *testing.T, transport string) {
	t.Helper()
	dir := testenv.NeedsInterop(t)
	home, work := tempDir(t), tempDir(t)
	writeFile(t, filepath.Join(work, "a.txt"), "one\n")
	introduced(t, home, work)
	log := filepath.Join(home, "rpc.log")
	agent, env := agentOver(t, transport, home, rpcLog(transport, log)...)
	out, err := node(t, env, home, append([]string{filepath.Join(dir, "sdk-client.mjs"), work}, agent...)...)
	if err != nil {
		t.Fatal(err)
	}
	var got sdkSummary
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if transport == "stdio" {
		check := newWireCheck(t)
		check.replay(log)
		if check.seen("session/prompt") != 6 {
			t.Errorf("the message log has %d answered prompts, want 6", check.seen("session/prompt"))
		}
	}
	checkSession(t, work, &got)
}

func checkSession(t *testing.T, work string, got *sdkSummary) {
	t.Helper()
	equal := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	equal("version", got.Initialize.ProtocolVersion, 1)
	equal("name", got.Initialize.AgentInfo.Name, "gjc")
	equal("mode", got.Session.Modes.CurrentModeID, "default")
	equal("options", got.Session.Options, []string{"mode", "model", "thinking"})
	equal("stop reasons", got.Stops, map[string]string{
		"work": "end_turn", "refused": "end_turn", "cancelled": "cancelled", "planning": "end_turn", "loaded": "end_turn", "resumed": "end_turn",
	})
	tools := []sdkTool{
		{"Update the plan", "think", "completed"},
		{"Read a.txt", "read", "completed"},
		{"Edit a.txt", "edit", "completed"},
		{"cat a.txt; echo from the terminal", "execute", "completed"},
	}
	equal("tools", got.Work.Tools, tools)
	equal("thoughts", got.Work.Thoughts, "hm")
	equal("plan", got.Work.Plan, []string{"look", "change"})
	if len(got.Work.Diffs) != 1 || got.Work.Diffs[0].OldText != "one\n" || got.Work.Diffs[0].NewText != "two\n" {
		t.Errorf("diffs %+v", got.Work.Diffs)
	}
	equal("terminals", got.Work.Terminals, []string{"terminal-1"})
	equal("file", got.File, "two\n")
	equal("terminal", got.Terminal, "two\nfrom the terminal\n")
	equal("refused", got.Refused.Tools, []sdkTool{{"touch refused.txt", "execute", "failed"}})
	equal("cancelled", got.Cancelled.Tools, []sdkTool{{"sleep 600", "execute", "failed"}})
	equal("planning", got.Planning.Tools, []sdkTool{{"Write b.txt", "edit", "failed"}})
	equal("new mode", got.Mode, "auto")
	equal("questions", len(got.Permissions), 3)
	for _, p := range got.Permissions {
		equal("answers", p.Kinds, []string{"allow_once", "allow_always", "allow_always", "reject_once", "reject_always"})
	}
	equal("errors", got.Errors, map[string]int{
		"unknown session": -32002, "relative cwd": -32602, "unknown method": -32601, "model failure": -32000,
	})
	if len(got.List) != 1 || !got.List[0].Same || got.List[0].Title == "" || got.List[0].Title != got.Title {
		t.Errorf("list %+v, title %q", got.List, got.Title)
	}
	if len(got.Replay.Tools) < len(tools) {
		t.Fatalf("replayed tools %+v", got.Replay.Tools)
	}
	equal("replayed tools", got.Replay.Tools[:len(tools)], tools)
	equal("replayed diffs", got.Replay.Diffs, got.Work.Diffs)
	if !strings.Contains(got.Replay.User, "!think hm") || !strings.Contains(got.Replay.Text, strings.TrimSpace(got.Work.Text)) {
		t.Errorf("replayed: user %q, text %q", got.Replay.User, got.Replay.Text)
	}
	if !strings.Contains(got.Loaded.Text, "again") || !strings.Contains(got.Resumed.Text, "and again") {
		t.Errorf("after the load %q, after the resume %q", got.Loaded.Text, got.Resumed.Text)
	}
	if len(got.Commands) == 0 {
		t.Error("no commands were sent")
	}
	equal("terminals that were not released", got.Unreleased, 0)
	if got.Exit.Code == nil || *got.Exit.Code != 0 {
		t.Errorf("gjc ended with %+v", got.Exit)
	}
	wantEmptyExcept(t, work, "a.txt")
}

// wantEmptyExcept fails if dir contains other than the named files.
func wantEmptyExcept(t *testing.T, dir string, names ...string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(all))
	for _, path := range all {
		got = append(got, filepath.Base(path))
	}
	if diff := cmp.Diff(append([]string{}, names...), got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
