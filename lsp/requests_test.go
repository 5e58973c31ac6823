package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

func TestRequests_Answers(t *testing.T) {
	s := start(t, script{Capabilities: manyRoots()}, func(o *lsp.ServerOptions) {
		o.Spec.Settings = jsonx.Raw(`{"fake":{"a":1,"deep":{"b":[2]}},"x.y":3,"off":false,"null":null}`)
		o.Folders = []string{"/other folder"}
	})
	for _, tt := range []struct{ method, params, want string }{
		{
			"workspace/configuration", `{"items":[{"section":"fake"},{"section":"fake.deep.b","scopeUri":"file:///a"},{"section":"x.y"},{"section":"nothing.here"},{"section":"off"},{"section":"null"},{"section":"fake.a.b"}]}`,
			`[{"a":1,"deep":{"b":[2]}},[2],3,null,false,null,null]`,
		},
		{"workspace/configuration", `{"items":[{}]}`, `[{"fake":{"a":1,"deep":{"b":[2]}},"x.y":3,"off":false,"null":null}]`},
		{"workspace/configuration", `{"items":5}`, `[]`},
		{"workspace/configuration", `{"items":[]}`, `[]`},
		{"workspace/workspaceFolders", `null`, fmt.Sprintf(`[{"uri":%q,"name":%q},{"uri":"file:///other%%20folder","name":"other folder"}]`, s.uri("."), filepath.Base(s.root))},
		{"window/showMessageRequest", `{"type":3,"message":"yes?","actions":[{"title":"Yes"}]}`, `null`},
		{"window/showDocument", `{"uri":"https://example.invalid"}`, `{"success":false}`},
		{"window/workDoneProgress/create", `{"token":"t"}`, `null`},
		{"workspace/semanticTokens/refresh", `null`, `null`},
		{"workspace/codeLens/refresh", `null`, `null`},
		{"workspace/inlayHint/refresh", `null`, `null`},
		{"workspace/inlineValue/refresh", `null`, `null`},
		{"workspace/foldingRange/refresh", `null`, `null`},
		{"workspace/diagnostic/refresh", `null`, `null`},
		{"workspace/applyEdit", `{"edit":{"changes":{}}}`, `{"applied":false,"failureReason":"gjc has not requested an edit"}`},
		{"client/registerCapability", `{"registrations":5}`, `{"code":-32602,"message":"invalid params: /registrations: a number does not fit array"}`},
		{"fake/unknown", `{}`, `{"code":-32601,"message":"method not found: fake/unknown"}`},
	} {
		got := s.asked(tt.method, tt.params)
		if tt.method == "client/registerCapability" {
			if !strings.HasPrefix(got, `{"code":-32602,`) {
				t.Error(got)
			}
			continue
		}
		if got != tt.want {
			t.Errorf("%s %s:\n got %s\nwant %s", tt.method, tt.params, got, tt.want)
		}
	}
}

func TestRequests_BeforeInitialized(t *testing.T) {
	s := start(t, script{Early: true}, func(o *lsp.ServerOptions) { o.Spec.Settings = jsonx.Raw(`{"fake":7}`) })
	got := ask[[]json.RawMessage](s, "test/early", nil)
	want := []json.RawMessage{json.RawMessage(`[7]`), json.RawMessage(`null`), json.RawMessage(`{"code":-32601,"message":"method not found: fake/unknown"}`)}
	if diff := cmp.Diff(want, got, cmp.Transformer("text", func(r json.RawMessage) string { return string(r) })); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"initialize", "initialized", "workspace/didChangeConfiguration"}, s.seen()); diff != "" {
		t.Error(diff)
	}
}

