package jsonrpc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
)

// rawPeer speaks lines with a connection under test.
type rawPeer struct {
	t     *testing.T
	end   net.Conn
	lines chan string
	conn  *jsonrpc.Conn
}

// startRaw starts a connection with h and returns its raw peer. It must be called inside a synctest bubble.
func startRaw(t *testing.T, h jsonrpc.Handler, change ...func(*jsonrpc.Options)) *rawPeer {
	a, b := net.Pipe()
	opts := options(frame.Lines, h, b)
	for _, c := range change {
		c(&opts)
	}
	p := &rawPeer{t: t, end: a, lines: make(chan string, 100)}
	p.conn = jsonrpc.NewConn(t.Context(), b, b, opts)
	go func() {
		defer close(p.lines)
		s := bufio.NewScanner(a)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = a.Close()
		_ = p.conn.Close()
	})
	return p
}

func (p *rawPeer) send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.end, format+"\n", args...); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

// got returns everything that the connection has sent so far.
func (p *rawPeer) got() []string {
	synctest.Wait()
	var lines []string
	for {
		select {
		case l, ok := <-p.lines:
			if !ok {
				return lines
			}
			lines = append(lines, l)
		default:
			return lines
		}
	}
}

func (p *rawPeer) want(lines ...string) {
	p.t.Helper()
	if diff := cmp.Diff(lines, p.got()); diff != "" {
		p.t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func echo(_ context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
	if req.Method != "echo" {
		return nil, fmt.Errorf("%w: %s", jsonrpc.ErrMethodNotFound, req.Method)
	}
	return func() (any, error) { return req.Params, nil }, nil
}

// Bug class 1: a wrapped sentinel keeps its code. Bug class 2: Is(nil).
func TestWireError(t *testing.T) {
	own := &jsonrpc.Error{Code: -32002, Message: "not found", Data: []byte(`{"id":1}`)}
	tests := []struct {
		name string
		err  error
		want *jsonrpc.Error
	}{
		{"nil", nil, nil},
		{"plain", errors.New("disk full"), &jsonrpc.Error{Code: -32603, Message: "disk full"}},
		{"sentinel", jsonrpc.ErrInvalidParams, &jsonrpc.Error{Code: -32602, Message: "invalid params"}},
		{"wrapped", fmt.Errorf("a: %w", fmt.Errorf("%w: cwd", jsonrpc.ErrInvalidParams)), &jsonrpc.Error{Code: -32602, Message: "a: invalid params: cwd"}},
		{"joined", errors.Join(io.EOF, own), &jsonrpc.Error{Code: -32002, Message: "EOF\nnot found", Data: own.Data}},
		{"data", fmt.Errorf("load: %w", own), &jsonrpc.Error{Code: -32002, Message: "load: not found", Data: own.Data}},
		{"cancelled", fmt.Errorf("call: %w", context.Canceled), &jsonrpc.Error{Code: -32800, Message: "call: context canceled"}},
		{"deadline", context.DeadlineExceeded, &jsonrpc.Error{Code: -32603, Message: "context deadline exceeded"}},
		{"peer cancelled", jsonrpc.ErrPeerCancelled, &jsonrpc.Error{Code: -32800, Message: "cancelled by the peer"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, jsonrpc.WireError(tt.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if own.Is(nil) || errors.Is(own, nil) || own.Is((*jsonrpc.Error)(nil)) || own.Is(io.EOF) {
		t.Error("an error is nil, or is another")
	}
	if !errors.Is(fmt.Errorf("x: %w", own), &jsonrpc.Error{Code: -32002}) {
		t.Error("errors.Is does not compare codes")
	}
}

// Bug class 3: params are absent, null or of another kind; IDs are absent or null. Other invalid input of every kind is included.
func TestConn_BadInput(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{"null params", `{"jsonrpc":"2.0","id":1,"method":"echo","params":null}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{"params a string", `{"jsonrpc":"2.0","id":1,"method":"echo","params":"x"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"invalid request: params must be an object"}}`},
		{"no id", `{"jsonrpc":"2.0","method":"echo"}`, ""},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"echo","params":{}}`, `{"jsonrpc":"2.0","id":null,"result":{}}`},
		{"boolean id", `{"jsonrpc":"2.0","id":true,"method":"echo"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: an ID must be a string, a number or null"}}`},
		{"no version", `{"id":1,"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"invalid request: \"jsonrpc\" must be \"2.0\""}}`},
		{"unknown method", `{"jsonrpc":"2.0","id":"a","method":"nope"}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"method not found: nope"}}`},
		{"unknown notification", `{"jsonrpc":"2.0","method":"nope"}`, ""},
		{"method a number", `{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"invalid request: the method must be a string that is not empty"}}`},
		// The message can only be an answer, and answers are not answered.
		{"nothing but an id", `{"jsonrpc":"2.0","id":1}`, ""},
		{"nothing but a null id", `{"jsonrpc":"2.0","id":null}`, ""},
		{"nothing", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: neither a method nor a result nor an error"}}`},
		{"answer with a boolean id", `{"jsonrpc":"2.0","id":true,"result":{}}`, ""},
		{"answer without an id", `{"result":{}}`, ""},
		{"answer with a member twice", `{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`, ""},
		{"answer with two ids", `{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, ""},
		{"answer that breaks off", `{"jsonrpc":"2.0","id":1,"result":{"a":`, ""},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"echo","result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"invalid request: a message has either a method or a result"}}`},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"echo"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: batches are not supported, send one message at a time"}}`},
		{"a number", `42`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: not an object"}}`},
		{"blank", "  ", ""},
		{"answer to nothing", `{"jsonrpc":"2.0","id":99,"result":{}}`, ""},
		{"error with null id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`, ""},
		{"cancel of nothing", `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}`, ""},
		{"cancel without params", `{"jsonrpc":"2.0","method":"$/cancel_request"}`, ""},
		// Bug class 13: member names match exactly, and a duplicate name is an error.
		{"case", `{"jsonrpc":"2.0","id":1,"method":"echo","Method":"nope","params":{"a":1}}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{\"a\":\"\xff\"}}", `{"jsonrpc":"2.0","id":1,"result":{"a":"` + "\ufffd" + `"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startRaw(t, jsonrpc.HandlerFunc(echo))
				p.send("%s", tt.in)
				var want []string
				if tt.want != "" {
					want = []string{tt.want}
				}
				p.want(want...)
				// The next request works, whatever the input was.
				p.send(`{"jsonrpc":"2.0","id":"next","method":"echo","params":{}}`)
				p.want(`{"jsonrpc":"2.0","id":"next","result":{}}`)
			})
		})
	}
}

func TestConn_JunkIsAParseError(t *testing.T) {
	for _, in := range []string{
		`hello`, `{"jsonrpc":"2.0","id":1,"method":"echo"`, `{"jsonrpc":"2.0","id":1,"method":"echo"}}`, "\x00\x01", `{`, `[`, `{"a":1,"a":2}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := startRaw(t, jsonrpc.HandlerFunc(echo))
			p.send("%s", in)
			got := p.got()
			if len(got) != 1 || !strings.HasPrefix(got[0], `{"jsonrpc":"2.0","id":null,"error":{"code":-32`) {
				t.Errorf("%q: answers %q", in, got)
			}
			p.send(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`)
			p.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		})
	}
}

// Bug class 4: a handler that gives a result and an error, or neither.
func TestConn_HandlerReturnsBothOrNeither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bug.Handle(func(bug.Report) {})
		defer bug.Handle(nil)
		before := bug.Count()
		p := startRaw(t, jsonrpc.HandlerFunc(func(_ context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
			switch req.Method {
			case "neither":
				return nil, nil
			default:
				return func() (any, error) { return 1, io.EOF }, nil
			}
		}))
		p.send(`{"jsonrpc":"2.0","id":1,"method":"both"}`)
		p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"both: the handler gave both a result and an error: EOF"}}`)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"neither"}`)
		p.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"neither: the handler gave neither a reply nor an error"}}`)
		if n := bug.Count() - before; n != 2 {
			t.Errorf("%d bugs reported, want 2", n)
		}
	})
}

// Bug class 5: Close is called while a call to the peer is pending in a handler. Bug class 6: a peer that never answers and never
// reads does not delay the end.
func TestConn_CloseWithASilentPeer(t *testing.T) {
	for _, f := range framings {
		synctest.Test(t, func(t *testing.T) {
			a, b := net.Pipe()
			var conn *jsonrpc.Conn
			ended := make(chan error, 1)
			h := jsonrpc.HandlerFunc(func(ctx context.Context, _ *jsonrpc.Request) (jsonrpc.Reply, error) {
				return func() (any, error) {
					err := conn.Call(context.Background(), "ask", nil, nil) // the context has no deadline
					ended <- err
					return nil, err
				}, nil
			})
			conn = jsonrpc.NewConn(t.Context(), b, b, options(f, h, b))
			msg := f.Append(nil, []byte(`{"jsonrpc":"2.0","id":1,"method":"go"}`))
			if _, err := a.Write(msg); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the writer is stuck in its first Write: a has no reader
			begin := time.Now()
			_ = conn.Close()
			if d := time.Since(begin); d > 2*time.Second {
				t.Errorf("Close took %v of fake time", d)
			}
			if err := <-ended; !errors.Is(err, jsonrpc.ErrClosed) {
				t.Errorf("the pending call ended with %v", err)
			}
			_ = a.Close()
		})
	}
}

// A handler that ignores its context delays Close by no more than the grace period.
func TestConn_CloseWithAStuckHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := startRaw(t, jsonrpc.HandlerFunc(func(context.Context, *jsonrpc.Request) (jsonrpc.Reply, error) {
			return func() (any, error) { <-release; return nil, nil }, nil
		}))
		p.send(`{"jsonrpc":"2.0","id":1,"method":"stuck"}`)
		synctest.Wait()
		begin := time.Now()
		_ = p.conn.Close()
		if d := time.Since(begin); d != time.Second {
			t.Errorf("Close took %v of fake time, want the grace of 1s", d)
		}
		close(release)
	})
}

// Bug class 7: a call returns at its own deadline even if the writer is stuck. Bug class 9: its entry is removed, and a late answer
// is dropped.
func TestConn_DeadlineWithAStuckWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		var dropped []error
		opts := options(frame.Lines, nil, b)
		opts.Dropped = func(err error) { dropped = append(dropped, err) }
		conn := jsonrpc.NewConn(t.Context(), b, b, opts)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("the user is gone"))
		defer cancel()
		begin := time.Now()
		err := conn.Call(ctx, "ask", nil, nil)
		if d := time.Since(begin); d != 3*time.Second || err == nil || !strings.Contains(err.Error(), "the user is gone") {
			t.Errorf("Call returned after %v with %v", d, err)
		}
		lines := bufio.NewScanner(a)
		for _, want := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"ask"}`,
			`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`,
		} {
			if !lines.Scan() || lines.Text() != want {
				t.Errorf("got %q, want %q", lines.Text(), want)
			}
		}
		if _, err := io.WriteString(a, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(dropped) != 1 {
			t.Errorf("dropped %v, want the late answer", dropped)
		}
		_ = a.Close()
		_ = conn.Close()
	})
}

