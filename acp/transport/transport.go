// Package transport carries ACP over the network: by WebSocket and by Streamable HTTP, at one endpoint, as the protocol's proposal for
// remote transports has them.
//
// The connection is the same as over stdio. The package only turns messages into lines and back, and decides by which stream of HTTP a
// message reaches the client. It knows neither users nor TLS; what is in front of it does.
//
// A connection over WebSocket survives its socket if the client is a [Conn]: docs/serve.md describes the extension.
package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// Path is the path of the endpoint.
const Path = "/acp"

// The headers that name a connection, and a session of it.
const (
	headerConnection = "Acp-Connection-Id"
	headerSession    = "Acp-Session-Id"
)

// affinityCookie names the server that has a connection, for a load balancer.
const affinityCookie = "acp-affinity"

// Options configure a [Server]. Only Serve is required.
type Options struct {
	// Serve serves one connection over stdio's stand-ins: r has what the client sends, one message in each line, and w is for the other
	// direction. It returns when the client is gone, and soon after ctx ends. ctx has the values of the context of the request that began
	// the connection. An error that wraps [ErrRestart] ends the connection after the client has received what was written.
	Serve func(ctx context.Context, r io.Reader, w io.Writer) error
	// MaxMessage bounds a message of the client's, in bytes; if zero, 64 MiB.
	MaxMessage int64
	// MaxConnections bounds the connections at a time; if zero, 256. If there are too many, one ends whose client is away.
	MaxConnections int
	// MaxBuffered bounds the bytes that wait for a client of Streamable HTTP; if zero, 64 MiB. Stall bounds the time that the server waits
	// for a client that reads nothing, before it ends the connection; if zero, a minute.
	MaxBuffered int64
	Stall       time.Duration
	// Idle bounds the time that a connection of Streamable HTTP stays open without a stream or a request, and the time until a WebSocket's
	// first request, "initialize"; if zero, five minutes.
	Idle time.Duration
	// Resume bounds the time that a client of [Dial] has to come back after its socket broke; if zero, two minutes; if negative, it cannot.
	Resume time.Duration
	// Owner returns the name of the one who makes a request, which the layer in front has authenticated. A connection is known only to the
	// owner of its first request. If nil, all requests have one owner.
	Owner func(*http.Request) string
	// KeepAlive is the time between two signs of life to an idle client; if zero, 20 seconds.
	KeepAlive time.Duration
}

// Server serves ACP to clients over the network. It is an [http.Handler] for [Path].
type Server struct {
	opts Options
	id   string          // of this server, for the affinity of clients
	ctx  context.Context //nolint:containedctx // ends the connections, which no request bounds
	end  context.CancelCauseFunc
	all  sync.WaitGroup // connections

	mu      sync.Mutex             // guards the fields below
	open    map[string]*connection // by Streamable HTTP
	remotes map[string]*remote     // by WebSocket
	places  map[*place]bool
	count   int // of the places that are not free
	// draining refuses new connections.
	draining, closed bool
}

// ErrRestart reports a connection that the server has ended in order, because it shuts down: the client has received everything, and begins
// another connection with the next server.
var ErrRestart = errors.New("the server is shutting down; connect again")

// errClosed is the cause that ends connections when the server closes.
var errClosed = errors.New("the server is closing")

// filled returns the options with the defaults.
func (opts Options) filled() Options {
	set := func(to *time.Duration, d time.Duration) {
		if *to == 0 {
			*to = d
		}
	}
	set(&opts.Stall, time.Minute)
	set(&opts.Idle, 5*time.Minute)
	set(&opts.KeepAlive, 20*time.Second)
	set(&opts.Resume, 2*time.Minute)
	if opts.Owner == nil {
		opts.Owner = func(*http.Request) string { return "" }
	}
	if opts.MaxMessage == 0 {
		opts.MaxMessage = 64 << 20
	}
	if opts.MaxBuffered == 0 {
		opts.MaxBuffered = 64 << 20
	}
	if opts.MaxConnections == 0 {
		opts.MaxConnections = 256
	}
	return opts
}

