package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

func TestSessions_GC(t *testing.T) {
	home := tempDir(t)
	kept, gone := storedSession(t, home, home, "kept"), storedSession(t, home, home, "gone")
	for i, log := range []*sessions.Log{kept, gone} {
		image := providers.Image{MIMEType: "image/png", Data: bytes.Repeat([]byte{byte(i)}, 2000)}
		if _, err := log.AppendMessage(&providers.Message{Role: providers.RoleUser, Parts: []providers.Part{image}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	if out, errs, err := sessionsCommand(t, home, "delete", gone.ID()); err != nil {
		t.Fatal(err, out, errs)
	}
	blobs := filepath.Join(home, ".gjc", "agent", "blobs")
	all, err := os.ReadDir(blobs)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	count := func(args ...string) (out string, left int) {
		t.Helper()
		out, errs, err := sessionsCommand(t, home, append([]string{"gc"}, args...)...)
		if err != nil || errs != "" {
			t.Fatal(err, errs)
		}
		entries, err := os.ReadDir(blobs)
		if err != nil {
			t.Fatal(err)
		}
		return out, len(entries)
	}
	if out, left := count(); left != 2 || !strings.Contains(out, "Removed 0") {
		t.Errorf("of young files: %d are left, %q", left, out)
	}
	old := time.Now().Add(-48 * time.Hour)
	for _, e := range all {
		if err := os.Chtimes(filepath.Join(blobs, e.Name()), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if out, left := count("--dry-run"); left != 2 || !strings.Contains(out, "Would remove 1, 2.0 KB") || !strings.Contains(out, "no session refers to") {
		t.Errorf("dry run: %d are left, %q", left, out)
	}
	if out, left := count(); left != 1 || !strings.Contains(out, "Removed 1") {
		t.Errorf("%d are left, %q", left, out)
	}
	if out, errs, err := sessionsCommand(t, home, "export", kept.ID(), "-o", "-"); err != nil || !strings.Contains(out, "data:image/png;base64,") {
		t.Errorf("the kept image is not shown: %v %s", err, errs)
	}
	if _, errs, err := sessionsCommand(t, home, "gc", "--min-age", "-1h"); err == nil || !strings.Contains(errs, "negative") {
		t.Errorf("a negative age: %v %s", err, errs)
	}
}

func TestSessions_Move(t *testing.T) {
	home := tempDir(t)
	log := storedSession(t, home, filepath.Join(home, "old"), "!say hello")
	to := filepath.Join(home, "new place")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, errs, err := sessionsCommand(t, home, "move", log.ID(), to); err == nil || !strings.Contains(errs, "in use by process") {
		t.Errorf("an open session: %v %s", err, errs)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"none", log.Path()} {
		if out, _, err := sessionsCommand(t, home, "move", log.ID(), dir); err == nil {
			t.Errorf("to %s: %s", dir, out)
		}
	}
	out, errs, err := sessionsCommand(t, home, "move", log.ID()[:len(log.ID())-2], "new place")
	if err != nil || !strings.Contains(out, to) {
		t.Fatalf("%v %s %s", err, errs, out)
	}
	if out, _, err := sessionsCommand(t, home, "list", "--cwd", to); err != nil || !strings.Contains(out, log.ID()) {
		t.Errorf("not listed there: %v %s", err, out)
	}
	if out, _, err := sessionsCommand(t, home, "show", log.ID()); err != nil || !strings.Contains(out, "!say hello") {
		t.Errorf("show: %v %s", err, out)
	}
}
