package lsp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/lsp"
)

// hold opens a file in a server with the session's text.
func (e *editor) hold(t *testing.T, s *lsp.Server, path string) {
	t.Helper()
	d, err := e.Hold(in(t), s, path)
	if err != nil {
		t.Fatal(err)
	}
	d.Release()
}

// The unsaved text of another session does not affect the answers for this one, not even about other files or after the other
// session is closed.
func TestIsolation_OtherSessionsText(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	a, b := k.write("a.txt", "saved\n"), k.write("b.txt", "b\n")
	one, two := k.session(), k.session()
	s := one.server(t, a)
	two.server(t, a)
	one.hold(t, s, b)
	two.types(a, "unsaved of two\n")
	two.hold(t, s, a)
	one.hold(t, s, b)
	if d := has(t, s, a); d.Text != "saved\n" {
		t.Errorf("while session one asks about b.txt the server has of a.txt: %q", d.Text)
	}
	two.hold(t, s, a)
	two.Close()
	one.hold(t, s, b)
	if d := has(t, s, a); d.Text != "saved\n" {
		t.Errorf("session two is closed; the server still has: %q (closed %d)", d.Text, d.Closed)
	}
}

// All open documents follow the editor, however many there are.
func TestIsolation_ManyDocuments(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	e := k.session()
	var paths []string
	for i := range 150 {
		paths = append(paths, k.write(fmt.Sprintf("f%03d.txt", i), "old\n"))
	}
	s := e.server(t, paths[0])
	for _, p := range paths {
		d, err := s.Hold(in(t), p, "old\n")
		if err != nil {
			t.Fatal(err)
		}
		d.Release()
		e.types(p, "new\n")
	}
	e.Refresh(in(t))
	for _, p := range paths {
		if d := has(t, s, p); d.Text != "new\n" && d.Closed == 0 {
			t.Fatalf("%s is open with %q", p, d.Text)
		}
	}
}

// A caller that uses one document can use another while the user types in the first, and no session waits for another session's
// work on other documents.
func TestIsolation_WaitsForNoOtherFile(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	a, b := k.write("a.txt", "a\n"), k.write("b.txt", "b\n")
	one, two := k.session(), k.session()
	s := one.server(t, a)
	two.server(t, a)
	held, err := one.Hold(in(t), s, a)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	one.types(a, "the user types on\n")
	for _, e := range []*editor{one, two} {
		e.hold(t, s, b)
		if r, err := e.Diagnostics(in(t), b); err != nil || len(r.Silent) > 0 {
			t.Errorf("b.txt, which nobody else uses: %+v, %v", r, err)
		}
	}
	if d := has(t, s, a); d.Text != "a\n" {
		t.Errorf("the held text has become %q", d.Text)
	}
}

// Diagnostics that arrive late are those of the session's own text.
func TestIsolation_Late(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned", Late: true})
	a := k.write("a.txt", "fine\n")
	one, two := k.session(), k.session()
	s := one.server(t, a)
	two.server(t, a)
	if err := s.Start(in(t)); err != nil {
		t.Fatal(err)
	}
	if r := one.Before(nil).Report(in(t), 500*time.Millisecond, []string{a}); len(r) != 1 || len(r[0].Silent) != 1 {
		t.Fatalf("the server has spoken: %+v", r)
	}
	for ctx := in(t); has(t, s, a).Opened == 0; { // the late report waits for diagnostics of its own text
		if ctx.Err() != nil {
			t.Fatal("the server does not get the text")
		}
	}
	two.types(a, "BUG of two\n")
	d, err := two.Hold(in(t), s, a)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	say(t, s, a, int(d.Version), "BUG of two")
	for ctx := in(t); one.PendingReports() > 0 && ctx.Err() == nil; {
		if list := one.Late(); list != nil {
			t.Fatalf("session one is told: %s", lsp.ReportText(list, filepath.Base, 50))
		}
	}
	if list := one.Late(); list != nil {
		t.Errorf("session one is told: %s", lsp.ReportText(list, filepath.Base, 50))
	}
}

