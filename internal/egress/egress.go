// Package egress is the way out of a boundary: a proxy for HTTP and SOCKS5 that connects to the hosts that its owner allows, and to
// no address of this machine or of a private network.
package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/proxy"

	"github.com/gajae-code/gjc/internal/netaddr"
)

// Options configures a [Proxy].
type Options struct {
	// Allow returns an error if programs may not reach a host, whose name is in lower case and without a dot at its end. The error is
	// for people. Required.
	Allow func(host string, port int) error
	// Upstream returns the proxy of the machine for a URL; nil for none. Optional.
	Upstream func(*url.URL) (*url.URL, error)
	// Dial connects to a host without a proxy. If nil, it refuses addresses that are not on the public Internet.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Proxy serves connections of programs. Use [New] to create one.
type Proxy struct {
	opts   Options
	web    http.Server
	accept chan net.Conn   // to web
	ctx    context.Context //nolint:containedctx // parent of all connections; ends with Close
	end    context.CancelFunc

	mu     sync.Mutex // guards the fields below
	open   map[net.Conn]struct{}
	closed bool
	served sync.WaitGroup
}

// Time limits.
const (
	dialLimit   = 30 * time.Second
	headerLimit = time.Minute
)

// New returns a proxy. The caller must close it.
func New(opts Options) *Proxy {
	p := &Proxy{opts: opts, accept: make(chan net.Conn), open: make(map[net.Conn]struct{})}
	p.ctx, p.end = context.WithCancel(context.Background())
	if p.opts.Dial == nil {
		p.opts.Dial = (&net.Dialer{ControlContext: netaddr.Control}).DialContext
	}
	if p.opts.Upstream == nil {
		p.opts.Upstream = func(*url.URL) (*url.URL, error) { return nil, nil }
	}
	forward := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		Transport:    &http.Transport{Proxy: p.upstreamOf, DialContext: p.dialWeb, DisableCompression: true, DisableKeepAlives: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { refuse(w, err) },
	}
	p.web.ReadHeaderTimeout = headerLimit
	p.web.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			p.connect(w, r)
		case r.URL.Scheme != "http" || r.URL.Host == "":
			http.Error(w, "this is a proxy for http and https", http.StatusBadRequest)
		case p.allow(r.URL.Host, "80") != nil:
			refuse(w, p.allow(r.URL.Host, "80"))
		default:
			forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), upstreamKey{}, new(bool))))
		}
	})
	p.served.Go(func() { _ = p.web.Serve(listener{p}) }) // ends with Close
	return p
}

// listener gives the connections that speak HTTP to the server.
type listener struct{ *Proxy }

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error { return nil }

func (l listener) Addr() net.Addr { return &net.TCPAddr{} }

// Close ends all connections. It must be called once.
func (p *Proxy) Close() {
	p.end()
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	_ = p.web.Close()
	p.served.Wait()
}

// keep makes Close close a connection. It returns false if the proxy is closed.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.open[c] = struct{}{}
	return true
}

// drop closes a connection.
func (p *Proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// Serve serves a connection of a program, and closes it. It returns at once.
func (p *Proxy) Serve(c net.Conn) {
	if !p.keep(c) {
		return
	}
	p.served.Go(func() {
		b := &buffered{c, bufio.NewReader(c)}
		switch first, err := b.r.Peek(1); {
		case err != nil:
			p.drop(c)
		case first[0] == socksVersion:
			defer p.drop(c)
			p.socks(b)
		default:
			select {
			case p.accept <- closing{b, p}:
			case <-p.ctx.Done():
				p.drop(c)
			}
		}
	})
}

// buffered is a connection of which the first byte has been seen.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b *buffered) Read(data []byte) (int, error) { return b.r.Read(data) }

// closing is a connection that the server closes.
type closing struct {
	*buffered
	p *Proxy
}

func (c closing) Close() error {
	c.p.drop(c.Conn)
	return nil
}

// connect serves a tunnel.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	out, err := p.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		refuse(w, err)
		return
	}
	in, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = out.Close()
		return
	}
	defer func() { _ = in.Close() }()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err == nil {
		p.join(&buffered{in, rw.Reader}, out)
	}
}

