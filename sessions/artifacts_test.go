package sessions_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/sessions"
)

func TestArtifacts_NumbersGoOnAcrossRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with [special] *", "s1")
	put := func(a *sessions.Artifacts, tool, data, want string) {
		t.Helper()
		url, err := a.Put(t.Context(), tool, []byte(data))
		if url != want || err != nil {
			t.Fatalf("Put = %q, %v; want %q", url, err, want)
		}
		got, err := sessions.NewArtifacts(dir).Get(t.Context(), url)
		if string(got) != data || err != nil {
			t.Fatalf("Get(%q) = %q, %v; want %q", url, got, err, data)
		}
	}
	a := sessions.NewArtifacts(dir)
	put(a, "bash", "first", "artifact://0")
	put(a, "mcp__x/../y", "second", "artifact://1")
	for i := 2; i < 11; i++ {
		if _, err := a.Put(t.Context(), "bash", nil); err != nil {
			t.Fatal(err)
		}
	}
	put(sessions.NewArtifacts(dir), "bash", "eleventh", "artifact://11")
	if got, err := a.Get(t.Context(), "artifact://0"); string(got) != "first" || err != nil {
		t.Errorf("the first is now %q, %v", got, err)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the directory: %v, %v", entries, err)
	}
}

func TestArtifacts_Unknown(t *testing.T) {
	a := sessions.NewArtifacts(filepath.Join(t.TempDir(), "none"))
	for _, url := range []string{"artifact://1", "artifact://0", "artifact://-1", "artifact://../x", "1", "", "artifact://"} {
		if _, err := a.Get(t.Context(), url); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get(%q): err = %v", url, err)
		}
	}
}
