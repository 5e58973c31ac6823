package transport_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gajae-code/gjc/acp/transport"
)

// raw opens a connection, and sends text.
func raw(t testing.TB, address, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

const upgradeHead = "GET /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"

// frame returns a client's frame, whose mask is zero.
func frame(first byte, payload string) string {
	head := []byte{first}
	switch n := len(payload); {
	case n < 126:
		head = append(head, 0x80|byte(n))
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(n))
	}
	return string(append(head, 0, 0, 0, 0)) + payload
}

// Upgrades that are none are refused, and the server goes on.
func TestHostile_Upgrades(t *testing.T) {
	_, address := serve(t, transport.Options{Serve: agent})
	for name, test := range map[string]struct {
		old, new string
		status   int
	}{
		"version 8":       {"Version: 13", "Version: 8", 400},
		"no version":      {"Sec-WebSocket-Version: 13\r\n", "", 400},
		"no key":          {"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", "", 400},
		"a short key":     {"AAAAAAAAAAAAAAAAAAAAAA==", "AAAA", 400},
		"two keys":        {"Sec-WebSocket-Version", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version", 400},
		"no connection":   {"Connection: Upgrade\r\n", "", 426},
		"POST":            {"GET /acp", "POST /acp", 415},
		"HTTP/1.0":        {"HTTP/1.1", "HTTP/1.0", 426},
		"another origin":  {"Upgrade: websocket", "Upgrade: websocket\r\nOrigin: https://evil.example", 403},
		"no origin":       {"Upgrade: websocket", "Upgrade: websocket\r\nOrigin: null", 403},
		"another upgrade": {"Upgrade: websocket", "Upgrade: h2c", 406},
	} {
		c := raw(t, address, strings.Replace(upgradeHead, test.old, test.new, 1)+"\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != test.status {
			t.Errorf("%s: %v, %v, want %d", name, resp, err, test.status)
		}
		_ = c.Close()
	}
	if c, err := transport.Dial(t.Context(), "ws://"+address+"/acp", transport.DialOptions{}); err != nil {
		t.Error(err)
	} else {
		_ = c.Close()
	}
}

// Frames that break the rules, or bounds, close the connection with the reason; odd ones that do not are messages.
func TestHostile_Frames(t *testing.T) {
	_, address := serve(t, transport.Options{Serve: agent, MaxMessage: 1000})
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize"}`
	huge := make([]byte, 0, 14)
	huge = binary.BigEndian.AppendUint64(append(huge, 0x81, 0x80|127), 100<<20)
	for name, test := range map[string]struct {
		frames string
		status websocket.StatusCode // 0 for an answer
	}{
		"a message":                {frame(0x81, hello), 0},
		"fragments":                {frame(0x01, hello[:5]) + frame(0x00, hello[5:9]) + frame(0x89, "ping") + frame(0x80, hello[9:]), 0},
		"empty fragments":          {frame(0x01, "") + frame(0x00, "") + frame(0x80, hello), 0},
		"of one byte":              {frame(0x01, hello[:1]) + frame(0x00, hello[1:2]) + frame(0x80, hello[2:]), 0},
		"of 100 MB":                {string(huge) + "\x00\x00\x00\x00" + strings.Repeat("x", 2000), websocket.StatusMessageTooBig},
		"too much in fragments":    {frame(0x01, strings.Repeat("x", 900)) + frame(0x80, strings.Repeat("x", 900)), websocket.StatusMessageTooBig},
		"binary":                   {frame(0x82, hello), websocket.StatusUnsupportedData},
		"reserved bits":            {frame(0xf1, hello), websocket.StatusProtocolError},
		"reserved opcode":          {frame(0x83, hello), websocket.StatusProtocolError},
		"a fragment of nothing":    {frame(0x80, hello), websocket.StatusProtocolError},
		"a message in a message":   {frame(0x01, hello) + frame(0x81, hello), websocket.StatusProtocolError},
		"a ping in fragments":      {frame(0x09, "x"), websocket.StatusProtocolError},
		"a ping of 200 bytes":      {frame(0x89, strings.Repeat("x", 200)), websocket.StatusProtocolError},
		"a close without a status": {frame(0x88, ""), websocket.StatusNoStatusRcvd},
	} {
		t.Run(name, func(t *testing.T) {
			c := raw(t, address, upgradeHead+"\r\n"+test.frames)
			r := bufio.NewReader(c)
			resp, err := http.ReadResponse(r, nil)
			if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
				t.Fatal(resp, err)
			}
			for {
				opcode, payload := readFrame(t, r)
				switch {
				case opcode == 0xa || opcode == 0x9:
					continue
				case test.status == 0 && opcode == 0x1:
					if want := `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`; payload != want {
						t.Errorf("%s", payload)
					}
				case test.status == websocket.StatusNoStatusRcvd && opcode == 0x8:
				case opcode != 0x8 || len(payload) < 2 || websocket.StatusCode(binary.BigEndian.Uint16([]byte(payload))) != test.status:
					t.Errorf("opcode %x, %q", opcode, payload)
				}
				return
			}
		})
	}
}

