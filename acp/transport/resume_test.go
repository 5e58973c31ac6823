package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gajae-code/gjc/acp/transport"
	"github.com/gajae-code/gjc/internal/testenv"
)

// serve starts a server whose connections are served by a function. It returns its address.
func serve(t *testing.T, opts transport.Options) (server *transport.Server, address string) {
	t.Helper()
	testenv.NoLeaks(t)
	server = transport.NewServer(opts)
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
		listener.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return server, strings.TrimPrefix(listener.URL, "http://")
}

// echo answers each number with two lines, after it has checked that the numbers are in order. It returns after the client has ended.
func echo(_ context.Context, r io.Reader, w io.Writer) error {
	lines := bufio.NewScanner(r)
	for want := 0; lines.Scan(); want++ {
		if lines.Text() != strconv.Itoa(want) {
			_, _ = fmt.Fprintf(w, "got %s, want %d\n", lines.Text(), want)
			return nil
		}
		for _, kind := range []string{"a", "b"} {
			if _, err := fmt.Fprintf(w, "%s %d %s\n", kind, want, strings.Repeat("x", want%300)); err != nil {
				return err
			}
		}
	}
	_, _ = fmt.Fprintln(w, "end")
	return lines.Err()
}

// talk sends numbers over a connection until enough returns true, and checks the answers. window bounds those without an answer.
func talk(t *testing.T, conn *transport.Conn, window int, enough func() bool) (sent int) {
	t.Helper()
	room := make(chan struct{}, window)
	total := make(chan int, 1)
	go func() { // ends with enough, or with the connection
		n := 0
		for ; !enough(); n++ {
			room <- struct{}{}
			if _, err := fmt.Fprintln(conn, n); err != nil {
				break
			}
		}
		conn.CloseWrite()
		total <- n
	}()
	lines := bufio.NewScanner(conn)
	got := 0
	for lines.Scan() {
		text := lines.Text()
		if text == "end" {
			break
		}
		want := fmt.Sprintf("%s %d %s", []string{"a", "b"}[got%2], got/2, strings.Repeat("x", got/2%300))
		if text != want {
			t.Fatalf("answer %d is %q, want %q", got, text, want)
		}
		if got++; got%2 == 0 {
			<-room
		}
	}
	if lines.Err() != nil {
		t.Fatalf("after %d answers: %v", got, lines.Err())
	}
	if sent = <-total; got != 2*sent {
		t.Errorf("%d answers to %d messages", got, sent)
	}
	return sent
}

// Connections that are cut, half closed and stalled at any byte lose nothing, double nothing, and keep the order, in both directions.
func TestResume_Cuts(t *testing.T) {
	t.Parallel()
	cuts := int64(500)
	if testing.Short() {
		cuts = 50
	}
	_, address := serve(t, transport.Options{Serve: echo, KeepAlive: 100 * time.Millisecond, Stall: 2 * time.Second})
	p := newProxy(t, address)
	p.budget = func() int {
		if p.cuts.Load() >= cuts {
			return -1
		}
		return rand.N(6000)
	}
	var stalls atomic.Int64
	p.mistreat = func(c, s *net.TCPConn) bool {
		switch {
		case rand.N(100) == 0 && stalls.Add(1) <= 3: // each takes the time in which a peer has to answer
			return stall(c, s)
		case rand.N(3) == 0:
			return halfClose(c, s)
		default:
			return cut(c, s)
		}
	}
	p.start()
	var breaks, returns atomic.Int64
	o := transport.DialOptions{
		Retry: time.Minute, Backoff: time.Millisecond, KeepAlive: 100 * time.Millisecond, Stall: 2 * time.Second,
		OnBreak: func(error) { breaks.Add(1) }, OnReturn: func() { returns.Add(1) },
	}
	conn, err := transport.Redial(t.Context(), p.url(), o)
	if err != nil {
		t.Fatal(err)
	}
	sent := talk(t, conn, 50, func() bool { return p.cuts.Load() >= cuts })
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if breaks.Load() == 0 || returns.Load() == 0 {
		t.Errorf("%d breaks, %d returns", breaks.Load(), returns.Load())
	}
	t.Logf("%d messages, %d cuts, %d breaks, %d returns", sent, p.cuts.Load(), breaks.Load(), returns.Load())
}

