package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gajae-code/gjc/mcp/oauth"
)

// Account returns the user's account at a server; nil for one that has no sign-in, or that the configuration authorizes. accounts may be
// nil.
func Account(spec *Server, accounts *oauth.Accounts) *oauth.Account {
	if spec.HTTP == nil || spec.HTTP.Helper != nil || accounts == nil {
		return nil
	}
	config := spec.HTTP.OAuth
	config.URL, config.Header = spec.HTTP.URL, make(http.Header)
	for _, h := range spec.HTTP.Headers {
		if strings.EqualFold(h.Name, "Authorization") {
			return nil
		}
		config.Header.Add(h.Name, h.Value)
	}
	return accounts.Account(config)
}

// authorized makes a request with the user's token. If the server refuses it, the request is repeated once with a new token. The user
// is asked to sign in only during a call: connections also begin before the user works with a session.
func (h *httpClient) authorized(req *http.Request) (*http.Response, error) {
	if h.account == nil {
		return h.base.RoundTrip(req)
	}
	if err := h.addToken(req); err != nil {
		return nil, h.unauthorized(req, err)
	}
	resp, err := h.base.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden || req.Body != nil && req.GetBody == nil {
		return resp, err
	}
	visit, visited := h.visitor(req.Context())
	again, err := h.account.Authorize(req.Context(), req, resp, visit)
	if visit != nil {
		visited()
	}
	if err == nil && !again {
		return resp, nil
	}
	_ = resp.Body.Close()
	if err != nil {
		return nil, h.unauthorized(req, err)
	}
	if req.GetBody != nil {
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	if err := h.addToken(req); err != nil {
		return nil, h.unauthorized(req, err)
	}
	return h.base.RoundTrip(req)
}

func (h *httpClient) addToken(req *http.Request) error {
	token, err := h.account.Token(req.Context())
	if err != nil {
		return err
	}
	req.Header.Del("Authorization")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// unauthorized records the error of a request that was not authorized, for its call too, and returns it.
func (h *httpClient) unauthorized(req *http.Request, err error) error {
	if call, ok := req.Context().Value(callKey{}).(*activeCall); ok {
		call.unauthorized.Store(&err)
	}
	return h.refuse(err)
}

// refuse records the error of a request that was not made, and returns it.
func (h *httpClient) refuse(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = err
	return err
}

// newVisit returns a function that asks the user to sign in for a request, and one to call when that is over; nil if the user cannot be
// asked.
func newVisit(ctx context.Context, c *connection) (visit oauth.Visit, visited func()) {
	o := &c.server.set.opts
	call, ok := ctx.Value(callKey{}).(*activeCall)
	if !ok || o.Elicit == nil || !o.ElicitURLs {
		return nil, nil
	}
	id := rand.Text()
	visit = func(ctx context.Context, address string) error {
		answer, err := c.askUser(ctx, call, ElicitRequest{Mode: "url", Message: "The server wants you to sign in.", URL: address, ID: id})
		switch {
		case err != nil:
			return err
		case answer.Action != "accept":
			return oauth.ErrDeclined
		}
		return nil
	}
	return visit, func() {
		if fn := o.ElicitationComplete; fn != nil {
			fn(c.server.spec.Name, id)
		}
	}
}

// errNoAccount is the error for a server that has no sign-in, by its configuration.
var errNoAccount = errors.New("has no sign-in: it is no HTTP server, or its configuration has a header Authorization")

// account returns the user's account at a server.
func (s *Set) account(name string) (*server, *oauth.Account, error) {
	srv, err := s.server(name)
	if err != nil {
		return nil, nil, err
	}
	if srv.account == nil {
		return nil, nil, fmt.Errorf("the MCP server %s %w", srv.label(), errNoAccount)
	}
	return srv, srv.account, nil
}

// SignIn asks the user to sign in to a server, and connects to it again.
func (s *Set) SignIn(ctx context.Context, name string, visit oauth.Visit) error {
	srv, account, err := s.account(name)
	if err != nil {
		return err
	}
	if err := account.SignIn(ctx, visit); err != nil {
		return fmt.Errorf("the MCP server %s: %w", srv.label(), srv.secrets.error(err))
	}
	return srv.reconnect(ctx)
}

// SignOut forgets the user's sign-in at a server, and reports whether there was one. The connection stays until the server refuses
// it.
func (s *Set) SignOut(ctx context.Context, name string) (was bool, err error) {
	_, account, err := s.account(name)
	if err != nil {
		return false, err
	}
	return account.SignOut(ctx)
}

// Resume connects to the servers that have failed because they wanted the user to sign in, if the user has done so since, for example
// in another session.
func (s *Set) Resume(ctx context.Context) {
	for _, srv := range s.list() {
		srv.mu.Lock()
		waits := srv.state == StateFailed && errors.Is(srv.lastErr, oauth.ErrSignIn)
		srv.mu.Unlock()
		if waits && srv.account != nil && srv.account.SignedIn(ctx) {
			_ = srv.reconnect(ctx) // its notice says why it fails
		}
	}
}
