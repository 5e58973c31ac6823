package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

func TestWriteRow(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	makeDB(t, w.Path("a.db"), `CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x', "odd "" col" REAL, seen INT CHECK (seen IN (0, 1)))`,
		"INSERT INTO users VALUES (7, 'Ada', 1.5, 0)", "CREATE TABLE log(t)", "CREATE TRIGGER told AFTER INSERT ON users BEGIN INSERT INTO log VALUES (new.name); END",
		"CREATE TABLE words(word TEXT PRIMARY KEY, n) WITHOUT ROWID", "INSERT INTO words VALUES ('a:b', 1)",
		"CREATE TABLE loose(k PRIMARY KEY, v)", "INSERT INTO loose VALUES (7, 'old'), (1.5, 'old')")
	p := toolstest.MustPlan(t, w, "write", toolstest.Input{"path": "a.db:users:7", "content": `{"name": "Eve"}`})
	old := "id: 7\nname: Ada\nodd \" col: 1.5\nseen: 0\n"
	toolstest.Same(t, "plan", p, &agent.CallPlan{
		Title: "Update a.db:users:7", Locations: []agent.Location{{Path: w.Path("a.db")}}, Effects: []approval.Effect{{Action: approval.ActionEdit, Path: w.Path("a.db")}},
		Content: []agent.Content{agent.DiffContent{Path: w.Path("a.db") + ":users:7", Old: &old, New: "name: Eve\n"}},
	})
	res := toolstest.Run(t, w, "write", toolstest.Input{"path": "a.db:USERS:7", "content": `{"name": "E've \"; DROP TABLE users", "odd \" col": 2.25, "seen": true}`})
	now := "id: 7\nname: E've \"; DROP TABLE users\nodd \" col: 2.25\nseen: 1\n"
	toolstest.Same(t, "content", res.Content, []agent.Content{agent.DiffContent{Path: w.Path("a.db") + ":users:7", Old: &old, New: now}})
	if res.Text != "Updated a row in a.db:users:7.\n"+strings.TrimSuffix(now, "\n") {
		t.Errorf("%q", res.Text)
	}
	if res := toolstest.Run(t, w, "write", toolstest.Input{"path": "a.db:users", "content": "{}"}); !strings.HasPrefix(res.Text, "Inserted a row into a.db:users:8.\nid: 8\nname: x\n") {
		t.Errorf("%q", res.Text)
	}
	toolstest.Run(t, w, "write", toolstest.Input{"path": "a.db:users", "content": `{"id": 9223372036854775807, "name": "é\u0000", "seen": null}`})
	toolstest.Run(t, w, "write", toolstest.Input{"path": "a.db:words", "content": `{word: 'c', n: 1e2, /* JSON5 */}`})
	toolstest.Run(t, w, "write", toolstest.Input{"path": "a.db:words:a:b", "content": `{"n": "two"}`})
	if res := toolstest.Run(t, w, "write", toolstest.Input{"path": "a.db:loose:7", "content": "{v: 'new'}"}); res.Text != "Updated a row in a.db:loose:7.\nk: 7\nv: new" {
		t.Errorf("%q", res.Text)
	}
	toolstest.Run(t, w, "write", toolstest.Input{"path": "a.db:loose:1.5", "content": ""})
	if res := toolstest.Run(t, w, "write", toolstest.Input{"path": "a.db:users:7", "content": " \n"}); res.Text != "Deleted a row from a.db:users:7" {
		t.Errorf("%q", res.Text)
	}
	for query, want := range map[string]string{
		"SELECT id || '/' || coalesce(seen, 'none') AS x FROM users WHERE id = 8": "8/none",
		"SELECT count(*) AS n FROM users":                                         "2",
		"SELECT t FROM log WHERE t = 'x'":                                         "x",
		"SELECT group_concat(k || v) AS all_of_it FROM loose":                     "\n7new",
		"SELECT word, n FROM words":                                               "a:b  | two",
		"SELECT typeof(n) AS t FROM words WHERE word = 'c'":                       "real",
	} {
		if res := toolstest.Run(t, w, "read", toolstest.Input{"path": "a.db?q=" + query}); !strings.Contains(res.Text, want) {
			t.Errorf("%s: %s", query, res.Text)
		}
	}
	if err := toolstest.Fails(t, w, "undo", toolstest.Input{}); !strings.Contains(err.Error(), "previous database rows are not kept") {
		t.Errorf("%v", err)
	}
	names, err := filepath.Glob(w.Path("*"))
	if err != nil || len(names) != 1 {
		t.Errorf("files were left: %v %v", names, err)
	}
}

