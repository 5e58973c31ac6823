package jsonrpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
)

// limit is the maximum message size of the connections in these tests, and huge exceeds it.
const limit = 64 << 10

var huge = strings.Repeat("x", 100<<10)

// An answer from the peer, valid or not, ends the call or nothing, and the connection never answers it. The peer has an open
// request with the same ID as the call, which must not be answered by mistake either.
func TestConn_AnswersAreNeverAnswered(t *testing.T) {
	const fine, late = "", "the call is open"
	for _, tt := range []struct {
		name, answer string
		// want is part of the call's error, or one of the constants above.
		want string
	}{
		{"neither", `{"jsonrpc":"2.0","id":1}`, fine},
		{"neither, without a version", `{"id":1}`, fine},
		{"neither, and null", `{"jsonrpc":"2.0","id":1,"result":null}`, fine},
		{"both", `{"jsonrpc":"2.0","id":1,"result":"ok","error":{"code":1,"message":"m"}}`, "both a result and an error: m"},
		{"an id as a string", `{"jsonrpc":"2.0","id":"1","result":"ok"}`, fine},
		{"an id as a float", `{"jsonrpc":"2.0","id":1.0,"result":"ok"}`, fine},
		{"another id", `{"jsonrpc":"2.0","id":2,"result":"ok"}`, late},
		{"an id that only looks like it", `{"jsonrpc":"2.0","id":"01","result":"ok"}`, late},
		{"an id of a wrong type", `{"jsonrpc":"2.0","id":[1],"result":"ok"}`, late},
		{"no id", `{"jsonrpc":"2.0","result":"ok"}`, late},
		{"a null id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, late},
		{"a result of a wrong type", `{"jsonrpc":"2.0","id":1,"result":{}}`, "the answer to ask: an object does not fit string"},
		{"an error of a wrong type", `{"jsonrpc":"2.0","id":1,"error":7}`, "malformed error"},
		{"with the method", `{"jsonrpc":"2.0","id":1,"method":"ask","result":"ok"}`, fine},
		{"a member twice", `{"jsonrpc":"2.0","id":1,"result":"a","result":"b"}`, "the answer to ask: "},
		{"two ids", `{"jsonrpc":"2.0","id":1,"id":1,"result":"a"}`, "the answer to ask: "},
		{"two different ids", `{"jsonrpc":"2.0","id":1,"id":2,"result":"a"}`, late},
		{"broken off", `{"jsonrpc":"2.0","id":1,"result":"a`, "the answer to ask: "},
		{"broken inside", `{"jsonrpc":"2.0","id":1,"result":{a}}`, "the answer to ask: "},
		{"too deep", `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`, "the answer to ask: "},
		{"long", `{"jsonrpc":"2.0","id":1,"result":"` + huge + `"}`, "the answer to ask is larger than 65536 bytes (102436 bytes)"},
		{"long error", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"` + huge + `"}}`, "larger than"},
		{"long, id last", `{"jsonrpc":"2.0","result":{"a":"` + huge + `"},"id":1}`, "larger than"},
		{"long, id and version last", `{"result":{"a":"` + huge + `"},"id" : 1 , "jsonrpc":"2.0"}`, "larger than"},
		{"long, result and id last", `{"_meta":["` + huge + `"],"result":"ok","id":"1"} `, "larger than"},
		{"long, result in the middle", `{"id":1,"_meta":["` + huge + `"],"result":{},"_meta2":["` + huge + `"]}`, "larger than"},
		{"long, with another id inside", `{"jsonrpc":"2.0","result":{"a":"` + huge + `","id":2},"id":1}`, "larger than"},
		{"long, with another id in a string", `{"jsonrpc":"2.0","id":1,"result":"` + huge + `\",\"id\":2}"}`, "larger than"},
		{"long, with half an id", `{"jsonrpc":"2.0","result":{"a":"` + huge + `"},"x\",\"id":1}`, late},
		{"long, without an id", `{"jsonrpc":"2.0","result":"` + huge + `"}`, late},
		{"long, with two ids", `{"id":1,"result":"` + huge + `","id":2}`, late},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &machine{locks: make(map[string]chan struct{})}
				p := startRaw(t, m, func(o *jsonrpc.Options) { o.MaxMessageSize = limit })
				p.send(`{"jsonrpc":"2.0","id":1,"method":"wait","params":{"name":"open"}}`)
				call := p.conn.Go("ask", nil)
				p.want(`{"jsonrpc":"2.0","id":1,"method":"ask"}`)
				p.send("%s", tt.answer)
				p.want()
				ended := make(chan error, 1)
				go func() { // ends at the latest with the answer below
					var text *string
					ended <- call.Await(t.Context(), &text)
				}()
				synctest.Wait()
				var err error
				select {
				case err = <-ended:
					if tt.want == late {
						t.Errorf("the call ended with %v", err)
					}
				default:
					if tt.want != late {
						t.Fatal("the call is open")
					}
				}
				if tt.want != late && (err == nil) != (tt.want == fine) || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("the call ended with %v, want %q", err, tt.want)
				}
				if _, ok := errors.AsType[*jsonrpc.AnswerError](err); strings.HasPrefix(tt.want, "the answer") && !ok {
					t.Errorf("the error is a %T", err)
				}
				// A second answer is certainly late and completes nothing. The peer's own request is still open.
				p.send(`{"jsonrpc":"2.0","id":1,"result":"again"}`)
				p.send("%s", tt.answer)
				p.want()
				p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
				p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"waiting for open: cancelled by the peer"}}`)
			})
		})
	}
}

