package sqlitefile

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
)

// TestApply_OtherPrograms checks that an update waits for another program's lock for a limited time, and that a database with a
// write-ahead log is changed like any other.
func TestApply_OtherPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	do := func(statement string) {
		t.Helper()
		stmt, _, err := other.PrepareTransient(statement)
		if err == nil {
			_, err = stmt.Step()
			err = errors.Join(err, stmt.Finalize())
		}
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	do("CREATE TABLE t(id INTEGER PRIMARY KEY, n)")
	key := "1"
	done, err := Apply(t.Context(), path, &Change{Table: "t", Values: []Value{{"n", int64(5)}}})
	if err != nil || done.Key != key || *done.New != "id: 1\nn: 5\n" || done.Old != nil {
		t.Errorf("%v %+v", err, done)
	}
	do("BEGIN IMMEDIATE")
	if _, err := Apply(t.Context(), path, &Change{Table: "t", Key: &key, Delete: true}); err == nil || !strings.Contains(err.Error(), "another program has locked the database") {
		t.Errorf("%v", err)
	}
	do("COMMIT")
	if done, err := Apply(t.Context(), path, &Change{Table: "t", Key: &key, Delete: true}); err != nil || done.New != nil || *done.Old != "id: 1\nn: 5\n" {
		t.Errorf("%v %+v", err, done)
	}
	if _, err := Apply(t.Context(), path, &Change{Table: "t", Key: &key, Delete: true}); !errors.Is(err, errNoRow) {
		t.Errorf("%v", err)
	}
	if _, err := Apply(t.Context(), filepath.Join(t.TempDir(), "none.db"), &Change{Table: "t"}); err == nil {
		t.Error("a database was made")
	}
}
