package sessions_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/gajae-code/gjc/sessions"
)

// TestAppend_FileWasRemoved checks that a write to an unlinked file is not acknowledged.
func TestAppend_FileWasRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file keeps its name there")
	}
	for name, do := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			data, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, unsynced)
			l := create(t, s)
			appendMessage(t, l, user("one"))
			if err := do(l.Path()); err != nil {
				t.Fatal(err)
			}
			m := user("two")
			if _, err := l.AppendMessage(&m); !errors.Is(err, sessions.ErrReadOnly) {
				t.Errorf("AppendMessage: %v", err)
			}
		})
	}
}
