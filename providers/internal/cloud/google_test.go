package cloud

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

type transport func(*http.Request) (*http.Response, error)

func (fn transport) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

func respond(status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// files is a file system in memory.
func files(names map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if text, ok := names[filepath.ToSlash(path)]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
}

// signed returns the header of a request signed with tokens.
func signed(ctx context.Context, t *testing.T, tokens *GoogleTokens) (http.Header, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return req.Header, tokens.Sign(req, nil)
}

func named(text string) Vertex {
	return Vertex{
		Getenv:   env(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/key.json"}),
		ReadFile: files(map[string]string{"/key.json": text}),
	}
}

const refreshable = `{"type":"authorized_user","client_id":"id","client_secret":"cs-secret","refresh_token":"rt-secret"}`

func TestGoogle_ServiceAccount(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file, err := jsonx.Marshal(map[string]string{
		"type": "service_account", "client_email": "me@p", "private_key_id": "k1", "token_uri": "https://tokens.test/t",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	var form url.Values
	account := named(string(file))
	tokens := account.Tokens(&http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if err := r.ParseForm(); err != nil || r.URL.String() != "https://tokens.test/t" {
			t.Errorf("%s: %v", r.URL, err)
		}
		form = r.PostForm
		return respond(200, `{"access_token":"at","expires_in":3599,"token_type":"Bearer"}`)
	})})
	header, err := signed(t.Context(), t, tokens)
	if err != nil || header.Get("Authorization") != "Bearer at" {
		t.Fatalf("header %v, err %v", header, err)
	}
	parts := strings.Split(form.Get("assertion"), ".")
	if form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || len(parts) != 3 {
		t.Fatalf("form %v", form)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
		t.Error("the signature is not of the key")
	}
	var head struct{ Alg, Kid string }
	var claims struct {
		Iss, Scope, Aud string
		Iat, Exp        int64
	}
	for i, v := range []any{&head, &claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.NewReplacer(`"alg"`, `"Alg"`, `"kid"`, `"Kid"`, `"iss"`, `"Iss"`, `"scope"`, `"Scope"`, `"aud"`, `"Aud"`, `"iat"`, `"Iat"`, `"exp"`, `"Exp"`).Replace(string(text)))
		if err := jsonx.Unmarshal(text, v); err != nil {
			t.Fatal(err)
		}
	}
	if head.Alg != "RS256" || head.Kid != "k1" || claims.Iss != "me@p" || claims.Aud != "https://tokens.test/t" || claims.Scope != googleScope || claims.Exp-claims.Iat != 3600 {
		t.Errorf("%+v %+v", head, claims)
	}
	if got := account.Credentials(); got != "service account /key.json" {
		t.Errorf("credentials %q", got)
	}
}

func TestGoogle_TokensAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetched := 0
		tokens := named(refreshable).Tokens(&http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			fetched++
			time.Sleep(time.Second) // the others wait for it
			if err := r.ParseForm(); err != nil || r.PostForm.Get("refresh_token") != "rt-secret" || r.URL.String() != googleTokenURL {
				t.Errorf("%s %v %v", r.URL, r.PostForm, err)
			}
			return respond(200, `{"access_token":"at","expires_in":3600}`)
		})})
		all := func() {
			var group sync.WaitGroup
			for range 10 {
				group.Go(func() {
					if header, err := signed(t.Context(), t, tokens); err != nil || header.Get("Authorization") != "Bearer at" {
						t.Errorf("%v, %v", header, err)
					}
				})
			}
			group.Wait()
		}
		all()
		time.Sleep(58 * time.Minute)
		all()
		if fetched != 1 {
			t.Errorf("%d tokens within the hour", fetched)
		}
		time.Sleep(90 * time.Second)
		all()
		if fetched != 2 {
			t.Errorf("%d tokens after it", fetched)
		}
	})
}