// NewServer returns a server. The caller closes it.
func NewServer(opts Options) *Server {
	opts = opts.filled()
	s := &Server{opts: opts, id: rand.Text(), open: make(map[string]*connection), remotes: make(map[string]*remote), places: make(map[*place]bool)}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

// Close ends all connections and waits until they have ended, or ctx ends.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(errClosed)
	done := make(chan struct{})
	go func() { // ends with the connections, whose ends the context has begun
		defer close(done)
		s.all.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// place is that of a connection among those that the server allows.
type place struct {
	server *Server
	id     string
	left   chan struct{} // closed when the connection has ended
	free   bool          // guarded by server.mu
	client waitingRoom   // guarded by server.mu; nil while the connection has not begun
}

// waitingRoom is a connection whose client may be away.
type waitingRoom interface {
	// away reports whether, and since when, the client is away.
	away() (since time.Time, ok bool)
	giveUp(cause error)
}

// Drain refuses new connections from now on. Those that exist go on, and their clients can come back.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
}

// Drained waits until the connections have ended whose clients are there, or ctx ends. [Options].Serve ends them.
func (s *Server) Drained(ctx context.Context) {
	s.mu.Lock()
	left := make(map[*place]waitingRoom)
	for p := range s.places {
		if p.client != nil && !p.free {
			left[p] = p.client
		}
	}
	s.mu.Unlock()
	for p, client := range left {
		if _, away := client.away(); away {
			continue
		}
		select {
		case <-p.left:
		case <-ctx.Done():
			return
		}
	}
}

// enter takes a place for a new connection, which leaves it when it has ended. It returns nil if there is none, or if the server is closing. A
// connection whose client has been away for longest makes room.
func (s *Server) enter() *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.draining {
		return nil
	}
	if s.count >= s.opts.MaxConnections {
		var oldest *place
		var since time.Time
		for p := range s.places {
			if p.client == nil || p.free {
				continue
			}
			if at, away := p.client.away(); away && (oldest == nil || at.Before(since)) {
				oldest, since = p, at
			}
		}
		if oldest == nil {
			return nil
		}
		oldest.client.giveUp(errLost)
		oldest.release()
	}
	s.count++
	s.all.Add(1)
	p := &place{server: s, id: rand.Text(), left: make(chan struct{})}
	s.places[p] = true
	return p
}

// leave gives the place of a connection that has ended to others.
func (p *place) leave() {
	p.server.mu.Lock()
	p.release()
	delete(p.server.places, p)
	p.server.mu.Unlock()
	close(p.left)
	p.server.all.Done()
}

// release gives the place to others, at the first call. The caller holds server.mu.
func (p *place) release() {
	if !p.free {
		p.free = true
		p.server.count--
	}
}

// hold lets [Server.Close] wait for the caller, which calls s.all.Done. It returns false if the server is closing.
func (s *Server) hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.all.Add(1)
	}
	return !s.closed
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case isUpgrade(r):
		s.upgrade(w, r)
	case r.Method == http.MethodPost:
		s.post(w, r)
	case r.Method == http.MethodGet:
		s.get(w, r)
	case r.Method == http.MethodDelete:
		s.remove(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		fail(w, http.StatusMethodNotAllowed, "use GET, POST or DELETE")
	}
}

// fail answers a request with an error for people.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.Error(w, text, status)
}

// setAffinity lets a load balancer send the client's next requests to this server.
func (s *Server) setAffinity(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: affinityCookie, Value: s.id, Path: Path, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
}

// full refuses a new connection for which [Server.enter] has found no place.
func (s *Server) full(w http.ResponseWriter) {
	s.mu.Lock()
	why := "too many connections; close one, or try again later"
	if s.draining || s.closed {
		why = ErrRestart.Error()
	}
	s.mu.Unlock()
	fail(w, http.StatusServiceUnavailable, why)
}

// DeniedError is an error of [Options.Serve] whose words are for the client: a WebSocket is closed with them.
type DeniedError struct{ Err error }

func (r *DeniedError) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *DeniedError) Unwrap() error { return r.Err }

// lifetime is the context of a connection: it ends with the server, and has the values of the request that began the connection.
type lifetime struct {
	context.Context                 //nolint:containedctx // a context that is made of two
	request         context.Context //nolint:containedctx // likewise
}

// Value implements [context.Context].
func (l lifetime) Value(key any) any {
	if v := l.Context.Value(key); v != nil {
		return v
	}
	return l.request.Value(key)
}
