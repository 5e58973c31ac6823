package access_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/access"
)

const redirectURI = "http://localhost:9999/auth/callback"

// startIssuer starts a real issuer with the users ann, whose address is verified, and eve, whose is not, and the clients gjc and other.
func startIssuer(t *testing.T) (issuer string) {
	t.Helper()
	users := map[string]*storage.User{
		"1": {ID: "1", Username: "ann", Password: "secret", Email: "Ann@example.com", EmailVerified: true},
		"2": {ID: "2", Username: "eve", Password: "secret", Email: "ann@example.com"},
	}
	data, err := json.Marshal(users)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "users.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := storage.StoreFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	storage.RegisterClients(storage.WebClient("gjc", "secret", redirectURI), storage.WebClient("other", "secret", redirectURI))
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	logs := slog.Default()
	t.Cleanup(func() { slog.SetDefault(logs) })
	handler = exampleop.SetupServer(server.URL, storage.NewStorage(store), slog.New(slog.NewTextHandler(io.Discard, nil)), false)
	return server.URL
}

// signIn signs in as a person in a browser would, and returns the ID token.
func signIn(t *testing.T, issuer, client, user string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), redirectURI) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	query := url.Values{"client_id": {client}, "redirect_uri": {redirectURI}, "response_type": {"id_token"}, "scope": {"openid email"}, "nonce": {"1"}, "state": {"2"}}
	page, err := browser.Get(issuer + "/auth?" + query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	_ = page.Body.Close()
	id := page.Request.URL.Query().Get("authRequestID")
	answer, err := browser.PostForm(issuer+"/login/username", url.Values{"username": {user}, "password": {"secret"}, "id": {id}})
	if err != nil {
		t.Fatal(err)
	}

	_ = answer.Body.Close()
	back, err := answer.Location()
	if err != nil {
		t.Fatal(err)
	}
	fragment, err := url.ParseQuery(back.Fragment)
	if err != nil || fragment.Get("id_token") == "" {
		t.Fatalf("no token in %s: %v", back, err)
	}
	return fragment.Get("id_token")
}

func TestIssuer(t *testing.T) {
	at := startIssuer(t)
	now := time.Now()
	issuer, err := access.NewIssuer(access.IssuerOptions{Issuer: at, Audience: "gjc", Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	token := signIn(t, at, "gjc", "ann")
	who, err := issuer.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if !who.Expires.After(now) {
		t.Errorf("it expires at %s", who.Expires)
	}
	who.Expires = time.Time{}
	if diff := cmp.Diff(&access.Identity{User: "ann@example.com", Token: "oidc:ann@example.com", Scopes: access.Working()}, who); diff != "" {
		t.Error(diff)
	}

	for name, bad := range map[string]string{
		"for another client": signIn(t, at, "other", "ann"),
		"unverified address": signIn(t, at, "gjc", "eve"),
		"changed":            token[:len(token)-6] + "AAAAAA",
		"no token":           "a.b.c",
		"nothing":            "",
		"foreign key":        forge(t, at),
		"not signed":         "eyJhbGciOiJub25lIn0" + token[strings.Index(token, "."):strings.LastIndex(token, ".")+1],
	} {
		if who, err := issuer.Verify(t.Context(), bad); !errors.Is(err, access.ErrUnknown) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	now = now.Add(24 * time.Hour)
	if _, err := issuer.Verify(t.Context(), token); !errors.Is(err, access.ErrExpired) {
		t.Errorf("a day later: %v", err)
	}
}

// forge returns a token that another key signs in the issuer's name.
func forge(t *testing.T, issuer string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{"iss": issuer, "aud": "gjc", "exp": time.Now().Add(time.Hour).Unix(), "sub": "1", "email": "ann@example.com", "email_verified": true}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestIssuer_Away checks that an issuer that cannot be reached refuses, and is asked again later.
func TestIssuer_Away(t *testing.T) {
	at := startIssuer(t)
	token := signIn(t, at, "gjc", "ann")
	away := true
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if away {
			return nil, errors.New("no route to host")
		}
		return http.DefaultTransport.RoundTrip(r)
	})}
	issuer, err := access.NewIssuer(access.IssuerOptions{Issuer: at, Audience: "gjc", Client: client, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := issuer.Verify(t.Context(), token); err == nil || errors.Is(err, access.ErrUnknown) || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("away: %v", err)
	}
	away = false
	if _, err := issuer.Verify(t.Context(), token); err != nil {
		t.Error(err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNewIssuer_Refuses(t *testing.T) {
	for _, o := range []access.IssuerOptions{
		{Issuer: "http://issuer.example.com", Audience: "gjc"},
		{Issuer: "issuer.example.com", Audience: "gjc"},
		{Issuer: "https://issuer.example.com"},
		{Issuer: "ftp://localhost", Audience: "gjc"},
	} {
		if _, err := access.NewIssuer(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