// Bug class 10: messages that a handler sends before it returns precede the response, and messages that it queues for after the
// response follow it.
func TestConn_NotificationsAroundAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *rawPeer
		p = startRaw(t, jsonrpc.HandlerFunc(func(ctx context.Context, _ *jsonrpc.Request) (jsonrpc.Reply, error) {
			jsonrpc.AfterResponse(ctx, func() { _ = p.conn.Notify(ctx, "after1", nil) })
			return func() (any, error) {
				jsonrpc.AfterResponse(ctx, func() { _ = p.conn.Notify(ctx, "after2", nil) })
				for i := range 3 {
					_ = p.conn.Notify(ctx, "before", []int{i})
				}
				return "done", nil
			}, nil
		}))
		p.send(`{"jsonrpc":"2.0","id":1,"method":"go"}`)
		p.want(
			`{"jsonrpc":"2.0","method":"before","params":[0]}`,
			`{"jsonrpc":"2.0","method":"before","params":[1]}`,
			`{"jsonrpc":"2.0","method":"before","params":[2]}`,
			`{"jsonrpc":"2.0","id":1,"result":"done"}`,
			`{"jsonrpc":"2.0","method":"after1"}`,
			`{"jsonrpc":"2.0","method":"after2"}`,
		)
	})
}

