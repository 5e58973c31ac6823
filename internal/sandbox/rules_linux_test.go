package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// count returns the number of rules of a tree.
func (t *tree) count(have uint64) int {
	n := len(t.entries)
	if t.common&^have != 0 {
		n++
	}
	for _, child := range t.children {
		n += child.count(have | t.common)
	}
	return n
}

// With too many rules, the largest directory is hidden as a whole; what is open in it by a rule of its own stays open.
func TestTree_Many(t *testing.T) {
	root := t.TempDir()
	large, small := filepath.Join(root, "large"), filepath.Join(root, "small")
	for _, dir := range []string{large, small, filepath.Join(large, "open")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxRules + 1 {
		if err := os.WriteFile(filepath.Join(large, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(small, "a"), filepath.Join(small, "b")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		p                    Policy
		large, small, opened uint64
	}{
		{Policy{Hide: []string{large + "/0", small + "/a"}, Write: []string{large + "/open"}}, 0, reading, reading | writing},
		{Policy{Write: []string{root}, Keep: []string{large + "/0", small + "/a"}}, reading, reading | writing, reading | writing},
		{Policy{Write: []string{root, large + "/open"}, Keep: []string{large + "/0"}, Hide: []string{small + "/a"}}, reading, reading | writing, reading | writing},
	} {
		c.p.Write = append(c.p.Write, large+"/open")
		start := time.Now()
		tr := newTree(&c.p)
		t.Logf("%d rules in %v", tr.count(0), time.Since(start))
		if n := tr.count(0); n > maxRules {
			t.Errorf("%d rules", n)
		}
		for path, want := range map[string]uint64{large: c.large, small: c.small, large + "/open": c.opened} {
			if found := find(tr, path); found == nil || found.rights != want {
				t.Errorf("%s: %+v, want the rights %x", path, found, want)
			}
		}
	}
}

// find returns the part of a tree at a path.
func find(t *tree, path string) *tree {
	if t == nil || t.path == path {
		return t
	}
	for _, child := range t.children {
		if found := find(child, path); found != nil {
			return found
		}
	}
	return nil
}
