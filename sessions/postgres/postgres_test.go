package postgres_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// Find returns what a look into each directory returns, and nothing of other owners, of the directory itself or of those below.
func TestFind(t *testing.T) {
	db := open(t, cluster.Database(t), postgres.Options{})
	fsys := db.FileSystem("me")
	for owner, names := range map[string][]string{
		"me":    {"/s/a/1_x.jsonl", "/s/a/1_x.jsonl.bak", "/s/a/2_xx.jsonl", "/s/b c/3_x.jsonl", "/s/b c/_%.jsonl", "/s/4_x.jsonl", "/s/a/deep/5_x.jsonl", "/s0/a/6_x.jsonl", "/s./a/7_x.jsonl"},
		"other": {"/s/a/8_x.jsonl", "/s/z/9_x.jsonl"},
	} {
		for _, name := range names {
			if err := db.FileSystem(owner).MkdirAll(path.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			f, err := db.FileSystem(owner).OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write([]byte("line\n")); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	finder := fsys.(interface {
		Find(dir, part string) (map[string][]fs.DirEntry, error)
	})
	for dir, all := range map[string]map[string][]string{
		"/s":    {"_x.jsonl": {"/s/a/1_x.jsonl", "/s/a/1_x.jsonl.bak", "/s/b c/3_x.jsonl"}, "_%": {"/s/b c/_%.jsonl"}, "_y": nil},
		"/":     {"4_x": {"/s/4_x.jsonl"}, "1_x": nil},
		"/none": {"": nil},
	} {
		for part, want := range all {
			found, err := finder.Find(dir, part)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for in, entries := range found {
				for _, e := range entries {
					name := path.Join(in, e.Name())
					got = append(got, name)
					is, err := fsys.Lstat(name)
					info, _ := e.Info()
					if err != nil || !sessions.SameFile(is, info) || is.Size() != info.Size() || !is.ModTime().Equal(info.ModTime()) {
						t.Errorf("%s is %v, and was found as %v: %v", name, is, info, err)
					}
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Find(%q, %q): (-want +got)\n%s", dir, part, diff)
			}
		}
	}
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
