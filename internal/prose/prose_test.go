package prose

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go":           "// Package a\n// is one.\npackage a\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n)\n\nvar err = errors.New(\"no \" + \"luck\")\n\nfunc f() error { return fmt.Errorf(`%q: %w`, \"x\", err) } // returns it\n",
		"a/a_test.go":      "package a\n\nimport \"errors\"\n\nvar other = errors.New(\"in a test\")\n",
		"a/b_gen.go":       "// generated\npackage a\n",
		"a/testdata/x.md":  "not read\n",
		"docs/x.md":        "# Heading\n\nOne\nparagraph.\n- an item\n  that goes on\n- another\n\n```\ncode\n```\n| a | b |\n|---|---|\n| c | d |\n",
		"docs/changelog/x": "",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	want := Texts{
		Comments: []Text{{"a/a.go", 1, "Package a is one."}, {"a/a.go", 12, "returns it"}},
		Errors:   []Text{{"a/a.go", 10, "no luck"}, {"a/a.go", 12, "%q: %w"}},
		Paragraphs: []Text{
			{"docs/x.md", 3, "One paragraph."},
			{"docs/x.md", 5, "- an item that goes on"},
			{"docs/x.md", 7, "- another"},
			{"docs/x.md", 12, "| a | b |"},
			{"docs/x.md", 14, "| c | d |"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}
