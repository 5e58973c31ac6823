package oauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Authorize handles a response with the status 401 or 403. It reports whether to repeat the request. It takes the token that another
// call or process has obtained meanwhile, or refreshes it, or asks the user to sign in, also for more scopes (the step-up of the
// specification). If visit is nil, the user cannot be asked now, and the error wraps [ErrSignIn]. It does not read the response's
// body.
func (a *Account) Authorize(ctx context.Context, req *http.Request, resp *http.Response, visit Visit) (again bool, err error) {
	challenge := bearerOf(resp.Header)
	more := resp.StatusCode == http.StatusForbidden
	if more && challenge["error"] != "insufficient_scope" {
		return false, nil
	}
	release, err := a.all.enter(ctx, a.config.URL)
	if err != nil {
		return false, err
	}
	defer release()
	used := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	g, err := a.load(ctx)
	switch {
	case err != nil:
		return false, err
	case g.fresh(time.Now()) && g.AccessToken != used:
		return true, nil
	case g != nil && g.RefreshToken != "" && !more:
		if g, err = a.refresh(ctx, used); err != nil || g != nil {
			return err == nil, err
		}
	case more && g != nil && covers(g.Scopes, strings.Fields(challenge["scope"])):
		return false, fmt.Errorf("the server wants more permissions, but names only those that it has (%s)", describe(challenge["scope"], ""))
	}
	if visit == nil {
		return false, ErrSignIn
	}
	return true, a.signIn(ctx, req, &refusal{code: resp.StatusCode, header: resp.Header}, g, visit)
}

// refusal is a response without its body.
type refusal struct {
	code   int
	status string
	header http.Header
}

// SignIn asks the user to sign in, whether there is a grant or not. It returns [ErrNotNeeded] for a server without a sign-in.
func (a *Account) SignIn(ctx context.Context, visit Visit) error {
	release, err := a.all.enter(ctx, a.config.URL)
	if err != nil {
		return err
	}
	defer release()
	req, answer, err := a.probe(ctx)
	if err != nil {
		return err
	}
	if answer.code != http.StatusUnauthorized {
		// Some servers want a token only for some requests.
		if meta, err := a.metadata(ctx, http.Header{}); err != nil {
			return err
		} else if meta == nil {
			return fmt.Errorf("%w: it answers HTTP %s to a request without one", ErrNotNeeded, answer.status)
		}
		answer = &refusal{code: http.StatusUnauthorized, header: http.Header{}}
	}
	return a.signIn(ctx, req, answer, nil, visit)
}

// probe sends a request without a token to the server.
func (a *Account) probe(ctx context.Context) (*http.Request, *refusal, error) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.config.URL, bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("the address of the server is invalid")
	}
	maps.Copy(req.Header, a.config.Header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	client, err := a.client(ctx)
	if err != nil {
		return nil, nil, err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("asking the server for its sign-in: %w", withoutBody(err))
	}
	_ = resp.Body.Close()
	return req, &refusal{resp.StatusCode, resp.Status, resp.Header}, nil
}

// signIn asks the user to sign in and stores the grant. had is the present one; nil for none. The caller must have entered.
func (a *Account) signIn(ctx context.Context, req *http.Request, answer *refusal, had *Grant, visit Visit) error {
	client, err := a.client(ctx)
	if err != nil {
		return err
	}
	back, err := listen(ctx, a.config.CallbackPort)
	if err != nil {
		return err
	}
	defer back.close()
	var granted *Grant
	resource := ""
	config := a.handlerConfig(client, back.url)
	config.AuthorizationCodeFetcher = func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		if u, err := url.Parse(args.URL); err == nil {
			resource = u.Query().Get("resource") // only the handler knows it
		}
		return back.await(ctx, args.URL, visit)
	}
	config.ScopeFilter = func(discovered []string) []string {
		switch {
		case had != nil && answer.code == http.StatusForbidden:
			return union(had.Scopes, discovered)
		case len(a.config.Scopes) > 0:
			return a.config.Scopes
		}
		return discovered
	}
	config.NewTokenSource = func(_ context.Context, c *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
		granted = newGrant(c, token)
		return oauth2.StaticTokenSource(token), nil
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return fmt.Errorf("the configuration of the sign-in is invalid: %w", err)
	}
	resp := &http.Response{StatusCode: answer.code, Header: answer.header, Body: http.NoBody}
	if err := handler.Authorize(ctx, req, resp); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("signing in: %w", withoutBody(err))
	}
	if granted == nil {
		return errors.New("signing in: the authorization server granted nothing")
	}
	granted.Resource = resource
	return a.save(ctx, granted)
}

