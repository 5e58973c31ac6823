package postgres_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
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
		if err := testenv.Leaked(); err != nil {
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

func TestPipe(t *testing.T) {
	address := cluster.Database(t)
	sessionstest.TestPipe(t, func(t *testing.T) sessions.FileSystem { return open(t, address, postgres.Options{}).FileSystem("me") }, "/")
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

// Connections that are not used are closed, and opened again when they are needed.
func TestIdle(t *testing.T) {
	address := cluster.Database(t)
	db := open(t, address+"&application_name=idle", postgres.Options{Conns: 4, Idle: 50 * time.Millisecond})
	connected := func() string {
		return postgrestest.Rows(t, address, "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'idle'")[0]
	}
	for range 2 {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := db.Ping(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for deadline := time.Now().Add(time.Minute); connected() != "0"; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s connections are left", connected())
			}
		}
	}
}