func TestInitialize_Params(t *testing.T) {
	s := start(t, script{}, func(o *lsp.ServerOptions) {
		o.Spec.InitOptions = jsonx.Raw(`{"x":1}`)
		o.Spec.Args = []string{"--pid=$PID"}
		o.Folders = []string{"/b", "/b"}
	})
	got := ask[map[string]json.RawMessage](s, "test/last", map[string]string{"method": "initialize"})
	for name, want := range map[string]string{
		"processId": fmt.Sprint(os.Getpid()), "clientInfo": `{"name":"gjc","version":"0.1"}`, "initializationOptions": `{"x":1}`,
		"rootUri": fmt.Sprintf("%q", s.uri(".")), "rootPath": fmt.Sprintf("%q", s.root),
		"workspaceFolders": fmt.Sprintf(`[{"uri":%q,"name":%q},{"uri":"file:///b","name":"b"}]`, s.uri("."), filepath.Base(s.root)),
	} {
		if string(got[name]) != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	var caps protocol.ClientCapabilities
	if err := json.Unmarshal(got["capabilities"], &caps); err != nil {
		t.Fatal(err)
	}
	if !caps.Workspace.ApplyEdit || !caps.Workspace.DidChangeWatchedFiles.DynamicRegistration || !caps.TextDocument.Rename.PrepareSupport ||
		!caps.Window.WorkDoneProgress || caps.Workspace.WorkspaceEdit.FailureHandling != "textOnlyTransactional" {
		t.Error("capabilities are missing")
	}
	if e := jsonx.Lookup(jsonx.Lookup(jsonx.Raw(got["capabilities"]), "general"), "positionEncodings"); string(e) != `["utf-8","utf-16","utf-32"]` {
		t.Errorf("encodings: %s", e)
	}
	if got := ask[[]string](s, "test/args", nil); len(got) != 1 || got[0] != fmt.Sprintf("--pid=%d", os.Getpid()) {
		t.Errorf("%q", got)
	}
}

func TestMessages(t *testing.T) {
	s := start(t, script{Stderr: "a complaint\n"}, nil)
	s.notifies("window/logMessage", `{"type":4,"message":"for the log"}`)
	s.notifies("$/logTrace", `{"message":"for the trace"}`)
	s.notifies("telemetry/event", `{"secret":1}`)
	s.notifies("window/showMessage", `{"type":3,"message":"just so"}`)
	s.notifies("window/showMessage", `{"type":1,"message":"the sky falls"}`)
	s.until("the sky falls")
	log := s.Status().Log
	for _, want := range []string{"a complaint", "[log] for the log", "[trace] for the trace", "[info] just so", "[error] the sky falls"} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in the log %q", want, log)
		}
	}
	for n := range 100 {
		s.notifies("window/showMessage", fmt.Sprintf(`{"type":2,"message":"%d%s"}`, n, strings.Repeat("x", 5000)))
	}
	s.mu.Lock()
	if n := len(s.notices); n > 11 {
		t.Errorf("%d notices", n)
	}
	s.mu.Unlock()
	if n := len(s.Status().Log); n > 64<<10 {
		t.Errorf("the log has %d bytes", n)
	}
}

