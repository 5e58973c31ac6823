// Package gateway sends the requests of users to models with keys of the operator, which no user can read.
//
// It runs in the process of "gjc serve". Each engine has a socket of its own and a placeholder, which the gateway replaces by the key on the
// way to the provider. Nothing else about a request is the engine's choice: server, method, path, and which headers pass are the gateway's.
package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// host is the name of the gateway in requests.
const host = "gateway"

// The bounds of requests and answers.
const (
	maxRequest    = 128 << 20 // a conversation with images
	maxHeader     = 64 << 10
	maxConcurrent = 64 // requests of one engine at the same time
	headerTime    = 10 * time.Second
	idleTime      = 2 * time.Minute
)

// Options configures a [Gateway]. All fields but Log are required.
type Options struct {
	Keys *Keys
	// Transport sends the requests to the providers. It verifies their certificates, and follows no redirects.
	Transport http.RoundTripper
	// Count is called for each request that reached a provider, with "ok" or "error".
	Count func(user, provider, outcome string)
	// Refused is called for each request with a wrong placeholder.
	Refused func(user string, err error)
	Log     zerolog.Logger
}

// Gateway has the keys. It is safe for concurrent use.
type Gateway struct{ opts Options }

// New returns a gateway.
func New(opts Options) *Gateway { return &Gateway{opts} }

// Open lets the engine of a user in: it listens in dir, which only that user and this process can enter, until the caller calls end. It
// returns the environment of the engine.
func (g *Gateway) Open(user, dir string) (env []string, end func(), err error) {
	d := &door{gateway: g, user: user, placeholder: "gjc-" + rand.Text(), busy: make(chan struct{}, maxConcurrent)}
	socket := filepath.Join(dir, "g")
	value, err := jsonx.Marshal(access{Socket: socket, Key: d.placeholder, Addresses: g.opts.Keys.addresses()})
	if err != nil {
		return nil, nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the gateway: %w", err)
	}
	if err := os.Chmod(socket, 0o666); err != nil { //nolint:gosec // the directory keeps others away
		return nil, nil, errors.Join(err, listener.Close())
	}
	server := &http.Server{
		Handler: d, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
	}
	ended := make(chan struct{})
	go func() { // ends with end
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			g.opts.Log.Error().Err(err).Str("user", user).Msg("the gateway to the providers has ended")
		}
	}()
	return []string{Variable + "=" + string(value)}, func() {
		_ = server.Close() // it cancels the requests
		<-ended
	}, nil
}

// A door is the way of one engine to the providers.
type door struct {
	gateway     *Gateway
	user        string
	placeholder string
	busy        chan struct{} // has an element for each request
}

// refusal is an answer of the gateway itself.
type refusal struct {
	status int
	text   string
}

// Error implements [error].
func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, "gjc serve: " + fmt.Sprintf(format, args...)}
}

// ServeHTTP implements [http.Handler].
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	default:
		writeRefusal(w, refuse(http.StatusTooManyRequests, "%d requests of yours to models are running; wait for one", maxConcurrent))
		return
	}
	u, out, bad := d.admit(r)
	if bad != nil {
		writeRefusal(w, bad)
		return
	}
	d.forward(w, u, out)
}

