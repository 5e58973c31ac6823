// Package oauth signs a user in to MCP servers over HTTP, as the section Authorization of the MCP specification describes: the server
// names its authorization server in its protected resource metadata (RFC 9728), which names its endpoints in its own metadata
// (RFC 8414, or OpenID Connect discovery). The client is configured, described by a client ID metadata document, or registered
// dynamically (RFC 7591). The user signs in with a browser, which returns to a port of the loopback interface (RFC 8252) with a code
// that is exchanged with PKCE. Tokens are bound to the server (RFC 8707) and refreshed.
//
// The protocol is implemented by the packages auth and oauthex of github.com/modelcontextprotocol/go-sdk. This package adds what a
// program with several sessions needs: grants that are stored and shared, one refresh and one question at a time, and the callback.
package oauth

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

var (
	// ErrSignIn is wrapped by the error of a request to a server that wants the user to sign in, if the user cannot be asked now.
	ErrSignIn = errors.New("the server wants you to sign in")
	// ErrNotNeeded reports a server that has no authorization server.
	ErrNotNeeded = errors.New("the server has no sign-in")
	// ErrDeclined reports that the user did not want to sign in.
	ErrDeclined = errors.New("the sign-in was declined")
)

const (
	// signInTimeout bounds the time that a user has to sign in.
	signInTimeout = 10 * time.Minute
	// requestTimeout bounds one request to an authorization server.
	requestTimeout = 15 * time.Second
	// early is the time before its expiry at which a token is refreshed.
	early = 30 * time.Second
)

// Grant holds the tokens that an authorization server has granted for one MCP server, and the client that can refresh them. It is a secret.
type Grant struct {
	ClientID     string   `json:"clientId"`
	ClientSecret string   `json:"clientSecret,omitzero"`
	TokenURL     string   `json:"tokenUrl"`
	AuthStyle    int      `json:"authStyle,omitzero"`
	Resource     string   `json:"resource,omitzero"`
	Scopes       []string `json:"scopes,omitzero"`

	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken,omitzero"`
	// Expiry is zero if the server has not said when the access token expires.
	Expiry time.Time `json:"expiry,omitzero"`
}

// fresh reports whether the access token can be used.
func (g *Grant) fresh(now time.Time) bool {
	return g != nil && g.AccessToken != "" && (g.Expiry.IsZero() || now.Add(early).Before(g.Expiry))
}

// Store keeps grants by the URLs of MCP servers. It is safe for concurrent use, and for use by several processes.
type Store interface {
	// Load returns the grant for a server; nil for none.
	Load(ctx context.Context, url string) (*Grant, error)
	// Save replaces the grant for a server; nil deletes it.
	Save(ctx context.Context, url string, g *Grant) error
	// Lock keeps other processes from refreshing the grant for a server until unlock is called: many authorization servers accept
	// a refresh token only once.
	Lock(ctx context.Context, url string) (unlock func(), err error)
}

// Visit asks the user to open an address in a browser. It returns nil when the user has agreed or was shown the address, and
// [ErrDeclined] if the user declined. Its context ends when the browser has returned.
type Visit func(ctx context.Context, address string) error

// Options configures [New].
type Options struct {
	// Store keeps the grants. Required.
	Store Store
	// Transport makes the requests to authorization servers. If nil, [http.DefaultTransport] is cloned.
	Transport http.RoundTripper
	// Version is the version of gjc, which dynamic registration sends.
	Version string
}

// Accounts are the user's accounts at MCP servers. It is safe for concurrent use by all sessions of a process.
type Accounts struct {
	opts Options

	mu     sync.Mutex // guards flight
	flight map[string]chan struct{}
}

// New returns the accounts in a store. It does no I/O.
func New(opts Options) *Accounts {
	return &Accounts{opts: opts, flight: make(map[string]chan struct{})}
}

// enter waits until no other call changes the grant for a server. The caller must call release.
func (a *Accounts) enter(ctx context.Context, url string) (release func(), err error) {
	a.mu.Lock()
	turn, ok := a.flight[url]
	if !ok {
		turn = make(chan struct{}, 1)
		a.flight[url] = turn
	}
	a.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Config is the client of one MCP server. Only URL is required.
type Config struct {
	// URL is the address of the MCP server.
	URL string
	// Header is sent with requests to the MCP server.
	Header http.Header
	// ClientID and ClientSecret are those of a client that was registered in advance.
	ClientID, ClientSecret string
	// ClientMetadataURL is the address of a client ID metadata document, for authorization servers that support these.
	ClientMetadataURL string
	// Scopes replace those that the server names.
	Scopes []string
	// CallbackPort is the port that the browser returns to, for clients registered with a fixed one; zero for any.
	CallbackPort int
}

// Account is the user's account at one MCP server. It is safe for concurrent use.
type Account struct {
	all    *Accounts
	config Config

	mu    sync.Mutex // guards grant
	grant *Grant     // the last known one
	read  bool       // grant was read from the store
}

// Account returns the account for a server. It does no I/O.
func (a *Accounts) Account(c Config) *Account { return &Account{all: a, config: c} }

// known returns the last known grant; nil for none.
func (a *Account) known(ctx context.Context) (*Grant, error) {
	a.mu.Lock()
	g, read := a.grant, a.read
	a.mu.Unlock()
	if read {
		return g, nil
	}
	return a.load(ctx)
}

func (a *Account) load(ctx context.Context) (*Grant, error) {
	g, err := a.all.opts.Store.Load(ctx, a.config.URL)
	if err != nil {
		return nil, err
	}
	a.keep(g)
	return g, nil
}

func (a *Account) keep(g *Grant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grant, a.read = g, true
}

func (a *Account) save(ctx context.Context, g *Grant) error {
	err := a.all.opts.Store.Save(ctx, a.config.URL, g)
	a.keep(g) // a grant that cannot be stored is still valid in this session
	return err
}

// SignedIn reports whether there is a grant, which may have become invalid. It reads the store.
func (a *Account) SignedIn(ctx context.Context) bool {
	g, err := a.load(ctx)
	return err == nil && g != nil
}

// Token returns the access token for a request, after refreshing it if it has expired; empty for none.
func (a *Account) Token(ctx context.Context) (string, error) {
	g, err := a.known(ctx)
	switch {
	case err != nil || g == nil:
		return "", err
	case g.fresh(time.Now()):
		return g.AccessToken, nil
	case g.RefreshToken == "":
		return "", nil
	}
	release, err := a.all.enter(ctx, a.config.URL)
	if err != nil {
		return "", err
	}
	defer release()
	if g, err = a.refresh(ctx, g.AccessToken); err != nil || g == nil {
		return "", err
	}
	return g.AccessToken, nil
}
