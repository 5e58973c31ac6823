package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// DialOptions configure [Dial].
type DialOptions struct {
	Header http.Header
	// MaxMessage, MaxBuffered, Stall and KeepAlive are those of [Options].
	MaxMessage, MaxBuffered int64
	Stall, KeepAlive        time.Duration
	// Retry bounds the time that the connection has to come back after its socket broke. If zero, it ends with its socket.
	Retry time.Duration
	// Backoff is about the time before the first attempt to come back, and doubles; if zero, 200 ms. It is never more than ten seconds.
	Backoff time.Duration
	// OnBreak and OnReturn, if not nil, are called when the socket breaks, and when the connection has another. They must return soon.
	OnBreak  func(error)
	OnReturn func()

	client *http.Client // makes the requests of the upgrades, and keeps the cookies
}

const (
	maxBackoff = 10 * time.Second
	// dialTime bounds an attempt to connect.
	dialTime = 15 * time.Second
)

// ErrLost is in the error of a connection that cannot come back. Messages in both directions may be lost.
var ErrLost = errors.New("the connection is lost")

// ErrTime is in the error of an attempt that has taken as long as [DialOptions].Retry allows.
var ErrTime = errors.New("the server was not reached in time")

// RefusedError is the answer of a server that refuses a connection.
type RefusedError struct {
	URL, Status string
	Code        int
	Words       string // the server's
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s answers %s: %s", e.URL, e.Status, e.Words)
}

// final reports whether the server would refuse the next attempt, too. It is not by a bad request: this one may have been cut off.
func (e *RefusedError) final() bool {
	switch e.Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict, http.StatusGone,
		http.StatusMisdirectedRequest, http.StatusUpgradeRequired:
		return true
	default:
		return false
	}
}

// Conn is a client's connection over WebSocket. Read returns lines, and Write takes lines. A Write only means that the line is kept until it can
// be sent. Read returns [io.EOF] after the server has ended the connection as it should.
type Conn struct {
	io.Writer

	link *link
	opts DialOptions
	url  string
	key  string
	done chan struct{}
	// ID is the connection's ID, by which the server's log names it.
	ID string
}

// Dial connects to the endpoint at an address "ws://…" or "wss://…". The error of a server that refuses is a [RefusedError]. With Retry, the
// connection survives the socket if the server allows it. The caller closes the connection; the end of ctx does not.
func Dial(ctx context.Context, url string, o DialOptions) (*Conn, error) {
	o = o.filled()
	c := &Conn{opts: o, url: url, done: make(chan struct{})}
	header := http.Header{}
	if o.Retry > 0 {
		header.Set(headerResume, resumeNew)
	}
	ws, answer, err := c.dial(ctx, header)
	if err != nil {
		return nil, err
	}
	c.ID = answer.Get(headerConnection)
	if o.Retry > 0 {
		c.key = answer.Get(headerResume)
	}
	c.link = newLink(context.WithoutCancel(ctx), c.key == "", o.MaxBuffered, o.Stall)
	c.Writer = c.link.writer()
	socket, _, err := c.link.attach(0)
	if err != nil {
		return nil, err
	}
	go c.keep(socket, ws)
	return c, nil
}

