package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gajae-code/gjc/acp/transport"
)

// last writes many lines at once, and ends the connection for a restart when it has read one.
func last(_ context.Context, r io.Reader, w io.Writer) error {
	if _, err := bufio.NewReader(r).ReadBytes('\n'); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, `{"jsonrpc":"2.0","id":0,"result":{}}`); err != nil {
		return err
	}
	for i := range 1000 {
		if _, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"x","params":{"n":%d}}`+"\n", i); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: in a test", transport.ErrRestart)
}

// A client receives everything before the end, which it knows from others.
func TestRestart(t *testing.T) {
	server, address := serve(t, transport.Options{Serve: last})
	for _, retry := range []time.Duration{0, time.Minute} {
		conn, err := transport.Dial(t.Context(), "ws://"+address, transport.DialOptions{Retry: retry})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if n := strings.Count(string(got), "\n"); n != 1001 || !errors.Is(err, transport.ErrRestart) {
			t.Errorf("with %s to come back: %d lines, %v", retry, n, err)
		}
		_ = conn.Close()
	}
	// Clients that do not know it see a status of the protocol.
	ws, _, err := websocket.Dial(t.Context(), "ws://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		if _, _, err := ws.Read(t.Context()); err != nil {
			if n != 1001 || websocket.CloseStatus(err) != websocket.StatusServiceRestart {
				t.Errorf("after %d messages: %v", n, err)
			}
			break
		}
	}
	// Over HTTP, the stream has everything, too, though it is opened late.
	w := &world{t: t, url: "http://" + address + transport.Path}
	status, _, id := w.post("", "", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
	if status != http.StatusOK {
		t.Fatal(status)
	}
	stream := w.stream(id, "")
	for n := range 1000 {
		if got := stream.next(); !strings.Contains(got, fmt.Sprintf(`"n":%d}`, n)) {
			t.Fatalf("message %d is %s", n, got)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server.Drained(ctx)
	if ctx.Err() != nil {
		t.Error("connections are left")
	}
}

// A server that drains refuses new connections, and keeps those that exist; their clients can come back.
func TestDrain(t *testing.T) {
	server, address := serve(t, transport.Options{Serve: func(_ context.Context, r io.Reader, w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	}})
	p := newProxy(t, address)
	p.start()
	conn, err := transport.Dial(t.Context(), p.url(), transport.DialOptions{Retry: time.Minute, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	server.Drain()
	p.cutAll()
	if _, err := fmt.Fprintln(conn, "1"); err != nil {
		t.Fatal(err)
	}
	if got, err := bufio.NewReader(conn).ReadString('\n'); got != "1\n" || err != nil {
		t.Errorf("after it came back: %q, %v", got, err)
	}
	_, err = transport.Dial(t.Context(), "ws://"+address, transport.DialOptions{})
	if refused, ok := errors.AsType[*transport.RefusedError](err); !ok || refused.Code != http.StatusServiceUnavailable || !strings.Contains(refused.Words, "connect again") {
		t.Errorf("a new connection: %v", err)
	}
	w := &world{t: t, url: "http://" + address + transport.Path}
	if status, answer, _ := w.post("", "", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`); status != http.StatusServiceUnavailable || !strings.Contains(answer, "connect again") {
		t.Errorf("a new connection over HTTP: %d %s", status, answer)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	server.Drained(ctx) // does not wait any longer
}
