package sqlitefile

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
)

// create creates a database with statements.
func create(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a ?#%.db")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, s := range statements {
		stmt, _, err := conn.PrepareTransient(s)
		if err == nil {
			_, err = stmt.Step()
			err = errors.Join(err, stmt.Finalize())
		}
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

func open(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestQuery_OnlyReads(t *testing.T) {
	path := create(t, "CREATE TABLE t(a)", "INSERT INTO t VALUES (1), (x'00ff'), (NULL), ('text')")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := create(t, "CREATE TABLE secret(a)")
	db := open(t, path)
	for _, statement := range []string{
		"", " ", "-- nothing", "INSERT INTO t VALUES (2)", "DELETE FROM t", "UPDATE t SET a = 1", "DROP TABLE t", "CREATE TABLE u(a)", "CREATE TEMP TABLE u(a)",
		"ATTACH '" + other + "' AS o", "VACUUM INTO '" + other + ".copy'", "PRAGMA journal_mode=wal", "PRAGMA user_version=7", "PRAGMA writable_schema=1",
		"SELECT 1; DELETE FROM t", "SELECT 1; SELECT 2", "BEGIN", "SELECT load_extension('x')", "WITH x AS (SELECT 1) DELETE FROM t", "REINDEX", "ANALYZE", "SELECT a FROM t\x00; DELETE FROM t",
		"DETACH main", "SAVEPOINT a", "EXPLAIN DELETE FROM t", "INSERT INTO t SELECT 1 RETURNING a", "SELECT writefile('x', 'y')", "SELECT readfile('x')", "SELECT fts3_tokenizer('x')",
	} {
		if rows, err := db.Query(statement, 10); err == nil {
			t.Errorf("%q: %+v", statement, rows)
		}
	}
	rows, err := db.Query("SELECT a, typeof(a) FROM t ;", 3)
	if err != nil {
		t.Fatal(err)
	}
	want := &Rows{Columns: []string{"a", "typeof(a)"}, Cells: [][]string{{"1", "integer"}, {"(blob, 2 bytes)", "blob"}, {"NULL", "null"}}, More: true}
	if d := cmp.Diff(want, rows); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database has changed: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("files beside it: %v, %v", entries, err)
	}
}

// Endless queries are ended, and memory is limited.
func TestQuery_Bounded(t *testing.T) {
	db := open(t, create(t, "CREATE TABLE t(a)"))
	if _, err := db.Query("SELECT zeroblob(1000000000)", 1); err == nil {
		t.Error("a huge value")
	}
	if _, err := db.Query("SELECT "+strings.Repeat("1,", 100_000)+"1", 1); err == nil {
		t.Error("a huge statement")
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("the turn is over"))
	defer cancel()
	slow, err := Open(ctx, create(t, "CREATE TABLE t(a)"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = slow.Query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n", 1)
	if err == nil || err.Error() != "the turn is over" {
		t.Errorf("%v", err)
	}
	if err := slow.Close(); err != nil {
		t.Error(err)
	}
}

func TestTables(t *testing.T) {
	db := open(t, create(t, "CREATE TABLE b(id INTEGER PRIMARY KEY, v)", "CREATE TABLE a(x, y, PRIMARY KEY (x, y))", "CREATE VIEW c AS SELECT 1", "CREATE INDEX i ON b(v)", `CREATE TABLE "odd ""name"(z)`))
	tables, more, err := db.Tables(3)
	if err != nil || !more || len(tables) != 3 || tables[0].Name != "a" || tables[2].Kind != "view" {
		t.Errorf("%+v, %v, %v", tables, more, err)
	}
	for name, want := range map[string]string{"b": "id", "A": "", "odd \"name": "rowid"} {
		table, err := db.Find(name)
		if err != nil || table == nil {
			t.Errorf("%s: %v, %v", name, table, err)
			continue
		}
		if _, key, err := db.Columns(table.Name); err != nil || key != want {
			t.Errorf("%s: key %q, %v", name, key, err)
		}
	}
	if table, err := db.Find("b"); err != nil || table.SQL != "CREATE TABLE b(id INTEGER PRIMARY KEY, v);\nCREATE INDEX i ON b(v);\n" {
		t.Errorf("%+v, %v", table, err)
	}
	if table, err := db.Find("none"); err != nil || table != nil {
		t.Errorf("%+v, %v", table, err)
	}
}

func TestOpen_WAL(t *testing.T) {
	path := create(t, "PRAGMA journal_mode=wal", "CREATE TABLE t(a)", "INSERT INTO t VALUES (7)")
	db := open(t, path)
	if rows, err := db.Query("SELECT a FROM t", 1); err != nil || rows.Cells[0][0] != "7" {
		t.Errorf("%+v, %v", rows, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("files beside it: %v, %v", entries, err)
	}
	// Uncommitted and committed changes of another program are handled.
	writer, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := writer.Close(); err != nil {
			t.Error(err)
		}
	}()
	stmt, _, err := writer.PrepareTransient("INSERT INTO t VALUES (8)")
	if err == nil {
		_, err = stmt.Step()
		err = errors.Join(err, stmt.Finalize())
	}
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := open(t, path).Query("SELECT max(a) FROM t", 1); err != nil || rows.Cells[0][0] != "8" {
		t.Errorf("%+v, %v", rows, err)
	}
}

func FuzzOpen(f *testing.F) {
	whole, err := os.ReadFile(create(f, "CREATE TABLE t(a, b)", "CREATE INDEX i ON t(b)", "INSERT INTO t VALUES (1, 'x'), (2, 'y')"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, 0, byte(0))
	f.Add(whole, 100, byte(5))
	f.Add(whole[:1000], 20, byte(1))
	f.Fuzz(func(t *testing.T, data []byte, at int, b byte) {
		data = bytes.Clone(data)
		if at >= 0 && at < len(data) {
			data[at] ^= b
		}
		path := filepath.Join(t.TempDir(), "a.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(t.Context(), path)
		if err != nil {
			return
		}
		tables, _, _ := db.Tables(10)
		for _, table := range tables {
			if rows, err := db.Query("SELECT * FROM "+Quote(table.Name), 10); err == nil && len(rows.Cells) > 10 {
				t.Errorf("%d rows", len(rows.Cells))
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