func TestExecute_Edits(t *testing.T) {
	s := start(t, script{}, nil)
	edit := fmt.Sprintf(`{"changes":{%q:[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"newText":"x"}]}}`, s.uri("a.go"))
	run := func(apply func(context.Context, string, *lsp.WorkspaceEdit) error) string {
		t.Helper()
		raw, err := s.Execute(in(t), &protocol.Command{Command: "edit", Arguments: []any{jsonx.Raw(edit)}}, apply)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	calls := 0
	got := run(func(_ context.Context, label string, e *lsp.WorkspaceEdit) error {
		calls++
		if label != "an edit" || e == nil {
			t.Errorf("%q, %v", label, e)
		}
		return nil
	})
	if got != `{"applied":true}` || calls != 1 {
		t.Errorf("%s, %d calls", got, calls)
	}
	if got := run(func(context.Context, string, *lsp.WorkspaceEdit) error { return errors.New("the user said no") }); got != `{"applied":false,"failureReason":"the user said no"}` {
		t.Error(got)
	}
	if got := run(nil); !strings.Contains(got, `"applied":false`) {
		t.Error(got)
	}
	if raw, err := s.Execute(in(t), &protocol.Command{Command: "other"}, nil); err != nil || string(raw) != `"other"` {
		t.Errorf("%s, %v", raw, err)
	}
	// A cancelled Execute waits for its edit.
	ctx, cancel := context.WithCancel(in(t))
	release, returned := make(chan struct{}), make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		_, err := s.Execute(ctx, &protocol.Command{Command: "edit", Arguments: []any{jsonx.Raw(edit)}}, func(ctx context.Context, _ string, _ *lsp.WorkspaceEdit) error {
			close(begun)
			<-ctx.Done()
			<-release
			return nil
		})
		returned <- err
	}()
	<-begun
	cancel()
	select {
	case err := <-returned:
		t.Errorf("it returned in the middle of an edit: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if err := <-returned; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWaitIdle(t *testing.T) {
	s := start(t, script{Busy: true}, nil)
	if s.WaitIdle(in(t), time.Second) {
		t.Error("settled before the start")
	}
	if err := s.Start(in(t)); err != nil {
		t.Fatal(err)
	}
	if s.WaitIdle(in(t), 30*time.Millisecond) {
		t.Error("settled while it is busy, or was not waited for")
	}
	for len(s.Status().Progress) == 0 {
		ask[any](s, "test/echo", 1)
	}
	if diff := cmp.Diff([]string{"Loading: packages"}, s.Status().Progress); diff != "" {
		t.Error(diff)
	}
	settled := make(chan bool)
	go func() { settled <- s.WaitIdle(in(t), timeout) }()
	ask[any](s, "test/release", nil)
	if !<-settled || len(s.Status().Progress) != 0 {
		t.Errorf("not settled: %q", s.Status().Progress)
	}
	s.notifies("experimental/serverStatus", `{"health":"ok","quiescent":false}`)
	if s.WaitIdle(in(t), 10*time.Millisecond) {
		t.Error("settled while the server says it is not")
	}
	s.notifies("experimental/serverStatus", `{"health":"warning","quiescent":true,"message":"no sysroot"}`)
	if !s.WaitIdle(in(t), timeout) || !strings.Contains(s.Status().Log, "no sysroot") {
		t.Error("not settled")
	}
}

func TestSupports(t *testing.T) {
	s := start(t, script{Capabilities: map[string]any{
		"renameProvider": map[string]any{"prepareProvider": true}, "codeActionProvider": map[string]any{"resolveProvider": false},
		"definitionProvider": map[string]any{}, "referencesProvider": false, "documentFormattingProvider": true, "callHierarchyProvider": true,
		"diagnosticProvider": map[string]any{"interFileDependencies": true}, "typeHierarchyProvider": map[string]any{"documentSelector": []any{map[string]any{"language": "go"}}},
		"workspace": map[string]any{"fileOperations": map[string]any{"willRename": map[string]any{"filters": []any{
			map[string]any{"scheme": "file", "pattern": map[string]any{"glob": "**/*.{ts,GO}", "matches": "file", "options": map[string]any{"ignoreCase": true}}},
		}}}},
	}}, nil)
	if err := s.Start(in(t)); err != nil {
		t.Fatal(err)
	}
	check := func(method, path string, want bool) {
		t.Helper()
		if got := s.Supports(method, path); got != want {
			t.Errorf("%s for %q: %v", method, path, got)
		}
	}
	check("textDocument/rename", "/w/a.go", true)
	check("textDocument/prepareRename", "", true)
	check("textDocument/codeAction", "", true)
	check("codeAction/resolve", "", false)
	check("textDocument/definition", "", true)
	check("textDocument/references", "", false)
	check("textDocument/formatting", "", true)
	check("textDocument/rangeFormatting", "", false)
	check("callHierarchy/incomingCalls", "", true)
	check("typeHierarchy/supertypes", "/w/a.go", true)
	check("typeHierarchy/supertypes", "/w/a.py", false)
	check("textDocument/diagnostic", "", true)
	check("workspace/diagnostic", "", false)
	check("textDocument/didSave", "/w/a.go", true)
	check("workspace/willRenameFiles", "/w/a.go", true)
	check("workspace/willRenameFiles", "/w/a.py", false)
	check("workspace/didRenameFiles", "/w/a.go", false)
	check("fake/unknown", "", false)

	register := func(id, method, options string) {
		t.Helper()
		if got := s.asked("client/registerCapability", fmt.Sprintf(`{"registrations":[{"id":%q,"method":%q,"registerOptions":%s}]}`, id, method, options)); got != "null" {
			t.Error(got)
		}
	}
	register("1", "textDocument/references", `{"documentSelector":[{"scheme":"untitled"},{"language":"go","pattern":"**/x/*"},"python"]}`)
	check("textDocument/references", "/w/x/a.go", true)
	check("textDocument/references", "/w/a.go", false)
	check("textDocument/references", "/w/a.py", true)
	register("2", "textDocument/codeAction", `{"documentSelector":null,"resolveProvider":true}`)
	check("codeAction/resolve", "/w/a.any", true)
	register("3", "textDocument/diagnostic", `{"workspaceDiagnostics":true}`)
	check("workspace/diagnostic", "", true)
	register("4", "fake/unknown", `null`)
	check("fake/unknown", "", true)
	s.asked("client/unregisterCapability", `{"unregisterations":[{"id":"1","method":"textDocument/references"},{"id":"nobody","method":"x"}]}`)
	check("textDocument/references", "/w/x/a.go", false)
	s.asked("client/unregisterCapability", `{"unregistrations":[{"id":"2","method":"textDocument/codeAction"}]}`)
	check("codeAction/resolve", "", false)
}

func TestFilesChanged(t *testing.T) {
	s := start(t, script{}, nil)
	if err := s.Start(in(t)); err != nil {
		t.Fatal(err)
	}
	change := func(events ...lsp.FileEvent) string {
		t.Helper()
		for i := range events {
			events[i].Path = s.path(events[i].Path)
		}
		before := len(s.seen())
		s.FilesChanged(in(t), events)
		if len(s.seen()) == before {
			return ""
		}
		raw := ask[json.RawMessage](s, "test/last", map[string]string{"method": "workspace/didChangeWatchedFiles"})
		return strings.ReplaceAll(string(raw), s.uri("."), "")
	}
	if got := change(lsp.FileEvent{Path: "a.go", Type: 1}); got != "" {
		t.Errorf("a server without registrations received %s", got)
	}
	s.asked("client/registerCapability", fmt.Sprintf(`{"registrations":[{"id":"w","method":"workspace/didChangeWatchedFiles","registerOptions":{"watchers":[
		{"globPattern":"**/*.{go,mod}"},
		{"globPattern":{"baseUri":%q,"pattern":"*.json"},"kind":6},
		{"globPattern":{"baseUri":{"uri":%q,"name":"x"},"pattern":"sub/[!a-c]*"},"kind":1},
		{"globPattern":"top.txt"},
		{"globPattern":"[broken"}, {"globPattern":{"baseUri":"untitled:x","pattern":"*"}}
	]}}]}`, s.uri("."), s.uri(".")))
	got := change(
		lsp.FileEvent{Path: "d/e/a.go", Type: lsp.FileCreated}, lsp.FileEvent{Path: "go.mod", Type: lsp.FileDeleted}, lsp.FileEvent{Path: "x.py", Type: lsp.FileChanged},
		lsp.FileEvent{Path: "a.json", Type: lsp.FileCreated}, lsp.FileEvent{Path: "b.json", Type: lsp.FileChanged}, lsp.FileEvent{Path: "d/c.json", Type: lsp.FileChanged},
		lsp.FileEvent{Path: "sub/a", Type: lsp.FileCreated}, lsp.FileEvent{Path: "sub/d", Type: lsp.FileCreated}, lsp.FileEvent{Path: "sub/e", Type: lsp.FileChanged},
		lsp.FileEvent{Path: "top.txt", Type: lsp.FileChanged}, lsp.FileEvent{Path: "d/top.txt", Type: lsp.FileChanged},
	)
	want := `{"changes":[{"uri":"/d/e/a.go","type":1},{"uri":"/go.mod","type":3},{"uri":"/b.json","type":2},{"uri":"/sub/d","type":1},{"uri":"/top.txt","type":2}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.asked("client/unregisterCapability", `{"unregisterations":[{"id":"w","method":"workspace/didChangeWatchedFiles"}]}`)
	if got := change(lsp.FileEvent{Path: "a.go", Type: 1}); got != "" {
		t.Errorf("notified after its end: %s", got)
	}
}

// manyRoots returns the capabilities of a server that supports workspace folders.
func manyRoots() map[string]any {
	return map[string]any{"workspace": map[string]any{"workspaceFolders": map[string]any{"supported": true}}}
}

func TestAddFolders(t *testing.T) {
	s := start(t, script{Capabilities: manyRoots()}, nil)
	if !s.AddFolders([]string{"/early"}) {
		t.Error("before the start")
	}
	if got := s.asked("workspace/workspaceFolders", "null"); !strings.Contains(got, "file:///early") {
		t.Error(got)
	}
	if s.AddFolders([]string{"/late"}) {
		t.Error("it does not take folders")
	}
	if !s.AddFolders([]string{"/early", s.root}) {
		t.Error("it knows these")
	}
	s.asked("client/registerCapability", `{"registrations":[{"id":"f","method":"workspace/didChangeWorkspaceFolders"}]}`)
	if !s.AddFolders([]string{"/late"}) {
		t.Error("it takes folders now")
	}
	last := func() string {
		return string(ask[json.RawMessage](s, "test/last", map[string]string{"method": "workspace/didChangeWorkspaceFolders"}))
	}
	if got := last(); got != `{"event":{"added":[{"uri":"file:///late","name":"late"}],"removed":[]}}` {
		t.Errorf("%s", got)
	}
	s.RemoveFolders([]string{"/early", "/never", s.root})
	if got := last(); got != `{"event":{"added":[],"removed":[{"uri":"file:///early","name":"early"}]}}` {
		t.Errorf("%s", got)
	}
	if got := s.asked("workspace/workspaceFolders", "null"); strings.Contains(got, "early") || !strings.Contains(got, "late") {
		t.Error(got)
	}
}

// TestAddFolders_DuringStart checks that AddFolders does not wait for a start, and that a server without support for folders has
// only its root.
func TestAddFolders_DuringStart(t *testing.T) {
	s := start(t, script{HangOn: "initialize", Once: filepath.Join(t.TempDir(), "once")}, func(o *lsp.ServerOptions) { o.Folders = []string{"/other"} })
	starting := make(chan error, 1)
	ctx, cancel := context.WithCancel(in(t))
	go func() { starting <- s.Start(ctx) }()
	for s.Status().State != lsp.StateStarting {
		if in(t).Err() != nil {
			t.Fatal("it does not start")
		}
	}
	if !s.AddFolders([]string{"/late"}) {
		t.Error("while it starts")
	}
	cancel()
	<-starting
}

func TestAddFolders_KnownBefore(t *testing.T) {
	plain := start(t, script{}, func(o *lsp.ServerOptions) { o.Folders = []string{"/other"} })
	if err := plain.Start(in(t)); err != nil {
		t.Fatal(err)
	}
	if plain.AddFolders([]string{"/other"}) {
		t.Error("a server without folders has one")
	}
	if got := plain.asked("workspace/workspaceFolders", "null"); strings.Contains(got, "other") {
		t.Error(got)
	}
}

func TestReload(t *testing.T) {
	s := start(t, script{}, nil)
	first := ask[int](s, "test/pid", nil)
	if err := s.Reload(in(t)); err != nil || ask[int](s, "test/pid", nil) == first {
		t.Errorf("one that cares for nothing is started anew: %v", err)
	}
	first = ask[int](s, "test/pid", nil)
	s.asked("workspace/configuration", `{"items":[]}`)
	if err := s.Reload(in(t)); err != nil || ask[int](s, "test/pid", nil) != first {
		t.Errorf("one that asks for its settings is told: %v", err)
	}
	if got := s.seen(); got[len(got)-1] != "workspace/didChangeConfiguration" {
		t.Errorf("%q", got)
	}
}
