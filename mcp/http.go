package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/mcp/oauth"
)

const (
	// maxErrorBody bounds what is read of the body of an HTTP error, in bytes.
	maxErrorBody = 64 << 10
	maxRedirects = 5
	// maxExchanges bounds the concurrent HTTP requests to one server: a server that sends requests endlessly and does not accept
	// the responses must not exhaust the process's sockets.
	maxExchanges = 256
)

// connectHTTP connects by Streamable HTTP, or the older SSE with its two endpoints.
func (c *connection) connectHTTP(ctx context.Context) (sdk.Connection, error) {
	spec, o := c.server.spec.HTTP, &c.server.set.opts
	c.http = newHTTPClient(c.ctx, spec, o)
	c.http.reopened = func() { c.markStale(listAll) }
	c.http.account, c.http.visitor = c.server.account, func(ctx context.Context) (oauth.Visit, func()) { return newVisit(ctx, c) }
	client := &http.Client{Transport: c.http, CheckRedirect: c.http.redirect}
	var transport sdk.Transport
	if spec.SSE {
		transport = &sdk.SSEClientTransport{Endpoint: spec.URL, HTTPClient: client, MaxEventSize: o.MaxMessage}
	} else {
		transport = &sdk.StreamableClientTransport{Endpoint: spec.URL, HTTPClient: client, MaxEventSize: o.MaxMessage}
	}
	conn, err := transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c.raw = conn
	return conn, nil
}

// httpClient is the HTTP client of one connection. It has its own transport, sends the configured headers only to the server's
// origin, limits responses, and ends all requests when the connection ends.
type httpClient struct {
	life    context.Context //nolint:containedctx // ends with the connection: net/http has requests of its own
	base    http.RoundTripper
	origin  *url.URL
	headers []Header
	max     int64
	sse     bool
	// account is the user's account at the server; nil for none. visitor is [newVisit] for the connection.
	account *oauth.Account
	visitor func(ctx context.Context) (visit oauth.Visit, visited func())
	// reopened is called when a stream for messages of the server was opened again after a failure.
	reopened func()

	streams   sync.WaitGroup
	exchanges atomic.Int32

	mu     sync.Mutex // guards the fields below
	status string     // the last HTTP error
	// refused is the error of a request that was not made. The error of the SDK does not always contain it.
	refused error
}

func newHTTPClient(life context.Context, spec *HTTP, o *Options) *httpClient {
	base := http.DefaultTransport
	if o.HTTPClient != nil && o.HTTPClient.Transport != nil {
		base = o.HTTPClient.Transport
	}
	if t, ok := base.(*http.Transport); ok {
		base = t.Clone()
	}
	origin, _ := url.Parse(spec.URL) // checked by NewSet
	return &httpClient{life: life, base: base, origin: origin, headers: spec.Headers, max: int64(o.MaxMessage), sse: spec.SSE}
}

// close closes the idle connections. The others have ended with the context.
func (h *httpClient) close() {
	h.streams.Wait()
	if t, ok := h.base.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// errForeign is the error of a request to another origin than the configured one, which must not receive the server's secrets or
// the user's data.
var errForeign = errors.New("the server points to another host")

// RoundTrip implements [http.RoundTripper].
func (h *httpClient) RoundTrip(req *http.Request) (*http.Response, error) {
	if call, ok := req.Context().Value(callKey{}).(*activeCall); ok {
		call.posted.Store(true)
	}
	if !h.own(req.URL) {
		return nil, h.refuse(fmt.Errorf("%w (%s); configure that URL if you trust it", errForeign, req.URL.Host))
	}
	if req.Method == http.MethodGet && !h.sse && req.Header.Get("Last-Event-ID") == "" {
		return h.standing(req, nil), nil
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(h.life, func() { cancel(context.Cause(h.life)) })
	done := func() {
		h.exchanges.Add(-1)
		stop()
		cancel(nil)
	}
	if h.exchanges.Add(1) > maxExchanges {
		done()
		return nil, fmt.Errorf("too many requests under way with the server (limit %d)", maxExchanges)
	}
	ours := req.Clone(ctx)
	h.addHeaders(ours)
	resp, err := h.authorized(ours)
	listens := req.Header.Get("Mcp-Method") == "subscriptions/listen"
	if listens && (err != nil || isTemporary(resp)) {
		if err == nil {
			_ = resp.Body.Close()
		}
		done()
		return h.standing(req, nil), nil // the stream retries itself
	}
	if err != nil {
		done()
		return nil, err
	}
	h.recordStatus(resp, req)
	b := &body{ReadCloser: resp.Body, limit: h.max, done: done}
	switch {
	case resp.StatusCode >= 400:
		b.limit = maxErrorBody
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		// A stream has no end. Its reader bounds the events, with an error that does not say what to do.
		b.limit, b.event = 0, &eventSize{limit: h.max, over: func(err error) { _ = h.refuse(err) }}
	}
	resp.Body = b
	if listens && isStream(resp) {
		b.event = nil // the standing stream bounds its events itself
		return h.standing(req, resp), nil
	}
	return resp, nil
}

// own reports whether u is the configured origin, or the same host with TLS.
func (h *httpClient) own(u *url.URL) bool {
	if strings.EqualFold(u.Host, h.origin.Host) && u.Scheme == h.origin.Scheme {
		return true
	}
	return h.origin.Scheme == "http" && u.Scheme == "https" && strings.EqualFold(u.Hostname(), h.origin.Hostname())
}

// redirect is the redirect policy: it rejects redirects to another origin and those that turn a POST into a GET.
func (h *httpClient) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case !h.own(req.URL):
		return fmt.Errorf("%w (%s); configure that URL if you trust it", errForeign, req.URL.Host)
	case req.Method != via[0].Method:
		return errors.New("the server redirects in a way that loses the request; configure the URL of the redirect")
	case len(via) >= maxRedirects:
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	}
	return nil
}

