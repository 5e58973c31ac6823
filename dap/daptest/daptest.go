// Package daptest provides a debug adapter that a test controls. The adapter runs in the test's process ([Listen]), or in a
// process of its own that relays all messages to the test ([Process]): the test binary, executed again.
package daptest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// timeout bounds every wait of a test. It is long enough for a busy machine.
const timeout = 60 * time.Second

// variable is the environment variable that has the test's address.
const variable = "GJC_DAPTEST"

// Main relays messages and does not return if this process was started by [Process]. Call it first in TestMain.
func Main() {
	address := os.Getenv(variable)
	if address == "" {
		return
	}
	conn, err := new(net.Dialer).DialContext(context.Background(), "unix", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	from, to, err := streams(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	go func() {
		_, _ = io.Copy(conn, from)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	// The test sends records with the protocol's framing: each is a kind followed by data.
	in := frame.Headers.NewReader(conn, 1<<30)
	for {
		record, err := in.Read()
		if err != nil {
			os.Exit(0)
		}
		switch kind, data := record[0], record[1:]; kind {
		case recordOut:
			_, _ = to.Write(data)
		case recordErr:
			_, _ = os.Stderr.Write(data)
		case recordExit:
			os.Exit(int(data[0]))
		case recordSpawn:
			if err := spawn(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
}

// streams returns the streams of the protocol: stdin and stdout, or a connection that the arguments ask for, as for real
// adapters: --listen=unix:PATH, --port=N (listens), --client-addr=ADDRESS (dials), --never (neither).
func streams(args []string) (io.Reader, io.Writer, error) {
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		var l net.Listener
		var err error
		switch name {
		case "--listen":
			l, err = new(net.ListenConfig).Listen(context.Background(), "unix", strings.TrimPrefix(value, "unix:"))
		case "--port":
			l, err = new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:"+value)
		case "--client-addr":
			conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", value)
			return conn, conn, err
		case "--never":
			select {}
		default:
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		conn, err := l.Accept()
		return conn, conn, err
	}
	return os.Stdin, os.Stdout, nil
}

// The kinds of records.
const (
	recordOut   = 'o'
	recordErr   = 'e'
	recordExit  = 'x'
	recordSpawn = 's'
)

// Adapter is an adapter that a test controls. Its methods fail the test on a timeout. They may be called from the test's
// goroutine and from handlers.
type Adapter struct {
	t        testing.TB
	listener net.Listener
	// relayed reports that messages are written to a process, in records.
	relayed bool

	connected chan struct{} // closed when conn is set
	conn      net.Conn
	requests  chan *Request
	gone      chan struct{} // closed when the client has hung up

	mu       sync.Mutex // guards the fields below
	seq      int
	handlers map[string]func(*Request)
	seen     []string
	answers  map[int]chan *Answer
	over     bool // the client has hung up
}

// Request is a request of the client.
type Request struct {
	Seq       int       `json:"seq"`
	Type      string    `json:"type"`
	Command   string    `json:"command"`
	Arguments jsonx.Raw `json:"arguments"`
	// The fields below are those of an answer to a request of the adapter.
	RequestSeq int       `json:"request_seq"`
	Success    bool      `json:"success"`
	Message    string    `json:"message"`
	Body       jsonx.Raw `json:"body"`

	adapter *Adapter
}

// Answer is the client's answer to a request of the adapter.
type Answer struct {
	Success bool
	Message string
	Body    jsonx.Raw
}

// Listen returns an adapter that listens, and the address for [dap.Start].
func Listen(t testing.TB) (a *Adapter, address string) {
	a = newAdapter(t)
	return a, "unix:" + a.listener.Addr().String()
}

// Process returns an adapter that uses the stdin and stdout of a process, and the spec that starts the process.
func Process(t testing.TB) (*Adapter, *dap.Spec) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := newAdapter(t)
	a.relayed = true
	return a, &dap.Spec{
		Name: "fake", Path: self, Connect: dap.ConnectStdio, Env: []string{variable + "=" + a.listener.Addr().String()},
	}
}

func newAdapter(t testing.TB) *Adapter {
	dir, err := os.MkdirTemp("", "dt") //nolint:usetesting // short: there is little room in the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	a := newScript(t, l)
	a.run()
	return a
}

// run accepts the next client of the listener.
func (a *Adapter) run() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.serve()
	}()
	a.t.Cleanup(func() {
		_ = a.listener.Close()
		a.Hangup()
		<-done
	})
}

// Next returns an adapter for the next client that connects to the same address, such as a child session.
func (a *Adapter) Next(t testing.TB) *Adapter {
	b := newScript(t, a.listener)
	b.run()
	return b
}

func newScript(t testing.TB, l net.Listener) *Adapter {
	return &Adapter{
		t: t, listener: l, connected: make(chan struct{}), requests: make(chan *Request, 10000), gone: make(chan struct{}),
		handlers: make(map[string]func(*Request)), answers: make(map[int]chan *Answer),
	}
}

func (a *Adapter) serve() {
	defer close(a.gone)
	defer a.failPending()
	conn, err := a.listener.Accept()
	if err != nil {
		return
	}
	a.mu.Lock()
	a.conn = conn
	a.mu.Unlock()
	close(a.connected)
	in := frame.Headers.NewReader(conn, 1<<30)
	for {
		data, err := in.Read()
		if err != nil {
			return
		}
		r := &Request{adapter: a}
		if err := jsonx.Unmarshal(append([]byte(nil), data...), r); err != nil {
			a.t.Errorf("the client sent %q: %v", data, err)
			return
		}
		if r.Type == "response" {
			a.mu.Lock()
			ch := a.answers[r.RequestSeq]
			delete(a.answers, r.RequestSeq)
			a.mu.Unlock()
			if ch == nil {
				a.t.Errorf("the client answered request %d, which is unknown or already answered", r.RequestSeq)
				continue
			}
			ch <- &Answer{Success: r.Success, Message: r.Message, Body: r.Body}
			continue
		}
		a.mu.Lock()
		a.seen = append(a.seen, r.Command)
		handler := a.handlers[r.Command]
		a.mu.Unlock()
		if handler != nil {
			handler(r)
			continue
		}
		a.requests <- r
	}
}

// failPending answers the requests that the client left open when it hung up.
func (a *Adapter) failPending() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ch := range a.answers {
		ch <- &Answer{Message: "the client has hung up"}
	}
	clear(a.answers)
	a.over = true
}

// Hangup closes the connection. A process that relays it ends too.
func (a *Adapter) Hangup() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil {
		_ = a.conn.Close()
	}
}

// Gone waits until the client has hung up.
func (a *Adapter) Gone() {
	a.t.Helper()
	a.await(a.gone, "the client to hang up")
}

func (a *Adapter) await(ch <-chan struct{}, what string) {
	a.t.Helper()
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	select {
	case <-ch:
	case <-limit.C:
		a.t.Fatalf("timed out waiting for %s; requests so far: %v", what, a.Seen())
	}
}

// Seen returns the commands of all requests so far, in order.
func (a *Adapter) Seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.seen...)
}