// The last messages in both directions arrive, although the client has ended its own.
func TestResume_End(t *testing.T) {
	for name, retry := range map[string]time.Duration{"resumable": time.Minute, "plain": 0} {
		t.Run(name, func(t *testing.T) {
			got := make(chan string, 1)
			_, address := serve(t, transport.Options{Serve: func(_ context.Context, r io.Reader, w io.Writer) error {
				data, err := io.ReadAll(r)
				got <- string(data)
				_, _ = io.WriteString(w, "last\n")
				return err
			}})
			conn, err := transport.Dial(t.Context(), "ws://"+address+"/acp", transport.DialOptions{Retry: retry})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, "one\ntwo\n"); err != nil {
				t.Fatal(err)
			}
			conn.CloseWrite()
			answer, err := io.ReadAll(conn)
			if err != nil || retry > 0 && string(answer) != "last\n" {
				t.Errorf("%q, %v", answer, err)
			}
			if got := <-got; got != "one\ntwo\n" {
				t.Errorf("the server has %q", got)
			}
		})
	}
}

// resumeHeader returns the header of a client that comes back.
func resumeHeader(id, key, received string) http.Header {
	return http.Header{"Acp-Connection-Id": {id}, "Gjc-Resume": {key}, "Gjc-Received": {received}}
}

// A connection comes back only with its secret, for its owner, and while it is there.
func TestResume_Refused(t *testing.T) {
	ended := make(chan struct{}, 10)
	_, address := serve(t, transport.Options{
		Serve: func(ctx context.Context, r io.Reader, w io.Writer) error {
			defer func() { ended <- struct{}{} }()
			return echo(ctx, r, w)
		},
		Owner: func(r *http.Request) string { return r.Header.Get("Authorization") },
	})
	url := "ws://" + address + "/acp"
	dial := func(header http.Header) (*websocket.Conn, *http.Response) {
		t.Helper()
		c, resp, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: header})
		if resp == nil {
			t.Fatal(err)
		}
		if c != nil {
			t.Cleanup(func() { _ = c.CloseNow() })
		}
		return c, resp
	}
	first, resp := dial(http.Header{"Gjc-Resume": {"new"}, "Authorization": {"me"}})
	id, key := resp.Header.Get("Acp-Connection-Id"), resp.Header.Get("Gjc-Resume")
	if id == "" || len(key) < 20 || key == id {
		t.Fatalf("the answer's headers: %v", resp.Header)
	}
	with := func(h http.Header, name, value string) http.Header {
		h = h.Clone()
		h.Set(name, value)
		return h
	}
	mine := with(resumeHeader(id, key, "0"), "Authorization", "me")
	for name, test := range map[string]struct {
		header http.Header
		status int
	}{
		"another's":        {with(mine, "Authorization", "you"), 404},
		"anyone's":         {resumeHeader(id, key, "0"), 404},
		"wrong key":        {with(mine, "Gjc-Resume", key[1:]+"A"), 404},
		"no key but new":   {with(mine, "Gjc-Resume", "new"), 404},
		"unknown":          {with(mine, "Acp-Connection-Id", "x"), 404},
		"no number":        {with(mine, "Gjc-Received", "-1"), 400},
		"more than sent":   {with(mine, "Gjc-Received", "7"), 409},
		"an absurd number": {with(mine, "Gjc-Received", "18446744073709551615"), 409},
	} {
		if _, resp := dial(test.header); resp.StatusCode != test.status {
			t.Errorf("%s: %s, want %d", name, resp.Status, test.status)
		}
	}
	// None of these has disturbed the socket. The next one takes its place.
	if err := first.Write(t.Context(), websocket.MessageText, []byte("0")); err != nil {
		t.Fatal(err)
	}
	if _, data, err := first.Read(t.Context()); err != nil || string(data) != "a 0 " {
		t.Errorf("%q, %v", data, err)
	}
	second, resp := dial(with(mine, "Gjc-Received", "1"))
	if resp.Header.Get("Gjc-Received") != "1" {
		t.Errorf("the server has %q messages", resp.Header.Get("Gjc-Received"))
	}
	if _, data, err := second.Read(t.Context()); err != nil || string(data) != "b 0 " {
		t.Errorf("%q, %v", data, err)
	}
	for {
		if _, _, err := first.Read(t.Context()); err != nil {
			break // the first socket is closed
		}
	}
	// A client that says farewell does not come back.
	if err := second.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	<-ended
	for deadline := time.Now().Add(time.Minute); ; {
		if _, resp = dial(mine); resp.StatusCode == http.StatusNotFound {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the end: %s", resp.Status)
		}
	}
}

