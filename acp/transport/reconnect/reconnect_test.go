package reconnect_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp/transport"
	"github.com/gajae-code/gjc/acp/transport/reconnect"
)

// pipe is a pipe in memory that holds any number of bytes.
type pipe struct {
	mu      sync.Mutex // guards the fields below
	changed chan struct{}
	data    []byte
	end     error // after data
}

func newPipe() *pipe { return &pipe{changed: make(chan struct{})} }

// set changes the pipe.
func (p *pipe) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *pipe) Write(data []byte) (n int, err error) {
	p.set(func() {
		if err = p.end; err == nil {
			n, p.data = len(data), append(p.data, data...)
		}
	})
	return n, err
}

func (p *pipe) Read(data []byte) (int, error) {
	for {
		p.mu.Lock()
		n, end, changed := copy(data, p.data), p.end, p.changed
		p.data = p.data[n:]
		p.mu.Unlock()
		if n > 0 || end != nil {
			if n > 0 {
				end = nil
			}
			return n, end
		}
		<-changed
	}
}

// close ends the pipe. The first error counts.
func (p *pipe) close(err error) {
	p.set(func() {
		if p.end == nil {
			p.end = err
		}
	})
}

// side is one side of a connection in memory.
type side struct {
	t *testing.T
	r *bufio.Reader
	w io.Writer
}

