package files_test

import (
	"errors"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// makeDB creates a database by running statements.
func makeDB(t testing.TB, path string, statements ...string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReadSQLite(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"text.db": "no database\n", "cut.sqlite": "SQLite format 3\x00 and nothing more"})
	makeDB(t, w.Path("a.db"), "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, note TEXT)", "CREATE VIEW names AS SELECT name FROM users",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 30) INSERT INTO users SELECT i, 'user' || i, 'line' || char(10) || i FROM n",
		"CREATE TABLE pairs(a, b, PRIMARY KEY (a, b))", "INSERT INTO pairs VALUES ('x', '"+strings.Repeat("long ", 20)+"')",
		"CREATE TABLE loose(k PRIMARY KEY, v)", "INSERT INTO loose VALUES (7, 'whole'), (1.5, 'float'), ('7x', 'text'), ('08', 'eight')", "CREATE TABLE typed(k TEXT PRIMARY KEY)", "INSERT INTO typed VALUES ('7')")
	makeDB(t, w.Path("empty.sqlite3"), "CREATE TABLE t(a)", "DROP TABLE t")
	head := "id | name  | note\n-------------------"
	for path, want := range map[string]string{
		"a.db":                        "a.db (SQLite, 5 tables)\n  loose\n  names  (view)\n  pairs\n  typed\n  users",
		"a.db:users":                  "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, note TEXT);\n\n" + head + "\n1  | user1 | line 1\n2  | user2 | line 2\n3  | user3 | line 3\n4  | user4 | line 4\n5  | user5 | line 5\n\n[There are more rows than these 5; continue with a.db:users?limit=20&offset=5.]",
		"a.db:USERS:7":                "id: 7\nname: user7\nnote: line\n7",
		"a.db:users?limit=2&offset=3": head + "\n4  | user4 | line 4\n5  | user5 | line 5\n\n[There are more rows than these 2; continue with a.db:users?limit=2&offset=5.]",
		"a.db:users?order=id desc&limit=1&where=id<9": head + "\n8  | user8 | line 8\n\n[There are more rows than these 1; continue with a.db:users?limit=1&offset=1.]",
		"a.db:users?order=-id&limit=1&where=id%3C9":   head + "\n8  | user8 | line 8\n\n[There are more rows than these 1; continue with a.db:users?limit=1&offset=1.]",
		"a.db:loose:7":                           "k: 7\nv: whole",
		"a.db:loose:1.5":                         "k: 1.5\nv: float",
		"a.db:loose:7x":                          "k: 7x\nv: text",
		"a.db:loose:08":                          "k: 08\nv: eight",
		"a.db:users?where=id=99":                 "id | name | note\n(no rows)",
		"a.db?q=SELECT count(*) AS n FROM users": "n\n--\n30",
		"a.db?q=SELECT%20max(id)%20AS%20n%20FROM%20users": "n\n--\n30",
		"a.db:pairs":    "CREATE TABLE pairs(a, b, PRIMARY KEY (a, b));\n\na | b\n--------------------------------------------\nx | long long long long long long long long…",
		"empty.sqlite3": "empty.sqlite3 has no tables",
		"text.db:1":     "    1|no database",
	} {
		toolstest.Same(t, path, strings.TrimSuffix(toolstest.Run(t, w, "read", toolstest.Input{"path": path}).Text, "\n"), want)
	}
	for path, want := range map[string]string{
		"a.db:none":                     "no table none; read a.db to list its tables",
		"a.db:users:99":                 "users has no row with id 99",
		"a.db:loose:8":                  "loose has no row with k 8",
		"a.db:typed:007":                "typed has no row with k 007",
		"a.db:pairs:x":                  "the key of pairs has several columns",
		"a.db:users?order=none":         "users has no column none; it has id, name, note",
		"a.db:users?limit=0":            `"limit=0" is not one of limit=N`,
		"a.db:users?offset=-1":          `"offset=-1" is not one of`,
		"a.db:users?drop=1":             `"drop=1" is not one of`,
		"a.db?limit=3":                  "name a table before the question mark",
		"a.db:users?where=1);DROP":      "only one SELECT",
		"a.db?q=DELETE FROM users":      "only one SELECT statement can be run",
		"a.db?q=SELECT 1; SELECT 2":     "only one SELECT statement can be run",
		"a.db:users?where=1) OR (1; --": "",
		"cut.sqlite":                    "cut.sqlite cannot be read",
		"none.db:users":                 "none.db:users does not exist",
	} {
		if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": path}); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