// A frame without a mask ends the connection, without words.
func TestHostile_Unmasked(t *testing.T) {
	w := start(t, transport.Options{})
	c := raw(t, strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/acp"), upgradeHead+"\r\n\x81\x02{}")
	r := bufio.NewReader(c)
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp, err)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	w.wait(1)
}

// readFrame reads a frame of the server's, which is short.
func readFrame(t testing.TB, r *bufio.Reader) (opcode byte, payload string) {
	t.Helper()
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatalf("the end without a close: %v", err)
	}
	data := make([]byte, head[1]&0x7f)
	if _, err := io.ReadFull(r, data); err != nil {
		t.Fatal(err)
	}
	return head[0] & 0x0f, string(data)
}

// A message that is cut off by the end of the connection is none, wherever the end is.
func TestHostile_CutMessage(t *testing.T) {
	got := make(chan string, 1)
	_, address := serve(t, transport.Options{Serve: func(_ context.Context, r io.Reader, _ io.Writer) error {
		data, _ := io.ReadAll(r)
		got <- string(data)
		return nil
	}})
	whole := frame(0x81, strings.Repeat("x", 600))
	for _, n := range []int{1, 4, 7, 8, 9, 8 + 512, len(whole) - 1} { // 512 bytes are read at once
		c := raw(t, address, upgradeHead+"\r\n"+frame(0x81, "whole")+whole[:n])
		if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		if got := <-got; got != "whole\n" {
			t.Errorf("after %d bytes of it, the agent has %q", n, got)
		}
		_ = c.Close()
	}
}

// A body that comes in slowly, a WebSocket that does not initialize, and a header that does not end: each has its time.
func TestHostile_Slow(t *testing.T) {
	ended := make(chan error, 10)
	_, address := serve(t, transport.Options{Stall: 100 * time.Millisecond, Idle: 100 * time.Millisecond, Serve: func(ctx context.Context, r io.Reader, w io.Writer) error {
		err := agent(ctx, r, w)
		ended <- context.Cause(ctx)
		return err
	}})
	c := raw(t, address, "POST /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a slow body: %v, %v", resp, err)
	}
	for name, message := range map[string]string{"nothing": "", "another request": `{"jsonrpc":"2.0","id":1,"method":"session/new"}`} {
		ws, _, err := websocket.Dial(t.Context(), "ws://"+address+"/acp", nil)
		if err != nil {
			t.Fatal(err)
		}
		if message != "" {
			if err := ws.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
				t.Fatal(err)
			}
		}
		for err == nil {
			_, _, err = ws.Read(t.Context())
		}
		if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%s: %v", name, err)
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "initialize has not come in time") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A thousand connections that say nothing are a bounded number, of bounded size, and end by themselves.
func TestHostile_Silent(t *testing.T) {
	const most = 100
	ended := make(chan struct{}, most)
	_, address := serve(t, transport.Options{MaxConnections: most, Idle: time.Hour, Serve: func(ctx context.Context, r io.Reader, _ io.Writer) error {
		defer func() { ended <- struct{}{} }()
		_, err := io.Copy(io.Discard, r)
		return err
	}})
	before := memory()
	open, refused := 0, 0
	for range 1000 {
		c := raw(t, address, upgradeHead+"\r\n")
		switch resp, err := http.ReadResponse(bufio.NewReader(c), nil); {
		case err != nil:
			t.Fatal(err)
		case resp.StatusCode == http.StatusSwitchingProtocols:
			open++
		case resp.StatusCode == http.StatusServiceUnavailable:
			refused++
			_ = c.Close()
		}
	}
	if open != most || refused != 1000-most {
		t.Errorf("%d are open, %d were refused", open, refused)
	}
	if each := (memory() - before) / most; each > 200<<10 {
		t.Errorf("each takes %d bytes", each)
	} else {
		t.Logf("each takes %d bytes, at both ends", each)
	}
}

