package cloud

import (
	"cmp"
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
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

const (
	googleScope    = "https://www.googleapis.com/auth/cloud-platform"
	googleTokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // an address
	// signIn is the advice in errors about unusable credentials.
	signIn = "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account"
)

// googleCredentials is the content of a credentials file.
type googleCredentials struct {
	Type         string `json:"type"`
	ClientEmail  string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`
	TokenURI     string `json:"token_uri"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`
	QuotaProject string `json:"quota_project_id"`
}

// file returns the path of the credentials: a file that the user names, or that of gcloud, which need not exist.
func (v Vertex) file() (path string, named bool) {
	if path := first(v.Getenv, "GOOGLE_APPLICATION_CREDENTIALS"); path != "" {
		return path, true
	}
	const name = "application_default_credentials.json"
	if dir := first(v.Getenv, "CLOUDSDK_CONFIG"); dir != "" {
		return filepath.Join(dir, name), false
	}
	if dir := first(v.Getenv, "APPDATA"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "gcloud", name), false
	}
	if v.Home == "" {
		return "", false
	}
	return filepath.Join(v.Home, ".config", "gcloud", name), false
}

// credentials reads the credentials file. If the file does not exist, it returns nil, or an error if the user named the file.
func (v Vertex) credentials() (*googleCredentials, string, error) {
	path, named := v.file()
	if path == "" {
		return nil, "", nil
	}
	data, err := readFile(v.ReadFile, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil, "", nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, path, failed(providers.KindAuth, "GOOGLE_APPLICATION_CREDENTIALS names a file that does not exist: %s", path)
	case err != nil:
		return nil, path, failed(providers.KindAuth, "cannot read the Google Cloud credentials: %v", err)
	}
	var c googleCredentials
	if err := jsonx.Unmarshal(data, &c); err != nil {
		// Do not include err, which may quote the file.
		return nil, path, failed(providers.KindAuth, "the credentials in %s are not in Google's JSON format; %s", path, signIn)
	}
	return &c, path, nil
}

// Credentials describes the available credentials for display; it returns "" if there are none. It reads files and does not use the
// network.
func (v Vertex) Credentials() string {
	c, path, err := v.credentials()
	switch {
	case err != nil:
		return ""
	case c == nil:
		return ""
	case c.Type == "service_account":
		return "service account " + path
	}
	return "application default credentials"
}

// GoogleTokens provides access tokens. It is safe for concurrent use.
type GoogleTokens struct {
	account Vertex
	client  *http.Client
	cache   cached[googleToken]
}

type googleToken struct{ value, quotaProject string }

// Tokens returns a source of the account's tokens that requests them with client. It does no I/O: the first token reads the
// credentials.
func (v Vertex) Tokens(client *http.Client) *GoogleTokens {
	return &GoogleTokens{account: v, client: client}
}

// Sign adds an access token to the header of req, unless the header already has a credential. It can be passed to
// wire.Endpoint.Sign.
func (t *GoogleTokens) Sign(req *http.Request, _ []byte) error {
	if req.Header.Get("Authorization") != "" || req.Header.Get("X-Goog-Api-Key") != "" {
		return nil
	}
	token, err := t.cache.get(req.Context(), t.next)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token.value)
	if token.quotaProject != "" && req.Header.Get("X-Goog-User-Project") == "" {
		req.Header.Set("X-Goog-User-Project", token.quotaProject)
	}
	return nil
}

func (t *GoogleTokens) next(ctx context.Context) (googleToken, time.Time, error) {
	c, path, err := t.account.credentials()
	if err != nil {
		return googleToken{}, time.Time{}, err
	}
	if c == nil {
		return googleToken{}, time.Time{}, failed(providers.KindAuth, "no Google Cloud credentials found; %s", signIn)
	}
	form, err := c.form(path, time.Now())
	if err != nil {
		return googleToken{}, time.Time{}, err
	}
	address := cmp.Or(c.TokenURI, googleTokenURL)
	if !safe(address) {
		return googleToken{}, time.Time{}, failed(providers.KindAuth, "the credentials in %s name the token server %s, which does not use https", path, address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return googleToken{}, time.Time{}, failed(providers.KindAuth, "the token_uri of the credentials in %s is not a URL", path)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	value, until, err := t.fetch(ctx, req)
	return googleToken{value, c.QuotaProject}, until, err
}

// safe reports whether a secret may be sent to address: over https, or to this machine.
func safe(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// form returns the form that exchanges the credentials for a token.
func (c *googleCredentials) form(path string, now time.Time) (url.Values, error) {
	switch c.Type {
	case "authorized_user":
		return url.Values{
			"grant_type": {"refresh_token"}, "client_id": {c.ClientID}, "client_secret": {c.ClientSecret},
			"refresh_token": {c.RefreshToken},
		}, nil
	case "service_account":
		assertion, err := c.assertion(now)
		if err != nil {
			return nil, failed(providers.KindAuth, "cannot use the private key in %s: %v", path, err)
		}
		return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}, nil
	}
	return nil, failed(providers.KindAuth, "the credentials in %s have the unsupported type %q; %s", path, c.Type, signIn)
}

// assertion returns a token that a service account signs for itself (RFC 7523).
func (c *googleCredentials) assertion(now time.Time) (string, error) {
	block, _ := pem.Decode([]byte(c.PrivateKey))
	if block == nil {
		return "", errors.New("it is not in PEM format")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
			return "", errors.New("it is neither PKCS #8 nor PKCS #1")
		}
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return "", errors.New("it is not an RSA key")
	}
	header, err := jsonx.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": c.PrivateKeyID})
	if err != nil {
		return "", err
	}
	claims, err := jsonx.Marshal(struct {
		Issuer   string `json:"iss"`
		Scope    string `json:"scope"`
		Audience string `json:"aud"`
		Issued   int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}{c.ClientEmail, googleScope, cmp.Or(c.TokenURI, googleTokenURL), now.Unix(), now.Add(time.Hour).Unix()})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// fetch sends req and reads the token from the response.
func (t *GoogleTokens) fetch(ctx context.Context, req *http.Request) (string, time.Time, error) {
	res, err := t.client.Do(req)
	if ctx.Err() != nil {
		if err == nil {
			_ = res.Body.Close()
		}
		return "", time.Time{}, context.Cause(ctx)
	}
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return "", time.Time{}, failed(providers.KindNetwork, "no answer from %s, which issues the access tokens: %v", req.URL.Host, err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if ctx.Err() != nil {
		return "", time.Time{}, context.Cause(ctx)
	}
	if err == nil {
		err = jsonx.Unmarshal(data, &answer)
	}
	switch {
	case res.StatusCode >= 500:
		return "", time.Time{}, failed(providers.KindServer, "%s returned no access token (HTTP %d)", req.URL.Host, res.StatusCode)
	case err != nil || res.StatusCode != http.StatusOK && answer.Error == "":
		return "", time.Time{}, failed(providers.KindAuth, "%s returned no access token (HTTP %d); %s", req.URL.Host, res.StatusCode, signIn)
	case answer.Error != "":
		return "", time.Time{}, failed(providers.KindAuth, "Google rejected the credentials: %s (%s); %s", answer.Error, answer.Description, signIn)
	case answer.AccessToken == "" || strings.ContainsAny(answer.AccessToken, "\r\n"):
		return "", time.Time{}, failed(providers.KindAuth, "%s returned an empty access token", req.URL.Host)
	}
	return answer.AccessToken, time.Now().Add(time.Duration(answer.ExpiresIn) * time.Second), nil
}
