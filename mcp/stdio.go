package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
)

// connectStdio starts the server's process and speaks with it over its pipes.
func (c *connection) connectStdio(ctx context.Context) (sdk.Connection, error) {
	o, spec := &c.server.set.opts, c.server.spec.Stdio
	env := proc.Environ(o.Env, spec.Env...)
	path, err := proc.LookPath(spec.Command, env)
	if err != nil {
		return nil, err
	}
	start := proc.Start
	if o.Children != nil {
		start = o.Children.Start
	}
	// A start that is cut off would leave a child that nobody waits for.
	p, err := start(context.WithoutCancel(ctx), &proc.Options{Path: path, Args: spec.Args, Dir: cmp.Or(spec.Dir, o.Cwd), Env: env, Stdin: true})
	if err != nil {
		return nil, err
	}
	c.proc = p
	c.server.mu.Lock()
	c.server.stderr = p.Stderr()
	c.server.mu.Unlock()
	conn := newStdioConn(p.Stdout(), p.Stdin(), o.MaxMessage, c.junk)
	c.raw = conn
	return conn, nil
}

// maxJunk is how many stray lines of one connection are logged.
const maxJunk = 20

// junk tells of output that is no message: the user once, the log a few times for each connection.
func (c *connection) junk(n int, line string) {
	line = c.server.secrets.text(text.TruncateBytes(strings.ToValidUTF8(line, "\uFFFD"), 200))
	c.server.mu.Lock()
	first := !c.server.strayed
	c.server.strayed = true
	c.server.mu.Unlock()
	if first {
		c.server.notice("prints other things than MCP messages on its standard output; they are skipped", errors.New(line))
	}
	if n <= maxJunk {
		c.server.set.opts.Log.Debug().Str("server", c.server.spec.Name).Str("line", line).Msg("mcp: stray output")
	}
}

// stdioConn is a connection of one message a line. It has two goroutines, a reader and a writer, which end when the
// streams do; the owner of the streams (the process) sees to that after Close.
type stdioConn struct {
	in   io.ReadCloser
	out  io.WriteCloser
	max  int
	junk func(n int, line string)
	wg   sync.WaitGroup

	incoming chan jsonrpc.Message
	outgoing chan *outLine
	asked    atomic.Int32  // requests of the server without an answer
	eof      atomic.Bool   // the server has closed its output
	over     chan struct{} // closed when the reader has ended; err is set then
	err      error

	closing sync.Once
	closed  chan struct{}
}

// outLine is one message on its way to the server.
type outLine struct {
	data []byte
	done chan error // buffered
}

// errNotSent marks a message of which the server has seen nothing.
var errNotSent = errors.New("the message was not sent")

func newStdioConn(in io.ReadCloser, out io.WriteCloser, max int, junk func(int, string)) *stdioConn {
	s := &stdioConn{
		in: in, out: out, max: max, junk: junk,
		incoming: make(chan jsonrpc.Message), outgoing: make(chan *outLine),
		over: make(chan struct{}), closed: make(chan struct{}),
	}
	s.wg.Go(s.read)
	s.wg.Go(s.write)
	return s
}

// SessionID is for HTTP only.
func (s *stdioConn) SessionID() string { return "" }

func (s *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-s.incoming:
		return msg, nil
	case <-s.closed:
		return nil, io.EOF
	case <-s.over:
		return nil, s.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Write returns when the message is in the pipe. If ctx ends first, the message may still get there, whole.
func (s *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		defer s.asked.Add(-1)
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	line := &outLine{data: append(data, '\n'), done: make(chan error, 1)}
	select {
	case s.outgoing <- line:
	case <-s.closed:
		return fmt.Errorf("%w: %w", errNotSent, io.ErrClosedPipe)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-line.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close hangs up: it closes the server's input, which asks it to end, and frees Read and Write.
func (s *stdioConn) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		s.wg.Go(func() { _ = s.out.Close() }) // can block behind a write on Windows
	})
	return nil
}

