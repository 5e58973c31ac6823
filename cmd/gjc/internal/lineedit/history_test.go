package lineedit

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir", "history")
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"one", "two\nlines", "two\nlines", "  ", strings.Repeat("x", maxLine+1), "한글 \"quoted\""} {
		if err := h.Add(t.Context(), line); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"one", "two\nlines", "한글 \"quoted\""}
	if diff := cmp.Diff(want, h.lines); diff != "" {
		t.Errorf("in memory (-want +got):\n%s", diff)
	}
	again, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, again.lines); diff != "" {
		t.Errorf("in the file (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}

// Two chats add to the same history.
func TestHistory_shared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			h, err := OpenHistory(path)
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 5 {
				if err := h.Add(t.Context(), strconv.Itoa(i)+"-"+strconv.Itoa(j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	h, err := OpenHistory(path)
	if err != nil || len(h.lines) != 20 {
		t.Errorf("%d lines, error %v; want 20", len(h.lines), err)
	}
}

func TestHistory_bounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	b.WriteString("not JSON\n42\n")
	for i := range maxLines + 10 {
		b.WriteString(`"line ` + strconv.Itoa(i) + `"` + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := OpenHistory(path)
	if err != nil || len(h.lines) != maxLines || h.lines[0] != "line 10" {
		t.Errorf("%d lines, error %v", len(h.lines), err)
	}
	long := strings.Repeat("y", maxLine)
	for range 3 * maxHistory / maxLine {
		if err := h.Add(t.Context(), long); err != nil {
			t.Fatal(err)
		}
		if err := h.Add(t.Context(), "short"); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() > maxHistory {
		t.Errorf("%d bytes, error %v", info.Size(), err)
	}
}

// A history that cannot be read is kept in memory.
func TestHistory_unreadable(t *testing.T) {
	h, err := OpenHistory(t.TempDir())
	if err == nil {
		t.Fatal("a directory is read as a history")
	}
	if err := h.Add(t.Context(), "line"); err != nil || len(h.lines) != 1 {
		t.Errorf("lines %q, error %v", h.lines, err)
	}
}