// Redial is like [Dial], but tries again until Retry has passed, unless the server refuses for good.
func Redial(ctx context.Context, url string, o DialOptions) (*Conn, error) {
	o = o.filled()
	var c *Conn
	err := again(ctx, &o, func(ctx context.Context) (err error) {
		c, err = Dial(ctx, url, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// filled returns the options with the defaults.
func (o DialOptions) filled() DialOptions {
	defaults := Options{MaxMessage: o.MaxMessage, MaxBuffered: o.MaxBuffered, Stall: o.Stall, KeepAlive: o.KeepAlive}.filled()
	o.MaxMessage, o.MaxBuffered, o.Stall, o.KeepAlive = defaults.MaxMessage, defaults.MaxBuffered, defaults.Stall, defaults.KeepAlive
	if o.Backoff == 0 {
		o.Backoff = 200 * time.Millisecond
	}
	jar, _ := cookiejar.New(nil) // it returns no error
	o.client = &http.Client{Jar: jar, Transport: wholeTripper{http.DefaultTransport}}
	return o
}

// dial opens a socket.
func (c *Conn) dial(ctx context.Context, header http.Header) (*websocket.Conn, http.Header, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, min(dialTime, c.opts.Stall), errors.New("the server does not answer"))
	defer cancel()
	maps.Copy(header, c.opts.Header)
	ws, resp, err := websocket.Dial(ctx, c.url, &websocket.DialOptions{HTTPClient: c.opts.client, HTTPHeader: header, CompressionMode: websocket.CompressionDisabled}) //nolint:bodyclose // the package closes it
	switch {
	case err == nil:
		ws.SetReadLimit(c.opts.MaxMessage)
		return ws, resp.Header, nil
	case resp != nil && resp.StatusCode != http.StatusSwitchingProtocols && resp.Body != nil:
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1024)) // what there is
		return nil, nil, &RefusedError{URL: c.url, Status: resp.Status, Code: resp.StatusCode, Words: strings.TrimSpace(string(said))}
	case context.Cause(ctx) != nil:
		return nil, nil, fmt.Errorf("connecting to %s: %w", c.url, context.Cause(ctx))
	default:
		return nil, nil, fmt.Errorf("connecting to %s: %w", c.url, err)
	}
}

// keep carries messages over one socket after another, until the connection ends.
func (c *Conn) keep(socket int, ws *websocket.Conn) {
	defer close(c.done)
	l := c.link
	for {
		err := l.run(socket, ws, c.opts.KeepAlive)
		l.detach(socket)
		if l.ctx.Err() != nil {
			return
		}
		if c.key == "" {
			l.end(fmt.Errorf("%w: %w", ErrLost, err))
			return
		}
		if c.opts.OnBreak != nil {
			c.opts.OnBreak(err)
		}
		if err := again(l.ctx, &c.opts, func(ctx context.Context) (err error) {
			socket, ws, err = c.comeBack(ctx)
			return err
		}); err != nil {
			l.end(fmt.Errorf("%w: %w", ErrLost, err))
			return
		}
		if c.opts.OnReturn != nil {
			c.opts.OnReturn()
		}
	}
}

// comeBack opens another socket of the connection.
func (c *Conn) comeBack(ctx context.Context) (socket int, ws *websocket.Conn, err error) {
	ws, answer, err := c.dial(ctx, http.Header{headerConnection: {c.ID}, headerResume: {c.key}, headerReceived: {formatReceived(c.link.count())}})
	if err != nil {
		return 0, nil, err
	}
	received, err := parseReceived(answer)
	if err == nil {
		socket, _, err = c.link.attach(received)
	}
	if err != nil {
		_ = ws.CloseNow() // the error says more
		return 0, nil, &RefusedError{URL: c.url, Status: "unexpectedly", Code: http.StatusConflict, Words: err.Error()}
	}
	return socket, ws, nil
}

// again tries to connect, with growing pauses, until it can, the server refuses for good, or the time is over.
func again(ctx context.Context, o *DialOptions, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Retry, ErrTime)
	defer cancel()
	for pause, last := o.Backoff, error(nil); ; pause = min(2*pause, maxBackoff) {
		wait := time.NewTimer(pause/2 + rand.N(pause/2+1)) //nolint:gosec // spreads the clients of a server
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			if last == nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
		err := try(ctx)
		if refused, ok := errors.AsType[*RefusedError](err); err == nil || ok && refused.final() {
			return err
		}
		last = err
	}
}

// CloseWrite ends the direction to the server, after what has been written.
func (c *Conn) CloseWrite() {
	c.link.closeWrite()
	if c.key == "" { // the end of the socket is the only one there is
		c.link.flush(c.link.ctx)
		c.link.end(errDone)
	}
}

// Close ends the connection, and waits until its socket is closed. What has been written and not sent is lost.
func (c *Conn) Close() error {
	c.link.end(errDone)
	<-c.done
	return nil
}

// Read implements [io.Reader].
func (c *Conn) Read(p []byte) (int, error) { return c.link.Read(p) }
