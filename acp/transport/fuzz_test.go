package transport_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp/transport"
)

// fuzzServer starts a server for a fuzz test.
func fuzzServer(f *testing.F) (server *transport.Server, address string) {
	f.Helper()
	server = transport.NewServer(transport.Options{Serve: agent, MaxMessage: 1 << 20, Stall: 5 * time.Second, Idle: 5 * time.Second, Resume: time.Millisecond})
	listener := httptest.NewServer(server)
	f.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			f.Error(err)
		}
		listener.Close()
	})
	return server, strings.TrimPrefix(listener.URL, "http://")
}

// Any request is answered, with a status of the protocol's.
func FuzzHTTP(f *testing.F) {
	server, _ := fuzzServer(f)
	// A connection that is there, and one that is not.
	first := httptest.NewRecorder()
	hello := httptest.NewRequest(http.MethodPost, transport.Path, strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`))
	hello.Header.Set("Content-Type", "application/json")
	server.ServeHTTP(first, hello)
	ids := []string{"", first.Header().Get("Acp-Connection-Id"), "x"}
	for _, seed := range []struct{ method, session, accept, body string }{
		{"POST", "", "", `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}`},
		{"POST", "s1", "", `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1"}}`},
		{"POST", "s1", "", `{"jsonrpc":"2.0","id":"q","result":{}}`},
		{"POST", "", "", `{"jsonrpc":"2.0","id":7,"method":"session/load","params":{"sessionId":{}}}`},
		{"POST", "", "", `[{"jsonrpc":"2.0"}]`},
		{"POST", "", "", "{\"id\":\"\\ud800\",\"method\":\"\xff\"}"},
		{"GET", "s1", "text/event-stream", ""},
		{"DELETE", "", "", ""},
		{"PATCH", "\x00", "*/*", "null"},
	} {
		f.Add(seed.method, byte(1), seed.session, seed.accept, seed.body)
	}
	f.Fuzz(func(t *testing.T, method string, which byte, session, accept, body string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) // ends streams
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1"+transport.Path, strings.NewReader(body))
		if err != nil {
			t.Skip("no method")
		}
		r.Header.Set("Content-Type", "application/json")
		for name, value := range map[string]string{"Acp-Connection-Id": ids[int(which)%len(ids)], "Acp-Session-Id": session, "Accept": accept} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		switch w.Code {
		case 200, 202, 400, 404, 405, 406, 409, 413, 429, 500, 503:
		default:
			t.Errorf("%s %s: %d %s", method, body, w.Code, w.Body)
		}
	})
}

// Any bytes after an upgrade leave the server as it was.
func FuzzWebSocket(f *testing.F) {
	_, address := fuzzServer(f)
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize"}`
	for _, seed := range []string{
		frame(0x81, hello), frame(0x01, hello[:5]) + frame(0x80, hello[5:]), frame(0x82, "a\x00\x00\x00\x00\x00\x00\x00\x01"),
		frame(0x81, hello) + frame(0x82, "e"), frame(0x88, "\x03\xe8"), frame(0x89, "ping"), "\x81\xff\xff", "",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, resumable bool) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		head := upgradeHead
		if resumable {
			head += "Gjc-Resume: new\r\n"
		}
		if _, err := io.WriteString(c, head+"\r\n"+string(data)); err != nil {
			t.Skip(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != http.StatusSwitchingProtocols && resp.StatusCode != http.StatusServiceUnavailable {
			t.Fatal(resp, err)
		}
		if _, err := io.Copy(io.Discard, r); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("the connection does not end: %v", err)
		}
	})
}