// An impossible change is explained, and leaves the database unchanged.
func TestWriteRow_Fails(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"text.db": "no database"})
	makeDB(t, w.Path("a.db"), "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT CHECK (n < 10), u UNIQUE)", "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')", "CREATE VIEW v AS SELECT * FROM t",
		"CREATE VIRTUAL TABLE f USING fts5(x)", "CREATE TABLE pairs(a, b, PRIMARY KEY (a, b))", "CREATE TABLE parent(id INTEGER PRIMARY KEY)",
		"CREATE TABLE trap(x)", "CREATE TRIGGER bad AFTER INSERT ON trap BEGIN INSERT INTO t VALUES (3, 3, 'c'); SELECT RAISE(ROLLBACK, 'no'); END",
		"CREATE TABLE once(id INTEGER PRIMARY KEY ON CONFLICT IGNORE, u UNIQUE ON CONFLICT IGNORE)", "INSERT INTO once VALUES (1, 'a'), (2, 'b')",
		"CREATE TABLE kept(id INTEGER PRIMARY KEY, n)", "INSERT INTO kept VALUES (1, 1)", "CREATE TRIGGER k1 BEFORE INSERT ON kept BEGIN SELECT RAISE(IGNORE); END",
		"CREATE TRIGGER k2 BEFORE UPDATE ON kept BEGIN SELECT RAISE(IGNORE); END", "CREATE TRIGGER k3 BEFORE DELETE ON kept BEGIN SELECT RAISE(IGNORE); END")
	before := w.Disk(t, "a.db")
	for _, c := range []struct{ path, content, want string }{
		{"a.db:t:9", `{"n": 1}`, `t has no row with id "9"`},
		{"a.db:t:9", ``, `t has no row with id "9"`},
		{"a.db:t:1", `{"n": 11}`, "CHECK constraint"},
		{"a.db:t:1", `{"u": "b"}`, "UNIQUE constraint"},
		{"a.db:t:1", `{"x": 1}`, `t has no column "x"; it has id, n, u`},
		{"a.db:t:1", `{"n = 0; --": 1}`, "has no column"},
		{"a.db:t:1", `{"id": 5}`, "id is the key"},
		{"a.db:t:1", `{}`, "no value to set"},
		{"a.db:t:1", `{"n": [1]}`, `column "n": a value must be`},
		{"a.db:t:1", `[1]`, "must be a JSON object"},
		{"a.db:t:1", `{"n": 1`, "must be a JSON object"},
		{"a.db:t:1", `n = 1`, "must be a JSON object"},
		{"a.db:t:1", `{n: 1, 'n': 2}`, `repeated name "n"`},
		{"a.db:t:1", `{N: 1, n: 2}`, `"N" and "n" are the same column; name it once`},
		{"a.db:t:1", `{u: 9223372036854775808}`, `column "u": 9223372036854775808 has more digits than`},
		{"a.db:t:1", `{u: -123456789012345678901234567890}`, "quote it"},
		{"a.db:t:1", `{u: 1e400}`, "a value must be"},
		{"a.db:t", ` `, "must be a JSON object"},
		{"a.db:t:", `{}`, "key of the row is empty"},
		{"a.db:", `{}`, "must name a table"},
		{"a.db:t?where=1", `{}`, "is only for reading"},
		{"a.db?q=DELETE FROM t", `{}`, "is only for reading"},
		{"a.db:none", `{}`, "there is no table"},
		{"a.db:v", `{"n": 1}`, "there is no table"},
		{"a.db:f", `{"x": "y"}`, "f is a virtual table"},
		{"a.db:sqlite_schema", `{"name": "x"}`, "there is no table"},
		{"a.db:t\"; DROP TABLE t; --", `{}`, "there is no table"},
		{"a.db:pairs:x", `{"b": 1}`, "has several columns"},
		{"a.db:trap", `{"x": 1}`, "no"},
		{"a.db:once", `{"id": 1}`, "suppressed it"},
		{"a.db:once:1", `{"u": "b"}`, "suppressed it"},
		{"a.db:kept", `{"n": 2}`, "suppressed it"},
		{"a.db:kept:1", `{"n": 2}`, "suppressed it"},
		{"a.db:kept:1", ``, "suppressed it"},
		{"none.db:t", `{}`, "no database none.db"},
	} {
		if err := toolstest.Fails(t, w, "write", toolstest.Input{"path": c.path, "content": c.content}); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.path, c.content, err)
		}
	}
	if d := cmp.Diff(before, w.Disk(t, "a.db")); d != "" {
		t.Error("the database has changed")
	}
	// A file that has only the name of a database is not one.
	toolstest.Run(t, w, "write", toolstest.Input{"path": "text.db:t", "content": "x"})
	if _, err := os.Stat(w.Path("text.db:t")); err != nil {
		t.Error(err)
	}
}
