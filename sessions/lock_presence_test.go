package sessions

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLockByPresence_SaysWhatToDo checks that the error names the lock file if it may have outlived its owner.
func TestLockByPresence_SaysWhatToDo(t *testing.T) {
	mine := newLockOwner()
	mine.Held = true // with this process's ID, which an earlier process may have had
	for name, write := range map[string]func(path string) error{
		"of nobody":       func(path string) error { return os.WriteFile(path, nil, filePerm) },
		"of this very id": func(path string) error { return errors.Join(os.WriteFile(path, nil, filePerm), writeOwner(path, mine)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.jsonl")
			if err := write(path + lockSuffix); err != nil {
				t.Fatal(err)
			}
			_, err := lockByPresence(path)
			locked, ok := errors.AsType[*LockedError](err)
			if !ok || locked.LockFile != path+lockSuffix {
				t.Errorf("%v, want a LockedError that names %s", err, path+lockSuffix)
			}
		})
	}
}