// memory returns the bytes of the heap and of stacks in use.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// A connection over HTTP is its owner's alone, and sessions do not mix, whatever the client says.
func TestHostile_Foreign(t *testing.T) {
	w := start(t, transport.Options{Owner: func(r *http.Request) string { return r.Header.Get("Authorization") }})
	status, _, id := w.post("", "", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, "Authorization", "me")
	if status != http.StatusOK {
		t.Fatal(status)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		resp := w.do(t.Context(), method, id, "", `{"jsonrpc":"2.0","method":"x"}`, "Authorization", "you")
		said, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		unknown := w.do(t.Context(), method, "unknown", "", `{"jsonrpc":"2.0","method":"x"}`, "Authorization", "you")
		saidUnknown, err2 := io.ReadAll(unknown.Body)
		_ = unknown.Body.Close()
		if err := errors.Join(err, err2); err != nil || resp.StatusCode != http.StatusNotFound || resp.Status != unknown.Status || string(said) != string(saidUnknown) {
			t.Errorf("%s of another's: %s %s, of an unknown one: %s %s, %v", method, resp.Status, said, unknown.Status, saidUnknown, err)
		}
	}
	// Its owner's requests for two sessions, one after the other, with headers that lie.
	for i := range 20 {
		say, lie := fmt.Sprintf("s%d", i%2), fmt.Sprintf("s%d", (i+1)%2)
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q}}`, i, say)
		if status, _, _ := w.post(id, lie, body, "Authorization", "me"); status != http.StatusBadRequest {
			t.Errorf("a header that lies: %d", status)
		}
		if status, _, _ := w.post(id, say, body, "Authorization", "me"); status != http.StatusAccepted {
			t.Errorf("%d", status)
		}
	}
	for _, session := range []string{"s0", "s1"} {
		resp := w.do(t.Context(), http.MethodGet, id, session, "", "Authorization", "me")
		e := &events{Reader: bufio.NewReader(resp.Body), t: t}
		for range 20 {
			if got := e.next(); !strings.Contains(got, fmt.Sprintf(`"sessionId":%q`, session)) {
				t.Errorf("%s has %s", session, got)
			}
		}
		_ = resp.Body.Close()
	}
}

// Over TLS, a client of HTTP/2 has its requests and streams on one connection.
func TestHTTP2(t *testing.T) {
	server := transport.NewServer(transport.Options{Serve: agent})
	listener := httptest.NewUnstartedServer(server)
	listener.EnableHTTP2 = true
	listener.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	listener.StartTLS()
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	do := func(method, id, session, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, listener.URL+transport.Path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
		if id != "" {
			req.Header.Set("Acp-Connection-Id", id)
		}
		if session != "" {
			req.Header.Set("Acp-Session-Id", session)
		}
		resp, err := listener.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.ProtoMajor != 2 {
			t.Errorf("%s", resp.Proto)
		}
		return resp
	}
	resp := do(http.MethodPost, "", "", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
	id := resp.Header.Get("Acp-Connection-Id")
	_ = resp.Body.Close()
	all, s1 := do(http.MethodGet, id, "", ""), do(http.MethodGet, id, "s1", "")
	defer func() { _, _ = all.Body.Close(), s1.Body.Close() }()
	for _, body := range []string{`{"jsonrpc":"2.0","id":1,"method":"session/new"}`, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1"}}`} {
		session := ""
		if strings.Contains(body, "s1") {
			session = "s1"
		}
		resp := do(http.MethodPost, id, session, body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusAccepted {
			t.Errorf("%s", resp.Status)
		}
	}
	if got := (&events{Reader: bufio.NewReader(all.Body), t: t}).next(); got != `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}` {
		t.Errorf("%s", got)
	}
	if got := (&events{Reader: bufio.NewReader(s1.Body), t: t}).next(); !strings.Contains(got, "session/update") {
		t.Errorf("%s", got)
	}
}
