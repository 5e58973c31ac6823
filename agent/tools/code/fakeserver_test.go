package code_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/lsp"
)

// fileURI returns the file fileURI of path.
func fileURI(path string) string { return lsp.FileURI(path, runtime.GOOS) }

// object is a JSON object of the protocol.
type object = map[string]any

// lineSpan returns an LSP range within one line, in zero-based UTF-16 units.
func lineSpan(line, from, to int) object {
	return object{"start": object{"line": line, "character": from}, "end": object{"line": line, "character": to}}
}

// locationAt returns an LSP location in a file of the working directory, written as "$W".
func locationAt(name string, line, from, to int) object {
	return object{"uri": "file://$W/" + name, "range": lineSpan(line, from, to)}
}

// provides returns server capabilities with each name set to true.
func provides(names ...string) map[string]any {
	caps := make(map[string]any)
	for _, name := range names {
		caps[name] = true
	}
	return caps
}

// serverArgument makes the test binary a language server that follows the script in the file named by the next argument.
const serverArgument = "-fake-language-server"

// serverScript holds the answers of a fake language server.
type serverScript struct {
	// Encoding is its position encoding; UTF-16 if empty.
	Encoding string `json:"encoding"`
	// Capabilities are additional server capabilities.
	Capabilities map[string]any `json:"capabilities"`
	// Answers are the results of a method, one for each call in turn; the last one repeats. The strings "hang" and "die" make the
	// server do so. "unknown" is the error for an unknown method, "overtaken" that for modified content, and a string that begins
	// with "error " is an error with that text.
	Answers map[string][]any `json:"answers"`
	// Applies are the edits that it sends to the client during workspace/executeCommand.
	Applies []any `json:"applies"`
	// Log is the file to which it appends each message that it receives, one a line.
	Log string `json:"heard"`
	// Silent prevents the server from publishing an empty list of diagnostics for each text that it receives.
	Silent bool `json:"silent"`
}

type fakeServer struct {
	script serverScript
	out    io.Writer
	log    *os.File
	calls  map[string]int
}

// serveIfAsked runs a fake language server and exits if the arguments of this process request one. TestMain must call it first.
func serveIfAsked() {
	if len(os.Args) != 3 || os.Args[1] != serverArgument {
		return
	}
	if err := runFakeServer(os.Args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

func runFakeServer(path string, in io.Reader, out io.Writer) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f := &fakeServer{out: out, calls: make(map[string]int)}
	if err := jsonx.Unmarshal(data, &f.script); err != nil {
		return err
	}
	if f.log, err = os.OpenFile(f.script.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
		return err
	}
	r := bufio.NewReader(in)
	for {
		raw, err := readFramed(r)
		if err != nil {
			return nil // the client has gone
		}
		if _, err := fmt.Fprintf(f.log, "%s\n", raw); err != nil {
			return err
		}
		if done, err := f.take(r, raw); done || err != nil {
			return err
		}
	}
}

type fakeMessage struct {
	ID     jsonx.Raw `json:"id,omitzero"`
	Method string    `json:"method"`
	Params jsonx.Raw `json:"params,omitzero"`
	Result jsonx.Raw `json:"result,omitzero"`
	Error  jsonx.Raw `json:"error,omitzero"`
}

func (f *fakeServer) take(r *bufio.Reader, raw []byte) (done bool, err error) {
	var m fakeMessage
	if err := jsonx.Unmarshal(raw, &m); err != nil {
		return true, err
	}
	switch {
	case m.Method == "exit":
		return true, nil
	case !f.script.Silent && (m.Method == "textDocument/didOpen" || m.Method == "textDocument/didChange"):
		doc := jsonx.Lookup(m.Params, "textDocument")
		return false, f.send(map[string]any{"method": "textDocument/publishDiagnostics", "params": map[string]any{
			"uri": jsonx.Lookup(doc, "uri"), "version": jsonx.Lookup(doc, "version"), "diagnostics": []any{},
		}})
	case m.ID == nil || m.Method == "":
		return false, nil
	case m.Method == "initialize":
		caps := map[string]any{"textDocumentSync": 1}
		if f.script.Encoding != "" {
			caps["positionEncoding"] = f.script.Encoding
		}
		maps.Copy(caps, f.script.Capabilities)
		return false, f.send(map[string]any{"id": m.ID, "result": map[string]any{"capabilities": caps, "serverInfo": map[string]any{"name": "fake", "version": "1"}}})
	case m.Method == "shutdown":
		return false, f.send(map[string]any{"id": m.ID, "result": nil})
	case m.Method == "workspace/executeCommand":
		for i, edit := range f.script.Applies {
			if err := f.send(map[string]any{"id": fmt.Sprintf("apply%d", i), "method": "workspace/applyEdit", "params": map[string]any{"edit": edit}}); err != nil {
				return true, err
			}
			for { // until it is answered
				raw, err := readFramed(r)
				if err != nil {
					return true, nil
				}
				if _, err := fmt.Fprintf(f.log, "%s\n", raw); err != nil {
					return true, err
				}
				var answer fakeMessage
				if jsonx.Unmarshal(raw, &answer) == nil && answer.Method == "" {
					break
				}
			}
		}
	}
	answers := f.script.Answers[m.Method]
	if len(answers) == 0 {
		return false, f.send(map[string]any{"id": m.ID, "result": nil})
	}
	n := f.calls[m.Method]
	f.calls[m.Method]++
	answer := answers[min(n, len(answers)-1)]
	text, _ := answer.(string)
	switch {
	case text == "hang":
		return false, nil
	case text == "die":
		return true, fmt.Errorf("the fake server dies on %s", m.Method)
	case text == "unknown":
		return false, f.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32601, "message": "method not found"}})
	case text == "overtaken":
		return false, f.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32801, "message": "content modified"}})
	case strings.HasPrefix(text, "error "):
		return false, f.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32803, "message": text[len("error "):]}})
	}
	return false, f.send(map[string]any{"id": m.ID, "result": answer})
}