func (s *stdioConn) write() {
	for {
		select {
		case line := <-s.outgoing:
			n, err := s.out.Write(line.data)
			if err != nil && n == 0 {
				err = fmt.Errorf("%w: %w", errNotSent, err)
			}
			line.done <- err
		case <-s.closed:
			return
		}
	}
}

// read takes lines until the stream ends. Behind Close it reads on, so that a server that still has something to say
// is not stuck with a full pipe.
func (s *stdioConn) read() {
	lines, junk := newLineReader(s.in, s.max), 0
	for {
		line, long, err := lines.next()
		switch {
		case err != nil:
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("reading the server's output: %w", err)
			} else {
				err = errOutputEnded
			}
			s.eof.Store(true)
			s.end(err)
			return
		case long != nil:
			switch id, ok := long.answers(); {
			case ok:
				s.deliver(tooLong(id, long.size, s.max))
			case long.maybeAnswer():
				// Whoever waits for it would wait for ever.
				s.end(fmt.Errorf("a message of %d bytes is over the limit of %d", long.size, s.max))
				return
			default:
				junk++
				s.junk(junk, fmt.Sprintf("%s (%d bytes, over the limit of %d)", text.TruncateBytes(string(long.head), 100), long.size, s.max))
			}
		case len(line) > 0:
			messages, err := decodeLine(line)
			if err != nil {
				junk++
				s.junk(junk, string(line[:min(len(line), 300)]))
				if id, ok := ends(line).answers(); ok && len(messages) == 0 {
					// Whoever waits for it would wait for ever.
					s.deliver(unreadable(id, err))
				}
			}
			for _, msg := range messages {
				s.deliver(msg)
			}
		}
	}
}

// end tells Read that nothing more will come.
func (s *stdioConn) end(err error) {
	s.err = err
	close(s.over)
	_ = s.in.Close()
}

// errOutputEnded is the read error of a server that has ended or closed its output.
var errOutputEnded = errors.New("the server closed its output")

// maxUnanswered is how many requests of a server may wait for an answer. One that asks without an end and does not read
// would fill the memory with answers.
const maxUnanswered = 256

func (s *stdioConn) deliver(msg jsonrpc.Message) {
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		if s.asked.Load() >= maxUnanswered {
			return
		}
		s.asked.Add(1)
	}
	select {
	case s.incoming <- msg:
	case <-s.closed:
	}
}

// unreadable is the answer that stands for one that is no message.
func unreadable(id int64, err error) jsonrpc.Message {
	rid, _ := jsonrpc.MakeID(float64(id)) // a number is always an id
	return &jsonrpc.Response{ID: rid, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeParseError, Message: "the server's answer can not be read: " + text.TruncateBytes(err.Error(), 300),
	}}
}

// tooLong is the answer that stands for one over the limit.
func tooLong(id, size int64, limit int) jsonrpc.Message {
	rid, _ := jsonrpc.MakeID(float64(id)) // a number is always an id
	return &jsonrpc.Response{ID: rid, Error: &jsonrpc.Error{
		Code:    jsonrpc.CodeInternalError,
		Message: fmt.Sprintf("the server's answer has %d bytes, over the limit of %d; ask for less at once", size, limit),
	}}
}

// decodeLine returns the messages in a line: one, or several in a batch, which the protocols before 2025-06-18 know.
func decodeLine(line []byte) ([]jsonrpc.Message, error) {
	if line[0] != '[' {
		msg, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			return nil, err
		}
		return []jsonrpc.Message{msg}, nil
	}
	var batch []jsonx.Raw
	if err := jsonx.Unmarshal(line, &batch); err != nil {
		return nil, err
	}
	var messages []jsonrpc.Message
	for _, raw := range batch {
		msg, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			return messages, err
		}
		messages = append(messages, msg)
	}
	return messages, nil
}
