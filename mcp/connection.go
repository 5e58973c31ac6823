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
	// firstStateless is the protocol version from which on there is no handshake.
	firstStateless = "2026-07-28"
	// lastWithHandshake is offered to servers that break over the stateless protocol.
	lastWithHandshake = "2025-11-25"
	// stderrInError is how much of a server's complaints an error quotes, in bytes.
	stderrInError = 2 << 10
	// exitSettles is how long the exit status of a process whose output has ended is waited for. It comes at once, but for a
	// busy machine and a process that has closed its output only.
	exitSettles = 2 * time.Second
)

// connection is one life of a server: from the start of its process or the first request up to its end.
type connection struct {
	server *server
	// ctx is the life: of what the transport has open. work ends before it, with all requests of ours and the server's.
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   context.Context
	rest   context.CancelCauseFunc

	// The parts below are set while dialling, by the transport.
	raw  sdk.Connection
	proc *proc.Process // nil but for stdio
	http *httpClient   // nil but for HTTP

	session   *sdk.ClientSession
	protocol  string
	stateless bool
	info      string
	// dead is closed when the session is over, for whatever reason.
	dead chan struct{}
	err  error // why, set before dead is closed

	relist chan struct{}
	stale  atomic.Uint32 // listKind bits

	panicked atomic.Bool // the user was told of one

	mu        sync.Mutex // guards what follows
	calls     map[string]*activeCall
	nextCall  int64
	questions map[*question]bool // open
	asked     []*askedURL        // URLs that the user was sent to, the oldest first
}

// dial connects to the server: first as the newest protocol wants it and, where the server takes that as a reason to
// hang up, once more with the handshake of the older ones.
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
	// errHungUp marks a connection that broke during the start.
	errHungUp = errors.New("the server hung up")
	errEnded  = errors.New("the connection is closed")
)

// dialVersion makes one attempt. An empty version is the newest.
func (s *server) dialVersion(ctx context.Context, version string) (*connection, error) {
	c := &connection{
		server: s, dead: make(chan struct{}), relist: make(chan struct{}, 1),
		calls: make(map[string]*activeCall), questions: make(map[*question]bool),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.work, c.rest = context.WithCancelCause(c.ctx)
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

// connect begins the session.
func (c *connection) connect(version string) (session *sdk.ClientSession, err error) {
	defer c.rescue("the start", &err)
	return c.client().Connect(c.ctx, c.transport(), &sdk.ClientSessionOptions{ProtocolVersion: version})
}

// watch tells of the end of the session. It ends with the session, which end sees to.
func (c *connection) watch() {
	c.err = c.session.Wait()
	close(c.dead)
	c.cancel(errEnded)
}

func (c *connection) isDead() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// deathCause is why a dead connection is dead.
func (c *connection) deathCause() error {
	if c.err != nil {
		return c.err
	}
	return errors.New("the server closed the connection")
}

// explain adds to err what is known of the server's end, and takes secrets out.
func (c *connection) explain(err error) error {
	if p := c.proc; p != nil {
		// Where the pipe broke, the process is ending as a rule.
		settle := time.NewTimer(exitSettles)
		defer settle.Stop()
		if c.raw != nil && c.raw.(*stdioConn).eof.Load() {
			select {
			case <-p.Done():
			case <-settle.C:
			case <-c.server.set.ctx.Done():
			}
		}
		select {
		case <-p.Done():
			state, _ := p.Wait(context.Background())
			err = fmt.Errorf("%w; the process %s", err, state)
		default:
		}
		if complaints := strings.TrimSpace(p.Stderr().String()); complaints != "" {
			err = fmt.Errorf("%w; its stderr ends:\n%s", err, text.Tail(complaints, stderrInError))
		}
	}
	if c.http != nil {
		err = c.http.explain(err)
	}
	return c.server.secrets.error(err)
}

// end takes the connection down and returns when nothing of it is left; the time for a polite end is bounded. It is
// called once, by the owner.
func (c *connection) end() {
	bye, cancel := c.server.set.goodbye()
	defer cancel()
	c.rest(cmp.Or(context.Cause(c.server.set.ctx), errEnded))
	closed := make(chan struct{})
	go func() { // ends when the transport is closed, which the lines below force
		defer close(closed)
		if c.session != nil {
			_ = c.session.Close()
		} else if c.raw != nil {
			_ = c.raw.Close()
		}
	}()
	if c.http != nil {
		wait(bye, closed) // the DELETE of the session, which the end of ctx cuts off
	}
	c.cancel(errEnded)
	if c.proc != nil {
		if err := c.proc.Shutdown(bye, nil); err != nil {
			c.server.set.opts.Log.Error().Str("server", c.server.spec.Name).Err(err).Msg("mcp: a server can not be killed")
		}
	}
	if c.raw != nil {
		_ = c.raw.Close()
	}
	<-closed
	if c.session != nil {
		<-c.dead
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
