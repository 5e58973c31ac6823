package sandbox

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMounts(t *testing.T) {
	p := &Policy{
		Write: []string{"/home/u/w", "/home/u/.gjc/worktree"},
		Keep:  []string{"/home/u/w/.git/config", "/home/u/w/.vscode", "/home/u/w/.vscode/tasks.json", "/home/u/.gjc/agent/x", "/home/u/.gjc/worktree/.envrc"},
		Hide:  []string{"/home/u/.gjc", "/home/u/.gjc/agent", "/home/u/w/.vscode/secret.pem", "/home/u/w/.env"},
	}
	want := []mount{
		{"/home/u/.gjc", hidden},
		{"/home/u/w", writable},
		{"/home/u/.gjc/worktree", writable},
		{"/home/u/w/.env", hidden},
		{"/home/u/w/.vscode", readable},
		{"/home/u/.gjc/worktree/.envrc", readable},
		{"/home/u/w/.git/config", readable},
		{"/home/u/w/.vscode/secret.pem", hidden},
	}
	if diff := cmp.Diff(want, mounts(p), cmp.AllowUnexported(mount{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// With too many paths, their directories stand for them.
func TestMounts_Many(t *testing.T) {
	p := &Policy{Write: []string{"/w", "/w/a/sub"}}
	for i := range 10_000 {
		p.Keep = append(p.Keep, fmt.Sprintf("/w/a/%d", i))
	}
	p.Keep, p.Hide = append(p.Keep, "/w/b/x"), append(p.Hide, "/w/c/x")
	want := []mount{{"/w", writable}, {"/w/a", readable}, {"/w/a/sub", writable}, {"/w/b/x", readable}, {"/w/c/x", hidden}}
	got := mounts(p)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mount{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
