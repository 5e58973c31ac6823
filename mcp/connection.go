package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// firstStateless is the first protocol version without a handshake.
	firstStateless = "2026-07-28"
	// lastWithHandshake is offered to servers that hang up on a request of the stateless protocol.
	lastWithHandshake = "2025-11-25"
	// stderrInError bounds the part of a server's stderr in an error, in bytes.
	stderrInError = 2 << 10
	// exitTimeout bounds the wait for the exit status of a process that has closed its output. It is long only for a busy
	// machine.
	exitTimeout = 2 * time.Second
)

// connection is one connection to a server, from the start of its process or the first request to its end.
type connection struct {
	server  *server
	ctx     context.Context //nolint:containedctx // bounds the transport
	cancel  context.CancelCauseFunc
	work    context.Context //nolint:containedctx // bounds the requests of both sides; ends before ctx
	endWork context.CancelCauseFunc

	// The transport sets the fields below.
	raw  sdk.Connection
	proc *proc.Process // only for stdio
	http *httpClient   // only for HTTP

	session *sdk.ClientSession
	peer
	// done is closed when the session has ended.
	done chan struct{}
	err  error // why it has ended; set before done is closed

	relist chan struct{}
	stale  atomic.Uint32 // listKind bits

	panicked atomic.Bool // the user was notified of a panic

	mu     sync.Mutex // guards the fields below
	calls  callTable
	elicit elicitState
}

// peer holds what the server sent in its answer to initialize.
type peer struct {
	protocol  string // the version
	stateless bool
	info      string // name and version
}

// callTable has the calls under way, by progress token.
type callTable struct {
	active map[string]*activeCall
	next   int64
}

// elicitState has the open questions to the user.
type elicitState struct {
	questions map[*question]bool
	urls      []*urlElicitation // not completed, the oldest first
}

// dial connects to the server with the newest protocol. If the server hangs up, dial retries with the handshake of older protocols.
func (s *server) dial(ctx context.Context) (*connection, error) {
	version := ""
	if s.legacy {
		version = lastWithHandshake
	}
	c, err := s.dialVersion(ctx, version)
	if err == nil || s.legacy || ctx.Err() != nil || !errors.Is(err, errHungUp) {
		return c, err
	}
	c, second := s.dialVersion(ctx, lastWithHandshake)
	if second != nil {
		return nil, err
	}
	s.legacy = true
	return c, nil
}

var (
	// errHungUp is wrapped by the error of a connection that broke during the start.
	errHungUp = errors.New("the server hung up")
	errEnded  = errors.New("the connection is closed")
)

// dialVersion makes one attempt with a protocol version; empty for the newest.
func (s *server) dialVersion(ctx context.Context, version string) (*connection, error) {
	c := &connection{
		server: s, done: make(chan struct{}), relist: make(chan struct{}, 1),
		calls: callTable{active: make(map[string]*activeCall)}, elicit: elicitState{questions: make(map[*question]bool)},
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.work, c.endWork = context.WithCancelCause(c.ctx)
	defer context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })()
	timeout := s.initTimeout()
	watchdog := time.AfterFunc(timeout, func() {
		c.cancel(fmt.Errorf("it did not answer within %s", timeout))
	})
	session, err := c.connect(version)
	watchdog.Stop()
	if session != nil {
		c.session = session
		go c.watch()
	}
	if err != nil || c.ctx.Err() != nil {
		if cause := context.Cause(c.ctx); cause != nil && !errors.Is(cause, errEnded) {
			err = cause
		} else if c.raw != nil && (s.spec.Stdio != nil || s.spec.HTTP != nil && s.spec.HTTP.SSE) {
			err = fmt.Errorf("%w: %w", errHungUp, errors.Join(err))
		}
		err = c.explain(err)
		c.end()
		return nil, err
	}
	if init := session.InitializeResult(); init != nil {
		c.protocol, c.stateless = init.ProtocolVersion, init.ProtocolVersion >= firstStateless
		if init.ServerInfo != nil {
			c.info = text.TruncateBytes(strings.TrimSpace(init.ServerInfo.Name+" "+init.ServerInfo.Version), 100)
		}
	}
	return c, nil
}

// connect starts the session.
func (c *connection) connect(version string) (session *sdk.ClientSession, err error) {
	defer c.rescue("the start", &err)
	if err := c.server.completeHeaders(c.ctx); err != nil {
		return nil, err
	}
	return c.client().Connect(c.ctx, c.transport(), &sdk.ClientSessionOptions{ProtocolVersion: version})
}

// watch waits for the end of the session and records it.
func (c *connection) watch() {
	c.err = c.session.Wait()
	close(c.done)
	c.cancel(errEnded)
}

func (c *connection) isDone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// closeError returns why the connection has ended.
func (c *connection) closeError() error {
	if c.err != nil {
		return c.err
	}
	return errors.New("the server closed the connection")
}

// explain adds to err how the server ended, and removes secrets.
func (c *connection) explain(err error) error {
	if p := c.proc; p != nil {
		// After the pipe broke, the process usually exits soon.
		timeout := time.NewTimer(exitTimeout)
		defer timeout.Stop()
		if c.raw != nil && c.raw.(*stdioConn).eof.Load() {
			select {
			case <-p.Done():
			case <-timeout.C:
			case <-c.server.ctx.Done():
			}
		}
		select {
		case <-p.Done():
			state, _ := p.Wait(context.Background())
			err = fmt.Errorf("%w; the process %s", err, state)
		default:
		}
		if stderr := strings.TrimSpace(p.Stderr().String()); stderr != "" {
			err = fmt.Errorf("%w; its stderr ends:\n%s", err, text.Tail(stderr, stderrInError))
		}
	}
	if c.http != nil {
		err = c.http.explain(err)
	}
	return c.server.secrets.error(err)
}

// end closes the connection and waits until its goroutines and its process have ended. The time for a graceful shutdown is bounded.
// Only the owner calls end, and only once.
func (c *connection) end() {
	ctx, cancel := c.server.set.closeContext()
	defer cancel()
	c.endWork(cmp.Or(context.Cause(c.server.ctx), errEnded))
	closed := make(chan struct{})
	go func() { // ends when the transport is closed below
		defer close(closed)
		if c.session != nil {
			_ = c.session.Close()
		} else if c.raw != nil {
			_ = c.raw.Close()
		}
	}()
	if c.http != nil {
		wait(ctx, closed) // the DELETE request of the session
	}
	c.cancel(errEnded)
	if c.proc != nil {
		if err := c.proc.Shutdown(ctx, nil); err != nil {
			c.server.set.opts.Log.Error().Str("server", c.server.spec.Name).Err(err).Msg("mcp: cannot kill a server")
		}
	}
	if c.raw != nil {
		_ = c.raw.Close()
	}
	<-closed
	if c.session != nil {
		<-c.done
	}
	if c.http != nil {
		c.http.close()
	}
	if ch, ok := c.raw.(*channelConn); ok {
		c.server.channel.CompareAndSwap(ch, nil)
		ch.wg.Wait()
	}
	if std, ok := c.raw.(*stdioConn); ok {
		std.wg.Wait()
	}
}

func wait(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}
