package lsp_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

func TestHold_SameTextShared(t *testing.T) {
	s := start(t, script{}, nil)
	a, b := s.hold("a.go", "one"), s.hold("a.go", "one")
	if a.Version != b.Version {
		t.Errorf("versions %d and %d", a.Version, b.Version)
	}
	ctx, cancel := context.WithTimeout(in(t), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Hold(ctx, a.Path, "two"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another text came through: %v", err)
	}
	a.Release()
	a.Release()
	if got := s.doc("a.go"); got.Text != "one" {
		t.Errorf("%+v", got)
	}
	b.Release()
	c := s.hold("a.go", "two")
	defer c.Release()
	if got := s.doc("a.go"); got.Text != "two" || got.Version != int(c.Version) || got.Opened != 1 {
		t.Errorf("%+v", got)
	}
}

// TestHold_NoStarvation checks that a caller that waits with another text precedes new holders of the old text.
func TestHold_NoStarvation(t *testing.T) {
	s := start(t, script{}, nil)
	old := s.hold("a.go", "old")
	got := make(chan string, 2)
	hold := func(ctx context.Context, text string) {
		d, err := s.Hold(ctx, old.Path, text)
		if err != nil {
			got <- err.Error()
			return
		}
		got <- text
		d.Release()
	}
	go hold(in(t), "new")
	for s.Waiting(old.Path) < 1 {
		runtime.Gosched()
	}
	go hold(in(t), "old")
	for s.Waiting(old.Path) < 2 {
		runtime.Gosched()
	}
	old.Release()
	if first, second := <-got, <-got; first != "new" || second != "old" {
		t.Errorf("%s before %s", first, second)
	}
}

// TestHold_CancelledWaiter checks that a cancelled waiter does not block the next ones.
func TestHold_CancelledWaiter(t *testing.T) {
	s := start(t, script{}, nil)
	old := s.hold("a.go", "old")
	defer old.Release()
	ctx, cancel := context.WithCancelCause(in(t))
	why := errors.New("enough")
	gaveUp := make(chan error)
	go func() {
		_, err := s.Hold(ctx, old.Path, "new")
		gaveUp <- err
	}()
	for s.Waiting(old.Path) < 1 {
		runtime.Gosched()
	}
	same := make(chan error)
	go func() {
		d, err := s.Hold(in(t), old.Path, "old")
		if err == nil {
			d.Release()
		}
		same <- err
	}()
	for s.Waiting(old.Path) < 2 {
		runtime.Gosched()
	}
	cancel(why)
	if err := <-gaveUp; !errors.Is(err, why) {
		t.Error(err)
	}
	if err := <-same; err != nil {
		t.Error(err)
	}
}

func TestHold_TwoSessions(t *testing.T) {
	s := start(t, script{Publish: "versioned"}, nil)
	done := make(chan error)
	for i := range 4 {
		go func() {
			for n := range 25 {
				text := fmt.Sprintf("session %d\nBUG %d of %d\n", i, n, i)
				d, err := s.Hold(in(t), s.path("a.go"), text)
				if err != nil {
					done <- err
					return
				}
				list, fresh, err := d.Diagnostics(in(t))
				if err != nil || !fresh || len(list) != 1 || list[0].Message != fmt.Sprintf("a bug: BUG %d of %d", n, i) {
					err = fmt.Errorf("session %d sees %v, %v: %w", i, list, fresh, err)
				}
				d.Release()
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestHold_Refuses(t *testing.T) {
	s := start(t, script{}, nil)
	if _, err := s.Hold(in(t), "a.go", ""); err == nil {
		t.Error("a relative path was accepted")
	}
	d := s.hold("../outside/a.go", "x") // outside the root
	d.Release()
}

func TestDocuments_LimitOfIdle(t *testing.T) {
	s := start(t, script{}, nil)
	kept := s.hold("kept.go", "")
	defer kept.Release()
	for i := range 205 {
		s.hold(fmt.Sprint(i, ".go"), "").Release()
	}
	if n := s.Status().Documents; n != 201 {
		t.Errorf("%d documents", n)
	}
	if s.doc("kept.go").Closed != 0 || s.doc("4.go").Closed != 1 || s.doc("5.go").Closed != 0 {
		t.Error("the oldest documents are not closed")
	}
	d := s.hold("4.go", "again")
	defer d.Release()
	if got := s.doc("4.go"); got.Opened != 2 || got.Text != "again" {
		t.Errorf("%+v", got)
	}
}

// TestDocuments_IdleTimeout checks that idle documents are closed after five minutes, and that there is no timer without idle
// documents.
func TestDocuments_IdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := lsp.NewDocuments()
		docs.Open("/a")
		held := docs.Open("/held")
		docs.Release("/a")
		time.Sleep(4 * time.Minute)
		docs.Open("/b")
		docs.Release("/b")
		if got := docs.List(); !slices.Equal(got, []string{"/a", "/b", "/held"}) {
			t.Errorf("%q", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := docs.List(); !slices.Equal(got, []string{"/b", "/held"}) {
			t.Errorf("after five minutes: %q", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := docs.List(); !slices.Equal(got, []string{"/held"}) || !held() {
			t.Errorf("after an hour: %q", got)
		}
	})
}

func TestDocuments_DeletedFiles(t *testing.T) {
	s := start(t, script{}, nil)
	s.hold("d/free.go", "").Release()
	held := s.hold("d/held.go", "")
	s.hold("dd.go", "").Release()
	s.FilesChanged(in(t), []lsp.FileEvent{{Path: s.path("d"), Type: lsp.FileDeleted}})
	if s.doc("d/free.go").Closed != 1 || s.doc("d/held.go").Closed != 0 || s.doc("dd.go").Closed != 0 {
		t.Error("the document of the deleted file is not closed")
	}
	held.Release()
	if s.doc("d/held.go").Closed != 1 {
		t.Error("it is open after its release")
	}
}

func TestDocuments_SyncKinds(t *testing.T) {
	type options = map[string]any
	for _, tt := range []struct {
		name string
		sync any
		want []string
		text string
	}{
		{"incremental", options{"openClose": true, "change": 2}, []string{"textDocument/didOpen", "textDocument/didChange"}, "two"},
		{"full", options{"openClose": true, "change": 1, "save": true}, []string{"textDocument/didOpen", "textDocument/didChange", "textDocument/didSave"}, "two"},
		{"none", options{"openClose": true}, []string{"textDocument/didOpen"}, "one"},
		{"number", 1, []string{"textDocument/didOpen", "textDocument/didChange"}, "two"},
		{"zero", 0, nil, ""},
		{"nothing", nil, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, script{Capabilities: options{"textDocumentSync": tt.sync}}, nil)
			s.hold("a.go", "one").Release()
			d := s.hold("a.go", "two")
			defer d.Release()
			if err := d.Save(in(t)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.seen()[2:], cmp.Transformer("nil", func(l []string) string { return strings.Join(l, " ") })); diff != "" {
				t.Error(diff)
			}
			if got := s.doc("a.go"); got != nil && got.Text != tt.text {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestDocuments_Encodings(t *testing.T) {
	for _, e := range []string{"utf-8", "utf-16", "utf-32", "", "ebcdic"} {
		t.Run(e, func(t *testing.T) {
			caps := map[string]any{}
			if e != "" {
				caps["positionEncoding"] = e
			}
			s := start(t, script{Capabilities: caps}, nil)
			text := "ä𝄞x\r\ny\r\n"
			for _, next := range []string{text, "ä𝄞𝄞x\r\ny\r\n", "ä𝄞𝅘𝅥x\r\ny\n", "ä𝄞𝅘𝅥\n\r\ny\n", ""} {
				s.hold("a.go", next).Release()
				if got := s.doc("a.go").Text; got != next {
					t.Fatalf("%q, want %q", got, next)
				}
			}
			want := lsp.Encoding(e)
			if e == "" || e == "ebcdic" {
				want = lsp.UTF16
			}
			if s.Encoding() != want {
				t.Error(s.Encoding())
			}
			if e == "ebcdic" {
				s.until("position encoding")
			}
		})
	}
}

func TestLanguageID(t *testing.T) {
	for path, want := range map[string]string{
		"/w/a.go": "go", "/w/go.mod": "go.mod", "a.tsx": "typescriptreact", "x/Dockerfile": "dockerfile", "Dockerfile.dev": "dockerfile",
		"a.SH": "shellscript", "Makefile": "makefile", "a.rs": "rust", "a.vue": "vue", "a.unknown": "unknown", "LICENSE": "plaintext",
		"a.h": "c", "a.hpp": "cpp", "tsconfig.json": "jsonc", "a.cs": "csharp", ".bashrc": "shellscript", "a.css": "css",
	} {
		if got := lsp.LanguageID(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	s := start(t, script{}, func(o *lsp.ServerOptions) { o.Spec.LanguageIDs = map[string]string{".x": "my", "BUILD": "bazel"} })
	for name, want := range map[string]string{"a.x": "my", "BUILD": "bazel", "a.go": "go"} {
		s.hold(name, "").Release()
		if got := s.doc(name).Language; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestSave_IncludeText(t *testing.T) {
	s := start(t, script{}, nil)
	d := s.hold("a.go", "the text")
	defer d.Release()
	if err := d.Save(in(t)); err != nil {
		t.Fatal(err)
	}
	if got := ask[jsonx.Raw](s, "test/last", map[string]string{"method": "textDocument/didSave"}); string(jsonx.Lookup(got, "text")) != `"the text"` {
		t.Errorf("%s", got)
	}
}
