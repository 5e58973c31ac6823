package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// IssuerOptions configures an [Issuer]. Issuer and Audience are required.
type IssuerOptions struct {
	// Issuer is the URL of the OpenID Connect issuer. It is https, or http on this machine.
	Issuer string
	// Audience is the value of the claim "aud": the ID of the client for which the issuer makes tokens.
	Audience string
	// UserClaim is the claim with the name of the user; if empty, "email", which must be verified.
	UserClaim string
	// Client sends the requests to the issuer; if nil, [http.DefaultClient].
	Client *http.Client
	Clock  func() time.Time
}

// scopePrefix begins the scopes of gjc in the claim "scope". A token without one of them has those of [Working].
const scopePrefix = "gjc:"

// Issuer accepts the JSON Web Tokens of an OpenID Connect issuer. It is safe for concurrent use.
type Issuer struct {
	opts IssuerOptions

	mu       sync.Mutex // guards verifier
	verifier *oidc.IDTokenVerifier
}

// NewIssuer returns an issuer. It sends no request: the issuer's keys are read with the first token, and again when they change.
func NewIssuer(opts IssuerOptions) (*Issuer, error) {
	u, err := url.Parse(opts.Issuer)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not the URL of an issuer", opts.Issuer)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())) {
		return nil, fmt.Errorf("the issuer %s is not https: others could answer in its place", opts.Issuer)
	}
	if opts.Audience == "" {
		return nil, errors.New("an issuer needs an audience: the ID of the client for which it makes tokens; without it, tokens for other services would be accepted here")
	}
	if opts.UserClaim == "" {
		opts.UserClaim = "email"
	}
	return &Issuer{opts: opts}, nil
}

// connect returns the verifier. A failure is not kept: the next token tries again.
func (i *Issuer) connect(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.verifier != nil {
		return i.verifier, nil
	}
	if i.opts.Client != nil {
		ctx = oidc.ClientContext(ctx, i.opts.Client)
	}
	// The provider keeps its context for later requests of keys.
	p, err := oidc.NewProvider(context.WithoutCancel(ctx), i.opts.Issuer)
	if err != nil {
		return nil, fmt.Errorf("the issuer %s: %w", i.opts.Issuer, err)
	}
	i.verifier = p.VerifierContext(context.WithoutCancel(ctx), &oidc.Config{ClientID: i.opts.Audience, Now: i.opts.Clock})
	return i.verifier, nil
}

// Verify returns the identity of a token. Errors wrap [ErrUnknown] or [ErrExpired], or are those of reaching the issuer.
func (i *Issuer) Verify(ctx context.Context, secret string) (*Identity, error) {
	if strings.Count(secret, ".") != 2 {
		return nil, ErrUnknown // not a JSON Web Token
	}
	v, err := i.connect(ctx)
	if err != nil {
		return nil, err
	}
	t, err := v.Verify(ctx, secret)
	if _, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return nil, ErrExpired
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var claims map[string]jsonx.Raw
	if err := t.Claims(&claims); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	user, err := i.user(claims)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	scopes, err := scopesOf(claims)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	// One user's tokens change every hour; in logs and for limits they are one.
	return &Identity{User: user, Token: "oidc:" + user, Scopes: scopes, Expires: t.Expiry}, nil
}

// user returns the name of the user.
func (i *Issuer) user(claims map[string]jsonx.Raw) (string, error) {
	var name string
	if err := jsonx.Unmarshal(claims[i.opts.UserClaim], &name); err != nil {
		return "", fmt.Errorf("it has no claim %q with a text", i.opts.UserClaim)
	}
	if i.opts.UserClaim == "email" {
		// With an unverified address a token could name any user.
		if string(claims["email_verified"]) != "true" {
			return "", fmt.Errorf("the address %q is not verified by the issuer", name)
		}
		name = strings.ToLower(name)
	}
	return name, CheckUser(name)
}

// scopesOf returns the scopes that a token names, or those of [Working].
func scopesOf(claims map[string]jsonx.Raw) ([]Scope, error) {
	var words []string
	var one string
	if jsonx.Unmarshal(claims["scope"], &one) == nil {
		words = strings.Fields(one)
	} else if err := jsonx.Unmarshal(claims["scope"], &words); err != nil && claims["scope"] != nil {
		return nil, errors.New("its scope is neither a text nor a list")
	}
	var ours []string
	for _, w := range words {
		if s, ok := strings.CutPrefix(w, scopePrefix); ok {
			ours = append(ours, s)
		}
	}
	if len(ours) == 0 {
		return Working(), nil
	}
	return ParseScopes(strings.Join(ours, ","))
}
