package archive_test

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/tools/archive"
)

// What is put into an archive is there, and all else stays.
func TestPut(t *testing.T) {
	for _, file := range []string{"a.zip", "a.tar", "a.tar.gz", "a.tgz"} {
		t.Run(file, func(t *testing.T) {
			data, err := archive.New(file, "dir/one.txt", []byte("one\n"))
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct {
				name, text string
				replaced   bool
			}{{"two.txt", "two\n", false}, {"./dir/one.txt", "1\n", true}, {"dir/empty", "", false}, {"two.txt", strings.Repeat("long ", 1000), true}} {
				out, replaced, err := open(t, data).Put(t.Context(), step.name, []byte(step.text))
				if err != nil || replaced != step.replaced {
					t.Fatalf("%s: replaced %v, %v", step.name, replaced, err)
				}
				data = out
			}
			got := make(map[string]string)
			a := open(t, data)
			entries, _, err := a.List(t.Context(), "", 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				text, err := a.ReadFile(t.Context(), e.Name, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				got[e.Name] = string(text)
			}
			want := map[string]string{"dir/one.txt": "1\n", "two.txt": strings.Repeat("long ", 1000), "dir/empty": ""}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			for _, name := range []string{"", "/", "dir/", "../x", "a/../../x", "dir", "two.txt/x"} {
				if _, _, err := open(t, data).Put(t.Context(), name, nil); err == nil {
					t.Errorf("%q was written", name)
				} else if (name == "dir" || name == "two.txt/x") && !errors.Is(err, fs.ErrExist) {
					t.Errorf("%q: %v", name, err)
				}
			}
		})
	}
}

func open(t *testing.T, data []byte) *archive.Archive {
	t.Helper()
	a, err := archive.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}
