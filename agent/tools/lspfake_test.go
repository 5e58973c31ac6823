package tools_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/dap/daptest"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/lsp"
)

// fakeServerArg makes the test binary a language server that follows the script in the file behind it.
const fakeServerArg = "-fake-language-server"

func TestMain(m *testing.M) {
	daptest.Main()
	if filepath.Base(os.Args[0]) == fakeSSHName {
		os.Exit(runFakeSSH(os.Args[1:]))
	}
	if len(os.Args) == 3 && os.Args[1] == fakeServerArg {
		if err := runFakeServer(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(testenv.Run(m))
}

// fakeScript is what a fake server says.
type fakeScript struct {
	// Encoding is its position encoding; UTF-16 if empty.
	Encoding string `json:"encoding"`
	// Capabilities are further ones.
	Capabilities map[string]any `json:"capabilities"`
	// Answers are the results of a method, one for each call in turn; the last one stays. A string "hang" or "die" is done,
	// "unknown" answered as a method that there is not, one that begins with "error " answered as an error.
	Answers map[string][]any `json:"answers"`
	// Applies are the edits that it asks the client to apply during workspace/executeCommand.
	Applies []any `json:"applies"`
	// Heard is the file to which it writes what it is told, a message a line.
	Heard string `json:"heard"`
	// Silent keeps it from telling that there are no problems in each text that it gets.
	Silent bool `json:"silent"`
}

type fakeServer struct {
	script fakeScript
	out    io.Writer
	heard  *os.File
	calls  map[string]int
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
	if f.heard, err = os.OpenFile(f.script.Heard, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
		return err
	}
	r := bufio.NewReader(in)
	for {
		raw, err := readFramed(r)
		if err != nil {
			return nil // the client has gone
		}
		if _, err := fmt.Fprintf(f.heard, "%s\n", raw); err != nil {
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
				if _, err := fmt.Fprintf(f.heard, "%s\n", raw); err != nil {
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

// fakeSpec is a fake server for files of the type .x.
func fakeSpec(t testing.TB, w *toolstest.World, name string, script fakeScript) *lsp.Spec {
	t.Helper()
	dir := t.TempDir()
	script.Heard = filepath.Join(dir, "heard")
	raw, err := jsonx.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "script.json")
	// $W is the workspace's directory, as a URI.
	text := strings.ReplaceAll(string(raw), "file://$W", uri(w.Dir))
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &lsp.Spec{Name: name, Path: exe, Args: []string{fakeServerArg, path}, FileTypes: []string{".x"}, RootMarkers: []string{"*"}}
}

// heardBy is what a fake server was told, a message a line.
func heardBy(t testing.TB, s *lsp.Spec) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(s.Args[1]), "heard"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fakeWorld is a world with files and one fake server for those of the type .x.
func fakeWorld(t testing.TB, files map[string]string, script fakeScript) (*toolstest.World, *lsp.Spec) {
	t.Helper()
	w := toolstest.NewWorld(t, files)
	spec := fakeSpec(t, w, "fake", script)
	withServers(t, w, &fixedServers{specs: []*lsp.Spec{spec}}, os.Environ())
	return w, spec
}
