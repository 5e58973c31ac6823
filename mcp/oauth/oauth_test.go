package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/mcp/oauth"
	"github.com/gajae-code/gjc/mcp/oauth/oauthtest"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// world is a resource server and its authorization server at one address. The handlers of tests replace those of addresses.
type world struct {
	*httptest.Server
	resource string
	store    *oauthtest.Store
	account  *oauth.Account

	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
	meta     map[string]any
	tokens   atomic.Int32 // the requests for tokens
	form     url.Values   // the last of these
}

func newWorld(t *testing.T, config oauth.Config) *world {
	t.Helper()
	testenv.NoLeaks(t)
	w := &world{store: oauthtest.NewStore(), handlers: make(map[string]http.HandlerFunc)}
	w.Server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.Close)
	w.resource = w.URL + "/mcp"
	w.meta = map[string]any{
		"issuer": w.URL, "authorization_endpoint": w.URL + "/authorize", "token_endpoint": w.URL + "/token", "registration_endpoint": w.URL + "/register",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
	}
	config.URL = w.resource
	w.account = oauth.New(oauth.Options{Store: w.store, Version: "1"}).Account(config)
	return w
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	handler := w.handlers[r.URL.Path]
	w.mu.Unlock()
	if handler != nil {
		handler(rw, r)
		return
	}
	reply := func(status int, v any) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(status)
		_ = json.NewEncoder(rw).Encode(v)
	}
	switch r.URL.Path {
	case "/mcp":
		rw.WriteHeader(http.StatusUnauthorized)
	case "/.well-known/oauth-protected-resource/mcp":
		reply(http.StatusOK, map[string]any{"resource": w.resource, "authorization_servers": []string{w.URL}})
	case "/.well-known/oauth-authorization-server":
		reply(http.StatusOK, w.meta)
	case "/register":
		reply(http.StatusCreated, map[string]any{"client_id": "registered", "redirect_uris": []string{"http://127.0.0.1/callback"}})
	case "/token":
		_ = r.ParseForm()
		w.mu.Lock()
		w.form = r.PostForm
		w.mu.Unlock()
		n := w.tokens.Add(1)
		reply(http.StatusOK, map[string]any{"access_token": fmt.Sprintf("token%d", n), "token_type": "Bearer", "expires_in": 3600, "refresh_token": fmt.Sprintf("refresh%d", n)})
	default:
		http.NotFound(rw, r)
	}
}

func (w *world) handle(path string, h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handlers[path] = h
}

// get requests an address as a browser does, and returns the status and the body.
func get(t *testing.T, address string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, address, nil)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(body)
}

// returning returns a visit in which the browser comes back with the given parameters, besides the state.
func returning(t *testing.T, params url.Values) oauth.Visit {
	return func(_ context.Context, address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		query := url.Values{"state": {u.Query().Get("state")}}
		maps.Copy(query, params)
		get(t, u.Query().Get("redirect_uri")+"?"+query.Encode())
		return nil
	}
}

// TestSignIn_MetadataDocument uses a client ID metadata document where the authorization server supports one, and registers a client
// otherwise.
func TestSignIn_MetadataDocument(t *testing.T) {
	const document = "https://example.com/gjc.json"
	for _, supported := range []bool{true, false} {
		w := newWorld(t, oauth.Config{ClientMetadataURL: document})
		w.meta["client_id_metadata_document_supported"] = supported
		if err := w.account.SignIn(t.Context(), returning(t, url.Values{"code": {"c"}})); err != nil {
			t.Fatal(err)
		}
		want := "registered"
		if supported {
			want = document
		}
		if g := w.store.Grant(w.resource); g.ClientID != want || g.Resource != w.resource {
			t.Errorf("supported %v: the client is %q for %q", supported, g.ClientID, g.Resource)
		}
		if w.form.Get("code_verifier") == "" || w.form.Get("resource") != w.resource {
			t.Errorf("the request for a token has the parameters %v", w.form)
		}
	}
}

