package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/postgres"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
	"github.com/gajae-code/gjc/sessions/sessionstest"
)

// documented returns the SQL of docs/scaling.md that begins with a word.
func documented(t *testing.T, begin string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "docs", "scaling.md"))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(page), "```sql\n") {
		if text, _, ok := strings.Cut(block, "```"); ok && strings.HasPrefix(text, begin) {
			return text
		}
	}
	t.Fatalf("no SQL begins with %s", begin)
	return ""
}

// A database that is partitioned as documented is used as before, also by those who already had sessions and roles.
func TestPartitioned(t *testing.T) {
	address := cluster.Database(t)
	db := open(t, address, postgres.Options{})
	before := store(t, address, postgres.Options{})
	l := create(t, before)
	add(t, l, "kept words")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.UserAddress("ann"); err != nil {
		t.Fatal(err)
	}
	if err := postgrestest.Exec(t.Context(), address, documented(t, "BEGIN")); err != nil {
		t.Fatal(err)
	}
	again, err := before.Open(t.Context(), l.ID())
	if err != nil {
		t.Fatal(err)
	}
	if messages, err := again.Messages(); err != nil || len(messages) != 1 || messages[0].Text() != "kept words" {
		t.Errorf("the session has %v, %v", messages, err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	ann, err := db.UserAddress("ann")
	if err != nil {
		t.Fatal(err)
	}
	own := create(t, sessions.NewStore("/sessions", &sessions.StoreOptions{FS: open(t, ann, postgres.Options{}).FileSystem("")}))
	add(t, own, "words of ann's")
	if err := own.Close(); err != nil {
		t.Error(err)
	}
	if rows := postgrestest.Rows(t, ann, "SELECT DISTINCT file::text FROM gjc_data"); len(rows) != 1 {
		t.Errorf("ann sees the data of %d files, and has one", len(rows))
	}
	owners := 0
	sessionstest.TestStore(t, func(t *testing.T) (sessionstest.Disk, string) {
		owners++
		owner := fmt.Sprint("owner", owners)
		return func() sessions.FileSystem { return open(t, address, postgres.Options{}).FileSystem(owner) }, "/"
	})
}

// The documented statement removes old sessions of everyone, and none that is open.
func TestRetention(t *testing.T) {
	address := cluster.Database(t)
	s := store(t, address, postgres.Options{})
	old, live, young := create(t, s), create(t, s), create(t, s)
	for _, l := range []*sessions.Log{old, live, young} {
		add(t, l, "words")
	}
	for _, l := range []*sessions.Log{old, young} {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []*sessions.Log{old, live} {
		name := l.Path()[strings.LastIndexByte(l.Path(), '/')+1:]
		postgrestest.Rows(t, address, "UPDATE gjc_files SET modified = now() - interval '1 year' WHERE name = '"+name+"'")
	}
	postgrestest.Rows(t, address, documented(t, "DELETE"))
	add(t, live, "more words")
	if err := live.Close(); err != nil {
		t.Error(err)
	}
	list, total, err := s.ListAll(t.Context(), 10)
	if err != nil || total != 2 {
		t.Errorf("%d sessions are listed: %v, %v", total, list, err)
	}
	if _, err := s.Open(t.Context(), old.ID()); err == nil {
		t.Error("the old session can be opened")
	}
}
