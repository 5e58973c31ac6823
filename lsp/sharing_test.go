package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/lsp"
)

// kitchen is a manager of fake servers for one directory.
type kitchen struct {
	*lsp.Manager
	t    testing.TB
	dir  string
	spec *lsp.Spec
}

func newKitchen(t testing.TB, s script) *kitchen {
	t.Helper()
	testenv.NoLeaks(t)
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	group := proc.NewGroup(nil)
	k := &kitchen{t: t, dir: dir, spec: &lsp.Spec{Name: "fake", Path: self, FileTypes: []string{".txt"}}}
	k.Manager = lsp.NewManager(lsp.ManagerOptions{Children: group, Version: "test", Env: func(context.Context) []string {
		return fakeEnv(raw)
	}})
	t.Cleanup(func() {
		if err := k.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if n := group.Len(); n != 0 {
			t.Errorf("%d children are left", n)
		}
	})
	return k
}

func (k *kitchen) write(name, text string) string {
	k.t.Helper()
	path := filepath.Join(k.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		k.t.Fatal(err)
	}
	return path
}

// editor is a fake editor: its buffers override the disk.
type editor struct {
	*lsp.Workspace
	mu      sync.Mutex
	buffers map[string]string
	notices []string
	// onRead is called with each path that is read. Optional.
	onRead func(path string)
}

func (k *kitchen) session(change ...func(*lsp.WorkspaceOptions)) *editor {
	e := &editor{buffers: make(map[string]string)}
	opts := lsp.WorkspaceOptions{
		Roots: []string{k.dir}, Catalog: &oneServer{k.spec, k.dir}, ReadFile: e.read,
		Notice: func(text, _ string) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.notices = append(e.notices, text)
		},
	}
	for _, c := range change {
		c(&opts)
	}
	e.Workspace = k.Open(opts)
	k.t.Cleanup(e.Close)
	return e
}

func (e *editor) read(_ context.Context, path string) ([]byte, error) {
	e.mu.Lock()
	text, open := e.buffers[path]
	onRead := e.onRead
	e.mu.Unlock()
	if onRead != nil {
		onRead(path)
	}
	if open {
		return []byte(text), nil
	}
	return os.ReadFile(path)
}

func (e *editor) types(path, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buffers[path] = text
}

func (e *editor) server(t testing.TB, path string) *lsp.Server {
	t.Helper()
	servers, err := e.Servers(in(t), path)
	if err != nil || len(servers) != 1 {
		t.Fatalf("servers for %s: %v, %v", path, servers, err)
	}
	return servers[0]
}