// admit returns the request to the provider, with its key.
func (d *door) admit(r *http.Request) (*upstream, *http.Request, *refusal) {
	// A proxy would be asked for an absolute URI, CONNECT or an upgrade.
	if r.Host != host || r.URL.IsAbs() || r.URL.Opaque != "" || r.Method == http.MethodConnect || r.Header.Get("Upgrade") != "" {
		return nil, nil, refuse(http.StatusBadRequest, "this is a gateway to models, and no proxy")
	}
	switch {
	case r.ContentLength < 0:
		return nil, nil, refuse(http.StatusLengthRequired, "the request does not say how long it is")
	case r.ContentLength > maxRequest:
		return nil, nil, refuse(http.StatusRequestEntityTooLarge, "the request is larger than %d MiB", maxRequest>>20)
	}
	name, path, ok := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	u := d.gateway.opts.Keys.get(name)
	if !ok || u == nil {
		return nil, nil, refuse(http.StatusNotFound, "the operator has no key for this provider any more")
	}
	path = "/" + path
	if !u.allows(r.Method, path) {
		return nil, nil, refuse(http.StatusForbidden, "requests to models are all that the operator's key is for; a key of your own has no such limit")
	}
	query, inQuery, ok := queryOf(r.URL.RawQuery, d.placeholder, u.key)
	if !ok {
		return nil, nil, refuse(http.StatusBadRequest, "the query of the request has a parameter that no API has")
	}
	header, inHeader, ok := headerOf(r.Header, d.placeholder, u.key)
	if !ok || !inHeader && !inQuery {
		bad := refuse(http.StatusUnauthorized, "the request has the key of another engine, or of one that has ended; connect again")
		d.gateway.opts.Refused(d.user, bad)
		return nil, nil, bad
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return nil, nil, refuse(http.StatusBadRequest, "the path is not escaped as URLs are")
	}
	out := &http.Request{
		Method: r.Method, URL: &url.URL{Scheme: u.base.Scheme, Host: u.base.Host, Path: plain, RawPath: path, RawQuery: query},
		Host: u.base.Host, Header: header, Body: &body{io.LimitReader(r.Body, r.ContentLength), r.Body}, ContentLength: r.ContentLength, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	return u, out.WithContext(r.Context()), nil
}

// body is the body of a request, without a read at its end: the answer may have begun, and the server has closed the body.
type body struct {
	io.Reader
	io.Closer
}

// same reports whether two secrets are the same.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// headerOf returns the headers of a request to a provider: those that APIs have, with the key in place of the placeholder. It reports false
// for another key.
func headerOf(from http.Header, placeholder, key string) (header http.Header, replaced, ok bool) {
	header = make(http.Header)
	for name, values := range from {
		switch lower := strings.ToLower(name); {
		case lower == "authorization", lower == "x-api-key", lower == "api-key", lower == "x-goog-api-key":
			if len(values) != 1 {
				return nil, false, false
			}
			scheme, secret := "", values[0]
			if lower == "authorization" {
				scheme, secret = "Bearer ", strings.TrimPrefix(secret, "Bearer ")
			}
			if !same(secret, placeholder) {
				return nil, false, false
			}
			header.Set(name, scheme+key)
			replaced = true
		case lower == "accept", lower == "content-type", lower == "user-agent", lower == "openai-beta", lower == "http-referer", lower == "x-title",
			lower == "anthropic-version", lower == "anthropic-beta", strings.HasPrefix(lower, "x-stainless-"):
			for _, v := range values {
				if !strings.Contains(v, placeholder) {
					header.Add(name, v)
				}
			}
		}
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "gjc")
	}
	header.Set("Accept-Encoding", "identity") // the key could not be found in a compressed answer
	return header, replaced, true
}

// passes reports whether a header of an answer reaches the engine.
func passes(name string) bool {
	lower := strings.ToLower(name)
	switch lower {
	case "content-type", "date", "retry-after", "retry-after-ms", "x-should-retry", "x-amzn-errortype":
		return true
	}
	return strings.Contains(lower, "ratelimit") || strings.HasSuffix(lower, "request-id") || strings.HasSuffix(lower, "requestid")
}

// forward sends a request to the provider, and its answer to the engine.
func (d *door) forward(w http.ResponseWriter, u *upstream, out *http.Request) {
	res, err := d.gateway.opts.Transport.RoundTrip(out)
	if err != nil {
		if out.Context().Err() != nil {
			return // the engine has gone
		}
		d.count(u, http.StatusBadGateway)
		text := strings.ReplaceAll(err.Error(), u.key, "…")
		d.gateway.opts.Log.Warn().Str("user", d.user).Str("provider", u.provider).Str("error", text).Msg("a provider is unreachable")
		writeRefusal(w, refuse(http.StatusBadGateway, "%s is unreachable: %s", u.provider, text))
		return
	}
	defer func() { _ = res.Body.Close() }()
	d.count(u, res.StatusCode)
	coding := res.Header.Get("Content-Encoding")
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400, res.StatusCode < 200:
		writeRefusal(w, refuse(http.StatusBadGateway, "%s answers with HTTP %d, which is not followed with the operator's key; the operator should check baseUrl", u.provider, res.StatusCode))
		return
	case coding != "" && !strings.EqualFold(coding, "identity"):
		writeRefusal(w, refuse(http.StatusBadGateway, "%s answers with compressed data, which was not requested", u.provider))
		return
	}
	if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
		d.gateway.opts.Log.Warn().Str("provider", u.provider).Int("status", res.StatusCode).Msg("a provider refuses the operator's key")
	}
	for name, values := range res.Header {
		for _, v := range values {
			if passes(name) && !strings.Contains(v, u.key) {
				w.Header().Add(name, v)
			}
		}
	}
	w.WriteHeader(res.StatusCode)
	stream(w, newRedacting(res.Body, u.key))
}

// stream writes a body as it arrives. If it breaks, so does the answer.
func stream(w http.ResponseWriter, body io.Reader) {
	flush := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	if flush.Flush() != nil { // the header, before the first event
		return
	}
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
			if err := flush.Flush(); err != nil {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) // an end in good order would make it a whole answer
		}
	}
}

func (d *door) count(u *upstream, status int) {
	outcome := "ok"
	if status >= 400 {
		outcome = "error"
	}
	d.gateway.opts.Count(d.user, u.provider, outcome)
}

// writeRefusal writes an error as all APIs of models do.
func writeRefusal(w http.ResponseWriter, r *refusal) {
	body, err := jsonx.Marshal(map[string]map[string]string{"error": {"type": "gateway_error", "message": r.text}})
	if err != nil {
		http.Error(w, r.text, r.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(append(body, '\n')) // the engine may have gone
}