// A caller that waits for another one's token can give up without waiting, and a failure is not cached.
func TestGoogle_WaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		calls := 0
		tokens := named(refreshable).Tokens(&http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			calls++
			if calls == 1 {
				<-release
				return respond(503, "")
			}
			return respond(200, `{"access_token":"at","expires_in":3600}`)
		})})
		done := make(chan error)
		go func() {
			_, err := signed(t.Context(), t, tokens)
			done <- err
		}()
		synctest.Wait()
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err := signed(ctx, t, tokens); !errors.Is(err, cause) {
			t.Errorf("err = %v, want the cause", err)
		}
		close(release)
		if e, ok := errors.AsType[*providers.Error](<-done); !ok || e.Kind != providers.KindServer || !e.Retryable() {
			t.Errorf("err = %v", e)
		}
		if _, err := signed(t.Context(), t, tokens); err != nil {
			t.Errorf("err = %v after the failure", err)
		}
	})
}

func TestGoogle_Failures(t *testing.T) {
	for _, test := range []struct {
		name    string
		account Vertex
		status  int
		body    string
		kind    providers.ErrorKind
		text    string
	}{
		{"no credentials", Vertex{}, 0, "", providers.KindAuth, "gcloud auth application-default login"},
		{"a named file that is missing", Vertex{Getenv: env(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/gone"}), ReadFile: files(nil)}, 0, "", providers.KindAuth, "/gone"},
		{"not JSON", named(`rt-secret`), 0, "", providers.KindAuth, "/key.json"},
		{"another type", named(`{"type":"external_account"}`), 0, "", providers.KindAuth, `"external_account"`},
		{"no key", named(`{"type":"service_account","private_key":"rt-secret"}`), 0, "", providers.KindAuth, "PEM"},
		{"a bad key", named(`{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\ncnQtc2VjcmV0\n-----END PRIVATE KEY-----\n"}`), 0, "", providers.KindAuth, "PKCS"},
		{"an address that is not safe", named(`{"type":"authorized_user","token_uri":"http://tokens.test"}`), 0, "", providers.KindAuth, "https"},
		{"refused", named(refreshable), 400, `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`, providers.KindAuth, "expired or revoked"},
		{"a web page", named(refreshable), 200, `<html>`, providers.KindAuth, "HTTP 200"},
		{"an empty token", named(refreshable), 200, `{}`, providers.KindAuth, "empty"},
		{"a token with a line", named(refreshable), 200, `{"access_token":"a\r\nb"}`, providers.KindAuth, "empty"},
		{"a failure", named(refreshable), 502, `<html>`, providers.KindServer, "502"},
		{"no answer", named(refreshable), 0, "", providers.KindNetwork, "oauth2.googleapis.com"},
	} {
		tokens := test.account.Tokens(&http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			if test.status == 0 {
				return nil, errors.New("no route")
			}
			return respond(test.status, test.body)
		})})
		_, err := signed(t.Context(), t, tokens)
		e, ok := errors.AsType[*providers.Error](err)
		if !ok || e.Kind != test.kind || !strings.Contains(e.Message, test.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: err = %v", test.name, err)
		}
	}
}

func TestGoogle_WhereCredentialsAre(t *testing.T) {
	const rest = "/application_default_credentials.json"
	for _, test := range []struct {
		account Vertex
		want    string
	}{
		{Vertex{Home: "/h", ReadFile: files(nil)}, ""},
		{Vertex{Home: "/h", ReadFile: files(map[string]string{"/h/.config/gcloud" + rest: refreshable})}, "application default credentials"},
		{Vertex{Getenv: env(map[string]string{"CLOUDSDK_CONFIG": "/c"}), ReadFile: files(map[string]string{"/c" + rest: refreshable})}, "application default credentials"},
		{Vertex{Home: "/h", Getenv: env(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/gone"}), ReadFile: files(map[string]string{"/h/.config/gcloud" + rest: refreshable})}, ""},
	} {
		if got := test.account.Credentials(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestGoogle_GivenCredentials(t *testing.T) {
	tokens := named(refreshable).Tokens(&http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		t.Errorf("%s is asked", r.URL)
		return respond(500, "")
	})})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer given")
	if err := tokens.Sign(req, nil); err != nil || req.Header.Get("Authorization") != "Bearer given" || req.Header.Get("X-Goog-User-Project") != "" {
		t.Errorf("%v, %v", req.Header, err)
	}
}