// Handle makes fn answer all further requests of a command, one at a time. Expect does not return them.
func (a *Adapter) Handle(command string, fn func(*Request)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handlers[command] = fn
}

// Reply answers all further requests of a command with body.
func (a *Adapter) Reply(command string, body any) {
	a.Handle(command, func(r *Request) { r.Respond(body) })
}

// Expect waits for the next request without a handler and fails the test if it has another command.
func (a *Adapter) Expect(command string) *Request {
	a.t.Helper()
	r := a.next(command)
	if r.Command != command {
		a.t.Fatalf("the client sent %s %s, want %s", r.Command, r.Arguments, command)
	}
	return r
}

// ExpectAll waits for one request of each command, in any order.
func (a *Adapter) ExpectAll(commands ...string) map[string]*Request {
	a.t.Helper()
	got := make(map[string]*Request)
	for range commands {
		r := a.next(fmt.Sprint(commands))
		got[r.Command] = r
	}
	for _, c := range commands {
		if got[c] == nil {
			a.t.Fatalf("the client did not send %s", c)
		}
	}
	return got
}

func (a *Adapter) next(what string) *Request {
	a.t.Helper()
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	select {
	case r := <-a.requests:
		return r
	case <-limit.C:
		a.t.Fatalf("timed out waiting for %s; requests so far: %v", what, a.Seen())
		return nil
	}
}

