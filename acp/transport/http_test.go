package transport_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp/transport"
)

// do makes a request with the IDs of a connection and a session.
func (w *world) do(ctx context.Context, method, connection, session, body string, header ...string) *http.Response {
	w.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if connection != "" {
		req.Header.Set("Acp-Connection-Id", connection)
	}
	if session != "" {
		req.Header.Set("Acp-Session-Id", session)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// post posts a message.
func (w *world) post(connection, session, body string, header ...string) (status int, answer, id string) {
	w.t.Helper()
	resp := w.do(w.t.Context(), http.MethodPost, connection, session, body, header...)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(data)), resp.Header.Get("Acp-Connection-Id")
}

// accept posts a message that must be accepted.
func (w *world) accept(connection, session, body string) {
	w.t.Helper()
	if status, answer, _ := w.post(connection, session, body); status != http.StatusAccepted || answer != "" {
		w.t.Errorf("%s: %d %s", body, status, answer)
	}
}

// initialize begins a connection.
func (w *world) initialize() string {
	w.t.Helper()
	status, answer, id := w.post("", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
	if status != http.StatusOK || answer != `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}` || id == "" {
		w.t.Fatalf("initialize: %d %s %q", status, answer, id)
	}
	return id
}

// events is an open stream of events.
type events struct {
	*bufio.Reader
	t   *testing.T
	end func()
}

func (w *world) stream(connection, session string) *events {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	resp := w.do(ctx, http.MethodGet, connection, session, "")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("stream: %s", resp.Status)
	}
	e := &events{bufio.NewReader(resp.Body), w.t, func() { cancel(); _ = resp.Body.Close() }}
	w.t.Cleanup(e.end)
	return e
}

// next returns the next message.
func (e *events) next() string {
	e.t.Helper()
	for {
		s := line(e.t, e.Reader)
		if data, ok := strings.CutPrefix(s, "data: "); ok {
			return data
		}
	}
}

func TestHTTP(t *testing.T) {
	w := start(t, transport.Options{})
	id := w.initialize()
	all := w.stream(id, "")
	w.accept(id, "", `{"jsonrpc":"2.0","id":1,"method":"session/new"}`)
	if got := all.next(); got != `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}` {
		t.Errorf("session/new: %s", got)
	}
	w.accept(id, "s1", `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1"}}`)
	s1 := w.stream(id, "s1") // what was sent before waits for it
	got := []string{s1.next(), s1.next()}
	if status, answer, _ := w.post(id, "", `{"jsonrpc":"2.0","id":"q","result":{}}`); status != http.StatusBadRequest || !strings.Contains(answer, "missing Acp-Session-Id") {
		t.Errorf("an answer without its session: %d %s", status, answer)
	}
	if status, _, _ := w.post(id, "s2", `{"jsonrpc":"2.0","id":"q","result":{}}`); status != http.StatusBadRequest {
		t.Errorf("an answer for another session: %d", status)
	}
	w.accept(id, "s1", `{"jsonrpc":"2.0","id":"q","result":{}}`)
	got = append(got, s1.next())
	w.accept(id, "s1", `{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"s1"}}`)
	got = append(got, all.next())
	want := []string{
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1"}}`,
		`{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s1"}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"loaded":true}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	// A stream has one receiver. The next one gets what the last has not.
	if resp := w.do(t.Context(), http.MethodGet, id, "s1", ""); resp.StatusCode != http.StatusConflict {
		t.Errorf("a second receiver: %s", resp.Status)
	}
	resp := w.do(t.Context(), http.MethodDelete, id, "", "")
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		t.Errorf("DELETE: %s", resp.Status)
	}
	w.wait(1)
	if _, err := io.ReadAll(s1); err != nil {
		t.Errorf("the end of a stream: %v", err)
	}
	if status, _, _ := w.post(id, "", `{"jsonrpc":"2.0","method":"x"}`); status != http.StatusNotFound {
		t.Errorf("after the end: %d", status)
	}
}

// Messages of a session that the client does not know, such as a helper's, come by the connection's stream, until it names the session.
func TestHTTP_UnknownSession(t *testing.T) {
	w := start(t, transport.Options{})
	id := w.initialize()
	all := w.stream(id, "")
	w.accept(id, "", `{"jsonrpc":"2.0","method":"flood","params":{"size":1}}`)
	for range 100 {
		if got := all.next(); !strings.Contains(got, `"sessionId":"s1"`) {
			t.Fatal(got)
		}
	}
	w.accept(id, "", `{"jsonrpc":"2.0","id":1,"method":"session/new"}`)
	all.next()
	w.accept(id, "", `{"jsonrpc":"2.0","method":"flood","params":{"size":1}}`)
	w.accept(id, "", `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if got := all.next(); !strings.Contains(got, "ping") {
		t.Errorf("the connection's stream has %s", got)
	}
	s1 := w.stream(id, "s1")
	for range 100 {
		s1.next()
	}
}

func TestHTTP_BadRequests(t *testing.T) {
	w := start(t, transport.Options{MaxMessage: 4000})
	id := w.initialize()
	long := strings.Repeat("i", 2000)
	for name, test := range map[string]struct {
		method, connection, session, body string
		header                            []string
		status                            int
	}{
		"method":                {method: "PUT", status: 405},
		"content type":          {body: `{}`, header: []string{"Content-Type", "text/plain"}, status: 415},
		"no JSON":               {body: `{`, status: 400},
		"no object":             {body: `"initialize"`, status: 400},
		"batch":                 {body: ` [{"jsonrpc":"2.0","id":0,"method":"initialize"}]`, status: 400},
		"too large":             {connection: id, body: `{"x":"` + strings.Repeat("x", 5000) + `"}`, status: 413},
		"no connection":         {body: `{"jsonrpc":"2.0","id":1,"method":"session/new"}`, status: 400},
		"unknown connection":    {connection: "x", body: `{"jsonrpc":"2.0","id":1,"method":"session/new"}`, status: 404},
		"initialize twice":      {connection: id, body: `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, status: 400},
		"initialize without ID": {body: `{"jsonrpc":"2.0","method":"initialize"}`, status: 400},
		"no session":            {connection: id, body: `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1"}}`, status: 400},
		"another session":       {connection: id, session: "s2", body: `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1"}}`, status: 400},
		"session in params":     {connection: id, body: `{"jsonrpc":"2.0","id":1,"method":"x","params":{"sessionId":"s1"}}`, status: 400},
		"long ID":               {connection: id, body: `{"jsonrpc":"2.0","id":"` + long + `","method":"x"}`, status: 400},
		"long session":          {connection: id, session: long, body: `{"jsonrpc":"2.0","id":1,"method":"x"}`, status: 400},
		"stream without":        {method: "GET", status: 400},
		"stream of another":     {method: "GET", connection: "x", status: 404},
		"stream of what":        {method: "GET", connection: id, header: []string{"Accept", "text/html"}, status: 406},
		"DELETE without":        {method: "DELETE", status: 400},
		"DELETE of another":     {method: "DELETE", connection: "x", status: 404},
	} {
		t.Run(name, func(t *testing.T) {
			method := test.method
			if method == "" {
				method = http.MethodPost
			}
			resp := w.do(t.Context(), method, test.connection, test.session, test.body, test.header...)
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != test.status {
				t.Errorf("%s, want %d", resp.Status, test.status)
			}
		})
	}
	// The connection is as before.
	all := w.stream(id, "")
	w.accept(id, "", `{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	if got := all.next(); got != `{"jsonrpc":"2.0","id":9,"result":{"method":"ping"}}` {
		t.Errorf("%s", got)
	}
}

// A connection that no one reads, or that no one uses, ends.
func TestHTTP_Gone(t *testing.T) {
	t.Run("unread", func(t *testing.T) {
		w := start(t, transport.Options{MaxBuffered: 10_000, Stall: 50 * time.Millisecond})
		id := w.initialize()
		w.accept(id, "", `{"jsonrpc":"2.0","method":"flood","params":{"size":1000}}`)
		w.wait(1)
	})
	t.Run("unused", func(t *testing.T) {
		w := start(t, transport.Options{Idle: 20 * time.Millisecond})
		w.initialize()
		w.wait(1)
	})
	t.Run("read slowly", func(t *testing.T) {
		w := start(t, transport.Options{MaxBuffered: 10_000})
		id := w.initialize()
		w.accept(id, "", `{"jsonrpc":"2.0","id":1,"method":"session/new"}`)
		w.accept(id, "", `{"jsonrpc":"2.0","method":"flood","params":{"size":1000}}`)
		s1 := w.stream(id, "s1")
		for range 100 {
			s1.next()
		}
	})
	t.Run("the next receiver", func(t *testing.T) {
		w := start(t, transport.Options{KeepAlive: time.Millisecond})
		id := w.initialize()
		w.stream(id, "s1").end()
		deadline := time.Now().Add(time.Minute)
		for {
			resp := w.do(t.Context(), http.MethodGet, id, "s1", "")
			if resp.StatusCode == http.StatusOK { // the end of the first one is noticed
				w.accept(id, "s1", `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1"}}`)
				e := &events{Reader: bufio.NewReader(resp.Body), t: t}
				if got := e.next(); !strings.Contains(got, "session/update") {
					t.Errorf("%s", got)
				}
				_ = resp.Body.Close()
				return
			}
			_ = resp.Body.Close()
			if time.Now().After(deadline) {
				t.Fatal(resp.Status)
			}
		}
	})
}