// What the peer sends of the extension and must not ends the connection.
func TestResume_Violations(t *testing.T) {
	_, address := serve(t, transport.Options{Serve: echo})
	for name, message := range map[string]string{
		"unknown": "z", "empty": "", "short": "a123", "long": "a123456789", "more than sent": "a\x00\x00\x00\x00\x00\x00\x00\x05", "an end with more": "ee",
	} {
		c, _, err := websocket.Dial(t.Context(), "ws://"+address+"/acp", &websocket.DialOptions{HTTPHeader: http.Header{"Gjc-Resume": {"new"}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Write(t.Context(), websocket.MessageBinary, []byte(message)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusProtocolError {
			t.Errorf("%s: %v", name, err)
		}
		_ = c.CloseNow()
	}
}

// A connection whose client is not there ends: after its time, and when too much waits.
func TestResume_Gone(t *testing.T) {
	for name, opts := range map[string]transport.Options{
		"too long": {Resume: time.Millisecond},
		"too much": {MaxBuffered: 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			cause := make(chan error, 1)
			opts.Serve = func(ctx context.Context, r io.Reader, w io.Writer) error {
				for {
					if _, err := io.WriteString(w, strings.Repeat("x", 1000)+"\n"); err != nil || opts.MaxBuffered == 0 {
						break
					}
				}
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return nil
			}
			_, address := serve(t, opts)
			p := newProxy(t, address)
			p.start()
			c, _, err := websocket.Dial(t.Context(), p.url(), &websocket.DialOptions{HTTPHeader: http.Header{"Gjc-Resume": {"new"}}})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = c.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p.close()
			_ = c.CloseNow()
			want := "has not come back"
			if opts.MaxBuffered > 0 {
				want = "too many messages"
			}
			if err := <-cause; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A client learns that its connection is lost: of a server that does not know the extension, that has forgotten it, and that is gone.
func TestResume_Lost(t *testing.T) {
	dial := func(t *testing.T, p *proxy, retry time.Duration) *transport.Conn {
		t.Helper()
		conn, err := transport.Dial(t.Context(), p.url(), transport.DialOptions{Retry: retry, Backoff: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	t.Run("plain", func(t *testing.T) {
		_, address := serve(t, transport.Options{Serve: echo, Resume: -1})
		p := newProxy(t, address)
		p.start()
		conn := dial(t, p, time.Minute)
		p.cutAll()
		if _, err := io.ReadAll(conn); !errors.Is(err, transport.ErrLost) {
			t.Errorf("%v", err)
		}
	})
	t.Run("forgotten", func(t *testing.T) {
		_, address := serve(t, transport.Options{Serve: echo})
		p := newProxy(t, address)
		second := httptest.NewServer(transport.NewServer(transport.Options{Serve: echo}))
		defer second.Close()
		p.start()
		conn := dial(t, p, time.Minute)
		p.to = strings.TrimPrefix(second.URL, "http://") // no connection is being made
		p.cutAll()
		_, err := io.ReadAll(conn)
		if refused, ok := errors.AsType[*transport.RefusedError](err); !errors.Is(err, transport.ErrLost) || !ok || refused.Code != http.StatusNotFound {
			t.Errorf("%v", err)
		}
	})
	t.Run("gone", func(t *testing.T) {
		_, address := serve(t, transport.Options{Serve: echo})
		p := newProxy(t, address)
		p.start()
		conn := dial(t, p, 20*time.Millisecond)
		p.close()
		if _, err := io.ReadAll(conn); !errors.Is(err, transport.ErrLost) || !errors.Is(err, transport.ErrTime) {
			t.Errorf("%v", err)
		}
	})
}
