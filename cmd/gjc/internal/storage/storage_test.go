package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/cmd/gjc/internal/storage"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// cluster is the server of the tests.
var cluster postgrestest.Cluster

func TestMain(m *testing.M) {
	code := m.Run()
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func open(t *testing.T, place string) storage.Place {
	t.Helper()
	p, end, err := storage.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return p
}

func storeOf(p storage.Place) *sessions.Store {
	return sessions.NewStore(p.Sessions, &sessions.StoreOptions{FS: p.FS, BlobDir: p.Blobs})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill stores sessions with everything that can belong to one. It returns one that is still open.
func fill(t *testing.T, s *sessions.Store) *sessions.Log {
	t.Helper()
	var last *sessions.Log
	for i := range 3 {
		l, err := s.Create(t.Context(), sessions.Header{Cwd: fmt.Sprint("/w/", i%2)})
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
		picture := providers.Image{MIMEType: "image/png", Data: bytes.Repeat([]byte{byte(i)}, 600_000)}
		_, err = l.AppendMessage(&providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "hello"}, picture}})
		must(t, err)
		_, err = l.Artifacts().Put(t.Context(), "bash", []byte("output"))
		must(t, err)
		must(t, l.Local().Write(t.Context(), "local://notes/a.md", []byte("notes")))
		c, err := l.Children().Create(t.Context(), "Scout", sessions.Header{ID: "c", Cwd: "/w"})
		must(t, err)
		_, err = c.AppendMessage(&providers.Message{Role: providers.RoleUser, Parts: []providers.Part{picture}})
		must(t, errors.Join(err, c.Close()))
		must(t, l.Children().PutReport(t.Context(), "Scout", []byte("report")))
		if i == 1 {
			must(t, s.Archive(t.Context(), l.ID()))
		}
		if last = l; i < 2 {
			must(t, l.Close())
		}
	}
	_, err := s.List(t.Context(), sessions.ListOptions{}) // writes the index
	must(t, err)
	return last
}

// tree returns the files of a place, without caches.
func tree(t *testing.T, p storage.Place) map[string]string {
	t.Helper()
	found := make(map[string]string)
	var walk func(dir, name string)
	walk = func(dir, name string) {
		entries, err := p.FS.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case e.IsDir():
				walk(path, name+"/"+e.Name())
			case name == "sessions": // the index
			default:
				data, err := p.FS.ReadFile(path)
				must(t, err)
				found[name+"/"+e.Name()] = string(data)
			}
		}
	}
	walk(p.Sessions, "sessions")
	walk(p.Blobs, "blobs")
	return found
}

func TestCopy_ThereAndBack(t *testing.T) {
	disk, database, back := open(t, t.TempDir()), open(t, cluster.Database(t)), open(t, t.TempDir())
	busy := fill(t, storeOf(disk))
	report, err := storage.Copy(t.Context(), disk, database)
	must(t, err)
	if report.Copied != 2 || report.Images != 3 || len(report.InUse) != 1 || !strings.Contains(report.InUse[0], busy.ID()) {
		t.Errorf("while a session is open: %+v", report)
	}
	must(t, busy.Close())
	report, err = storage.Copy(t.Context(), disk, database)
	must(t, err)
	if report.Copied != 1 || report.Same != 2 || report.Images != 0 || len(report.InUse)+len(report.Different) != 0 {
		t.Errorf("again: %+v", report)
	}
	want := tree(t, disk)
	if diff := cmp.Diff(want, tree(t, database)); diff != "" {
		t.Errorf("in the database (-want +got):\n%.2000s", diff)
	}
	page, err := storeOf(database).List(t.Context(), sessions.ListOptions{Archived: sessions.ArchivedInclude})
	if err != nil || len(page.Sessions) != 3 {
		t.Errorf("the list has %d sessions: %v", len(page.Sessions), err)
	}
	report, err = storage.Copy(t.Context(), database, back)
	must(t, err)
	if diff := cmp.Diff(want, tree(t, back)); diff != "" || report.Copied != 3 {
		t.Errorf("after the way back: %+v (-want +got):\n%.2000s", report, diff)
	}
}

// A session that goes on in both places is in neither overwritten.
func TestCopy_Different(t *testing.T) {
	disk, database := open(t, t.TempDir()), open(t, cluster.Database(t))
	must(t, fill(t, storeOf(disk)).Close())
	_, err := storage.Copy(t.Context(), disk, database)
	must(t, err)
	page, err := storeOf(database).List(t.Context(), sessions.ListOptions{Limit: 1})
	must(t, err)
	must(t, storeOf(database).SetTitle(t.Context(), page.Sessions[0].ID, "changed"))
	before, here := tree(t, database), tree(t, disk)
	for _, places := range [][2]storage.Place{{disk, database}, {database, disk}} {
		report, err := storage.Copy(t.Context(), places[0], places[1])
		must(t, err)
		if len(report.Different) != 1 || report.Copied != 0 || report.Same != 2 {
			t.Errorf("the report is %+v", report)
		}
	}
	if diff := cmp.Diff(before, tree(t, database)); diff != "" {
		t.Errorf("the target was changed:\n%.2000s", diff)
	}
	if diff := cmp.Diff(here, tree(t, disk)); diff != "" {
		t.Errorf("the source was changed:\n%.2000s", diff)
	}
}

// cutFS fails after some files.
type cutFS struct {
	sessions.FileSystem
	renames int
}

var errCut = errors.New("interrupted")

func (f *cutFS) Rename(from, to string) error {
	if f.renames--; f.renames < 0 {
		return errCut
	}
	return f.FileSystem.Rename(from, to)
}

func TestCopy_Interrupted(t *testing.T) {
	disk, database := open(t, t.TempDir()), open(t, cluster.Database(t))
	must(t, fill(t, storeOf(disk)).Close())
	for n := 0; ; n++ {
		cut := database
		cut.FS = &cutFS{database.FS, 2}
		_, err := storage.Copy(t.Context(), disk, cut)
		if err == nil {
			break
		}
		if !errors.Is(err, errCut) || n > 50 {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(tree(t, disk), tree(t, database)); diff != "" {
		t.Errorf("in the database (-want +got):\n%.2000s", diff)
	}
}

// The commands of docs/store.md save a database and restore it into another.
func TestBackup(t *testing.T) {
	address := cluster.Database(t)
	database, restored := open(t, address), cluster.Database(t)
	must(t, fill(t, storeOf(database)).Close())
	want := tree(t, database)
	file := filepath.Join(t.TempDir(), "gjc.dump")
	for _, command := range [][]string{{"pg_dump", "--format=custom", "--file=" + file, address}, {"pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--dbname=" + restored, file}} {
		out, err := exec.CommandContext(t.Context(), cluster.Program(command[0]), command[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", command, err, out)
		}
	}
	again := open(t, restored)
	if diff := cmp.Diff(want, tree(t, again)); diff != "" {
		t.Errorf("after the restore (-want +got):\n%.2000s", diff)
	}
	page, err := storeOf(again).List(context.Background(), sessions.ListOptions{})
	must(t, err)
	l, err := storeOf(again).Open(t.Context(), page.Sessions[0].ID)
	must(t, err)
	must(t, errors.Join(l.SetTitle("goes on", "user"), l.Close()))
}
