package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// wantProcesses returns the processes with mark in their environment, which must be n.
func wantProcesses(t *testing.T, mark string, n int) (pids []int) {
	t.Helper()
	found := marked(t, mark)
	for pid := range found {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	if len(pids) != n {
		t.Errorf("%d processes with %s, want %d: %v", len(pids), mark, n, found)
	}
	return pids
}

// Two sessions have servers of the same names, with different environments. Each has processes, tools and values of its
// own; loading with another list replaces them, closing ends them, and nothing of them is on disk.
func TestMCP_SessionsAreIsolated(t *testing.T) {
	t.Parallel()
	program, script := mcpServer(t, "server-everything")
	all := markOf(t)
	home := tempDir(t)
	h := startMCPHost(t, home, all)
	value := func(who string) string { return fmt.Sprintf("%s-%d-secret", who, os.Getpid()) }
	hidden := fmt.Sprintf("hidden-%d-secret", os.Getpid())
	servers := func(who string) []any {
		return []any{
			stdioServer("everything", program, []string{script, "stdio"}, "WHO="+value(who)),
			stdioServer("fake", self(t), []string{}, asMCP+"=plain", "WHO="+value(who), "HIDDEN="+hidden),
		}
	}
	// The tools report which session's server runs them.
	says := func(id acp.SessionID, who string, not ...string) {
		t.Helper()
		h.connected(id, "everything")
		h.connected(id, "fake")
		env := h.prompt(id, "!mcp mcp__everything_get_env {}").only(t)
		fake := h.prompt(id, "!mcp mcp__fake_who {}").only(t)
		for _, call := range []toolCall{env, fake} {
			if call.Status != "completed" || !strings.Contains(call.Text, value(who)) {
				t.Errorf("the session of %s gets %+v", who, call)
			}
			for _, other := range not {
				if strings.Contains(call.Text, value(other)) {
					t.Errorf("the session of %s sees %s: %+v", who, other, call)
				}
			}
		}
	}
	one, two := h.open(servers("one")...), h.open(servers("two")...)
	three := h.open()
	says(one, "one", "two")
	says(two, "two", "one")
	pids := append(wantProcesses(t, "WHO="+value("one"), 2), wantProcesses(t, "WHO="+value("two"), 2)...)
	for i, pid := range pids {
		if slices.Contains(pids[:i], pid) {
			t.Errorf("process %d serves two sessions", pid)
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(env, []byte("WHO="+value("one"))) == bytes.Contains(env, []byte("WHO="+value("two"))) {
			t.Errorf("process %d has the environment of both sessions or of none", pid)
		}
	}
	if o := h.prompt(three, "!mcp echo {}"); len(o.calls) != 0 {
		t.Errorf("a session without servers calls %+v", o.calls)
	}

	// The same list changes nothing; another one replaces all of it.
	h.load(one, servers("one")...)
	says(one, "one", "two")
	if again := wantProcesses(t, "WHO="+value("one"), 2); !slices.Equal(again, pids[:2]) {
		t.Errorf("the same list started new processes: %v, they were %v", again, pids[:2])
	}
	h.load(one, servers("other")...)
	says(one, "other", "one", "two")
	wantAllGone(t, "WHO="+value("one"))
	wantProcesses(t, "WHO="+value("other"), 2)
	says(two, "two", "one", "other")

	h.close(one)
	wantAllGone(t, "WHO="+value("other"))
	says(two, "two", "one", "other")
	// Loaded without servers it has none.
	h.load(one)
	if o := h.prompt(one, "!mcp who {}"); len(o.calls) != 0 {
		t.Errorf("the servers came back by themselves: %+v", o)
	}
	h.close(two)
	wantAllGone(t, "WHO="+value("two"))
	h.alive(three)
	h.stop()
	wantNoneLeft(t, all)
	wantNotOnDisk(t, home, hidden)
}

// wantNotOnDisk fails if a file below dir contains text.
func wantNotOnDisk(t *testing.T, dir, text string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("%s has a value of a server's environment", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

// A server is killed in the middle of a call: the call fails, the session continues, and the server is restarted.
func TestMCP_ServerIsKilled(t *testing.T) {
	t.Parallel()
	program, script := mcpServer(t, "server-everything")
	all := markOf(t)
	h := startMCPHost(t, tempDir(t), all)
	for name, server := range map[string]object{
		"fake": h.fakeServer("wait"),
		"real": stdioServer("everything", program, []string{script, "stdio"}),
	} {
		mark := fmt.Sprintf("KILL_MARK=%s-%d;", name, os.Getpid())
		k, v, _ := strings.Cut(mark, "=")
		server["env"] = append(server["env"].([]any), object{"name": k, "value": v})
		tool := "!mcp run {}"
		if name == "real" {
			tool = `!mcp trigger_long_running_operation {"duration":600,"steps":60000}`
		}
		id := h.open(server)
		h.connected(id, server["name"].(string))
		pid := wantProcesses(t, mark, 1)[0]
		from := len(h.Updates(id))
		ended := make(chan error, 1)
		go func() {
			_, err := h.Prompt(h.ctx, id, tool)
			ended <- err
		}()
		err := h.Await(h.ctx, id, func(updates []acp.SessionUpdate, calls []string) bool {
			return acptest.Update(func(u *acp.ToolCallUpdate) bool {
				content, _ := u.Content.Get()
				return len(content) > 0
			})(updates[from:], calls)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the prompt: %v", err)
		}
		if call := outcomeOf(h.Updates(id)[from:]).only(t); call.Status != "failed" || !strings.Contains(call.Text, "lost during the call") {
			t.Errorf("the call: %+v", call)
		}
		h.awaitNotice(id, server["name"].(string), "not available")
		h.awaitNotice(id, server["name"].(string), "connected again")
		h.alive(id)
		if again := wantProcesses(t, mark, 1); len(again) == 1 && again[0] == pid {
			t.Errorf("process %d is still there", pid)
		}
		h.close(id)
		wantAllGone(t, mark)
	}
	h.stop()
	wantNoneLeft(t, all)
}

// The editor closes stdin while servers start, wait, and work: no process is left.
func TestMCP_EditorHasExited(t *testing.T) {
	t.Parallel()
	program, script := mcpServer(t, "server-everything")
	files, filesystem := mcpServer(t, "server-filesystem")
	for _, tt := range []struct {
		name  string
		reach func(h *mcpHost)
	}{
		{"while they start", func(h *mcpHost) {
			h.open(stdioServer("everything", program, []string{script, "stdio"}), h.fakeServer("hang"))
		}},
		{"while they wait", func(h *mcpHost) {
			id := h.open(stdioServer("everything", program, []string{script, "stdio"}), stdioServer("files", files, []string{filesystem, h.work}), h.fakeServer("junk"))
			h.connected(id, "everything")
			h.connected(id, "files")
			h.open(h.fakeServer("plain"))
		}},
		{"in a call", func(h *mcpHost) {
			id := h.open(h.fakeServer("wait"))
			h.connected(id, "wait")
			go func() { _, _ = h.Prompt(h.ctx, id, "!mcp run {}") }() // it ends with the connection
			err := h.Await(h.ctx, id, acptest.Update(func(u *acp.ToolCallUpdate) bool {
				content, _ := u.Content.Get()
				return len(content) > 0
			}))
			if err != nil {
				h.t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := markOf(t)
			h := startMCPHost(t, tempDir(t), all)
			tt.reach(h)
			if len(marked(t, all)) < 2 && tt.name != "while they start" {
				t.Error("there are no servers: the test tests nothing")
			}
			h.stop()
			wantNoneLeft(t, all)
		})
	}
}
