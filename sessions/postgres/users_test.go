package postgres_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/postgres"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
	"github.com/gajae-code/gjc/sessions/sessionstest"
)

// userAddress returns the address of a user.
func userAddress(t *testing.T, db *postgres.DB, user string) string {
	t.Helper()
	address, err := db.UserAddress(user)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// TestUserAddress_Store checks that a role that may only use the tables has a whole store.
func TestUserAddress_Store(t *testing.T) {
	db := open(t, cluster.Database(t), postgres.Options{})
	users := 0
	sessionstest.TestStore(t, func(t *testing.T) (sessionstest.Disk, string) {
		users++
		address := userAddress(t, db, fmt.Sprintf("user%d@example.com", users))
		return func() sessions.FileSystem { return open(t, address, postgres.Options{}).FileSystem("") }, "/"
	})
}

// TestUserAddress_Apart checks in SQL that a user reaches nothing of another's, of the operator's, or of the passwords.
func TestUserAddress_Apart(t *testing.T) {
	db := open(t, cluster.Database(t), postgres.Options{})
	ann, bob := userAddress(t, db, "ann"), userAddress(t, db, "bob")
	for _, fsys := range []sessions.FileSystem{open(t, ann, postgres.Options{}).FileSystem(""), db.FileSystem("")} {
		s := sessions.NewStore("/sessions", &sessions.StoreOptions{FS: fsys, BlobDir: "/blobs"})
		l, err := s.Create(t.Context(), sessions.Header{Cwd: "/work place"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
	}
	for _, query := range []string{
		"SELECT name FROM gjc_files", "SELECT encode(data, 'escape') FROM gjc_data", "SELECT holder FROM gjc_leases",
		"UPDATE gjc_files SET owner = current_user RETURNING name", "DELETE FROM gjc_leases RETURNING name", "DELETE FROM gjc_data RETURNING seq::text",
	} {
		if rows := postgrestest.Rows(t, bob, query); len(rows) > 0 {
			t.Errorf("bob: %s: %q", query, rows)
		}
	}
	owner := strings.TrimSpace(postgrestest.Rows(t, ann, "SELECT current_user::text")[0])
	for _, statement := range []string{
		fmt.Sprintf("INSERT INTO gjc_files (owner, dir, name, is_dir) VALUES ('%s', '/', 'x', false)", owner),
		"INSERT INTO gjc_data SELECT 1, 99, 0, 0, ''",
		"SELECT password FROM gjc_users", "CREATE TABLE mine (x int)", "ALTER TABLE gjc_files DISABLE ROW LEVEL SECURITY", "CREATE ROLE eve",
		fmt.Sprintf(`SET ROLE "%s"`, owner), "UPDATE gjc_schema SET version = 99",
	} {
		if err := postgrestest.Exec(t.Context(), bob, statement); err == nil {
			t.Errorf("bob: %s is allowed", statement)
		}
	}
	// No file of a foreign owner, whatever owner the program asks for.
	if files, err := open(t, bob, postgres.Options{}).FileSystem(owner).ReadDir("/sessions"); err == nil && len(files) > 0 {
		t.Errorf("bob lists ann's sessions: %v", files)
	}
}

// TestUserAddress_Same checks that servers which start at once give a user the same address.
func TestUserAddress_Same(t *testing.T) {
	database := cluster.Database(t)
	var all sync.WaitGroup
	addresses := make([]string, 6)
	for i := range addresses {
		all.Go(func() {
			db, err := postgres.Open(t.Context(), database, postgres.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if addresses[i], err = db.UserAddress("ann with a name that is too long for a role of the database, " + strings.Repeat("x", 60)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, a := range addresses {
		if a != addresses[0] || a == "" {
			t.Errorf("addresses: %q", addresses)
		}
	}
}

// TestUserAddress_NoRight checks the words for a role that can make none.
func TestUserAddress_NoRight(t *testing.T) {
	db := open(t, cluster.Database(t), postgres.Options{})
	ann := open(t, userAddress(t, db, "ann"), postgres.Options{})
	if _, err := ann.UserAddress("bob"); err == nil || !strings.Contains(err.Error(), "have CREATEROLE") {
		t.Errorf("the error is %v", err)
	}
	plain := open(t, "host=/tmp dbname=x", postgres.Options{})
	if _, err := plain.UserAddress("bob"); err == nil || !strings.Contains(err.Error(), "of the form postgres://") {
		t.Errorf("the error is %v", err)
	}
}