// next returns the next message, without its end.
func (s *side) next() string {
	s.t.Helper()
	line, err := s.r.ReadString('\n')
	if err != nil {
		s.t.Fatalf("%q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (s *side) want(messages ...string) {
	s.t.Helper()
	for _, want := range messages {
		if diff := cmp.Diff(want, s.next()); diff != "" {
			s.t.Errorf("message (-want +got):\n%s", diff)
		}
	}
}

func (s *side) send(messages ...string) {
	s.t.Helper()
	for _, message := range messages {
		if _, err := io.WriteString(s.w, message+"\n"); err != nil {
			s.t.Fatal(err)
		}
	}
}

// conn is a connection in memory.
type conn struct {
	in, out *pipe
	agent   *side
}

func (c *conn) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.out.Write(p) }
func (c *conn) CloseWrite()                 { c.out.close(io.EOF) }

func (c *conn) Close() error {
	c.lose(io.ErrClosedPipe)
	return nil
}

// lose ends the connection in both directions.
func (c *conn) lose(err error) {
	c.in.close(err)
	c.out.close(err)
}

func newConn(t *testing.T) *conn {
	in, out := newPipe(), newPipe()
	return &conn{in, out, &side{t, bufio.NewReader(out), in}}
}

// world is a run with an editor, whose connections the test hands out.
type world struct {
	*testing.T
	editor *side
	leave  func()      // ends the editor
	refuse func(error) // lets it take nothing more
	conns  chan *conn
	fails  chan error
	lines  chan string // of the log
	done   chan error
}

// errCut is the loss of a connection.
var errCut = fmt.Errorf("cut: %w", transport.ErrLost)

// start starts a run in a bubble, whose first connection is there.
func start(t *testing.T) (*world, *conn) {
	in, out := newPipe(), newPipe()
	w := &world{t, &side{t, bufio.NewReader(out), in}, func() { in.close(io.EOF) }, out.close, make(chan *conn, 10), make(chan error, 10), make(chan string, 100), make(chan error, 1)}
	first := newConn(t)
	w.conns <- first
	go func() {
		w.done <- reconnect.Run(t.Context(), in, out, reconnect.Options{
			Name: "there", Report: func(line string) { w.lines <- line },
			Dial: func(ctx context.Context, _ bool) (reconnect.Conn, error) {
				select {
				case c := <-w.conns:
					return c, nil
				case err := <-w.fails:
					return nil, err
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			},
		})
		out.close(io.EOF)
	}()
	return w, first
}

// initialize initializes the first connection.
func (w *world) initialize(c *conn) {
	w.editor.send(hello)
	c.agent.want(hello)
	c.agent.send(welcome)
	w.editor.want(welcome)
}

const (
	hello   = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`
	welcome = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`
)

func lost(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"the connection to there is lost; the agent's answer will not come. Load the session again to go on."}}`
}

// A lost connection: each request without an answer gets an error, the next connection begins with the editor's initialize, and what the
// editor answers to the last connection's requests goes nowhere.
func TestRun_Lost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, first := start(t)
		w.initialize(first)
		w.editor.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt"}`, `{"jsonrpc":"2.0","method":"note"}`, `{"jsonrpc":"2.0","id":"zwei","method":"x"}`, `{"jsonrpc":"2.0","id":3,"method":"y"}`)
		for range 4 {
			first.agent.next()
		}
		first.agent.send(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission"}`, `{"id":3,"jsonrpc":"2.0","result":null}`)
		w.editor.want(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission"}`, `{"id":3,"jsonrpc":"2.0","result":null}`)
		first.lose(errCut)
		w.editor.want(lost("1"), lost(`"zwei"`))
		// What the editor sends meanwhile waits. Its answer is to a question that is gone.
		w.editor.send(`{"jsonrpc":"2.0","id":1,"result":{"outcome":"old"}}`, `{"jsonrpc":"2.0","id":4,"method":"session/load"}`)
		second := newConn(t)
		w.conns <- second
		second.agent.want(hello)
		second.agent.send(`{"jsonrpc":"2.0","method":"early"}`, welcome)
		w.editor.want(`{"jsonrpc":"2.0","method":"early"}`)
		second.agent.want(`{"jsonrpc":"2.0","id":4,"method":"session/load"}`)
		// The next connection's questions have the same numbers.
		second.agent.send(`{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"path":"/a"}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
		w.editor.want(
			`{"jsonrpc":"2.0","id":"gjc-connect-1-1","method":"fs/read_text_file","params":{"path":"/a"}}`,
			`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"gjc-connect-1-1"}}`,
		)
		w.editor.send(`{"jsonrpc":"2.0","id":1,"result":{"outcome":"older"}}`, `{"jsonrpc":"2.0","id":"gjc-connect-1-1","result":{"content":"c"}}`)
		second.agent.want(`{"jsonrpc":"2.0","id":1,"result":{"content":"c"}}`)
		second.agent.send(`{"jsonrpc":"2.0","id":4,"result":{}}`)
		w.editor.want(`{"jsonrpc":"2.0","id":4,"result":{}}`)
		w.leave()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		if got := <-w.lines; !strings.Contains(got, "the connection to there is lost: cut") {
			t.Error(got)
		}
		if got := <-w.lines; !strings.Contains(got, "connected to there again") {
			t.Error(got)
		}
	})
}

// An agent that shuts down in order has answered what it had begun: only what came too late gets an error, and its words say so.
func TestRun_Restart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, first := start(t)
		w.initialize(first)
		w.editor.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt"}`, `{"jsonrpc":"2.0","id":2,"method":"session/prompt"}`)
		first.agent.next()
		first.agent.next()
		first.agent.send(`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`)
		w.editor.want(`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`)
		first.lose(transport.ErrRestart)
		w.editor.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"there shuts down and has not begun this request. Load the session again, and send the request again."}}`)
		second := newConn(t)
		w.conns <- second
		second.agent.want(hello)
		second.agent.send(welcome)
		w.editor.send(`{"jsonrpc":"2.0","id":3,"method":"session/load"}`)
		second.agent.want(`{"jsonrpc":"2.0","id":3,"method":"session/load"}`)
		w.leave()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		for _, want := range []string{"there shuts down, and has answered everything that it had begun", "connected to there again"} {
			if got := <-w.lines; !strings.Contains(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
}

// A connection that is lost before it is initialized is followed by another one, but not without end.
func TestRun_LostAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := start(t)
		w.initialize(c)
		for _, err := range []error{errCut, transport.ErrRestart, errCut} {
			c.lose(err)
			c = newConn(t)
			w.conns <- c
			c.agent.want(hello)
		}
		c.agent.send(welcome)
		w.editor.send(`{"jsonrpc":"2.0","method":"note"}`)
		c.agent.want(`{"jsonrpc":"2.0","method":"note"}`)
		for range 11 {
			c.lose(errCut)
			c = newConn(t)
			w.conns <- c
		}
		if err := <-w.done; err == nil || err.Error() != "connecting again: initializing there: cut: the connection is lost" {
			t.Error(err)
		}
		w.leave()
	})
}

// An initialize without an answer begins the next connection, and its answer is the editor's.
func TestRun_LostBeforeInitialized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, first := start(t)
		w.editor.send(hello)
		first.agent.want(hello)
		first.lose(errCut)
		second := newConn(t)
		w.conns <- second
		second.agent.want(hello)
		second.agent.send(welcome)
		w.editor.want(welcome)
		// An initialize that was refused begins nothing.
		second.lose(errCut)
		third := newConn(t)
		w.conns <- third
		third.agent.want(hello)
		third.agent.send(welcome)
		w.editor.send(`{"jsonrpc":"2.0","method":"note"}`)
		third.agent.want(`{"jsonrpc":"2.0","method":"note"}`)
		w.leave()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
	})
}

// When there is no going on, the run ends with an error for people, after the editor's requests have theirs.
func TestRun_Over(t *testing.T) {
	for name, test := range map[string]struct {
		lose error
		dial error  // of the next connection
		says string // the answer to the next initialize
		want string
	}{
		"no time":         {lose: fmt.Errorf("%w: %w", transport.ErrLost, transport.ErrTime), want: "there: the connection is lost: the server was not reached in time"},
		"refused":         {lose: errCut, dial: errors.New("401 Unauthorized"), want: "connecting again: 401 Unauthorized"},
		"another version": {lose: errCut, says: `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2}}`, want: "connecting again: initializing there: the agent now speaks version 2 of the protocol, and spoke 1; restart the agent in the editor"},
		"an error":        {lose: errCut, says: `{"jsonrpc":"2.0","id":0,"error":{"code":1}}`, want: `connecting again: initializing there: the agent answers {"code":1}`},
		"silence":         {lose: errCut, says: `{"jsonrpc":"2.0","method":"x"}`, want: "connecting again: initializing there: it does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, first := start(t)
				w.initialize(first)
				w.editor.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt"}`)
				first.agent.next()
				first.lose(test.lose)
				w.editor.want(lost("1"))
				if test.dial != nil {
					w.fails <- test.dial
				}
				if test.says != "" {
					next := newConn(t)
					w.conns <- next
					next.agent.want(hello)
					next.agent.send(test.says)
				}
				go func() { _, _ = io.Copy(io.Discard, w.editor.r) }()
				if err := <-w.done; err == nil || err.Error() != test.want {
					t.Errorf("%v, want %s", err, test.want)
				}
				w.leave()
			})
		})
	}
}