// has returns the document that the server has for a file.
func has(t testing.TB, s *lsp.Server, path string) fakeDoc {
	t.Helper()
	var raw jsonx.Raw
	if err := s.Call(in(t), "test/doc", map[string]any{"uri": lsp.FileURI(path, "linux")}, &raw); err != nil {
		t.Fatal(err)
	}
	var d fakeDoc
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestManager_SharesServers checks that two sessions with one directory share a process, which ends with the last session.
func TestManager_SharesServers(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	path := k.write("a.txt", "one\n")
	one, two := k.session(), k.session()
	s := one.server(t, path)
	if two.server(t, path) != s {
		t.Fatal("the second session has another server")
	}
	if got := s.Status().State; got != lsp.StateIdle {
		t.Errorf("the server is %s before the first call", got)
	}
	for _, e := range []*editor{one, two} {
		if r, err := e.Diagnostics(in(t), path); err != nil || len(r.Servers) != 1 || len(r.Silent) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if d := has(t, s, path); d.Opened != 1 || d.Version != 1 {
		t.Errorf("the document was opened %d times, version %d", d.Opened, d.Version)
	}
	one.Close()
	if r, err := two.Diagnostics(in(t), path); err != nil || len(r.Silent) > 0 {
		t.Errorf("after the end of the other session: %+v, %v", r, err)
	}
	if _, err := one.Servers(in(t), path); err == nil {
		t.Error("a closed session returned servers")
	}
	two.Close()
	if list := k.Status(); len(list) > 0 {
		t.Errorf("servers without users are listed: %+v", list)
	}
	for ctx := in(t); !errors.Is(s.Call(ctx, "test/pid", nil, nil), lsp.ErrClosed); {
		if ctx.Err() != nil {
			t.Fatal("a server without users did not end")
		}
	}
	three := k.session()
	if three.server(t, path) == s {
		t.Error("a later session has the closed server")
	}
}

// TestManager_SessionsWithDifferentTexts checks that each session receives the diagnostics of its own text.
func TestManager_SessionsWithDifferentTexts(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	path := k.write("a.txt", "clean\n")
	one, two := k.session(), k.session()
	one.types(path, "BUG of one\n")
	two.types(path, "x\nBUG of two\n")
	var asking sync.WaitGroup
	for _, e := range []struct {
		*editor
		line int
		text string
	}{{one, 1, "a bug: BUG of one"}, {two, 2, "a bug: BUG of two"}} {
		for range 3 {
			asking.Go(func() {
				for range 20 {
					r, err := e.Diagnostics(in(t), path)
					if err != nil || len(r.Diagnostics) != 1 || r.Diagnostics[0].Start.Line != e.line || r.Diagnostics[0].Message != e.text {
						t.Errorf("want %q, got %+v, %v", e.text, r, err)
						return
					}
				}
			})
		}
	}
	asking.Wait()
}

// TestWorkspace_FollowsTheEditor checks that a request sends the changes of all open documents first.
func TestWorkspace_FollowsTheEditor(t *testing.T) {
	k := newKitchen(t, script{Publish: "plain"})
	a, b := k.write("a.txt", "a\n"), k.write("b.txt", "b\n")
	e := k.session()
	s := e.server(t, a)
	hold := func(path string) {
		t.Helper()
		d, err := e.Hold(in(t), s, path)
		if err != nil {
			t.Fatal(err)
		}
		d.Release()
	}
	hold(a)
	hold(b)
	e.types(a, "typed\n")
	hold(b)
	if d := has(t, s, a); d.Text != "typed\n" || d.Version != 2 {
		t.Errorf("the server has %+v", d)
	}
	e.types(b, "BUG\n")
	if r, err := e.Diagnostics(in(t), b); err != nil || len(r.Diagnostics) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	// A byte order mark is not part of a text.
	e.types(a, "\ufeffmarked\n")
	hold(a)
	if d := has(t, s, a); d.Text != "marked\n" {
		t.Errorf("with a mark: %q", d.Text)
	}
	e.types(a, "\xff\xfew\x00i\x00d\x00e\x00")
	hold(a)
	if d := has(t, s, a); d.Text != "wide" {
		t.Errorf("UTF-16: %q", d.Text)
	}
	e.types(a, "\xff\x00binary")
	if _, err := e.Hold(in(t), s, a); err == nil || !strings.Contains(err.Error(), "not a text file") {
		t.Errorf("no text: %v", err)
	}
	if _, err := e.Hold(in(t), s, filepath.Join(k.dir, "none.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	e.types(a, strings.Repeat("x", 17<<20))
	if _, err := e.Hold(in(t), s, a); err == nil || !strings.Contains(err.Error(), "MB") {
		t.Errorf("a huge file: %.100v", err)
	}
}

// TestWorkspace_FindsChanges checks that files created, modified or deleted on disk are detected after a command and before a
// request.
func TestWorkspace_FindsChanges(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	a, b := k.write("a.txt", "a\n"), k.write("sub/b.txt", "b\n")
	k.write("node_modules/x.txt", "x\n")
	e := k.session()
	s := e.server(t, a)
	d, err := e.Hold(in(t), s, a)
	if err != nil {
		t.Fatal(err)
	}
	d.Release()
	if err := s.Call(in(t), "test/ask", map[string]any{"method": "client/registerCapability", "params": json.RawMessage(
		`{"registrations":[{"id":"w","method":"workspace/didChangeWatchedFiles","registerOptions":{"watchers":[{"globPattern":"**/*.txt"}]}}]}`,
	)}, nil); err != nil {
		t.Fatal(err)
	}
	e.Rescan(in(t))
	told := func() map[string]int {
		t.Helper()
		var p struct {
			Changes []struct {
				URI  string
				Type int
			}
		}
		var raw jsonx.Raw
		if err := s.Call(in(t), "test/last", map[string]any{"method": "workspace/didChangeWatchedFiles"}, &raw); err != nil {
			t.Fatal(err)
		}
		if !jsonx.IsNull(raw) {
			if err := json.Unmarshal(raw, &p); err != nil {
				t.Fatal(err)
			}
		}
		got := make(map[string]int)
		for _, c := range p.Changes {
			path, err := lsp.FilePath(c.URI, "linux")
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(k.dir, path)
			got[rel] = c.Type
		}
		return got
	}
	k.write("a.txt", "changed by a command\n")
	k.write("new.txt", "n\n")
	k.write("node_modules/y.txt", "y\n")
	k.write("other.md", "m\n")
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	e.Rescan(in(t))
	if d := cmp.Diff(map[string]int{"a.txt": 2, "new.txt": 1, "sub/b.txt": 3}, told()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	e.Refresh(in(t))
	if d := has(t, s, a); d.Text != "changed by a command\n" {
		t.Errorf("the server has %q", d.Text)
	}
	// Recorded changes are not reported again.
	k.write("c.txt", "c\n")
	e.NotifyChanges(in(t), []lsp.FileEvent{{Path: filepath.Join(k.dir, "c.txt"), Type: lsp.FileCreated}})
	k.write("d.txt", "d\n")
	e.Rescan(in(t))
	if d := cmp.Diff(map[string]int{"d.txt": 1}, told()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	// The document of a deleted file is closed.
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	e.Refresh(in(t))
	if d := has(t, s, a); d.Closed != 1 {
		t.Errorf("the document of a removed file: %+v", d)
	}
}

// TestEdit_LateDiagnostics checks that a report names a slow server, that Late returns its answer, and that the next change of
// the file ends the wait.
func TestEdit_LateDiagnostics(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned", Late: true})
	path := k.write("a.txt", "BUG\n")
	e := k.session()
	s := e.server(t, path)
	if err := s.Start(in(t)); err != nil {
		t.Fatal(err)
	}
	report := func(most time.Duration) []*lsp.Report {
		t.Helper()
		return e.Before(nil).Report(in(t), most, []string{path})
	}
	// The server publishes diagnostics only of texts that it has received.
	reaches := func(text string) {
		t.Helper()
		for ctx := in(t); has(t, s, path).Text != text; {
			if ctx.Err() != nil {
				t.Fatalf("the server does not get %q", text)
			}
		}
	}
	got := report(500 * time.Millisecond)
	if len(got) != 1 || !slices.Equal(got[0].Silent, []string{"fake"}) || len(got[0].Diagnostics) > 0 {
		t.Fatalf("the report of a slow server: %+v", got)
	}
	if text := lsp.ReportText(got, filepath.Base, 50); text != "a.txt: fake has not answered in time; there may be problems." {
		t.Error(text)
	}
	if late := e.Late(); late != nil {
		t.Fatalf("before the server has answered: %+v", late)
	}
	reaches("BUG\n")
	if err := s.Call(in(t), "test/release", nil, nil); err != nil {
		t.Fatal(err)
	}
	late := lateOf(t, e)
	if text := lsp.ReportText(late, filepath.Base, 50); text != "a.txt: 1 error (1 new)\n  1:1 [error] [new] [fake] a bug: BUG (12)" {
		t.Errorf("late: %s", text)
	}
	if again := e.Late(); again != nil {
		t.Errorf("reported twice: %+v", again)
	}
	// The second change invalidates the diagnostics of the first one.
	k.write("a.txt", "BUG 1\n")
	report(500 * time.Millisecond)
	reaches("BUG 1\n")
	k.write("a.txt", "fine\n")
	report(500 * time.Millisecond)
	reaches("fine\n")
	if err := s.Call(in(t), "test/release", nil, nil); err != nil {
		t.Fatal(err)
	}
	late = lateOf(t, e)
	if len(late) != 1 || len(late[0].Diagnostics) > 0 {
		t.Errorf("late, of the first change too: %s", lsp.ReportText(late, filepath.Base, 50))
	}
}

// TestEdit_ServerDoesNotStart checks that the error of a server that cannot be started is reported once in full, and that no
// report says that there are no problems.
func TestEdit_ServerDoesNotStart(t *testing.T) {
	k := newKitchen(t, script{CrashOn: "initialize", Stderr: "out of cheese"})
	path := k.write("a.txt", "BUG\n")
	e := k.session()
	first := e.Before(nil).Report(in(t), timeout, []string{path})
	text := lsp.ReportText(first, filepath.Base, 50)
	if !strings.Contains(text, "out of cheese") || strings.Contains(text, "no problems") {
		t.Errorf("first: %s", text)
	}
	k.write("a.txt", "BUG 2\n")
	if text := lsp.ReportText(e.Before(nil).Report(in(t), timeout, []string{path}), filepath.Base, 50); strings.Contains(text, "no problems") {
		t.Errorf("second: %s", text)
	}
	// With a program that does not exist, and without a server.
	k.spec = &lsp.Spec{Name: "gone", Path: filepath.Join(k.dir, "gone"), FileTypes: []string{".txt"}}
	e = k.session()
	r, err := e.Diagnostics(in(t), path)
	if err != nil || len(r.Failed) != 1 || len(r.Diagnostics) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := e.Diagnostics(in(t), k.write("a.md", "")); err != nil || len(r.Servers) > 0 {
		t.Errorf("without servers: %+v, %v", r, err)
	}
}

// TestReportText_Bounds checks that the new diagnostics come first and that the list is bounded.
func TestReportText_Bounds(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	before := strings.Repeat("BUG old\n", 70)
	path := k.write("a.txt", before+"BUG new\n")
	e := k.session()
	text := lsp.ReportText(e.Before(map[string]string{path: before}).Report(in(t), timeout, []string{path}), filepath.Base, 50)
	lines := strings.Split(text, "\n")
	if len(lines) != 52 || lines[0] != "a.txt: 71 errors (1 new)" || lines[1] != "  71:1 [error] [new] [fake] a bug: BUG new (12)" ||
		lines[51] != "… and 21 more; list them with the lsp tool's action diagnostics." {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
}

// TestManager_Idle checks that an idle process ends and is started again by the next call.
func TestManager_Idle(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	path := k.write("a.txt", "BUG\n")
	e := k.session(func(o *lsp.WorkspaceOptions) {
		o.Catalog = &idleCatalog{oneServer{k.spec, k.dir}, 30 * time.Millisecond}
	})
	s := e.server(t, path)
	ask := func() {
		t.Helper()
		if r, err := e.Diagnostics(in(t), path); err != nil || len(r.Diagnostics) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	ask()
	for ctx := in(t); s.Status().State != lsp.StateIdle; {
		if ctx.Err() != nil {
			t.Fatalf("the server is %s", s.Status().State)
		}
	}
	ask()
}

type idleCatalog struct {
	oneServer
	idle time.Duration
}

func (c *idleCatalog) List(ctx context.Context) (*lsp.Listing, error) {
	list, err := c.oneServer.List(ctx)
	list.Idle = c.idle
	return list, err
}