// ExpectNone fails the test if a request without a handler has arrived and was not expected.
func (a *Adapter) ExpectNone() {
	a.t.Helper()
	select {
	case r := <-a.requests:
		a.t.Errorf("the client sent %s %s", r.Command, r.Arguments)
	default:
	}
}

// Decode decodes the arguments.
func (r *Request) Decode(v any) {
	r.adapter.t.Helper()
	if err := jsonx.Unmarshal(r.Arguments, v); err != nil {
		r.adapter.t.Errorf("arguments of %s: %v", r.Command, err)
	}
}

// Respond answers the request. Body may be nil.
func (r *Request) Respond(body any) {
	r.adapter.message(map[string]any{"type": "response", "request_seq": r.Seq, "success": true, "command": r.Command}, "body", body)
}

// Refuse answers the request with an error.
func (r *Request) Refuse(message string) {
	r.adapter.message(map[string]any{"type": "response", "request_seq": r.Seq, "success": false, "command": r.Command, "message": message}, "", nil)
}

// Event sends an event.
func (a *Adapter) Event(name string, body any) {
	a.message(map[string]any{"type": "event", "event": name}, "body", body)
}

// Ask sends a request to the client and waits for its answer.
func (a *Adapter) Ask(command string, arguments any) *Answer {
	a.t.Helper()
	ch := a.AskLater(command, arguments)
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	select {
	case answer := <-ch:
		return answer
	case <-limit.C:
		a.t.Fatalf("the client did not answer %s", command)
		return nil
	}
}

// AskLater sends a request to the client and returns the channel that receives the answer.
func (a *Adapter) AskLater(command string, arguments any) <-chan *Answer {
	ch := make(chan *Answer, 1)
	a.mu.Lock()
	if a.over {
		ch <- &Answer{Message: "the client has hung up"}
	} else {
		a.answers[a.seq+1] = ch
	}
	a.mu.Unlock()
	a.message(map[string]any{"type": "request", "command": command}, "arguments", arguments)
	return ch
}

func (a *Adapter) message(m map[string]any, name string, value any) {
	if value != nil {
		m[name] = value
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seq++
	m["seq"] = a.seq
	data, err := jsonx.Marshal(m)
	if err != nil {
		a.t.Errorf("encoding a message: %v", err)
		return
	}
	a.writeLocked(frame.Headers.Append(nil, data))
}

// Raw writes bytes without framing, for malformed messages.
func (a *Adapter) Raw(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writeLocked(data)
}

func (a *Adapter) writeLocked(data []byte) {
	if a.relayed {
		data = frame.Headers.Append(nil, append([]byte{recordOut}, data...))
	}
	if a.conn != nil {
		_, _ = a.conn.Write(data) // the client may have hung up
	}
}

// Complain makes the process print to stderr.
func (a *Adapter) Complain(text string) { a.record(recordErr, []byte(text)) }

// Exit makes the process exit.
func (a *Adapter) Exit(code int) { a.record(recordExit, []byte{byte(code)}) }

// Spawn makes the process start a debuggee: another process, in a session of its own, which runs until it is killed.
func (a *Adapter) Spawn() { a.record(recordSpawn, nil) }

func (a *Adapter) record(kind byte, data []byte) {
	a.await(a.connected, "the process")
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.conn.Write(frame.Headers.Append(nil, append([]byte{kind}, data...)))
}

// Connected waits until a client has connected.
func (a *Adapter) Connected() {
	a.t.Helper()
	a.await(a.connected, "the client")
}
