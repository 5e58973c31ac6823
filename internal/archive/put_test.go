package archive_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/archive"
)

// A member that was put can be read, and all others are unchanged.
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

// A sparse member can be replaced by a plain file. An archive with another sparse member is not rewritten, because that
// member could not be kept.
func TestPut_Sparse(t *testing.T) {
	for name, data := range map[string][]byte{"gnu": sparseGNU(t), "pax": sparsePAX(t)} {
		t.Run(name, func(t *testing.T) {
			a := open(t, data)
			if text, err := a.ReadFile(t.Context(), "holes", 1<<20); err != nil || string(text) != strings.Repeat("\x00", 1020)+"text" {
				t.Fatalf("the sparse file is not what was meant: %q, %v", text, err)
			}
			if _, _, err := a.Put(t.Context(), "other", nil); err == nil || !strings.Contains(err.Error(), "sparse file") {
				t.Errorf("beside it: %v", err)
			}
			out, replaced, err := a.Put(t.Context(), "holes", []byte("new text\n"))
			if err != nil || !replaced {
				t.Fatalf("replaced %v, %v", replaced, err)
			}
			for name, want := range map[string]string{"holes": "new text\n", "after": "stays\n"} {
				if text, err := open(t, out).ReadFile(t.Context(), name, 1<<20); err != nil || string(text) != want {
					t.Errorf("%s: %q, %v", name, text, err)
				}
			}
		})
	}
}

// sparseGNU is an archive in the old format with a file of 1020 zeros and four letters, and another file after it.
func sparseGNU(t *testing.T) []byte {
	t.Helper()
	data := twoMembers(t, &tar.Header{Name: "holes", Size: 4, Mode: 0o644, Format: tar.FormatGNU})
	h := data[:512]
	h[156] = tar.TypeGNUSparse
	copy(h[386:], fmt.Sprintf("%011o\x00%011o\x00", 1020, 4))
	copy(h[483:], fmt.Sprintf("%011o\x00", 1024))
	copy(h[148:156], "        ")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return data
}

// sparsePAX is the same in the format of GNU tar's --posix.
func sparsePAX(t *testing.T) []byte {
	t.Helper()
	data := twoMembers(t, &tar.Header{Name: "holes", Size: 4, Mode: 0o644, PAXRecords: map[string]string{
		"GNX.sparse.major": "0", "GNX.sparse.minor": "1", "GNX.sparse.size": "1024", "GNX.sparse.numblocks": "1", "GNX.sparse.map": "1020,4",
	}})
	return bytes.ReplaceAll(data, []byte("GNX."), []byte("GNU.")) // archive/tar does not write this format
}

func twoMembers(t *testing.T, first *tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range []struct {
		h    *tar.Header
		text string
	}{{first, "text"}, {&tar.Header{Name: "after", Size: 6, Mode: 0o644}, "stays\n"}} {
		if err := w.WriteHeader(m.h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t *testing.T, data []byte) *archive.Archive {
	t.Helper()
	a, err := archive.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}