// The agent may end, and the editor, at any time.
func TestRun_Ends(t *testing.T) {
	t.Run("agent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, first := start(t)
			first.lose(io.EOF)
			if err := <-w.done; !errors.Is(err, reconnect.ErrEnded) {
				t.Error(err)
			}
			w.leave()
		})
	})
	t.Run("editor, and the agent has something to say", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, first := start(t)
			w.initialize(first)
			w.leave()
			if _, err := first.agent.r.ReadString('\n'); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			first.agent.send(`{"last":1}`)
			w.editor.want(`{"last":1}`)
			first.lose(io.EOF)
			if err := <-w.done; err != nil {
				t.Error(err)
			}
		})
	})
	for _, when := range []string{"an agent that does not end", "no connection"} {
		t.Run("editor, with "+when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, first := start(t)
				begin := time.Now()
				if when == "no connection" {
					first.lose(errCut)
					synctest.Wait() // the run looks for another
				}
				w.leave()
				if err := <-w.done; err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took != 1500*time.Millisecond {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
	t.Run("editor takes nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, first := start(t)
			w.editor.r = nil
			w.refuse(errors.New("broken pipe"))
			first.agent.send(`{}`)
			if err := <-w.done; err == nil || !strings.Contains(err.Error(), "writing to the editor: broken pipe") {
				t.Error(err)
			}
			w.leave()
		})
	})
}

// Lines that are no messages pass unchanged.
func TestRun_Odd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := start(t)
		for _, line := range []string{
			`{`, `[]`, `"x"`, `{"id":null}`, `{"id":{},"method":7}`, `{"id":1,"id":2}`, "", "\xff",
			`{"jsonrpc":"2.0","method":"$/cancel_request"}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":7}`,
		} {
			w.editor.send(line)
			c.agent.want(line)
			c.agent.send(line)
			w.editor.want(line)
		}
		w.leave()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
	})
}

// What an editor sends while there is no connection is kept within bounds, and goes on in order.
func TestRun_Kept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := start(t)
		c.lose(errCut)
		var want []string
		for i := range 1000 {
			want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","method":"note","params":{"n":%d}}`, i))
		}
		w.editor.send(want...)
		synctest.Wait()
		c = newConn(t)
		w.conns <- c
		c.agent.want(want...)
		w.leave()
		if err := <-w.done; err != nil {
			t.Error(err)
		}
	})
}
