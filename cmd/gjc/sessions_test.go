package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// sessionsCommand runs "gjc sessions" and returns its output.
func sessionsCommand(t *testing.T, home string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), self(t), append([]string{"sessions"}, args...)...)
	cmd.Env, cmd.Dir = environment(home), home
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// storedSession creates a session with a prompt and leaves it open.
func storedSession(t *testing.T, home, cwd, prompt string) *sessions.Log {
	t.Helper()
	store := sessions.NewStore(filepath.Join(home, ".gjc", "agent", "sessions"), &sessions.StoreOptions{Home: home, Sync: sessions.SyncNever})
	log, err := store.Create(t.Context(), sessions.Header{Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	if _, err := log.AppendMessage(&providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: prompt}}}); err != nil {
		t.Fatal(err)
	}
	return log
}

// An open session can be read, also when its directory no longer exists and the disk is read-only. It cannot be
// deleted, and the error names the process that has it open.
func TestSessions_OpenElsewhere(t *testing.T) {
	home := tempDir(t)
	gone := filepath.Join(home, "gone")
	log := storedSession(t, home, gone, "!say hello there")
	if runtime.GOOS != "windows" {
		dir := filepath.Dir(log.Path())
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	}
	for _, args := range [][]string{{"list", "--cwd", "gone"}, {"list", "--all", "--json"}, {"show", log.ID()}, {"show", log.ID(), "--entries"}, {"export", log.ID(), "-o", "-"}} {
		out, errs, err := sessionsCommand(t, home, args...)
		if err != nil || errs != "" || !strings.Contains(out, "!say hello there") {
			t.Errorf("%v: %v %s\n%s", args, err, errs, out)
		}
	}
	_, errs, err := sessionsCommand(t, home, "delete", log.ID())
	if want := fmt.Sprintf("process %d", os.Getpid()); err == nil || !strings.Contains(errs, "session is in use by") || runtime.GOOS != "windows" && !strings.Contains(errs, want) {
		t.Errorf("deleting an open session: %v %q, want %q", err, errs, want)
	}
	if _, err := os.Stat(log.Path()); err != nil {
		t.Error(err)
	}
}

// Thousands of sessions are listed, each once, the newest first.
func TestSessions_Thousands(t *testing.T) {
	const n = 1300 // more than two pages
	home := tempDir(t)
	for i := range n {
		if err := storedSession(t, home, filepath.Join(home, fmt.Sprint("d", i%7)), fmt.Sprint("prompt ", i)).Close(); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, err := sessionsCommand(t, home, "list", "--all", "--json")
	if err != nil || errs != "" {
		t.Fatal(err, errs)
	}
	var list []listedSession
	if err := jsonx.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for i, s := range list {
		seen[s.Title] = true
		if i > 0 && s.UpdatedAt.After(list[i-1].UpdatedAt) {
			t.Errorf("%s is newer than what is before it", s.ID)
		}
	}
	if len(list) != n || len(seen) != n {
		t.Errorf("%d sessions with %d titles, want %d", len(list), len(seen), n)
	}
	if out, _, err = sessionsCommand(t, home, "list", "--cwd", "d3"); err != nil || strings.Count(out, "prompt ") != (n-3+6)/7 {
		t.Errorf("%d sessions of one directory: %v", strings.Count(out, "prompt "), err)
	}
}