// TestCallback checks what the address that the browser returns to does with requests that are none of its business.
func TestCallback(t *testing.T) {
	w := newWorld(t, oauth.Config{})
	err := w.account.SignIn(t.Context(), func(_ context.Context, address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		redirect, state := u.Query().Get("redirect_uri"), u.Query().Get("state")
		if !strings.HasPrefix(redirect, "http://127.0.0.1:") {
			t.Errorf("the browser returns to %s", redirect)
		}
		for _, path := range []string{"?code=stolen", "?code=stolen&state=guessed", "?error=access_denied&state=", "/other?code=x&state=" + state, "?code=%ff&state=%00"} {
			if status, body := get(t, redirect+path); status != http.StatusNotFound || strings.Contains(body, "stolen") {
				t.Errorf("%s: HTTP %d %s", path, status, body)
			}
		}
		if status, body := get(t, redirect+"?code=c&state="+state); status != http.StatusOK || !strings.Contains(body, "Signed in") {
			t.Errorf("the right request: HTTP %d %s", status, body)
		}
		if status, _ := get(t, redirect+"?code=again&state="+state); status != http.StatusOK {
			t.Errorf("loading the page again: HTTP %d", status)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.form.Get("code") != "c" {
		t.Errorf("the code was %q", w.form.Get("code"))
	}
}

// TestSignIn_Refused checks the errors of a sign-in, which must be clear and must not contain what a server made up.
func TestSignIn_Refused(t *testing.T) {
	reply := func(status int, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(status)
			_, _ = io.WriteString(rw, body)
		}
	}
	accept := url.Values{"code": {"c"}}
	for name, c := range map[string]struct {
		params url.Values
		path   string
		answer http.HandlerFunc
		want   string
	}{
		"by the user":              {url.Values{"error": {"access_denied"}, "error_description": {"no\x1b[31m, thanks" + strings.Repeat("!", 1000)}}, "", nil, "access_denied (no [31m, thanks!"},
		"wrong issuer":             {url.Values{"code": {"c"}, "iss": {"https://evil.example"}}, "", nil, "issuer"},
		"the code":                 {accept, "/token", reply(400, `{"error":"invalid_grant","error_description":"used"}`), "invalid_grant (used) (HTTP 400 Bad Request)"},
		"the token is no JSON":     {accept, "/token", reply(200, `SECRET`), "signing in"},
		"the server is broken":     {accept, "/token", reply(500, `SECRET`), "HTTP 500"},
		"registration":             {accept, "/register", reply(400, `{"error":"invalid_redirect_uri"}`), "invalid_redirect_uri"},
		"metadata are garbage":     {accept, "/.well-known/oauth-authorization-server", reply(200, `[]`), "signing in"},
		"metadata are endless":     {accept, "/.well-known/oauth-authorization-server", reply(200, `{"issuer":"`+strings.Repeat("x", 2<<20)), "signing in"},
		"no PKCE":                  {accept, "/.well-known/oauth-authorization-server", reply(200, `{"issuer":"ISSUER","authorization_endpoint":"ISSUER/a","token_endpoint":"ISSUER/t","response_types_supported":["code"]}`), "signing in"},
		"an address for a browser": {accept, "/.well-known/oauth-authorization-server", reply(200, `{"issuer":"ISSUER","authorization_endpoint":"javascript:alert(1)","token_endpoint":"ISSUER/t","response_types_supported":["code"],"code_challenge_methods_supported":["S256"]}`), "signing in"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, oauth.Config{})
			if c.answer != nil {
				inner := c.answer
				w.handle(c.path, func(rw http.ResponseWriter, r *http.Request) {
					rec := httptest.NewRecorder()
					inner(rec, r)
					maps.Copy(rw.Header(), rec.Header())
					rw.WriteHeader(rec.Code)
					_, _ = io.WriteString(rw, strings.ReplaceAll(rec.Body.String(), "ISSUER", w.URL))
				})
			}
			err := w.account.SignIn(t.Context(), returning(t, c.params))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET") || strings.ContainsRune(err.Error(), 0x1b) || len(err.Error()) > 2000 {
				t.Errorf("got the error %v, want one with %q", err, c.want)
			}
			if w.store.Grant(w.resource) != nil {
				t.Error("something is stored")
			}
		})
	}
}

// TestSignIn_NotNeeded reports a server that wants no sign-in.
func TestSignIn_NotNeeded(t *testing.T) {
	w := newWorld(t, oauth.Config{})
	w.handle("/mcp", func(http.ResponseWriter, *http.Request) {})
	w.handle("/.well-known/oauth-protected-resource/mcp", http.NotFound)
	if err := w.account.SignIn(t.Context(), returning(t, nil)); !errors.Is(err, oauth.ErrNotNeeded) {
		t.Errorf("got %v", err)
	}
}

