package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lockedfile"
)

// Token is a stored token without its secret.
type Token struct {
	ID string `json:"id"`
	// Hash is the SHA-256 of the secret, in hex. A secret has 256 random bits, so that a slow hash would add nothing.
	Hash    string    `json:"hash"`
	User    string    `json:"user"`
	Note    string    `json:"note,omitzero"`
	Scopes  []Scope   `json:"scopes"`
	Limits  Limits    `json:"limits,omitzero"`
	Created time.Time `json:"created"`
	// Expires and Revoked are zero for a token that does not expire or is not revoked.
	Expires time.Time `json:"expires,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// Tokens is a file with tokens. Several processes may use it: a server sees at once what a command changes. It is safe for concurrent use.
type Tokens struct {
	file  *lockedfile.File
	clock func() time.Time

	mu    sync.Mutex // guards the fields below, the content of the file at its last change
	stamp string
	known map[string]Token
}

// OpenTokens returns the tokens of a file, which need not exist. It does no I/O.
func OpenTokens(path string, clock func() time.Time) *Tokens {
	return &Tokens{file: lockedfile.New(path), clock: clock}
}

// secretPrefix begins every secret, so that scanners find one that was published.
const secretPrefix = "gjc_"

const (
	idBytes     = 6
	secretBytes = 32
)

type tokensFile struct {
	Tokens []Token `json:"tokens"`
}

// Create stores a token with the values of t but for ID, Hash, Created and Revoked, and returns its secret, which is nowhere else.
func (k *Tokens) Create(ctx context.Context, t Token) (secret string, created Token, err error) {
	if err := CheckUser(t.User); err != nil {
		return "", Token{}, err
	}
	id, key := make([]byte, idBytes), make([]byte, secretBytes)
	_, _ = rand.Read(id) // it never fails
	_, _ = rand.Read(key)
	t.ID, t.Created, t.Revoked = hex.EncodeToString(id), k.clock().UTC().Truncate(time.Second), time.Time{}
	secret = secretPrefix + t.ID + "_" + base64.RawURLEncoding.EncodeToString(key)
	t.Hash = hash(secret)
	err = k.change(ctx, func(all []Token) ([]Token, error) { return append(all, t), nil })
	return secret, t, err
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// List returns all tokens, the oldest first.
func (k *Tokens) List() ([]Token, error) {
	data, err := k.file.Read()
	if err != nil {
		return nil, err
	}
	return k.parse(data)
}

// Revoke ends the validity of tokens: of those whose ID or user is name. It returns the tokens that were not revoked before,
// and an error if name fits no token.
func (k *Tokens) Revoke(ctx context.Context, name string) (revoked []Token, err error) {
	err = k.change(ctx, func(all []Token) ([]Token, error) {
		found := false
		for i := range all {
			t := &all[i]
			if t.ID != name && t.User != name {
				continue
			}
			found = true
			if t.Revoked.IsZero() {
				t.Revoked = k.clock().UTC().Truncate(time.Second)
				revoked = append(revoked, *t)
			}
		}
		if !found {
			return nil, fmt.Errorf("%w: there is none with the ID or user %q; see gjc serve token list", errNoToken, name)
		}
		return all, nil
	})
	return revoked, err
}

var errNoToken = errors.New("no such token")

// Verify returns the identity of a secret. Errors wrap [ErrUnknown], [ErrExpired] or [ErrRevoked], or are those of reading the file.
func (k *Tokens) Verify(_ context.Context, secret string) (*Identity, error) {
	rest, ok := strings.CutPrefix(secret, secretPrefix)
	id, _, ok2 := strings.Cut(rest, "_")
	if !ok || !ok2 {
		return nil, ErrUnknown
	}
	t, ok, err := k.lookup(id)
	if err != nil {
		return nil, err
	}
	// The hash is compared in any case: time says nothing about which IDs exist.
	if subtle.ConstantTimeCompare([]byte(hash(secret)), []byte(t.Hash)) != 1 || !ok {
		return nil, ErrUnknown
	}
	switch {
	case !t.Revoked.IsZero():
		return nil, ErrRevoked
	case !t.Expires.IsZero() && !k.clock().Before(t.Expires):
		return nil, ErrExpired
	}
	return &Identity{User: t.User, Token: t.ID, Scopes: t.Scopes, Limits: t.Limits, Expires: t.Expires}, nil
}

// lookup finds a token. It reads the file only if it has changed.
func (k *Tokens) lookup(id string) (Token, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if stamp := k.file.Stamp(); k.known == nil || stamp != k.stamp {
		all, err := k.List()
		if err != nil {
			return Token{}, false, err
		}
		k.stamp, k.known = stamp, make(map[string]Token, len(all))
		for i := range all {
			k.known[all[i].ID] = all[i]
		}
	}
	t, ok := k.known[id]
	return t, ok, nil
}

func (k *Tokens) change(ctx context.Context, fn func([]Token) ([]Token, error)) error {
	return k.file.Change(ctx, func(data []byte) ([]byte, error) {
		all, err := k.parse(data)
		if err != nil {
			return nil, err
		}
		if all, err = fn(all); err != nil {
			return nil, err
		}
		return jsonx.Marshal(tokensFile{all})
	})
}

// parse parses the content of the file. What is damaged grants nothing: a token with an unknown scope makes the whole file invalid.
func (k *Tokens) parse(data []byte) ([]Token, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var f tokensFile
	if err := jsonx.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", k.file.Path(), err)
	}
	for i := range f.Tokens {
		t := &f.Tokens[i]
		err := CheckUser(t.User)
		if bad := slices.IndexFunc(t.Scopes, func(s Scope) bool { return !slices.Contains(allScopes(), s) }); err == nil && bad >= 0 {
			err = fmt.Errorf("%q is not a scope", t.Scopes[bad])
		}
		if err == nil && (t.ID == "" || len(t.Hash) != sha256.Size*2) {
			err = errors.New("a token needs an id and a hash")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: token %d: %w", k.file.Path(), i+1, err)
		}
	}
	return f.Tokens, nil
}
