// Package webclient fetches web pages for models: within limits, from public addresses only, and as readable text. It
// also queries search services. Its results are untrusted; a caller that passes them to a model must mark them as such.
package webclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/gajae-code/gjc/internal/netaddr"
	"github.com/gajae-code/gjc/internal/permit"
)

// Options configures fetching. The zero value suits most users.
type Options struct {
	// AllowPrivate permits addresses of this machine and of private networks.
	AllowPrivate bool
	// Timeout is the maximum time of one fetch with all redirects; 20 seconds if zero, at most 45.
	Timeout time.Duration
	// Proxy is the address of a proxy (http, https or socks5) for all requests. If empty, the environment's proxies are used.
	// NoProxy lists hosts to reach directly.
	Proxy   string
	NoProxy []string
	// CAFiles are PEM files with additional trusted certificates.
	CAFiles []string
	// Unknown, if not empty, is the reason why the network configuration is unknown; nothing is fetched then.
	Unknown string
}

// Limits of a fetch.
const (
	// MaxBody is the maximum number of decompressed bytes of a response that are read.
	MaxBody = 10 << 20
	// DefaultTimeout is the default of [Options].Timeout.
	DefaultTimeout = 20 * time.Second
	maxTimeout     = 45 * time.Second
	maxRedirects   = 5
	maxURL         = 8 << 10
)

// Errors of this package.
var (
	// errAddress reports a URL that is rejected: one with an unsupported scheme, with a password, or an invalid one.
	errAddress = errors.New("the address cannot be fetched")
	// errPrivate reports an address of this machine or of a private network.
	errPrivate = errors.New("addresses of this machine and of private networks are not fetched; the setting web.allowPrivate allows them")
	// errTimeout reports a server that takes too long.
	errTimeout = errors.New("the server takes too long")
)

// A redirectError reports a redirect to another host, which needs a new approval.
type redirectError struct{ To string }

func (e *redirectError) Error() string {
	return "it has moved to " + e.To + ", on another host; fetch that address if it is what you want"
}

// Client fetches pages. It is safe for concurrent use and need not be closed.
type Client struct {
	opts  Options
	proxy func(*url.URL) (*url.URL, error)
	// begin creates the transports on the first fetch.
	begin func() (*transports, error)
}

// transports holds three transports. direct checks every address before dialing it, proxied uses a proxy that resolves names
// itself, and open dials any address, which the user must permit.
type transports struct{ direct, proxied, open *http.Transport }

// New returns a client. It does no I/O.
func New(opts Options) *Client {
	c := &Client{opts: opts, proxy: httpproxy.FromEnvironment().ProxyFunc()}
	if opts.Proxy != "" {
		c.proxy = (&httpproxy.Config{HTTPProxy: opts.Proxy, HTTPSProxy: opts.Proxy, NoProxy: strings.Join(opts.NoProxy, ",")}).ProxyFunc()
	}
	c.begin = sync.OnceValues(c.transports)
	return c
}

func (c *Client) transports() (*transports, error) {
	dialer := &net.Dialer{Timeout: 15 * time.Second}
	base := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 15 * time.Second, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: 256 << 10, IdleConnTimeout: 10 * time.Second, DisableKeepAlives: true,
	}
	if len(c.opts.CAFiles) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		for _, file := range c.opts.CAFiles {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading certificates: %w", err)
			}
			pool.AppendCertsFromPEM(data)
		}
		base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	}
	t := &transports{direct: base, proxied: base.Clone(), open: base.Clone()}
	t.proxied.Proxy = func(r *http.Request) (*url.URL, error) { return c.proxy(r.URL) }
	if !c.opts.AllowPrivate {
		guarded := *dialer
		guarded.ControlContext = netaddr.Control
		t.direct.DialContext = guarded.DialContext
	}
	return t, nil
}

// Page is a fetched page.
type Page struct {
	// URL is the final address, after redirects.
	URL string
	// Status is the HTTP status, such as 200.
	Status int
	// MediaType is the media type in lower case without parameters; ContentType is the whole header.
	MediaType, ContentType string
	Body                   []byte
	// Cut reports that Body has only the first [MaxBody] bytes.
	Cut bool
}

