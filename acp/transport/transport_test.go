package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp/transport"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// agent answers as an agent would: a prompt is an update, a question that must be answered, and the result.
func agent(ctx context.Context, r io.Reader, w io.Writer) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 8<<20)
	say := func(format string, args ...any) {
		_, _ = fmt.Fprintf(w, format+"\n", args...) // the test sees what is missing
	}
	prompt := ""
	for lines.Scan() {
		var m struct {
			ID     jsonx.Raw `json:"id"`
			Method string    `json:"method"`
			Params struct {
				SessionID string `json:"sessionId"`
				Size      int    `json:"size"`
			} `json:"params"`
		}
		if err := jsonx.Unmarshal(lines.Bytes(), &m); err != nil {
			say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
			continue
		}
		switch m.Method {
		case "initialize":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}`, m.ID)
		case "session/new":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s1"}}`, m.ID)
		case "session/load":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"loaded":true}}`, m.ID)
		case "session/prompt":
			prompt = string(m.ID)
			say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s"}}`, m.Params.SessionID)
			say(`{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"%s"}}`, m.Params.SessionID)
		case "flood":
			for range 100 {
				say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","text":"%s"}}`, strings.Repeat("x", m.Params.Size))
			}
		case "":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, prompt)
		default:
			say(`{"jsonrpc":"2.0","id":%s,"result":{"method":"%s"}}`, m.ID, m.Method)
		}
	}
	return lines.Err()
}

// world is a server with an agent, and what has become of its connections.
type world struct {
	t     *testing.T
	url   string
	ended chan struct{} // receives the end of each connection
}

func start(t *testing.T, opts transport.Options) *world {
	t.Helper()
	testenv.NoLeaks(t)
	w := &world{t: t, ended: make(chan struct{}, 100)}
	opts.Serve = func(ctx context.Context, r io.Reader, out io.Writer) error {
		defer func() { w.ended <- struct{}{} }()
		return agent(ctx, r, out)
	}
	server := transport.NewServer(opts)
	listener := httptest.NewServer(server)
	w.url = listener.URL + transport.Path
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
		listener.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return w
}

// wait waits until n more connections have ended.
func (w *world) wait(n int) {
	w.t.Helper()
	for range n {
		select {
		case <-w.ended:
		case <-time.After(time.Minute):
			w.t.Fatal("a connection does not end")
		}
	}
}

func (w *world) dial() *transport.Conn {
	w.t.Helper()
	c, err := transport.Dial(w.t.Context(), strings.Replace(w.url, "http", "ws", 1), transport.DialOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// line reads a line.
func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", s, err)
	}
	return strings.TrimSuffix(s, "\n")
}