// A refusal does not contain the ID of an open request: the peer would treat it as the answer.
func TestConn_RefusalsSpareOpenRequests(t *testing.T) {
	for _, bad := range []string{
		`{"jsonrpc":"2.0","id":1,"method":7}`,
		`{"jsonrpc":"1.0","id":1,"method":"echo"}`,
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"echo","result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":{},"params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":"` + huge + `"}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &machine{locks: make(map[string]chan struct{})}
			p := startRaw(t, m, func(o *jsonrpc.Options) { o.MaxMessageSize = limit })
			p.send(`{"jsonrpc":"2.0","id":1,"method":"wait","params":{"name":"open"}}`)
			p.send("%s", bad)
			if got := p.got(); len(got) != 1 || !strings.HasPrefix(got[0], `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
				t.Errorf("%.80s: answers %q", bad, got)
			}
			p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
			p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"waiting for open: cancelled by the peer"}}`)
		})
	}
}

// A request over the limit is refused with its own ID, wherever the ID is in the message.
func TestConn_OversizeRequests(t *testing.T) {
	for _, tt := range []struct{ in, id string }{
		{`{"jsonrpc":"2.0","id":"a","method":"echo","params":{"a":"` + huge + `"}}`, `"a"`},
		{`{"jsonrpc":"2.0","method":"echo","params":{"a":"` + huge + `"},"id":5}`, `5`},
		{`{"params":{"a":"` + huge + `"},"method":"echo","id":5,"jsonrpc":"2.0"}`, `5`},
		{`{"jsonrpc":"2.0","method":"echo","params":{"a":"` + huge + `"}}`, `null`},
		{`{"jsonrpc":"2.0","id":5,"_meta":"` + huge + `"}`, `5`},
		{huge, `null`},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := startRaw(t, jsonrpc.HandlerFunc(echo), func(o *jsonrpc.Options) { o.MaxMessageSize = limit })
			p.send("%s", tt.in)
			if got := p.got(); len(got) != 1 || !strings.HasPrefix(got[0], `{"jsonrpc":"2.0","id":`+tt.id+`,"error":{"code":-32600,`) {
				t.Errorf("%.60s: answers %q, want one to %s", tt.in, got, tt.id)
			}
		})
	}
}

// The framing with headers skips long answers in the same way.
func TestConn_LongAnswerWithHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		opts := options(frame.Headers, nil, b)
		opts.MaxMessageSize = limit
		conn := jsonrpc.NewConn(t.Context(), b, b, opts)
		call := conn.Go("ask", nil)
		if _, err := a.Read(make([]byte, 1<<10)); err != nil {
			t.Fatal(err)
		}
		msg := frame.Headers.Append(nil, fmt.Appendf(nil, `{"result":{"a":"%s"},"id":1}`, huge))
		if _, err := a.Write(msg); err != nil {
			t.Fatal(err)
		}
		err := call.Await(t.Context(), nil)
		if long, ok := errors.AsType[*frame.TooLongError](err); !ok || long.Max != limit || !bytes.HasSuffix(long.Tail, []byte(`"id":1}`)) {
			t.Errorf("err = %v", err)
		}
		_ = a.Close()
		_ = conn.Close()
	})
}
