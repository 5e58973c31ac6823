// Package grants keeps the user's sign-ins at MCP servers in auth.json or the system's keyring.
package grants

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp/oauth"
)

// Keys stores JSON under names; [*registry.Registry] implements it.
type Keys interface {
	// Grant returns what StoreGrant has stored; nil for nothing.
	Grant(ctx context.Context, name string) (jsonx.Raw, error)
	// StoreGrant stores JSON, in the system's keyring if keyring is set; nil deletes it.
	StoreGrant(name string, grant jsonx.Raw, keyring bool) error
}

// Store is an [oauth.Store] in the user's files.
type Store struct {
	// Keys keeps the grants. Required.
	Keys Keys
	// Dir is a directory for locks. Required. It need not exist.
	Dir string
	// Keyring stores new grants in the system's keyring.
	Keyring bool
}

var _ oauth.Store = (*Store)(nil)

// name returns the name of a server's grant, which cannot be that of a provider.
func name(url string) string { return "mcp " + url }

// Load implements [oauth.Store].
func (s *Store) Load(ctx context.Context, url string) (*oauth.Grant, error) {
	raw, err := s.Keys.Grant(ctx, name(url))
	if err != nil || raw == nil {
		return nil, err
	}
	g := new(oauth.Grant)
	if err := jsonx.Unmarshal(raw, g); err != nil {
		return nil, fmt.Errorf("the stored sign-in for %s cannot be read; sign in again", url) // without err, which may quote a token
	}
	return g, nil
}

// Save implements [oauth.Store].
func (s *Store) Save(_ context.Context, url string, g *oauth.Grant) error {
	if g == nil {
		return s.Keys.StoreGrant(name(url), nil, false)
	}
	raw, err := jsonx.Marshal(g)
	if err != nil {
		return err
	}
	return s.Keys.StoreGrant(name(url), raw, s.Keyring)
}

// lockWait bounds the wait for another process that refreshes the same grant.
const lockWait = 30 * time.Second

// Lock implements [oauth.Store].
func (s *Store) Lock(ctx context.Context, url string) (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(url))
	lock := flock.New(filepath.Join(s.Dir, hex.EncodeToString(sum[:8])+".lock"), flock.SetPermissions(0o600))
	waiting, cancel := context.WithTimeoutCause(ctx, lockWait, errors.New("another process of gjc is refreshing this sign-in"))
	defer cancel()
	if ok, err := lock.TryLockContext(waiting, 20*time.Millisecond); err != nil || !ok {
		if cause := context.Cause(waiting); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("locking %s: %w", lock.Path(), err)
	}
	return func() { _ = lock.Close() }, nil
}