// say makes a server publish diagnostics.
func say(t *testing.T, s *lsp.Server, path string, version int, text string) {
	t.Helper()
	params := map[string]any{"uri": lsp.FileURI(path, "linux"), "version": version, "diagnostics": problems(text)}
	if err := s.Call(in(t), "test/notify", map[string]any{"method": "textDocument/publishDiagnostics", "params": params}, nil); err != nil {
		t.Fatal(err)
	}
}

// Problems in the unsaved text of another session are not reported as caused by a change of this one.
func TestIsolation_Elsewhere(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	a, b := k.write("a.txt", "fine\n"), k.write("b.txt", "b\n")
	one, two := k.session(), k.session()
	s := one.server(t, a)
	two.server(t, b)
	one.hold(t, s, a)
	two.types(b, "BUG of two\n")
	typed := make(chan struct{})
	one.onRead = func(path string) {
		if path == a { // after the snapshot of earlier diagnostics was taken
			one.onRead = nil
			two.hold(t, s, b)
			close(typed)
		}
	}
	text := lsp.ReportText(one.Before(map[string]string{a: "old\n"}).Report(in(t), timeout, []string{a}), filepath.Base, 50)
	<-typed
	if strings.Contains(text, "BUG of two") {
		t.Errorf("the change of session one is said to have broken b.txt: %s", text)
	}
}

type rootsCatalog struct {
	spec  *lsp.Spec
	roots []string
}

func (c *rootsCatalog) For(_ context.Context, path string) ([]lsp.Candidate, error) {
	for _, r := range c.roots {
		if strings.HasPrefix(path, r+string(filepath.Separator)) {
			return []lsp.Candidate{{Spec: c.spec, Root: r}}, nil
		}
	}
	return nil, nil
}

func (c *rootsCatalog) List(context.Context) (*lsp.Listing, error) {
	l := &lsp.Listing{}
	for _, r := range c.roots {
		l.Servers = append(l.Servers, lsp.Candidate{Spec: c.spec, Root: r})
	}
	return l, nil
}

func (c *rootsCatalog) Changed([]string) {}