// Bug class 11: one oversized message costs that message, not the connection.
func TestConn_Oversize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startRaw(t, jsonrpc.HandlerFunc(echo), func(o *jsonrpc.Options) { o.MaxMessageSize = 200 << 10 })
		big := strings.Repeat("x", 1<<20)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":"%s"}}`, big)
		got := p.got()
		if len(got) != 1 || !strings.Contains(got[0], `"id":1,"error":{"code":-32600,`) || !strings.Contains(got[0], "over the limit of 204800") {
			t.Errorf("answers %q", got)
		}
		fits := strings.Repeat("y", 150<<10)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"echo","params":{"a":"%s"}}`, fits)
		if got := p.got(); len(got) != 1 || !strings.Contains(got[0], fits) {
			t.Errorf("the message after it got %d answers", len(got))
		}
	})
}

// Bug class 14: 1, 1.0 and 1e0 are the same ID, and "1" is another. An answer repeats the ID as it was written. A second request
// with an open ID is refused without that ID.
func TestConn_IDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{locks: make(map[string]chan struct{})}
		p := startRaw(t, m)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"wait","params":{"name":"a"}}`)
		p.send(`{"jsonrpc":"2.0","id":"1","method":"echo","params":{"name":"string"}}`)
		p.want(`{"jsonrpc":"2.0","id":"1","result":"string"}`)
		p.send(`{"jsonrpc":"2.0","id":1.0,"method":"echo","params":{"name":"again"}}`)
		p.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: id 1.0 is in use by a request that has not been answered"}}`)
		p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1e0}}`)
		p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"waiting for a: cancelled by the peer"}}`)
		for _, id := range []string{`1.0`, `1e2`, `12345678901234567890123`, `-0`, `1.5`, `"\u00e9\n"`, `""`} {
			p.send(`{"jsonrpc":"2.0","id":%s,"method":"echo","params":{"name":"x"}}`, id)
			got := p.got()
			if len(got) != 1 || !bytes.Contains([]byte(got[0]), []byte(`"result":"x"`)) {
				t.Fatalf("id %s: answers %q", id, got)
			}
			if id != `"\u00e9\n"` && !strings.Contains(got[0], `"id":`+id+`,`) {
				t.Errorf("id %s came back as %q", id, got[0])
			}
		}
	})
}