// addHeaders sets the configured headers, except for those that the protocol depends on.
func (h *httpClient) addHeaders(req *http.Request) {
	set := make(map[string]bool, len(h.headers))
	for _, header := range h.headers {
		switch name := http.CanonicalHeaderKey(header.Name); {
		case name == "Host":
			req.Host = header.Value
		case name == "Accept" || name == "Content-Type" || name == "Content-Length" || name == "Transfer-Encoding" ||
			name == "Connection" || name == "Last-Event-Id" || strings.HasPrefix(name, "Mcp-"):
		case set[name]:
			req.Header.Add(name, header.Value)
		default:
			set[name] = true
			req.Header.Set(name, header.Value)
		}
	}
}

// recordStatus keeps an HTTP error for [httpClient.explain]. It ignores the optional stream of Streamable HTTP, which many servers
// refuse.
func (h *httpClient) recordStatus(resp *http.Response, req *http.Request) {
	if req.Method != http.MethodPost && !h.sse {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status = ""
	if resp.StatusCode >= 400 {
		h.status = text.TruncateBytes(resp.Status, 100)
	}
}

// explain adds the last HTTP error to err, and removes the URL, whose query may be a secret.
func (h *httpClient) explain(err error) error {
	h.mu.Lock()
	status, refused := h.status, h.refused
	h.mu.Unlock()
	if refused != nil && !errors.Is(err, refused) {
		err = fmt.Errorf("%w: %w", refused, err)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = &redacted{strings.ReplaceAll(err.Error(), u.URL, h.origin.Scheme+"://"+h.origin.Host), err}
	}
	if status != "" {
		return fmt.Errorf("%w (the last answer was HTTP %s)", err, status)
	}
	return err
}

// body is a response body with a limit. Close cancels the context of the request.
type body struct {
	io.ReadCloser
	limit int64 // zero for none
	read  int64
	event *eventSize // nil unless the body is a stream of events
	once  sync.Once
	done  func()
}

// errTooLarge returns the error of an answer over a limit.
func errTooLarge(limit int64) error {
	return fmt.Errorf("the answer is over the limit of %d bytes; ask for less at once", limit)
}

// eventSize measures the events of a stream.
type eventSize struct {
	limit, size int64
	// text reports that the current line has text. An empty line ends an event.
	text bool
	// over is called for an event over the limit.
	over func(error)
}

func (e *eventSize) add(p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		e.size += int64(len(p) - len(rest))
		e.text = e.text || len(bytes.Trim(line, "\r")) > 0
		if e.size > e.limit {
			e.over(errTooLarge(e.limit))
		}
		if ended && !e.text {
			e.size = 0
		}
		if ended {
			e.text = false
		}
		p = rest
	}
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if b.event != nil {
		b.event.add(p[:n])
	}
	if b.limit > 0 && b.read > b.limit {
		return n, errTooLarge(b.limit)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.done)
	return err
}
