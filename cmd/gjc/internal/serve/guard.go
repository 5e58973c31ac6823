package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp/transport"
	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/access"
)

// minToken is the least length of a token, in bytes.
const minToken = 16

// readToken reads the one line of a file.
func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if err := private(info); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimRight(string(data), "\r\n")
	switch {
	case len(token) < minToken:
		return "", fmt.Errorf("%s: the token has fewer than %d characters", path, minToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("%s: the token is one line of ASCII without spaces", path)
	}
	return token, nil
}

// authenticators accept the tokens of a server.
type authenticators struct {
	own    string // the token of --token-file; empty for none
	tokens *access.Tokens
	issuer *access.Issuer // nil for none
}

// verify returns the identity of a token.
func (a *authenticators) verify(ctx context.Context, secret string) (*access.Identity, error) {
	want, have := sha256.Sum256([]byte(a.own)), sha256.Sum256([]byte(secret))
	if a.own != "" && subtle.ConstantTimeCompare(want[:], have[:]) == 1 {
		return &access.Identity{User: engineOperator, Token: "token-file", Scopes: access.Working()}, nil
	}
	id, err := a.tokens.Verify(ctx, secret)
	if errors.Is(err, access.ErrUnknown) && a.issuer != nil {
		return a.issuer.Verify(ctx, secret)
	}
	return id, err
}

// guard lets requests through that have a valid token, and that come from no page of another site.
type guard struct {
	desk  *desk
	pair  *keyPair // nil for plain text on the loopback interface
	hosts []string // further names of the server
}

// routes returns the handler of all requests.
func (g *guard) routes(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(transport.Path, g.only(access.Read, http.HandlerFunc(g.desk.admit)))
	mux.Handle("GET /metrics", g.only(access.Admin, metrics))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := g.desk.meter.Draining(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	return mux
}

// identityKey is the key of the identity in the context of a request.
type identityKey struct{}

// visitor describes the sender of a request, and how it came.
type visitor struct {
	*access.Identity
	secret, remote string
}

// only returns a handler that passes requests with a scope on to next.
func (g *guard) only(scope access.Scope, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, id, err := g.check(r, scope)
		if err == nil {
			secret, _ := bearer(r)
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, &visitor{id, secret, r.RemoteAddr})))
			return
		}
		if failed := g.desk.meter.Refused(id, r.RemoteAddr, err); failed != nil {
			status, err = http.StatusServiceUnavailable, failed
		}
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, clientWords(err), status)
	})
}

// clientWords returns what a client may know of an error.
func clientWords(err error) string {
	for _, known := range []error{access.ErrUnknown, access.ErrExpired, access.ErrRevoked} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return strings.ToValidUTF8(err.Error(), "")
}

// check returns who sends a request, or why it is refused.
func (g *guard) check(r *http.Request, scope access.Scope) (status int, id *access.Identity, err error) {
	host := hostOf(r.Host)
	if !g.own(host) { // a page whose name is made to lead here
		return http.StatusMisdirectedRequest, nil, fmt.Errorf("this server is not %q; --host gives it another name", host)
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return http.StatusForbidden, nil, errors.New("requests of web pages are refused")
		}
	}
	secret, ok := bearer(r)
	if !ok {
		return http.StatusUnauthorized, nil, access.ErrUnknown
	}
	id, err = g.desk.who.verify(r.Context(), secret)
	switch {
	case errors.Is(err, access.ErrUnknown), errors.Is(err, access.ErrExpired), errors.Is(err, access.ErrRevoked):
		return http.StatusUnauthorized, nil, err
	case err != nil:
		return http.StatusServiceUnavailable, nil, fmt.Errorf("the token cannot be verified now: %w", err)
	case !id.Has(scope):
		return http.StatusForbidden, id, fmt.Errorf("the token lacks the scope %q", scope)
	}
	return 0, id, nil
}

func bearer(r *http.Request) (string, bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// own reports whether a name is one of this server's.
func (g *guard) own(host string) bool {
	if host == "localhost" || slices.Contains(g.hosts, host) {
		return true
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return true
	}
	return g.pair != nil && g.pair.names(host)
}

// hostOf returns the name of a Host header.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return strings.ToLower(host)
	}
	return strings.ToLower(strings.Trim(header, "[]"))
}
