package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/postgres"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// later is a migration of a later version, which cannot be applied twice.
var later = fstest.MapFS{"migrations/0002.sql": {Data: []byte(`
ALTER TABLE gjc_files ADD COLUMN later text NOT NULL DEFAULT ''; ALTER TABLE gjc_data ADD COLUMN later bigint; CREATE TABLE gjc_later (id bigint)`)}}

// Two processes of a later version start at once, while processes of this version write: one of them upgrades the tables, and no line is lost
// or doubled.
func TestMigrate_WhileWriting(t *testing.T) {
	address := cluster.Database(t)
	const writers, lines = 4, 60
	var all sync.WaitGroup
	half := make(chan struct{}, writers)
	stores := make([]*sessions.Store, writers)
	ids := make([]string, writers)
	for i := range writers {
		stores[i] = store(t, address, postgres.Options{})
		l := create(t, stores[i])
		ids[i] = l.ID()
		all.Go(func() {
			for n := range lines {
				if n == lines/2 {
					half <- struct{}{}
				}
				if _, err := l.AppendMessage(message(fmt.Sprint(n))); err != nil {
					t.Errorf("the writer %d: %v", i, err)
					return
				}
			}
		})
	}
	for range 2 {
		db := open(t, address, postgres.Options{})
		db.Upgrade(later)
		all.Go(func() {
			<-half
			if err := db.Ping(); err != nil {
				t.Errorf("a later version: %v", err)
			}
		})
	}
	all.Wait()
	if got := postgrestest.Rows(t, address, "SELECT version FROM gjc_schema ORDER BY version"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("the versions are %q", got)
	}
	for i := range writers {
		if got := texts(t, stores[i], ids[i]); len(got) != lines || got[0] != "0" || got[lines-1] != fmt.Sprint(lines-1) {
			t.Errorf("the writer %d has stored %q", i, got)
		}
	}
	// A process of this version starts, one of the later version takes its session over, and back.
	first := store(t, address, postgres.Options{})
	l := create(t, first)
	add(t, l, "by this version")
	db := open(t, address, postgres.Options{})
	db.Upgrade(later)
	second := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: db.FileSystem("me")})
	for i, s := range []*sessions.Store{second, first} {
		id := l.ID()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		if l, err = s.Open(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		add(t, l, fmt.Sprint("next ", i))
	}
	defer func() { _ = l.Close() }()
	if got := texts(t, second, l.ID()); !slices.Equal(got, []string{"by this version", "next 0", "next 1"}) {
		t.Errorf("the session has %q", got)
	}
}

// A failed migration leaves the tables as they were.
func TestMigrate_Fails(t *testing.T) {
	address := cluster.Database(t)
	add(t, create(t, store(t, address, postgres.Options{})), "before")
	db := open(t, address, postgres.Options{Patience: time.Second})
	db.Upgrade(fstest.MapFS{"migrations/0002.sql": {Data: []byte("CREATE TABLE gjc_later (id bigint); SELECT 1/0")}})
	if err := db.Ping(); err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Errorf("the error is %v", err)
	}
	if got := postgrestest.Rows(t, address, "SELECT version::text || coalesce(to_regclass('gjc_later')::text, '') FROM gjc_schema"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("the versions are %q", got)
	}
	add(t, create(t, store(t, address, postgres.Options{})), "after")
}

// commands returns the commands of a section of docs/store.md.
func commands(t *testing.T, section string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "store.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n## "+section+"\n")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	block, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatalf("docs/store.md has no commands in the section %q", section)
	}
	return block
}

// The commands of docs/store.md save a database whose servers work, with the sessions of users who have roles of their own, and restore it on
// another server, where there are no such roles.
func TestRestore(t *testing.T) {
	var from, to postgrestest.Cluster
	for _, c := range []*postgrestest.Cluster{&from, &to} {
		t.Cleanup(func() {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	source, target := from.Database(t), to.Database(t) // of one name
	short := postgres.Options{Lease: time.Second}
	at := func(address string) *sessions.Store {
		return sessions.NewStore("/sessions", &sessions.StoreOptions{FS: open(t, address, short).FileSystem("")})
	}
	old := open(t, source, short)
	ann := userAddress(t, old, "ann")
	userAddress(t, old, "bob")
	logs := map[string]*sessions.Log{source: create(t, at(source)), ann: create(t, at(ann))}
	for _, l := range logs {
		add(t, l, "saved")
	}
	epoch := func(address string) string {
		return postgrestest.Rows(t, address, "SELECT lpad(max(epoch)::text, 20, '0') FROM gjc_data")[0]
	}
	run := func(script string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-ec", script)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(from.Program("pg_dump"))+":/usr/bin:/bin", "GJC_STORE="+source, "OTHER_STORE="+target)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	run(commands(t, "Back up and restore"))
	before := epoch(target)
	for _, l := range logs {
		add(t, l, "after the backup") // the old servers still hold their leases
	}

	again := open(t, target, short)
	moved := userAddress(t, again, "ann")
	if was, _, _ := strings.Cut(ann, "?"); !strings.HasPrefix(moved, was) {
		t.Errorf("a user's address was %s and is %s", ann, moved)
	}
	if rows := postgrestest.Rows(t, moved, "SELECT name FROM gjc_leases WHERE expires > clock_timestamp() + interval '1 second'"); len(rows) > 0 {
		t.Errorf("leases of the backup are renewed: %q", rows)
	}
	for was, address := range map[string]string{source: target, ann: moved} {
		s, id := at(address), logs[was].ID()
		l, err := s.Open(t.Context(), id)
		for limit := time.Now().Add(time.Minute); errors.Is(err, sessions.ErrLocked) && time.Now().Before(limit); l, err = s.Open(t.Context(), id) {
			time.Sleep(20 * time.Millisecond) // until the lease of the backup has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		add(t, l, "goes on")
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := texts(t, s, id); !slices.Equal(got, []string{"saved", "goes on"}) {
			t.Errorf("the session has %q", got)
		}
	}
	if now := epoch(target); now <= before {
		t.Errorf("the epochs go on from %s with %s", before, now)
	}
	// The users are apart there, too.
	bob := userAddress(t, again, "bob")
	if rows := postgrestest.Rows(t, bob, "SELECT name FROM gjc_files UNION ALL SELECT encode(data, 'escape') FROM gjc_data"); len(rows) > 0 {
		t.Errorf("bob: %q", rows)
	}
	if err := postgrestest.Exec(t.Context(), bob, "SELECT password FROM gjc_users"); err == nil {
		t.Error("bob reads the passwords")
	}
}

// A user's role that another database of the same name has left gets the password of this one.
func TestUserAddress_Left(t *testing.T) {
	address := cluster.Database(t)
	db := open(t, address, postgres.Options{})
	userAddress(t, db, "ann")
	role := postgrestest.Rows(t, address, "SELECT role FROM gjc_users")[0]
	password := func() string {
		return postgrestest.Rows(t, address, "SELECT rolpassword FROM pg_authid WHERE rolname = '"+role+"'")[0]
	}
	before := password()
	userAddress(t, db, "ann")
	if password() != before {
		t.Error("a second server takes the password away from the first")
	}
	if err := postgrestest.Exec(t.Context(), address, "DELETE FROM gjc_users"); err != nil {
		t.Fatal(err)
	}
	userAddress(t, db, "ann")
	if password() == before {
		t.Error("the role has a password that is not known any more")
	}
}
