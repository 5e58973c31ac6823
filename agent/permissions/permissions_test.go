package permissions_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/permissions"
)

func grant(subject string, allowed bool) approval.Grant {
	return approval.Grant{Kind: approval.GrantCommands, Subject: subject, Dir: "/w", Allowed: allowed, Label: subject + " commands here", When: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)}
}

func subjects(grants []approval.Grant) string {
	var all []string
	for _, g := range grants {
		all = append(all, g.Subject)
	}
	return strings.Join(all, " ")
}

// Answers are there for other processes at once, by the real path of the workspace; another workspace does not have them.
func TestKeeper(t *testing.T) {
	agentDir, root := t.TempDir(), t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Skip(err)
	}
	one, other := permissions.Open(agentDir).Keeper(root), permissions.Open(agentDir).Keeper(link)
	if got := one.Grants(); len(got) > 0 {
		t.Errorf("new: %v", got)
	}
	for _, g := range []approval.Grant{grant("go test", true), grant("make", false), grant("go test", true)} {
		if err := one.Keep(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if got := subjects(other.Grants()); got != "make go test" {
		t.Errorf("by a link: %q", got)
	}
	if got := permissions.Open(agentDir).Keeper(t.TempDir()).Grants(); len(got) > 0 {
		t.Errorf("another workspace has %v", got)
	}
	if info, err := os.Stat(filepath.Join(agentDir, permissions.Name)); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := other.Revoke(t.Context(), func(g *approval.Grant) bool { return g.Subject == "make" }); err != nil {
		t.Fatal(err)
	}
	if got := subjects(one.Grants()); got != "go test" {
		t.Errorf("after revoking: %q", got)
	}
}

func TestStore_Revoke(t *testing.T) {
	store := permissions.Open(t.TempDir())
	roots := []string{t.TempDir(), t.TempDir()}
	for _, root := range roots {
		for _, subject := range []string{"a", "b", "c"} {
			if err := store.Keeper(root).Keep(t.Context(), grant(subject, true)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n, err := store.Revoke(t.Context(), roots[0], map[int]bool{1: true, 3: true, 9: true}); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got := subjects(store.Keeper(roots[0]).Grants()); got != "b" {
		t.Errorf("left: %q", got)
	}
	// A workspace that has been deleted is found by its path.
	if err := os.RemoveAll(roots[0]); err != nil {
		t.Fatal(err)
	}
	if n, err := store.Revoke(t.Context(), roots[0], nil); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := store.RevokeAll(t.Context()); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if all, err := store.List(); len(all) > 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
}

// No answer of a file that cannot be read counts, and no answer replaces it.
func TestStore_BadFiles(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"version":2,"workspaces":[]}`, `{"version":1,"workspaces":[{"path":1}]}`, "\x00"} {
		dir, root := t.TempDir(), t.TempDir()
		file := filepath.Join(dir, permissions.Name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		store := permissions.Open(dir)
		if got := store.Keeper(root).Grants(); len(got) > 0 {
			t.Errorf("%q: %v", text, got)
		}
		if err := store.Keeper(root).Keep(t.Context(), grant("a", true)); err == nil {
			t.Errorf("%q: an answer is kept", text)
		} else if _, ok := errors.AsType[*permissions.FileError](err); !ok || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", text, err)
		}
		if got, err := os.ReadFile(file); string(got) != text || err != nil {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}

// Sessions that answer at the same time lose nothing.
func TestKeeper_Concurrent(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	var wg sync.WaitGroup
	for subject := range strings.SplitSeq("abcdefghijklmnop", "") {
		wg.Go(func() {
			if err := permissions.Open(dir).Keeper(root).Keep(t.Context(), grant(subject, true)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := permissions.Open(dir).Keeper(root).Grants(); len(got) != 16 {
		t.Errorf("%d answers", len(got))
	}
}
