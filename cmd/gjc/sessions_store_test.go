package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// Sessions that were copied to a database are there for every command.
func TestSessions_Store(t *testing.T) {
	cluster := new(postgrestest.Cluster)
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	address := cluster.Database(t)
	home := tempDir(t)
	log := storedSession(t, home, home, "remember the milk")
	id := log.ID()
	command := func(ok bool, want string, env []string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), self(t), args...)
		cmd.Env, cmd.Dir = append(environment(home), env...), home
		out, err := cmd.CombinedOutput()
		if (err == nil) != ok || !strings.Contains(string(out), want) || strings.Contains(string(out), "hunter2") {
			t.Errorf("gjc %q: %v, %q; want %q", args, err, out, want)
		}
	}
	stored := []string{"GJC_STORE=" + address + "&password=hunter2"}
	command(false, "skipped, because it is open", nil, "sessions", "migrate", "--to", address)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	command(true, "Copied 1 session", nil, "sessions", "migrate", "--to", address)
	command(true, "Copied 0 sessions", nil, "sessions", "migrate", "--to", address)
	command(true, id, nil, "sessions", "delete", id)
	command(false, "no session", nil, "sessions", "show", id)
	command(true, id, nil, "sessions", "list", "--all", "--store", address)
	command(true, "milk", stored, "sessions", "search", "milk")
	command(true, "milk", stored, "sessions", "export", id, "--output", "-")
	command(true, "-", stored, "sessions", "fork", id)
	command(true, "Removed 0", stored, "sessions", "gc")
	command(true, "the latest is", stored, "doctor")
	command(false, "not available", []string{"GJC_STORE=postgres://me:hunter2@127.0.0.1:1/none?connect_timeout=1"}, "sessions", "list")
	command(true, id, stored, "sessions", "delete", id)
	command(false, "is an address such as", nil, "sessions", "list", "--store", "/tmp/x")
	command(false, "--store", nil, "sessions", "list", "--store", "postgres://me:hunter2@host:port/x")
	command(true, "Copied 1 session", stored, "sessions", "migrate", "--to", home+"/back") // the fork
	command(true, "milk", nil, "--agent-dir", home+"/back", "sessions", "list", "--all")
}
