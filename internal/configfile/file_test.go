package configfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A small file with multiplying aliases is rejected before the aliases are expanded.
func TestParse_Bomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("x0: &x0 {a: 1}\n")
	for i := range 60 {
		n := string(rune('0'+i%10)) + strings.Repeat("y", i/10)
		next := string(rune('0'+(i+1)%10)) + strings.Repeat("y", (i+1)/10)
		b.WriteString("x" + next + ": &x" + next + " {a: *x" + n + ", b: *x" + n + "}\n")
	}
	f := &File{Path: "lsp.yaml", Data: []byte(b.String())}
	f.Parse("names")
	if len(f.Problems) != 1 || !strings.Contains(f.Problems[0], "too large") {
		t.Errorf("problems %q", f.Problems)
	}
}

// A project's file is read before the user trusts it, so a file that would need much time or memory is rejected first.
func TestParse_TooMuch(t *testing.T) {
	var keys, levels strings.Builder
	for i := range maxEntries + 1 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	for i := range maxDepth + 1 {
		levels.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	for name, tt := range map[string]struct{ text, want string }{
		"large":                   {strings.Repeat("#", maxYAML+1), ":1: a YAML file may have at most 64 KiB; use JSON for a larger one"},
		"lists in lists":          {strings.Repeat("[", 32_000), ":1: the file is nested more than 100 deep"},
		"mappings in mappings":    {"a: 1\nb:" + strings.Repeat("{a: ", 16_000), ":2: the file is nested more than 100 deep"},
		"hidden lists":            {strings.Repeat("[ # ]\n ']' ,", 1000), "the file is nested more than 100 deep"},
		"block lists on one line": {strings.Repeat("- ", 30_000), ":1: the file is nested more than 100 deep"},
		"keys of keys":            {strings.Repeat("? ", 30_000), ":1: the file is nested more than 100 deep"},
		"anchors":                 {strings.Repeat("&a ", 20_000), ":1: the file is nested more than 100 deep"},
		"blocks":                  {levels.String(), ":101: the file is nested more than 100 deep"},
		"keys":                    {keys.String(), ":4001: the file has more than 4000 entries"},
		"items":                   {"a:\n" + strings.Repeat("- 1\n", maxEntries+1), "the file has more than 4000 entries"},
		"flow":                    {"{" + strings.Repeat("a,", maxEntries+1) + "}", "the file has more than 4000 entries"},
		"long aliases":            {"a: &a " + strings.Repeat("x", 30_000) + "\nb:\n" + strings.Repeat("- *a\n", maxEntries-10), "the file is too large"},
	} {
		f := &File{Path: "lsp.yaml", Data: []byte(tt.text)}
		f.Parse("names")
		if len(f.Problems) != 1 || !strings.Contains(f.Problems[0], tt.want) {
			t.Errorf("%s: problems %.200q, want %q", name, f.Problems, tt.want)
		}
	}
	// A file below the limits is read.
	var most strings.Builder
	most.WriteString("gopls:\n  settings:\n")
	for i := range maxEntries - 10 {
		fmt.Fprintf(&most, "    k%d: 1\n", i)
	}
	f := &File{Path: "lsp.yaml", Data: []byte(most.String())}
	if top := f.Parse("names"); top == nil || len(top.Member("gopls").Member("settings").Members) != maxEntries-10 {
		t.Errorf("problems %q", f.Problems)
	}
	// If a file has very many faults, only the first ones are reported.
	f = &File{Path: "lsp.json"}
	for i := range 5000 {
		f.Problem(i+1, "wrong")
	}
	if len(f.Problems) != maxProblems+1 || !strings.HasSuffix(f.Problems[maxProblems], ":51: more problems follow") {
		t.Errorf("%d problems", len(f.Problems))
	}
}

// Reading terminates and reports the problem, whatever has the name of a configuration file.
func TestReadPlace_Odd(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lsp.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lsp.yaml"), make([]byte, maxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	files := ReadPlace(Place{Dir: dir, Project: true}, Names("lsp"), map[string]bool{})
	if len(files) != 2 || !strings.Contains(files[0].Problems[0], "larger than") || !strings.Contains(files[1].Problems[0], "not a regular file") {
		t.Errorf("got %+v", files)
	}
}