// A server without support for workspace folders has one process per root. No caller waits for a starting process to find out
// whether it has that support.
func TestWorkspace_TwoRoots(t *testing.T) {
	for name, s := range map[string]script{
		"one root":   {Publish: "versioned"},
		"many roots": {Publish: "versioned", Capabilities: map[string]any{"workspace": map[string]any{"workspaceFolders": map[string]any{"supported": true, "changeNotifications": true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKitchen(t, s)
			a, b := k.write("one/a.txt", "a\n"), k.write("two/b.txt", "b\n")
			roots := []string{filepath.Join(k.dir, "one"), filepath.Join(k.dir, "two")}
			open := func(n int) *editor {
				return k.session(func(o *lsp.WorkspaceOptions) { o.Roots, o.Catalog = roots[:n], &rootsCatalog{k.spec, roots[:n]} })
			}
			first, both := open(1), open(2)
			sa := both.server(t, a)
			both.hold(t, sa, a)
			if first.server(t, a) != sa {
				t.Error("the first root's server is not shared")
			}
			sb := both.server(t, b)
			if (sa == sb) != (name == "many roots") {
				t.Errorf("the servers of the two roots: %v and %v", sa.Status(), sb.Status())
			}
			both.hold(t, sb, b)
			if r, err := both.Diagnostics(in(t), b); err != nil || len(r.Silent) > 0 {
				t.Errorf("%+v, %v", r, err)
			}
			both.Close()
			var folders any
			if err := sa.Call(in(t), "test/ask", map[string]any{"method": "workspace/workspaceFolders", "params": nil}, &folders); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(fmt.Sprint(folders), "/two") {
				t.Errorf("the second root outlives its session: %v", folders)
			}
		})
	}
}

func TestWorkspace_StartIsNotWaitedFor(t *testing.T) {
	k := newKitchen(t, script{HangOn: "initialize"})
	a, b := k.write("one/a.txt", "a\n"), k.write("two/b.txt", "b\n")
	roots := []string{filepath.Join(k.dir, "one"), filepath.Join(k.dir, "two")}
	e := k.session(func(o *lsp.WorkspaceOptions) { o.Roots, o.Catalog = roots, &rootsCatalog{k.spec, roots} })
	s := e.server(t, a)
	short, cancel := context.WithTimeout(own(t), 50*time.Millisecond)
	defer cancel()
	if err := s.Start(short); err == nil {
		t.Fatal("it has started")
	}
	if _, _, err := e.All(in(t)); err != nil { // as /lsp does
		t.Error(err)
	}
	if e.server(t, b) != s {
		t.Error("a second server, though nobody knows yet what the first one takes")
	}
}

// The path of a working directory may contain a symbolic link.
func TestWorkspace_LinkedRoot(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	k.write("real/a.txt", "a\n")
	link := filepath.Join(k.dir, "link")
	if err := os.Symlink(filepath.Join(k.dir, "real"), link); err != nil {
		t.Skip(err)
	}
	e := k.session(func(o *lsp.WorkspaceOptions) { o.Roots, o.Catalog = []string{link}, &oneServer{k.spec, link} })
	a := filepath.Join(link, "a.txt")
	s := e.server(t, a)
	e.hold(t, s, a)
	if err := s.Call(in(t), "test/ask", map[string]any{"method": "client/registerCapability", "params": json.RawMessage(
		`{"registrations":[{"id":"w","method":"workspace/didChangeWatchedFiles","registerOptions":{"watchers":[{"globPattern":"**/*.txt"}]}}]}`,
	)}, nil); err != nil {
		t.Fatal(err)
	}
	e.Rescan(in(t))
	k.write("real/new.txt", "n\n")
	e.Rescan(in(t))
	var seen []string
	if err := s.Call(in(t), "test/seen", nil, &seen); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(seen, " "), "didChangeWatchedFiles") {
		t.Errorf("a new file below a linked root is not told of: %v", seen)
	}
}

// A server with a pending request is not idle.
func TestManager_IdleIsNotBusy(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned", HangOn: "textDocument/hover"})
	path := k.write("a.txt", "a\n")
	e := k.session(func(o *lsp.WorkspaceOptions) {
		o.Catalog = &idleCatalog{oneServer{k.spec, k.dir}, 20 * time.Millisecond}
	})
	s := e.server(t, path)
	d, err := e.Hold(in(t), s, path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(own(t), 300*time.Millisecond, context.DeadlineExceeded)
	defer cancel()
	if err := s.Call(ctx, "textDocument/hover", nil, nil); ctx.Err() == nil {
		t.Errorf("the server was ended for being idle while a request was under way: %v", err)
	}
	if st := s.Status().State; st != lsp.StateReady {
		t.Errorf("the server is %s while a document is held", st)
	}
	d.Release()
	for ctx := in(t); s.Status().State != lsp.StateIdle; {
		if ctx.Err() != nil {
			t.Fatal("the server does not rest any more")
		}
	}
}

// A server with a changed configuration replaces the running one.
func TestManager_OtherConfiguration(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	path := k.write("a.txt", "a\n")
	catalog := &oneServer{k.spec, k.dir}
	e := k.session(func(o *lsp.WorkspaceOptions) { o.Catalog = catalog })
	for i := range 4 {
		spec := *k.spec
		spec.Settings = fmt.Appendf(nil, `{"n":%d}`, i)
		catalog.spec = &spec
		e.hold(t, e.server(t, path), path)
	}
	if list := k.Status(); len(list) != 1 || len(e.Active()) != 1 {
		t.Errorf("%d servers of one name for one root", len(list))
	}
}

// Diagnostics of a closed document do not apply to the next document of the same name.
func TestDocument_LateOfClosed(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned", Late: true})
	path := k.write("a.txt", "x\n")
	e := k.session()
	s := e.server(t, path)
	last := 0
	for _, text := range []string{"x\n", "BUG old\n"} {
		d, err := s.Hold(in(t), path, text)
		if err != nil {
			t.Fatal(err)
		}
		last = int(d.Version)
		d.Release()
	}
	s.FilesChanged(in(t), []lsp.FileEvent{{Path: path, Type: lsp.FileDeleted}}) // closed
	d, err := s.Hold(in(t), path, "fine now\n")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	if int(d.Version) <= last {
		t.Errorf("version %d after version %d", d.Version, last)
	}
	say(t, s, path, last, "BUG old")
	ctx, cancel := context.WithTimeout(own(t), 50*time.Millisecond)
	defer cancel()
	if list, fresh, err := d.Diagnostics(ctx); fresh {
		t.Errorf("what was said of version %d counts for version %d: %v, %v", last, d.Version, list, err)
	}
}

// After a change of very many files, the report names those that were not checked.
func TestEdit_ManyFiles(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	e := k.session()
	var paths []string
	for i := range 30 {
		paths = append(paths, k.write(fmt.Sprintf("f%02d.txt", i), "BUG\n"))
	}
	text := lsp.ReportText(e.Before(nil).Report(in(t), timeout, paths), filepath.Base, 50)
	if !strings.Contains(text, "10 more changed files were not checked, from f20.txt on.") {
		t.Error(text)
	}
}

// Close does not wait for a hanging file system.
func TestManager_CloseIsBounded(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	path := k.write("a.txt", "a\n")
	e := k.session()
	e.hold(t, e.server(t, path), path)
	reading, free := make(chan struct{}), make(chan struct{})
	e.onRead = func(string) {
		close(reading)
		<-free
	}
	e.Changed()
	<-reading
	if err := k.Close(own(t)); err != nil {
		t.Error(err)
	}
	select {
	case <-free:
	default:
		close(free)
	}
	k.AwaitBackground(in(t))
}

// Problems in other files may be published later than those of the changed file.
func TestEdit_LateElsewhere(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	a, b := k.write("a.txt", "fine\n"), k.write("b.txt", "b\n")
	e := k.session()
	s := e.server(t, a)
	text := lsp.ReportText(e.Before(map[string]string{a: "old\n"}).Report(in(t), timeout, []string{a}), filepath.Base, 50)
	if text != "a.txt: no problems (fake)" {
		t.Errorf("at once: %s", text)
	}
	say(t, s, b, 0, "BUG by the change")
	late := lateOf(t, e)
	if text := lsp.ReportText(late, filepath.Base, 50); text != "b.txt: 1 error (1 new)\n  1:1 [error] [new] [fake] a bug: BUG by the change (12)" {
		t.Errorf("late: %s", text)
	}
}

// The problems are reported even if the server has not answered in time about the changed file.
func TestEdit_LateElsewhereAfterSilence(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned", Late: true})
	a, b := k.write("a.txt", "fine\n"), k.write("b.txt", "b\n")
	e := k.session()
	s := e.server(t, a)
	if err := s.Start(in(t)); err != nil {
		t.Fatal(err)
	}
	text := lsp.ReportText(e.Before(nil).Report(in(t), 200*time.Millisecond, []string{a}), filepath.Base, 50)
	if text != "a.txt: fake has not answered in time; there may be problems." {
		t.Errorf("at once: %s", text)
	}
	say(t, s, b, 0, "BUG by the change")
	late := lateOf(t, e)
	if text := lsp.ReportText(late, filepath.Base, 50); text != "b.txt: 1 error (1 new)\n  1:1 [error] [new] [fake] a bug: BUG by the change (12)" {
		t.Errorf("late: %s", text)
	}
}

// The problems are reported exactly once if another change follows in the meantime.
func TestEdit_LateElsewhereOnce(t *testing.T) {
	k := newKitchen(t, script{Publish: "versioned"})
	a, b := k.write("a.txt", "fine\n"), k.write("b.txt", "b\n")
	e := k.session()
	s := e.server(t, a)
	change := func() string {
		return lsp.ReportText(e.Before(map[string]string{a: "old\n"}).Report(in(t), timeout, []string{a}), filepath.Base, 50)
	}
	change()
	for i := range 20 {
		bug := fmt.Sprintf("BUG number %d", i)
		say(t, s, b, 0, bug)
		told := change()
		told += lsp.ReportText(e.Late(), filepath.Base, 50)
		if n := strings.Count(told, bug+" "); n != 1 {
			t.Errorf("%s is told %d times: %s", bug, n, told)
		}
		say(t, s, b, 0, "")
	}
}
