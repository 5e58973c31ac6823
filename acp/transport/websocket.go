package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// isUpgrade reports whether a request asks for a WebSocket.
func isUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// upgrade serves a connection over WebSocket until it ends.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) {
	id, leave, ok := s.enter()
	if !ok {
		fail(w, http.StatusServiceUnavailable, tooMany)
		return
	}
	defer leave()
	w.Header().Set(headerConnection, id)
	s.setAffinity(w, r)
	// It refuses a page of another origin.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has answered
	}
	ws.SetReadLimit(s.opts.MaxMessage)
	c := newSocket(lifetime{s.ctx, r.Context()}, ws, s.opts.Stall)
	defer c.close(websocket.StatusNormalClosure, "")
	go c.keepAlive(s.opts.KeepAlive, s.opts.Stall)
	if err := s.opts.Serve(c.ctx, c, c.writer()); err != nil {
		c.close(websocket.StatusInternalError, "the connection has failed")
	}
}

// socket is a WebSocket as a pair of streams of lines.
type socket struct {
	ws    *websocket.Conn
	ctx   context.Context //nolint:containedctx // ends with the socket
	end   context.CancelCauseFunc
	stall time.Duration
	rest  []byte // of the message that is being read; Read's own
}

func newSocket(ctx context.Context, ws *websocket.Conn, stall time.Duration) *socket {
	c := &socket{ws: ws, stall: stall}
	c.ctx, c.end = context.WithCancelCause(ctx)
	return c
}

// Read implements [io.Reader]. It returns whole messages as lines.
func (c *socket) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		kind, message, err := c.ws.Read(c.ctx)
		switch {
		case err != nil && (isClosed(err) || errors.Is(context.Cause(c.ctx), io.EOF)):
			return 0, io.EOF
		case err != nil:
			return 0, err
		case kind != websocket.MessageText:
			c.close(websocket.StatusUnsupportedData, "ACP has text messages only")
			return 0, errors.New("the client has sent a binary message")
		}
		c.rest = oneLine(message)
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// isClosed reports whether the peer has closed the socket as it should, or is gone.
func isClosed(err error) bool {
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return true
	default:
		return errors.Is(err, io.EOF)
	}
}

// writer returns the other direction: each line becomes a message.
func (c *socket) writer() io.Writer {
	return &lineWriter{send: func(line []byte) error {
		ctx, cancel := context.WithTimeoutCause(c.ctx, c.stall, fmt.Errorf("the peer has read nothing for %s", c.stall))
		defer cancel()
		if err := c.ws.Write(ctx, websocket.MessageText, line); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		return nil
	}}
}

// keepAlive ends a socket whose peer does not answer.
func (c *socket) keepAlive(every, patience time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, patience)
		err := c.ws.Ping(ctx)
		cancel()
		if err != nil {
			c.end(fmt.Errorf("the peer does not answer: %w", err))
			return
		}
	}
}

// close ends the socket. The first call counts.
func (c *socket) close(status websocket.StatusCode, why string) {
	_ = c.ws.Close(status, why) // it is over in any case
	c.end(io.EOF)
}

// DialOptions configure [Dial].
type DialOptions struct {
	// Client makes the request of the upgrade. If nil, [http.DefaultClient].
	Client *http.Client
	Header http.Header
	// MaxMessage, Stall and KeepAlive are those of [Options].
	MaxMessage       int64
	Stall, KeepAlive time.Duration
}

// Conn is a client's connection over WebSocket. Read returns lines, and Write takes lines.
type Conn struct {
	io.Writer
	*socket
	// ID is the connection's ID, by which the server's log names it.
	ID string
}

// Dial connects to the endpoint at an address "ws://…" or "wss://…". The error of a server that refuses has its words. The caller closes the
// connection.
func Dial(ctx context.Context, url string, o DialOptions) (*Conn, error) {
	ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: o.Client, HTTPHeader: o.Header, CompressionMode: websocket.CompressionDisabled}) //nolint:bodyclose // the package closes it
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols && resp.Body != nil {
			said, _ := io.ReadAll(io.LimitReader(resp.Body, 1024)) // what there is
			return nil, fmt.Errorf("%s answers %s: %s", url, resp.Status, strings.TrimSpace(string(said)))
		}
		return nil, fmt.Errorf("connecting to %s: %w", url, err)
	}
	defaults := Options{MaxMessage: o.MaxMessage, Stall: o.Stall, KeepAlive: o.KeepAlive}.filled()
	ws.SetReadLimit(defaults.MaxMessage)
	c := newSocket(context.WithoutCancel(ctx), ws, defaults.Stall)
	go c.keepAlive(defaults.KeepAlive, defaults.Stall)
	return &Conn{c.writer(), c, resp.Header.Get(headerConnection)}, nil
}

// Close says farewell to the server and ends the connection.
func (c *Conn) Close() error {
	c.close(websocket.StatusNormalClosure, "")
	return nil
}
