package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/mcp/oauth"
	"github.com/gajae-code/gjc/mcp/oauth/oauthtest"
)

// listening receives a token when a server writes that it is listening.
type listening chan struct{}

func (l listening) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "listening on port") {
		select {
		case l <- struct{}{}:
		default:
		}
	}
	return len(b), nil
}

// nodeServer starts a script of testdata/mcp that says when it listens.
func nodeServer(t *testing.T, env []string, script string, args ...string) {
	t.Helper()
	dir := filepath.Join(testenv.ModuleRoot(t), "testdata", "mcp")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "oidc-provider")); err != nil {
		testenv.Skip(t, "no node_modules in testdata/mcp; run npm ci there")
	}
	said := make(listening, 1)
	p, err := proc.Start(t.Context(), &proc.Options{
		Path: testenv.NeedsTool(t, "node"), Args: append([]string{script}, args...), Dir: dir, Stderr: said, Stdout: said,
		Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown(context.Background(), nil) })
	select {
	case <-said:
	case <-p.Done():
		t.Fatalf("the server ended: %v: %s", p.Err(), p.Stderr())
	case <-time.After(patience):
		t.Fatalf("the server does not come up: %s", p.Stderr())
	}
}

// user signs in with the development pages of oidc-provider, as a browser would.
type user struct {
	visits atomic.Int32
	// last is the query of the last address of the authorization server.
	mu   sync.Mutex
	last url.Values
}

var promptField = regexp.MustCompile(`name="prompt" value="(\w+)"`)

// visit implements [oauth.Visit].
func (u *user) visit(ctx context.Context, address string) error {
	u.visits.Add(1)
	at, err := url.Parse(address)
	if err != nil {
		return err
	}
	u.mu.Lock()
	u.last = at.Query()
	u.mu.Unlock()
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	// The browser goes on when the question is over.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	send := func(method, address string, form url.Values) (*http.Response, string, error) {
		req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
		if err != nil {
			return nil, "", err
		}
		if form != nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, "", err
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		return resp, string(body), err
	}
	resp, body, err := send(http.MethodGet, address, nil)
	for ; err == nil && strings.Contains(resp.Request.URL.Path, "/interaction/"); resp, body, err = send(http.MethodPost, resp.Request.URL.String(), url.Values{
		"prompt": {promptField.FindStringSubmatch(body)[1]}, "login": {"ada"}, "password": {"x"},
	}) {
	}
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, "Signed in") {
		return fmt.Errorf("the browser ends at %s with HTTP %s: %s", resp.Request.URL, resp.Status, body)
	}
	return nil
}

// protected is an MCP server of the SDK that accepts tokens of an authorization server.
type protected struct {
	url, issuer string
	// refused counts the requests without a valid token.
	refused atomic.Int32
	// end ends the sessions of clients that cannot do so, because they have no valid token any more.
	end func()
}

