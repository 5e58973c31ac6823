package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// refresh replaces the grant whose access token is used, unless that has been done already. It returns nil if the grant has become
// invalid, so that the user must sign in again. The caller must have entered.
func (a *Account) refresh(ctx context.Context, used string) (*Grant, error) {
	unlock, err := a.all.opts.Store.Lock(ctx, a.config.URL)
	if err != nil {
		return nil, fmt.Errorf("refreshing the sign-in: %w", err)
	}
	defer unlock()
	g, err := a.load(ctx)
	switch {
	case err != nil || g == nil:
		return nil, err
	case g.AccessToken != used && g.fresh(time.Now()):
		return g, nil
	case g.RefreshToken == "":
		return nil, nil
	}
	// The end of a call must not lose the answer: the old refresh token may be invalid then.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	token, err := a.exchange(ctx, g)
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && e.Response != nil && e.Response.StatusCode < http.StatusInternalServerError &&
		(e.ErrorCode == "invalid_grant" || e.ErrorCode == "invalid_client" || e.ErrorCode == "unauthorized_client") {
		return nil, a.save(ctx, nil)
	} else if err != nil {
		return nil, fmt.Errorf("refreshing the sign-in: %w", withoutBody(err))
	}
	next := *g
	next.AccessToken, next.Expiry = token.AccessToken, token.Expiry
	if token.RefreshToken != "" {
		next.RefreshToken = token.RefreshToken
	}
	if scopes := scopesOf(token); scopes != nil {
		next.Scopes = scopes
	}
	return &next, a.save(ctx, &next)
}

// exchange asks for a new access token.
func (a *Account) exchange(ctx context.Context, g *Grant) (*oauth2.Token, error) {
	client, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	client.Transport = &resourceAdder{base: client.Transport, resource: g.Resource}
	config := oauth2.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: oauth2.AuthStyle(g.AuthStyle)},
	}
	return config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client), &oauth2.Token{RefreshToken: g.RefreshToken}).Token()
}

// resourceAdder adds the parameter resource of RFC 8707 to requests for tokens. Package oauth2 cannot, and some servers bind a
// refreshed token to no server without it.
type resourceAdder struct {
	base     http.RoundTripper
	resource string
}

func (r *resourceAdder) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.resource == "" || req.Body == nil || req.GetBody == nil || req.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return r.base.RoundTrip(req)
	}
	next := req.Clone(req.Context())
	if err := next.ParseForm(); err != nil {
		return nil, err
	}
	form := next.PostForm
	form.Set("resource", r.resource)
	body := form.Encode()
	ours, err := http.NewRequestWithContext(req.Context(), req.Method, req.URL.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	ours.Header = req.Header.Clone()
	return r.base.RoundTrip(ours)
}

// withoutBody removes the answer of an authorization server from an error, since it may contain anything.
func withoutBody(err error) error {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		if u, ok := errors.AsType[*url.Error](err); ok {
			return u.Err // the URL may contain secrets
		}
		return err
	}
	status := "no status"
	if e.Response != nil {
		status = e.Response.Status
	}
	if e.ErrorCode != "" {
		return fmt.Errorf("the authorization server refused: %s (HTTP %s)", describe(e.ErrorCode, e.ErrorDescription), status)
	}
	return fmt.Errorf("the authorization server answered HTTP %s", status)
}

// scopesOf returns the scopes that a response names; nil if it names none, which means those that were requested.
func scopesOf(token *oauth2.Token) []string {
	if scope, ok := token.Extra("scope").(string); ok {
		return strings.Fields(scope)
	}
	return nil
}