// Parse parses an address and checks that it can be fetched.
func Parse(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("%w: it has more than %d characters", errAddress, maxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: not a URL", errAddress)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%w: must begin with http:// or https://", errAddress)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%w: no host", errAddress)
	case u.User != nil:
		return nil, fmt.Errorf("%w: must not contain a user name or a password", errAddress)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// Fetch fetches a page. It follows redirects on the same host. A response with any status is not an error.
func (c *Client) Fetch(ctx context.Context, address string) (*Page, error) {
	at, err := Parse(address)
	if err != nil {
		return nil, err
	}
	if c.opts.Unknown != "" {
		return nil, fmt.Errorf("the network settings cannot be read: %s", c.opts.Unknown)
	}
	limit := min(cmp.Or(c.opts.Timeout, DefaultTimeout), maxTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: more than %v", errTimeout, limit))
	defer cancel()
	page, err := c.follow(ctx, at)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return page, err
}

func (c *Client) follow(ctx context.Context, at *url.URL) (*Page, error) {
	for range maxRedirects + 1 {
		resp, err := c.get(ctx, at)
		if err != nil {
			return nil, err
		}
		where := resp.Header.Get("Location")
		if resp.StatusCode/100 != 3 || where == "" {
			return readPage(resp, at)
		}
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		next, err := at.Parse(where)
		if err == nil {
			next, err = Parse(next.String())
		}
		if err != nil {
			return nil, fmt.Errorf("redirect refused: %w", err)
		}
		if bareHost(next) != bareHost(at) || next.Scheme == "http" && at.Scheme == "https" {
			return nil, &redirectError{next.String()}
		}
		at = next
	}
	return nil, fmt.Errorf("more than %d redirects", maxRedirects)
}

// bareHost returns a URL's host without "www." and the default port.
func bareHost(u *url.URL) string {
	host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		host += ":" + port
	}
	return host
}

func (c *Client) get(ctx context.Context, at *url.URL) (*http.Response, error) {
	if err := permit.Check(ctx, permit.Effect{Action: permit.Reach, Host: at.Hostname()}); err != nil {
		return nil, err
	}
	t, err := c.begin()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAddress, err)
	}
	req.Header.Set("User-Agent", "gjc")
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5")
	req.Header.Set("Accept-Language", "en, *;q=0.5")
	through := t.direct
	switch proxy, err := c.proxy(at); {
	case err != nil:
		return nil, fmt.Errorf("the proxy: %w", err)
	case proxy != nil:
		through = t.proxied
		if err := c.checkName(ctx, at.Hostname()); err != nil {
			return nil, err
		}
	}
	resp, err := through.RoundTrip(req)
	if err != nil {
		return nil, plainError(err)
	}
	return resp, nil
}

// checkName rejects a host that must not be requested from a proxy. It accepts names that only the proxy can resolve.
func (c *Client) checkName(ctx context.Context, host string) error {
	if c.opts.AllowPrivate {
		return nil
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(name); err == nil {
		return private(netaddr.Check(addr))
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; last != "" && '0' <= last[0] && last[0] <= '9' {
		return errPrivate // 127.1, 0x7f.1: forms of addresses that a proxy may accept; no host name ends in a number
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || strings.HasSuffix(name, ".internal") || strings.HasSuffix(name, ".local") || !strings.Contains(name, ".") {
		return errPrivate
	}
	looked, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(looked, "ip", host)
	if err != nil {
		return nil //nolint:nilerr // behind a proxy names need not be known here
	}
	for _, addr := range addrs {
		if err := private(netaddr.Check(addr)); err != nil {
			return err
		}
	}
	return nil
}

// private adds to [netaddr.ErrPrivate] what the user can do.
func private(err error) error {
	if errors.Is(err, netaddr.ErrPrivate) {
		return errPrivate
	}
	return err
}

// plainError unwraps a request's error, whose text repeats the address.
func plainError(err error) error {
	if errors.Is(err, errPrivate) || errors.Is(err, netaddr.ErrPrivate) {
		return errPrivate
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return fmt.Errorf("unknown host %s", e.Name)
	}
	return err
}

func readPage(resp *http.Response, at *url.URL) (page *Page, err error) {
	defer func() {
		if cerr := resp.Body.Close(); err == nil {
			err = cerr
		}
	}()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	if err != nil {
		return nil, plainError(err)
	}
	page = &Page{URL: at.String(), Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: body}
	if len(body) > MaxBody {
		page.Body, page.Cut = body[:MaxBody], true
	}
	page.MediaType, _, err = mime.ParseMediaType(page.ContentType)
	if err != nil {
		page.MediaType = ""
	}
	if page.MediaType == "" || page.MediaType == "application/octet-stream" {
		page.MediaType, _, _ = strings.Cut(http.DetectContentType(page.Body), ";")
	}
	return page, nil
}