// authorizationServer starts oidc-provider and returns its issuer.
func authorizationServer(t *testing.T) string {
	t.Helper()
	port := testenv.FreePort(t)
	nodeServer(t, nil, "authorization-server.mjs", fmt.Sprint(port))
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// introspect asks the authorization server about a token.
func introspect(ctx context.Context, issuer, token string) (active bool, scopes []string, audience string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, issuer+"/token/introspection", strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		return false, nil, "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth("resource-server", "resource-secret")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return false, nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Active bool
		Scope  string
		Aud    string
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return answer.Active, strings.Fields(answer.Scope), answer.Aud, err
}

// newProtected starts a server that wants the scope mcp:read, and mcp:write for the tool "fail".
func newProtected(t *testing.T, issuer string, sse bool) *protected {
	t.Helper()
	p := &protected{issuer: issuer}
	verify := func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		active, scopes, audience, err := introspect(ctx, issuer, token)
		if err != nil || !active || audience != p.url {
			p.refused.Add(1)
			return nil, errors.Join(auth.ErrInvalidToken, err)
		}
		return &auth.TokenInfo{Scopes: scopes, Expiration: time.Now().Add(time.Hour)}, nil
	}
	kit := newKit("protected", handshake).server
	p.end = func() {
		for s := range kit.Sessions() {
			_ = s.Close()
		}
	}
	var handler http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return kit }, nil)
	if sse {
		handler = sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return kit }, nil)
	}
	mux := http.NewServeMux()
	server := httptest.NewUnstartedServer(mux)
	server.Start()
	t.Cleanup(server.Close)
	p.url = server.URL + "/mcp"
	metadata := server.URL + "/.well-known/oauth-protected-resource/mcp"
	mux.Handle("/.well-known/oauth-protected-resource/mcp", auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: p.url, AuthorizationServers: []string{issuer}, ScopesSupported: []string{"mcp:read"},
	}))
	stepUp := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if strings.Contains(string(body), `"name":"fail"`) && !slices.Contains(auth.TokenInfoFromContext(r.Context()).Scopes, "mcp:write") {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="mcp:write", resource_metadata="`+metadata+`"`)
			http.Error(w, "more scopes, please", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
	mux.Handle("/mcp", auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: metadata})(stepUp))
	return p
}

func (p *protected) server() mcp.Server {
	return mcp.Server{Name: "protected", HTTP: &mcp.HTTP{URL: p.url}}
}

// TestSignIn follows a user through the life of a sign-in, at the real authorization server oidc-provider: dynamic registration, PKCE,
// a second session, refresh, revoked tokens, more scopes, the end.
func TestSignIn(t *testing.T) {
	p := newProtected(t, authorizationServer(t), false)
	store := oauthtest.NewStore()
	accounts := oauth.New(oauth.Options{Store: store, Version: "1"})
	ada := new(user)
	var completed atomic.Int32
	opts := mcp.Options{
		Accounts: accounts, ElicitURLs: true, ElicitationComplete: func(string, string) { completed.Add(1) },
		Elicit: func(ctx context.Context, req mcp.ElicitRequest) (mcp.ElicitResult, error) {
			if req.Mode != "url" {
				return mcp.ElicitResult{Action: "decline"}, nil
			}
			return mcp.ElicitResult{Action: "accept"}, ada.visit(ctx, req.URL)
		},
	}
	set := start(t, opts, p.server()).ready()
	if s := set.Status()[0]; s.State != mcp.StateFailed || !strings.Contains(s.LastError, oauth.ErrSignIn.Error()) {
		t.Fatalf("without a sign-in: %+v", s)
	}
	if n := set.countNotices("protected", "wants you to sign in"); n != 1 {
		t.Errorf("%d notices ask for the sign-in: %q", n, set.noticeTexts())
	}
	if ada.visits.Load() != 0 {
		t.Error("the user was asked to sign in although no call needs it")
	}

	if err := set.SignIn(t.Context(), "protected", ada.visit); err != nil {
		t.Fatal(err)
	}
	if got := set.says("protected", "echo", `{"text":"hello"}`); got != "hello" {
		t.Fatalf("after the sign-in: %q", got)
	}
	ada.mu.Lock()
	if q := ada.last; q.Get("code_challenge_method") != "S256" || q.Get("resource") != p.url || !slices.Equal(slices.Sorted(slices.Values(strings.Fields(q.Get("scope")))), []string{"mcp:read", "offline_access"}) {
		t.Errorf("the address of the authorization server has the parameters %v", q)
	}
	ada.mu.Unlock()
	first := store.Grant(p.url)
	if first == nil || first.RefreshToken == "" || first.Expiry.IsZero() || first.ClientID == "known" {
		t.Fatalf("stored: %+v", first)
	}

	// A second session uses the stored grant; an expired token is refreshed once, whatever the number of calls.
	second := start(t, opts, p.server()).connected()
	store.Change(p.url, func(g *oauth.Grant) { g.Expiry = time.Now().Add(-time.Minute) })
	third := start(t, opts, p.server()).connected()
	var wg sync.WaitGroup
	for _, s := range []*watched{set, second, third} {
		for range 5 {
			wg.Go(func() {
				if got := s.says("protected", "echo", `{"text":"again"}`); got != "again" {
					t.Errorf("with an expired token: %q", got)
				}
			})
		}
	}
	wg.Wait()
	refreshed := store.Grant(p.url)
	if refreshed.AccessToken == first.AccessToken || refreshed.RefreshToken == first.RefreshToken {
		t.Error("the token was not refreshed")
	}

	// The server refuses a token that has not expired.
	store.Change(p.url, func(g *oauth.Grant) { g.AccessToken = "revoked" })
	fourth := start(t, opts, p.server()).connected()
	if got := fourth.says("protected", "echo", `{"text":"still"}`); got != "still" {
		t.Errorf("with a revoked token: %q", got)
	}
	if ada.visits.Load() != 1 {
		t.Errorf("the user was asked %d times, not once", ada.visits.Load())
	}

	// A tool wants more scopes.
	res, err := fourth.call("protected", "fail", "{}")
	if err != nil || !res.IsError || ada.visits.Load() != 2 || completed.Load() != 1 {
		t.Errorf("with more scopes: %v, %v; asked %d times, completed %d", res, err, ada.visits.Load(), completed.Load())
	}
	if diff := cmp.Diff([]string{"mcp:read", "mcp:write"}, slices.DeleteFunc(slices.Sorted(slices.Values(store.Grant(p.url).Scopes)), func(s string) bool { return s == "offline_access" })); diff != "" {
		t.Errorf("scopes: %s", diff)
	}

	for _, s := range []*watched{set, second, third} { // before their connections are taken for leaks of the fourth
		s.close()
	}
	last := store.Grant(p.url)
	if was, err := fourth.SignOut(t.Context(), "protected"); err != nil || !was {
		t.Errorf("signing out: %v, %v", was, err)
	}
	for _, token := range []string{last.AccessToken, last.RefreshToken} {
		if active, _, _, err := introspect(t.Context(), p.issuer, token); err != nil || active {
			t.Errorf("a token is still valid after signing out (%v)", err)
		}
	}
	p.end()
	if store.Grant(p.url) != nil {
		t.Error("the grant is still stored after signing out")
	}
}

// TestSignIn_Elsewhere checks that a session goes on after the user has signed in outside of it.
func TestSignIn_Elsewhere(t *testing.T) {
	p := newProtected(t, authorizationServer(t), false)
	accounts := oauth.New(oauth.Options{Store: oauthtest.NewStore()})
	set := start(t, mcp.Options{Accounts: accounts}, p.server()).ready()
	set.Resume(t.Context())
	if s := set.Status()[0]; s.State != mcp.StateFailed {
		t.Fatalf("resumed without a sign-in: %+v", s)
	}
	if err := accounts.Account(oauth.Config{URL: p.url}).SignIn(t.Context(), new(user).visit); err != nil {
		t.Fatal(err)
	}
	set.Resume(t.Context())
	if got := set.says("protected", "echo", `{"text":"hello"}`); got != "hello" {
		t.Errorf("after the sign-in elsewhere: %q", got)
	}
}

// TestSignIn_Clients signs in with a client that was registered in advance, and over the older transport.
func TestSignIn_Clients(t *testing.T) {
	issuer := authorizationServer(t)
	for _, sse := range []bool{false, true} {
		t.Run(fmt.Sprintf("sse=%v", sse), func(t *testing.T) {
			p := newProtected(t, issuer, sse)
			store := oauthtest.NewStore()
			server := p.server()
			server.HTTP.SSE = sse
			server.HTTP.OAuth = oauth.Config{ClientID: "known", ClientSecret: "known-secret", Scopes: []string{"mcp:read", "mcp:write"}}
			set := start(t, mcp.Options{Accounts: oauth.New(oauth.Options{Store: store})}, server).ready()
			if err := set.SignIn(t.Context(), "protected", new(user).visit); err != nil {
				t.Fatal(err)
			}
			if got := set.says("protected", "echo", `{"text":"hello"}`); got != "hello" {
				t.Errorf("after the sign-in: %q", got)
			}
			if g := store.Grant(p.url); g.ClientID != "known" || !slices.Contains(g.Scopes, "mcp:write") {
				t.Errorf("stored: client %q, scopes %q", g.ClientID, g.Scopes)
			}
		})
	}
}

// TestSignIn_Declined checks the errors that the model and the user see.
func TestSignIn_Declined(t *testing.T) {
	p := newProtected(t, authorizationServer(t), false)
	store := oauthtest.NewStore()
	set := start(t, mcp.Options{
		Accounts: oauth.New(oauth.Options{Store: store}), ElicitURLs: true,
		Elicit: func(context.Context, mcp.ElicitRequest) (mcp.ElicitResult, error) {
			return mcp.ElicitResult{Action: "decline"}, nil
		},
	}, p.server()).ready()
	err := set.SignIn(t.Context(), "protected", func(context.Context, string) error { return oauth.ErrDeclined })
	if !errors.Is(err, oauth.ErrDeclined) {
		t.Errorf("declined: %v", err)
	}
	if err := set.SignIn(t.Context(), "protected", new(user).visit); err != nil {
		t.Fatal(err)
	}
	if _, err := set.call("protected", "fail", "{}"); !errors.Is(err, oauth.ErrDeclined) {
		t.Errorf("a call whose scopes were declined: %v", err)
	}
	if got := set.says("protected", "echo", `{"text":"hello"}`); got != "hello" {
		t.Errorf("a call after that: %q", got)
	}
}

// TestSignIn_ExampleServer signs in to the example server of the TypeScript SDK, which has an authorization server of its own.
func TestSignIn_ExampleServer(t *testing.T) {
	port, authPort := testenv.FreePort(t), testenv.FreePort(t)
	nodeServer(t, []string{fmt.Sprintf("MCP_PORT=%d", port), fmt.Sprintf("MCP_AUTH_PORT=%d", authPort)},
		"node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js", "--oauth", "--oauth-strict")
	address := fmt.Sprintf("http://localhost:%d/mcp", port)
	set := start(t, mcp.Options{Accounts: oauth.New(oauth.Options{Store: oauthtest.NewStore()})}, mcp.Server{Name: "example", HTTP: &mcp.HTTP{URL: address}}).ready()
	if err := set.SignIn(t.Context(), "example", new(user).visit); err != nil {
		t.Fatal(err)
	}
	if got := set.says("example", "greet", `{"name":"Ada"}`); got != "Hello, Ada!" {
		t.Errorf("greet says %q", got)
	}
}