func TestWebSocket(t *testing.T) {
	w := start(t, transport.Options{})
	c := w.dial()
	if c.ID == "" {
		t.Error("the connection has no ID")
	}
	r := bufio.NewReader(c)
	write := func(s string) {
		t.Helper()
		if _, err := io.WriteString(c, s); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"jsonrpc":"2.0","id":0,"method":"initialize"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"session/new"}` + "\n\n")
	write(`{"jsonrpc":"2.0","id":2,"method":"session/pro`)
	write(`mpt","params":{"sessionId":"s1"}}` + "\n")
	var got []string
	for range 4 {
		got = append(got, line(t, r))
	}
	write(`{"jsonrpc":"2.0","id":"q","result":{}}` + "\n")
	got = append(got, line(t, r))
	want := []string{
		`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1"}}`,
		`{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s1"}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	w.wait(1)
	if _, err := r.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// Messages of a client that is not ours: with line breaks, in frames of one byte, binary, and too large.
func TestWebSocket_Odd(t *testing.T) {
	w := start(t, transport.Options{MaxMessage: 1000})
	dial := func() *websocket.Conn {
		t.Helper()
		c, resp, err := websocket.Dial(t.Context(), w.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("Acp-Connection-Id") == "" || !strings.Contains(resp.Header.Get("Set-Cookie"), "acp-affinity=") {
			t.Errorf("the answer's headers: %v", resp.Header)
		}
		t.Cleanup(func() { _ = c.CloseNow() })
		return c
	}
	ask := func(c *websocket.Conn) string {
		t.Helper()
		_, data, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const hello = "{\n\t\"jsonrpc\": \"2.0\",\r\n\t\"id\": 0,\n\t\"method\": \"initialize\"\n}"
	const answer = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`
	c := dial()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(hello)); err != nil {
		t.Fatal(err)
	}
	if got := ask(c); got != answer {
		t.Errorf("with line breaks: %s", got)
	}
	frames, err := c.Writer(t.Context(), websocket.MessageText)
	for i := 0; i < len(hello) && err == nil; i++ {
		_, err = frames.Write([]byte{hello[i]})
	}
	if err = errors.Join(err, frames.Close()); err != nil {
		t.Fatal(err)
	}
	if got := ask(c); got != answer {
		t.Errorf("in frames of one byte: %s", got)
	}
	if err := c.Write(t.Context(), websocket.MessageBinary, []byte(hello)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusUnsupportedData {
		t.Errorf("binary: %v", err)
	}
	c = dial()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(`"`+strings.Repeat("x", 2000)+`"`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("too large: %v", err)
	}
	w.wait(2)
	// A page of another site, and an upgrade that is none.
	if _, resp, err := websocket.Dial(t.Context(), w.url, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://evil.example"}}}); err == nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another site: %v", err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Upgrade", "websocket")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode < 400 || resp.StatusCode >= 500 {
		t.Errorf("half an upgrade: %s", resp.Status)
	}
}

func TestMaxConnections(t *testing.T) {
	w := start(t, transport.Options{MaxConnections: 1})
	first := w.dial()
	_, err := transport.Dial(t.Context(), strings.Replace(w.url, "http", "ws", 1), transport.DialOptions{})
	if err == nil || !strings.Contains(err.Error(), "too many connections") {
		t.Errorf("the second: %v", err)
	}
	if status, body, _ := w.post("", "", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`); status != http.StatusServiceUnavailable || !strings.Contains(body, "too many") {
		t.Errorf("the second, by HTTP: %d %s", status, body)
	}
	_ = first.Close()
	w.wait(1)
	deadline := time.Now().Add(time.Minute)
	for { // the place becomes free right after the end
		c, err := transport.Dial(t.Context(), strings.Replace(w.url, "http", "ws", 1), transport.DialOptions{})
		if err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// A connection that waits for its client makes room for others: a client that was killed does not keep them out.
func TestMaxConnections_Away(t *testing.T) {
	w := start(t, transport.Options{MaxConnections: 1})
	for range 3 {
		c, resp, err := websocket.Dial(t.Context(), w.url, &websocket.DialOptions{HTTPHeader: http.Header{"Gjc-Resume": {"new"}}})
		for deadline := time.Now().Add(time.Minute); err != nil; c, resp, err = websocket.Dial(t.Context(), w.url, &websocket.DialOptions{HTTPHeader: http.Header{"Gjc-Resume": {"new"}}}) {
			if resp == nil || time.Now().After(deadline) { // the end of the last one is noticed
				t.Fatal(err)
			}
		}
		_ = c.CloseNow()
	}
	w.wait(2)
	for range 2 { // over HTTP, without a stream
		status := 0
		for deadline := time.Now().Add(time.Minute); status != http.StatusOK; {
			if status, _, _ = w.post("", "", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`); status != http.StatusOK && time.Now().After(deadline) {
				t.Fatal(status)
			}
		}
	}
	w.wait(2)
}

// A client that reads nothing loses its connection, though it does not end it.
func TestWebSocket_Stalled(t *testing.T) {
	w := start(t, transport.Options{Stall: 50 * time.Millisecond})
	c, _, err := websocket.Dial(t.Context(), w.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","method":"flood","params":{"size":1000000}}`)); err != nil {
		t.Fatal(err)
	}
	w.wait(1)
}