func (f *fakeServer) send(m map[string]any) error {
	m["jsonrpc"] = "2.0"
	raw, err := jsonx.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f.out, "Content-Length: %d\r\n\r\n%s", len(raw), raw)
	return err
}

func readFramed(r *bufio.Reader) ([]byte, error) {
	size := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if n, ok := strings.CutPrefix(strings.ToLower(line), "content-length:"); ok {
			if size, err = strconv.Atoi(strings.TrimSpace(n)); err != nil {
				return nil, err
			}
		}
	}
	raw := make([]byte, size)
	_, err := io.ReadFull(r, raw)
	return raw, err
}

// serverSpec returns a fake server for files of the type .x. In the script, "file://$W" stands for the fileURI of the working directory.
func serverSpec(t testing.TB, w *toolstest.World, name string, script serverScript) *lsp.Spec {
	t.Helper()
	dir := t.TempDir()
	script.Log = filepath.Join(dir, "heard")
	raw, err := jsonx.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "script.json")
	// $W is the workspace's directory, as a fileURI.
	text := strings.ReplaceAll(string(raw), "file://$W", fileURI(w.Dir))
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &lsp.Spec{Name: name, Path: exe, Args: []string{serverArgument, path}, FileTypes: []string{".x"}, RootMarkers: []string{"*"}}
}

// receivedBy returns the messages that a fake server has received, one per line.
func receivedBy(t testing.TB, s *lsp.Spec) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(s.Args[1]), "heard"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// serverWorld returns a world with files and one fake server for those of type .x.
func serverWorld(t testing.TB, files map[string]string, script serverScript) (*toolstest.World, *lsp.Spec) {
	t.Helper()
	w := toolstest.NewWorld(t, files)
	spec := serverSpec(t, w, "fake", script)
	openServers(t, w, &fakeServers{Specs: []*lsp.Spec{spec}}, os.Environ())
	return w, spec
}

// fakeServers is a catalog in which each server handles all files of its file types.
type fakeServers struct {
	// Root is the root of all servers; [openServers] sets it.
	Root   string
	Specs  []*lsp.Spec
	Unused []lsp.Unused
}

// For implements [lsp.Catalog].
func (f *fakeServers) For(_ context.Context, path string) ([]lsp.Candidate, error) {
	var list []lsp.Candidate
	for _, s := range f.Specs {
		if slices.Contains(s.FileTypes, filepath.Ext(path)) {
			list = append(list, lsp.Candidate{Spec: s, Root: f.Root})
		}
	}
	return list, nil
}

// List implements [lsp.Catalog].
func (f *fakeServers) List(context.Context) (*lsp.Listing, error) {
	l := &lsp.Listing{Unused: f.Unused}
	for _, s := range f.Specs {
		l.Servers = append(l.Servers, lsp.Candidate{Spec: s, Root: f.Root})
	}
	return l, nil
}

// Changed implements [lsp.Catalog].
func (*fakeServers) Changed([]string) {}

// openServers adds language servers to a world. They end with the test.
func openServers(t testing.TB, w *toolstest.World, catalog *fakeServers, env []string) {
	t.Helper()
	testenv.NoLeaks(t)
	catalog.Root = w.Dir
	// A race-enabled fake sleeps for a second before it exits, unless GORACE says otherwise, and a server's end is bounded by one.
	env = append(env[:len(env):len(env)], "GORACE=atexit_sleep_ms=0")
	group := proc.NewGroup(nil)
	manager := lsp.NewManager(lsp.ManagerOptions{
		Children: group, Env: func(context.Context) []string { return env }, Version: "test",
	})
	languages := manager.Open(lsp.WorkspaceOptions{
		Roots: append([]string{w.Dir}, w.Additional...), Catalog: catalog, ReadFile: w.FS.ReadFile,
	})
	w.Languages = languages
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		languages.Close()
		if err := manager.Close(ctx); err != nil {
			t.Errorf("closing the servers: %v", err)
		}
		if err := group.Close(ctx); err != nil {
			t.Errorf("closing the processes: %v", err)
		}
	})
}