// The reader handles cancellation, so that it reaches a request that is still waiting for the dispatcher.
func TestConn_CancelOvertakesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := startRaw(t, jsonrpc.HandlerFunc(func(_ context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
			if req.Method == "hold" {
				<-release
			}
			return func() (any, error) { return "ran", nil }, nil
		}))
		p.send(`{"jsonrpc":"2.0","method":"hold"}`)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"work"}`)
		p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
		synctest.Wait()
		close(release)
		p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"cancelled by the peer"}}`)
	})
}

// Answers of the peer with both a result and an error, and malformed errors, end the call and nothing else.
func TestConn_StrangeAnswers(t *testing.T) {
	for _, tt := range []struct{ answer, want string }{
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, "both a result and an error"},
		{`{"jsonrpc":"2.0","id":1,"error":"no"}`, "malformed error"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":{}}}`, "m"},
		{`{"id":1,"error":{"code":-1,"message":"versionless"}}`, "versionless"},
		{`{"jsonrpc":"2.0","id":1.0,"result":7}`, "a number does not fit string"},
		{`{"jsonrpc":"2.0","id":1,"result":null,"error":null}`, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := startRaw(t, nil)
			c := p.conn.Go("ask", nil)
			p.want(`{"jsonrpc":"2.0","id":1,"method":"ask"}`)
			p.send("%s", tt.answer)
			var got string
			err := c.Await(t.Context(), &got)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: err = %v, want %q", tt.answer, err, tt.want)
			}
		})
	}
}

// A call whose context has already ended does not reach the peer: nothing may be written for it.
func TestConn_CallOfAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startRaw(t, nil)
		cause := errors.New("given up")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if err := p.conn.Call(ctx, "write", nil, nil); !errors.Is(err, cause) {
			t.Errorf("err = %v", err)
		}
		p.want()
	})
}

// Requests that are open when the peer closes its side are answered if that does not take long. Other requests are cancelled,
// immediately if the peer has no use for the answer.
func TestConn_AnswersAfterTheEndOfInput(t *testing.T) {
	for name, c := range map[string]struct {
		optional func(string) bool
		took     time.Duration
	}{
		"heard":   {nil, 100 * time.Millisecond},
		"unheard": {func(method string) bool { return method == "wait" }, 0},
	} {
		t.Run(name, func(t *testing.T) { answersAfterTheEnd(t, c.optional, c.took) })
	}
}

func answersAfterTheEnd(t *testing.T, optional func(string) bool, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{locks: make(map[string]chan struct{})}
		in, toConn := io.Pipe()
		fromConn, out := io.Pipe()
		opts := options(frame.Lines, m, out)
		opts.AnswerOptional = optional
		conn := jsonrpc.NewConn(t.Context(), in, out, opts)
		got := make(chan []byte, 1)
		go func() {
			all, err := io.ReadAll(fromConn)
			if err != nil {
				t.Error(err)
			}
			got <- all
		}()
		if _, err := io.WriteString(toConn, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"name":"first"}}
{"jsonrpc":"2.0","id":2,"method":"wait","params":{"name":"never"}}
{"jsonrpc":"2.0","id":3,"method":"echo","params":{"name":"last"}}
`); err != nil {
			t.Fatal(err)
		}
		_ = toConn.Close()
		begin := time.Now()
		all := string(<-got)
		if d := time.Since(begin); d != took {
			t.Errorf("the end took %v of fake time, want %v", d, took)
		}
		for _, want := range []string{`"id":1,"result":"first"`, `"id":3,"result":"last"`, `"id":2,"error":{"code":-32603,"message":"waiting for never: peer is gone"}`} {
			if !strings.Contains(all, want) {
				t.Errorf("no %s in\n%s", want, all)
			}
		}
		<-conn.Done()
	})
}
