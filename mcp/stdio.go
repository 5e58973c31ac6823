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

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
)

// connectStdio starts the server's process and connects to its stdin and stdout.
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
	// Cancelling a start would orphan the child: no parent would wait for it.
	p, err := start(context.WithoutCancel(ctx), &proc.Options{Path: path, Args: spec.Args, Dir: cmp.Or(spec.Dir, o.Cwd), Env: env, Stdin: true})
	if err != nil {
		return nil, err
	}
	c.proc = p
	c.server.mu.Lock()
	c.server.stderr = p.Stderr()
	c.server.mu.Unlock()
	conn := newStdioConn(p.Stdout(), p.Stdin(), o.MaxMessage, c.strayLine)
	c.raw = conn
	return conn, nil
}

// maxStray bounds the stray lines of one connection that are logged.
const maxStray = 20

// strayLine handles output that is not a message: it notifies the user once, and logs a few lines of each connection.
func (c *connection) strayLine(n int, line string) {
	line = c.server.secrets.text(text.TruncateBytes(strings.ToValidUTF8(line, "\uFFFD"), 200))
	c.server.mu.Lock()
	first := !c.server.reportedStray
	c.server.reportedStray = true
	c.server.mu.Unlock()
	if first {
		c.server.notice("prints text that is not an MCP message on its standard output; it is ignored", errors.New(line))
	}
	if n <= maxStray {
		c.server.set.opts.Log.Debug().Str("server", c.server.spec.Name).Str("line", line).Msg("mcp: stray output")
	}
}

// stdioConn is a connection with one message per line. It has two goroutines, a reader and a writer, which end with the streams; the
// owner of the process closes these after Close.
type stdioConn struct {
	in    io.ReadCloser
	out   io.WriteCloser
	max   int
	stray func(n int, line string)
	wg    sync.WaitGroup

	incoming   chan jsonrpc.Message
	outgoing   chan *outLine
	unanswered atomic.Int32  // requests of the server that are not answered
	eof        atomic.Bool   // the server has closed its output
	over       chan struct{} // closed when the reader has ended; err is set then
	err        error

	closing sync.Once
	closed  chan struct{}
}

// outLine is a message that waits to be written.
type outLine struct {
	data []byte
	done chan error // buffered
}

// errNotSent is wrapped by the error of a message that the server has not received.
var errNotSent = errors.New("the message could not be sent")

func newStdioConn(in io.ReadCloser, out io.WriteCloser, max int, stray func(int, string)) *stdioConn {
	s := &stdioConn{
		in: in, out: out, max: max, stray: stray,
		incoming: make(chan jsonrpc.Message), outgoing: make(chan *outLine),
		over: make(chan struct{}), closed: make(chan struct{}),
	}
	s.wg.Go(s.read)
	s.wg.Go(s.write)
	return s
}

// SessionID implements sdk.Connection; only HTTP has session IDs.
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

// Write writes a message and returns when it was written. If ctx ends first, the message may still be written.
func (s *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		defer s.unanswered.Add(-1)
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

// Close closes the server's input, which makes the server exit, and unblocks Read and Write.
func (s *stdioConn) Close() error {
	s.closing.Do(func() {
		close(s.closed)
		s.wg.Go(func() { _ = s.out.Close() }) // can block during a write on Windows
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

// read reads lines until the stream ends. It continues after Close, so that the server does not block on a full pipe.
func (s *stdioConn) read() {
	lines, junk := frame.Lines.NewReader(s.in, s.max), 0
	for {
		line, err := lines.Read()
		long, isLong := errors.AsType[*frame.TooLongError](err)
		switch {
		case isLong:
			switch id, ok := answeredBy(long); {
			case ok:
				s.deliver(tooLong(id, long.Size, s.max))
			case maybeAnswer(long):
				// The caller of the request would wait forever.
				s.end(fmt.Errorf("a message of %d bytes exceeds the limit of %d", long.Size, s.max))
				return
			default:
				junk++
				s.stray(junk, fmt.Sprintf("%s (%d bytes, over the limit of %d)", text.TruncateBytes(string(long.Head), 100), long.Size, s.max))
			}
		case err != nil:
			// A last line without its newline is dropped: its writer died inside it.
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = errOutputEnded
			} else {
				err = fmt.Errorf("reading the server's output: %w", err)
			}
			s.eof.Store(true)
			s.end(err)
			return
		default:
			messages, err := decodeLine(line)
			if err != nil {
				junk++
				s.stray(junk, string(line[:min(len(line), 300)]))
				if id, ok := answeredBy(ends(line)); ok && len(messages) == 0 {
					// The caller of the request would wait forever.
					s.deliver(unreadable(id, err))
				}
			}
			for _, msg := range messages {
				s.deliver(msg)
			}
		}
	}
}

// end makes Read return err.
func (s *stdioConn) end(err error) {
	s.err = err
	close(s.over)
	_ = s.in.Close()
}

// errOutputEnded is the error of Read after the server has ended or closed its output.
var errOutputEnded = errors.New("the server closed its output")

// maxUnanswered bounds the requests of a server that have not been answered: a server that sends requests without reading the
// answers must not exhaust the memory.
const maxUnanswered = 256

func (s *stdioConn) deliver(msg jsonrpc.Message) {
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		if s.unanswered.Load() >= maxUnanswered {
			return
		}
		s.unanswered.Add(1)
	}
	select {
	case s.incoming <- msg:
	case <-s.closed:
	}
}

// unreadable returns the error response that replaces an invalid answer.
func unreadable(id int64, err error) jsonrpc.Message {
	rid, _ := jsonrpc.MakeID(float64(id)) // a number is always a valid ID
	return &jsonrpc.Response{ID: rid, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeParseError, Message: "invalid answer of the server: " + text.TruncateBytes(err.Error(), 300),
	}}
}

// tooLong returns the error response that replaces an answer over the limit.
func tooLong(id, size int64, limit int) jsonrpc.Message {
	rid, _ := jsonrpc.MakeID(float64(id)) // a number is always a valid ID
	return &jsonrpc.Response{ID: rid, Error: &jsonrpc.Error{
		Code:    jsonrpc.CodeInternalError,
		Message: fmt.Sprintf("the server's answer has %d bytes, over the limit of %d; ask for less at once", size, limit),
	}}
}

// decodeLine returns the messages in a line: one, or a batch, which the protocols before 2025-06-18 have.
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
