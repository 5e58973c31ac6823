package lsp_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/textproto"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/testenv"
)

// fakeVariable is the environment variable with the script of a fake server, which is the test binary, re-executed.
const fakeVariable = "GJC_LSP_FAKE"

func TestMain(m *testing.M) {
	raw := os.Getenv(fakeVariable)
	if raw == "" {
		os.Exit(testenv.Run(m))
	}
	var s script
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		fmt.Fprintln(os.Stderr, "the script cannot be read:", err)
		os.Exit(2)
	}
	(&fake{script: s, docs: make(map[string]*fakeDoc), answers: make(map[string]chan json.RawMessage), last: make(map[string]json.RawMessage)}).run()
}

// A script makes a fake server differ from a correct one.
type script struct {
	// Capabilities are added to the default ones.
	Capabilities map[string]any
	// CrashOn and HangOn name a method. CrashAfter names a method after whose response the server crashes. If the file Once exists,
	// the server behaves correctly; a crash creates it.
	CrashOn, HangOn, CrashAfter string
	Once                        string
	// Preamble is printed on stdout before anything else, Stderr on stderr.
	Preamble, Stderr string
	// Garbage makes the server print endless lines that are not messages.
	Garbage bool
	// Early makes it send requests before it answers initialize.
	Early bool
	// Headers is "lower", "type" or "split".
	Headers string
	// Publish is "versioned", "plain" or empty for never. If Late is set, publishing waits for test/release.
	Publish string
	Late    bool
	// Stubborn makes the server ignore SIGTERM, exit and the end of its input.
	Stubborn bool
	// Busy makes the server report progress after initialized, which ends with test/release.
	Busy bool
	// Litter makes the server create temporary files when it starts and when it receives exit.
	Litter bool
	// Deaf makes the server stop reading after initialized; Nag also makes it send requests endlessly.
	Deaf, Nag bool
}

type fakeDoc struct {
	Text, Language string
	Version        int
	Opened, Closed int
}

type fake struct {
	script   script
	encoding string

	mu      sync.Mutex
	docs    map[string]*fakeDoc
	seen    []string
	last    map[string]json.RawMessage
	answers map[string]chan json.RawMessage
	held    []func()
	asked   int
	early   []json.RawMessage
	pulls   int
}

type fakeMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (f *fake) run() {
	if f.script.Stubborn {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	}
	f.litter("start")
	fmt.Fprint(os.Stderr, f.script.Stderr)
	fmt.Print(f.script.Preamble)
	for f.script.Garbage {
		fmt.Println("no message, but a long story about something else")
	}
	in := bufio.NewReader(os.Stdin)
	for {
		header, err := textproto.NewReader(in).ReadMIMEHeader()
		if err != nil {
			break
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(in, body); err != nil {
			break
		}
		var m fakeMessage
		if err := json.Unmarshal(body, &m); err != nil {
			fmt.Fprintln(os.Stderr, "bad message:", err)
			os.Exit(4)
		}
		f.take(&m)
	}
	if f.script.Stubborn {
		select {}
	}
	os.Exit(0)
}

// misbehaves reports whether the script applies, and records that it has.
func (f *fake) misbehaves() bool {
	if f.script.Once == "" {
		return true
	}
	_, err := os.Stat(f.script.Once)
	return err != nil
}

func (f *fake) crash() {
	if f.script.Once != "" {
		_ = os.WriteFile(f.script.Once, nil, 0o600)
	}
	fmt.Fprintln(os.Stderr, "panic: out of cheese")
	os.Exit(7)
}

func (f *fake) take(m *fakeMessage) {
	if m.Method == "" {
		f.mu.Lock()
		ch := f.answers[string(m.ID)]
		f.mu.Unlock()
		body := m.Result
		if m.Error != nil {
			body = m.Error
		}
		if ch != nil {
			ch <- body
		}
		return
	}
	f.mu.Lock()
	f.seen = append(f.seen, m.Method)
	f.last[m.Method] = m.Params
	f.mu.Unlock()
	if f.misbehaves() {
		switch m.Method {
		case f.script.CrashOn:
			f.crash()
		case f.script.HangOn:
			return
		}
	}
	if m.ID == nil {
		f.notified(m)
		return
	}
	answer := func() {
		result, fail := f.answer(m)
		if fail != nil {
			f.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": fail})
		} else {
			f.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
		}
		if m.Method == f.script.CrashAfter && f.misbehaves() {
			f.crash()
		}
	}
	if strings.HasPrefix(m.Method, "test/ask") || m.Method == "workspace/executeCommand" || m.Method == "initialize" {
		go answer()
		return
	}
	answer()
}

// litter creates temporary files.
func (f *fake) litter(name string) {
	if !f.script.Litter {
		return
	}
	dir := filepath.Join(os.TempDir(), name+".d")
	err := errors.Join(os.WriteFile(filepath.Join(os.TempDir(), name), nil, 0o600), os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(5)
	}
}

func (f *fake) send(v any) {
	body, _ := json.Marshal(v)
	f.write(body)
}

func (f *fake) write(body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.script.Headers {
	case "lower":
		fmt.Printf("content-length:%d\r\n\r\n%s", len(body), body)
	case "type":
		fmt.Printf("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nX-Extra: 1\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	case "split":
		for _, b := range fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(body), body) {
			_, _ = os.Stdout.Write([]byte{b})
		}
	default:
		fmt.Printf("Content-Length: %d\r\n\r\n%s", len(body), body)
	}
}

func (f *fake) notify(method string, params any) {
	f.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// ask sends a request with a string ID and waits for the answer.
func (f *fake) ask(method string, params any) json.RawMessage {
	f.mu.Lock()
	f.asked++
	id := fmt.Sprintf("ask-%d", f.asked)
	ch := make(chan json.RawMessage, 1)
	f.answers[strconv.Quote(id)] = ch
	f.mu.Unlock()
	f.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return <-ch
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (f *fake) answer(m *fakeMessage) (any, *rpcError) {
	var p struct {
		Method       string          `json:"method"`
		Params       json.RawMessage `json:"params"`
		URI          string          `json:"uri"`
		Size         int             `json:"size"`
		TextDocument struct{ URI string }
		Previous     string `json:"previousResultId"`
		Identifier   string `json:"identifier"`
		Command      string
		Arguments    []json.RawMessage
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "initialize":
		if f.script.Early {
			f.early = append(f.early, f.ask("workspace/configuration", map[string]any{"items": []any{map[string]any{"section": "fake"}}}))
			f.early = append(f.early, f.ask("window/workDoneProgress/create", map[string]any{"token": "early"}))
			f.early = append(f.early, f.ask("fake/unknown", nil))
		}
		caps := map[string]any{"textDocumentSync": map[string]any{"openClose": true, "change": 2, "save": map[string]any{"includeText": true}}, "hoverProvider": true}
		maps.Copy(caps, f.script.Capabilities)
		f.encoding, _ = caps["positionEncoding"].(string)
		return map[string]any{"capabilities": caps, "serverInfo": map[string]any{"name": "fake", "version": "1.2"}}, nil
	case "shutdown":
		return nil, nil
	case "test/echo":
		return m.Params, nil
	case "test/last":
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.last[p.Method], nil
	case "test/args":
		return os.Args[1:], nil
	case "test/tempdir":
		return os.TempDir(), nil
	case "test/pid":
		return os.Getpid(), nil
	case "test/seen":
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Clone(f.seen), nil
	case "test/early":
		return f.early, nil
	case "test/doc":
		f.mu.Lock()
		defer f.mu.Unlock()
		if d := f.docs[p.URI]; d != nil {
			return *d, nil
		}
		return nil, nil
	case "test/ask":
		return f.ask(p.Method, p.Params), nil
	case "test/notify":
		f.notify(p.Method, p.Params)
		return nil, nil
	case "test/release":
		f.mu.Lock()
		held := f.held
		f.held = nil
		f.mu.Unlock()
		for _, fn := range held {
			fn()
		}
		return nil, nil
	case "test/big":
		f.bigAnswer(m.ID, p.Size, false)
		return nil, nil // a second answer
	case "test/bigtail":
		f.bigAnswer(m.ID, p.Size, true)
		return nil, nil
	case "test/stray":
		f.send(map[string]any{"jsonrpc": "2.0", "id": 999999, "result": nil})
		f.send(map[string]any{"jsonrpc": "2.0", "id": "nobody", "result": nil})
		f.write([]byte("this is no JSON"))
		f.write([]byte(`[1,2]`))
		return nil, nil
	case "test/error":
		return nil, &rpcError{Code: -32803, Message: "cannot be done", Data: 5}
	case "test/crash":
		f.crash()
	case "test/closeout": // keeps running without output
		_ = os.Stdout.Close()
	case "workspace/executeCommand":
		if p.Command == "edit" {
			return f.ask("workspace/applyEdit", map[string]any{"label": "an edit", "edit": p.Arguments[0]}), nil
		}
		return p.Command, nil
	case "textDocument/diagnostic":
		return f.pull(p.TextDocument.URI, p.Identifier, p.Previous)
	case "workspace/diagnostic":
		f.mu.Lock()
		defer f.mu.Unlock()
		var items []any
		for uri, d := range f.docs {
			items = append(items, map[string]any{"kind": "full", "uri": strings.ToUpper(uri[:1]) + uri[1:], "version": nil, "items": problems(d.Text)})
		}
		return map[string]any{"items": items}, nil
	}
	return nil, &rpcError{Code: -32601, Message: "no " + m.Method}
}

// pull answers the first request with "try again", later ones in full, and repeated ones with "unchanged".
func (f *fake) pull(uri, identifier, previous string) (any, *rpcError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pulls++
	if f.pulls == 1 {
		return nil, &rpcError{Code: -32802, Message: "not yet", Data: map[string]any{"retriggerRequest": true}}
	}
	if identifier == "broken" {
		return nil, &rpcError{Code: -32603, Message: "this source is broken"}
	}
	d := f.docs[uri]
	id := fmt.Sprint("r", d.Version)
	if previous == id {
		return map[string]any{"kind": "unchanged", "resultId": id}, nil
	}
	return map[string]any{
		"kind": "full", "resultId": id, "items": problems(d.Text),
		"relatedDocuments": map[string]any{"file:///related%2Fx.go": map[string]any{"kind": "full", "items": problems("BUG")}},
	}, nil
}

func (f *fake) bigAnswer(id json.RawMessage, size int, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	head, tail := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"`, id), `"}`
	if last {
		head, tail = `{"result":"`, fmt.Sprintf(`","id":%s,"jsonrpc":"2.0"}`, id)
	}
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(head)+size+len(tail), head)
	chunk := []byte(strings.Repeat("y", 1<<20))
	for left := size; left > 0; left -= len(chunk) {
		_, _ = os.Stdout.Write(chunk[:min(left, len(chunk))])
	}
	fmt.Print(tail)
}

func (f *fake) notified(m *fakeMessage) {
	var p struct {
		TextDocument struct {
			URI, LanguageID, Text string
			Version               int
		}
		ContentChanges []struct {
			Range *struct{ Start, End struct{ Line, Character int } }
			Text  string
		}
		Text *string
	}
	_ = json.Unmarshal(m.Params, &p)
	uri := p.TextDocument.URI
	switch m.Method {
	case "exit":
		f.litter("exit")
		if !f.script.Stubborn {
			os.Exit(0)
		}
	case "initialized":
		f.initialized()
	case "textDocument/didOpen":
		f.mu.Lock()
		d := f.docs[uri]
		if d == nil {
			d = &fakeDoc{}
			f.docs[uri] = d
		}
		d.Text, d.Version, d.Language = p.TextDocument.Text, p.TextDocument.Version, p.TextDocument.LanguageID
		d.Opened++
		f.mu.Unlock()
		f.publish(uri)
	case "textDocument/didChange":
		f.mu.Lock()
		d := f.docs[uri]
		for _, c := range p.ContentChanges {
			if c.Range == nil {
				d.Text = c.Text
				continue
			}
			from := fakeOffset(d.Text, c.Range.Start.Line, c.Range.Start.Character, f.encoding)
			to := fakeOffset(d.Text, c.Range.End.Line, c.Range.End.Character, f.encoding)
			d.Text = d.Text[:from] + c.Text + d.Text[to:]
		}
		d.Version = p.TextDocument.Version
		f.mu.Unlock()
		f.publish(uri)
	case "textDocument/didClose":
		f.mu.Lock()
		f.docs[uri].Closed++
		f.mu.Unlock()
	}
}

func (f *fake) initialized() {
	if f.script.Busy {
		go func() {
			f.ask("window/workDoneProgress/create", map[string]any{"token": 7})
			f.notify("$/progress", map[string]any{"token": 7, "value": map[string]any{"kind": "begin", "title": "Loading", "message": "packages"}})
		}()
		f.later(func() {
			f.notify("$/progress", map[string]any{"token": 7, "value": map[string]any{"kind": "end"}})
		})
	}
	for n := 0; f.script.Nag; n++ {
		f.send(map[string]any{"jsonrpc": "2.0", "id": n, "method": "workspace/workspaceFolders"})
	}
	if f.script.Deaf {
		select {}
	}
}

func (f *fake) later(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = append(f.held, fn)
}

func (f *fake) publish(uri string) {
	if f.script.Publish == "" {
		return
	}
	f.mu.Lock()
	d := *f.docs[uri]
	f.mu.Unlock()
	// Other servers, too, escape fewer characters in URIs.
	params := map[string]any{"uri": strings.ReplaceAll(uri, "%2B", "+"), "diagnostics": problems(d.Text)}
	if f.script.Publish == "versioned" {
		params["version"] = d.Version
	}
	if f.script.Late {
		f.later(func() { f.notify("textDocument/publishDiagnostics", params) })
		return
	}
	f.notify("textDocument/publishDiagnostics", params)
}

// problems returns a diagnostic for each line with BUG.
func problems(text string) []any {
	list := []any{}
	for n, line := range strings.Split(text, "\n") {
		if i := strings.Index(line, "BUG"); i >= 0 {
			list = append(list, map[string]any{
				"range":    map[string]any{"start": map[string]any{"line": n, "character": i}, "end": map[string]any{"line": n, "character": i + 3}},
				"severity": 1, "source": "fake", "code": 12, "message": "a bug: " + strings.TrimSpace(line), "data": map[string]any{"fix": n},
			})
		}
	}
	return list
}

// fakeOffset returns the offset of a position by a simple algorithm that differs from the client's.
func fakeOffset(text string, line, character int, encoding string) int {
	at := 0
	for ; line > 0; line-- {
		i := strings.IndexAny(text[at:], "\r\n")
		if i < 0 {
			return len(text)
		}
		at += i + 1
		if text[at-1] == '\r' && at < len(text) && text[at] == '\n' {
			at++
		}
	}
	for _, r := range text[at:] {
		if character <= 0 {
			break
		}
		switch encoding {
		case "utf-8":
			character -= utf8.RuneLen(r)
		case "utf-32":
			character--
		default:
			character -= len(utf16.Encode([]rune{r}))
		}
		at += utf8.RuneLen(r)
	}
	return at
}