// TestSignIn_Cancelled ends a sign-in while the browser is away, and checks that the next one works.
func TestSignIn_Cancelled(t *testing.T) {
	w := newWorld(t, oauth.Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user has changed their mind")
	err := w.account.SignIn(ctx, func(context.Context, string) error { cancel(cause); return nil })
	if !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	if err := w.account.SignIn(t.Context(), returning(t, url.Values{"code": {"c"}})); err != nil {
		t.Error(err)
	}
}

// TestToken checks when a token is refreshed, and that a refresh names the resource.
func TestToken(t *testing.T) {
	w := newWorld(t, oauth.Config{})
	grant := func(expiry time.Time) {
		if err := w.store.Save(t.Context(), w.resource, &oauth.Grant{
			ClientID: "registered", TokenURL: w.URL + "/token", AuthStyle: 1, AccessToken: "old", RefreshToken: "refresh", Expiry: expiry, Resource: w.resource, Scopes: []string{"a"},
		}); err != nil {
			t.Fatal(err)
		}
	}
	account := func() *oauth.Account { // without what it remembers
		return oauth.New(oauth.Options{Store: w.store}).Account(oauth.Config{URL: w.resource})
	}
	if token, err := account().Token(t.Context()); token != "" || err != nil {
		t.Errorf("without a grant: %q, %v", token, err)
	}
	for _, expiry := range []time.Time{{}, time.Now().Add(time.Hour)} {
		grant(expiry)
		if token, err := account().Token(t.Context()); token != "old" || err != nil {
			t.Errorf("with the expiry %v: %q, %v", expiry, token, err)
		}
	}
	grant(time.Now().Add(time.Second)) // it would expire on the way
	if token, err := account().Token(t.Context()); token != "token1" || err != nil {
		t.Errorf("an expired token: %q, %v", token, err)
	}
	if w.form.Get("resource") != w.resource || w.form.Get("refresh_token") != "refresh" || w.form.Get("client_id") != "registered" {
		t.Errorf("the refresh has the parameters %v", w.form)
	}
	if g := w.store.Grant(w.resource); g.RefreshToken != "refresh1" || len(g.Scopes) != 1 {
		t.Errorf("stored: %+v", g)
	}

	grant(time.Now().Add(-time.Hour))
	w.handle("/token", func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "SECRET", http.StatusBadGateway) })
	if _, err := account().Token(t.Context()); err == nil || strings.Contains(err.Error(), "SECRET") || w.store.Grant(w.resource) == nil {
		t.Errorf("while the authorization server is away: %v; stored %+v", err, w.store.Grant(w.resource))
	}
	w.handle("/token", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(rw, `{"error":"invalid_grant"}`)
	})
	if token, err := account().Token(t.Context()); token != "" || err != nil || w.store.Grant(w.resource) != nil {
		t.Errorf("with a grant that has ended: %q, %v; stored %+v", token, err, w.store.Grant(w.resource))
	}
}

// TestAuthorize_Asks checks when a refusal leads to a question.
func TestAuthorize_Asks(t *testing.T) {
	w := newWorld(t, oauth.Config{})
	refuse := func(status int, challenge string) (bool, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.resource, nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.account.Authorize(t.Context(), req, &http.Response{StatusCode: status, Header: http.Header{"Www-Authenticate": {challenge}}, Body: http.NoBody}, nil)
	}
	if again, err := refuse(http.StatusForbidden, `Bearer error="invalid_token"`); again || err != nil {
		t.Errorf("a plain refusal: %v, %v", again, err)
	}
	if again, err := refuse(http.StatusUnauthorized, `Bearer`); again || !errors.Is(err, oauth.ErrSignIn) {
		t.Errorf("without a grant: %v, %v", again, err)
	}
	if err := w.store.Save(t.Context(), w.resource, &oauth.Grant{AccessToken: "", Scopes: []string{"a", "b"}}); err != nil {
		t.Fatal(err)
	}
	if again, err := refuse(http.StatusForbidden, `Bearer error="insufficient_scope", scope="a"`); again || err == nil || errors.Is(err, oauth.ErrSignIn) {
		t.Errorf("scopes that it has: %v, %v", again, err)
	}
	if again, err := refuse(http.StatusForbidden, `Bearer error="insufficient_scope", scope="a c"`); again || !errors.Is(err, oauth.ErrSignIn) {
		t.Errorf("more scopes: %v, %v", again, err)
	}
	if again, err := refuse(http.StatusUnauthorized, `Bearer "`+strings.Repeat(",", 1<<16)); again || !errors.Is(err, oauth.ErrSignIn) {
		t.Errorf("a challenge that is garbage: %v, %v", again, err)
	}
}

// TestSignIn_PrivateNetwork checks that a server on the Internet cannot send gjc to addresses of this machine. Its own address is one
// here, so the name that it is reached by decides.
func TestSignIn_PrivateNetwork(t *testing.T) {
	w := newWorld(t, oauth.Config{})
	local := http.DefaultTransport.(*http.Transport).Clone()
	local.Proxy = func(r *http.Request) (*url.URL, error) { // nothing leaves this machine
		if r.URL.Hostname() == "8.8.8.8" {
			return url.Parse(w.URL)
		}
		return nil, nil
	}
	public := oauth.New(oauth.Options{Store: w.store, Transport: local}).Account(oauth.Config{URL: "http://8.8.8.8:1/mcp"})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://8.8.8.8:1/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.handle("/.well-known/oauth-protected-resource/mcp", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Hostname() == "8.8.8.8" { // through the proxy
			http.NotFound(rw, r)
			return
		}
		t.Errorf("a request reached this machine")
	})
	_, err = public.Authorize(t.Context(), req, &http.Response{
		StatusCode: http.StatusUnauthorized, Body: http.NoBody,
		Header: http.Header{"Www-Authenticate": {`Bearer resource_metadata="` + w.URL + `/.well-known/oauth-protected-resource/mcp"`}},
	}, returning(t, url.Values{"code": {"c"}}))
	if err == nil || w.store.Grant("http://8.8.8.8:1/mcp") != nil {
		t.Errorf("got %v", err)
	}
}