// join copies between a program and a host until one of them ends, and closes both.
func (p *Proxy) join(in, out net.Conn) {
	if !p.keep(out) {
		return
	}
	defer p.drop(out)
	ended := make(chan struct{})
	go func() { // ends when out or in is closed
		defer close(ended)
		_, _ = io.Copy(out, in)
		closeWrite(out)
	}()
	_, _ = io.Copy(in, out)
	_ = in.Close()
	_ = out.Close()
	<-ended
}

// closeWrite ends what is sent to the other side; its answer is still read.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// refusedError reports a host that programs may not reach.
type refusedError struct {
	Host string
	Err  error
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("gjc does not let this command reach %s: %v", e.Host, e.Err)
}

func (e *refusedError) Unwrap() error { return e.Err }

// refuse answers a request with an error.
func refuse(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	if _, ok := errors.AsType[*refusedError](err); ok {
		code = http.StatusForbidden
	}
	http.Error(w, err.Error(), code)
}

// allow returns an error if programs may not reach a host, which is given with a port or without.
func (p *Proxy) allow(address, port string) error {
	host, number, err := split(address, port)
	if err != nil {
		return err
	}
	if err := p.opts.Allow(host, number); err != nil {
		return &refusedError{host, err}
	}
	return nil
}

// split returns the host and the port of an address; port is for one without.
func split(address, port string) (host string, number int, err error) {
	host = strings.Trim(address, "[]")
	if name, explicit, err := net.SplitHostPort(address); err == nil {
		host, port = name, explicit
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || host == "" {
		return "", 0, fmt.Errorf("%q is no host with a port", address)
	}
	return strings.TrimSuffix(strings.ToLower(host), "."), int(n), nil
}

// dial connects to a host that programs may reach.
func (p *Proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := p.allow(address, ""); err != nil {
		return nil, err
	}
	host, port, err := split(address, "")
	if err != nil {
		return nil, err
	}
	address = net.JoinHostPort(host, strconv.Itoa(port))
	up, err := p.opts.Upstream(&url.URL{Scheme: "https", Host: address})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	if up != nil {
		return dialUpstream(ctx, up, address)
	}
	return p.direct(ctx, network, host, address)
}

// direct connects without a proxy.
func (p *Proxy) direct(ctx context.Context, network, host, address string) (net.Conn, error) {
	c, err := p.opts.Dial(ctx, network, address)
	if errors.Is(err, netaddr.ErrPrivate) {
		return nil, &refusedError{host, netaddr.ErrPrivate}
	}
	return c, err
}

type upstreamKey struct{}

// upstreamOf returns the machine's proxy for a request that [Proxy.allow] has let pass.
func (p *Proxy) upstreamOf(r *http.Request) (*url.URL, error) {
	up, err := p.opts.Upstream(r.URL)
	if up != nil {
		if used, ok := r.Context().Value(upstreamKey{}).(*bool); ok {
			*used = true
		}
	}
	return up, err
}

// dialWeb connects for a request that has been let pass: to its host, or to the machine's proxy.
func (p *Proxy) dialWeb(ctx context.Context, network, address string) (net.Conn, error) {
	if used, ok := ctx.Value(upstreamKey{}).(*bool); ok && *used {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	host, _, err := split(address, "")
	if err != nil {
		return nil, err
	}
	return p.direct(ctx, network, host, address)
}

// dialUpstream connects by the machine's proxy.
func dialUpstream(ctx context.Context, up *url.URL, address string) (net.Conn, error) {
	if up.Scheme == "socks5" || up.Scheme == "socks5h" {
		d, err := proxy.FromURL(up, proxy.Direct)
		if err != nil {
			return nil, err
		}
		return d.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
	}
	return dialConnect(ctx, up, address)
}