// handlerConfig returns the part of the SDK's configuration that is about the client.
func (a *Account) handlerConfig(client *http.Client, redirect string) *auth.AuthorizationCodeHandlerConfig {
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: client,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "gjc", SoftwareID: "github.com/gajae-code/gjc", SoftwareVersion: a.all.opts.Version, RedirectURIs: []string{redirect},
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}},
	}
	if a.config.ClientMetadataURL != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: a.config.ClientMetadataURL}
	}
	if a.config.ClientID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: a.config.ClientID}
		if a.config.ClientSecret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: a.config.ClientSecret}
		}
	}
	return config
}

func newGrant(c *oauth2.Config, token *oauth2.Token) *Grant {
	g := &Grant{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: c.Endpoint.TokenURL, AuthStyle: int(c.Endpoint.AuthStyle), Scopes: c.Scopes,
		AccessToken: token.AccessToken, RefreshToken: token.RefreshToken, Expiry: token.Expiry,
	}
	if scopes := scopesOf(token); scopes != nil {
		g.Scopes = scopes
	}
	return g
}

// SignOut deletes the grant, and revokes its tokens (RFC 7009) if the authorization server supports that. It reports whether there was
// a grant. If the tokens cannot be revoked, the error says why; the grant is deleted anyway.
func (a *Account) SignOut(ctx context.Context) (was bool, err error) {
	release, err := a.all.enter(ctx, a.config.URL)
	if err != nil {
		return false, err
	}
	defer release()
	g, err := a.load(ctx)
	if err != nil || g == nil {
		return false, err
	}
	if err := a.save(ctx, nil); err != nil {
		return true, err
	}
	if err := a.revoke(ctx, g); err != nil {
		return true, fmt.Errorf("revoking the token: %w", withoutBody(err))
	}
	return true, nil
}

func (a *Account) revoke(ctx context.Context, g *Grant) error {
	_, answer, err := a.probe(ctx)
	if err != nil {
		return err
	}
	meta, err := a.metadata(ctx, answer.header)
	if err != nil || meta == nil || meta.RevocationEndpoint == "" {
		return err
	}
	client, err := a.client(ctx)
	if err != nil {
		return err
	}
	for _, token := range []string{g.RefreshToken, g.AccessToken} {
		if token == "" {
			continue
		}
		form := url.Values{"token": {token}, "client_id": {g.ClientID}}
		if g.ClientSecret != "" {
			form.Set("client_secret", g.ClientSecret)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, meta.RevocationEndpoint, strings.NewReader(form.Encode()))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode >= http.StatusBadRequest {
			return fmt.Errorf("the authorization server answered HTTP %s", resp.Status)
		}
	}
	return nil
}

// metadata returns the metadata of the server's authorization server; nil for none. header is that of a refusal, or
// empty.
func (a *Account) metadata(ctx context.Context, header http.Header) (*oauthex.AuthServerMeta, error) {
	client, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	for _, at := range a.metadataURLs(header) {
		protected, err := oauthex.GetProtectedResourceMetadata(ctx, at.url, at.resource, client)
		if err != nil || protected == nil || len(protected.AuthorizationServers) == 0 {
			continue // the next address may have it
		}
		return auth.GetAuthServerMetadata(ctx, protected.AuthorizationServers[0], client)
	}
	return nil, nil
}

// metadataURL is a possible address of protected resource metadata, and the resource that it must be about.
type metadataURL struct{ url, resource string }

// metadataURLs returns the addresses in the order of the MCP specification.
func (a *Account) metadataURLs(header http.Header) []metadataURL {
	var all []metadataURL
	if u := bearerOf(header)["resource_metadata"]; u != "" {
		all = append(all, metadataURL{u, a.config.URL})
	}
	u, err := url.Parse(a.config.URL)
	if err != nil {
		return all
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	root := url.URL{Scheme: u.Scheme, Host: u.Host}
	return append(all, metadataURL{root.JoinPath(wellKnown, u.Path).String(), a.config.URL}, metadataURL{root.JoinPath(wellKnown).String(), root.String()})
}

// bearerOf returns the parameters of a refusal's challenge for a bearer token.
func bearerOf(header http.Header) map[string]string {
	challenges, err := oauthex.ParseWWWAuthenticate(header.Values("WWW-Authenticate"))
	if err != nil {
		return nil
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" {
			return c.Params
		}
	}
	return nil
}

// covers reports whether scopes include all that are wanted, of which there is at least one.
func covers(scopes, wanted []string) bool {
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(s string) bool { return !slices.Contains(scopes, s) })
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
