package boundary_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/boundary"
)

// TestAccess_Narrow gives a program what it declares, as far as it had that before.
func TestAccess_Narrow(t *testing.T) {
	root, cache := t.TempDir(), t.TempDir()
	out := filepath.Join(root, "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	wide := &boundary.Access{Write: []string{root, cache}, Keep: []string{filepath.Join(root, ".git")}, Hosts: []string{"a.example", "b.example"}, Network: true}
	got := wide.Narrow([]string{root}, []string{filepath.Join(out, "new.txt"), "/etc/passwd"}, []string{"b.example"})
	want := &boundary.Access{Write: []string{cache, out}, Keep: wide.Keep, Hosts: []string{"b.example"}}
	if diff := cmp.Diff(want.Write, got.Write); diff != "" {
		t.Errorf("changes: %s", diff)
	}
	if diff := cmp.Diff(want.Hosts, got.Hosts); diff != "" || got.Network {
		t.Errorf("network %v: %s", got.Network, diff)
	}
	want.Keep = append(want.Keep, root)
	if diff := cmp.Diff(want.Keep, got.Keep); diff != "" {
		t.Errorf("keeps: %s", diff)
	}
	if len(wide.Write) != 2 || len(wide.Hosts) != 2 || len(wide.Keep) != 1 {
		t.Error("the access itself has changed")
	}
}
