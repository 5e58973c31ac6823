package postgres_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/postgres"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
	"github.com/gajae-code/gjc/sessions/sessionstest"
)

// cluster is the server of the tests.
var cluster postgrestest.Cluster

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// open opens a database that is closed with the test.
func open(t testing.TB, address string, opts postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), address, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func TestFileSystem(t *testing.T) {
	db := open(t, cluster.Database(t), postgres.Options{})
	sessionstest.TestFileSystem(t, db.FileSystem("me"), "/")
}

func TestFollow(t *testing.T) {
	address := cluster.Database(t)
	sessionstest.TestFollow(t, func(t *testing.T) sessions.FileSystem { return open(t, address, postgres.Options{}).FileSystem("me") }, "/")
}

func TestStore(t *testing.T) {
	address := cluster.Database(t)
	owners := 0
	sessionstest.TestStore(t, func(t *testing.T) (sessionstest.Disk, string) {
		owners++
		owner := fmt.Sprint("owner", owners)
		return func() sessions.FileSystem { return open(t, address, postgres.Options{}).FileSystem(owner) }, "/"
	})
}
