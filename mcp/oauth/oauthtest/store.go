// Package oauthtest has a store of grants in memory, for tests.
package oauthtest

import (
	"context"
	"sync"

	"github.com/gajae-code/gjc/mcp/oauth"
)

// Store is an [oauth.Store] in memory. It is safe for concurrent use.
type Store struct {
	lock chan struct{} // held by the one that refreshes a grant

	mu     sync.Mutex // guards grants
	grants map[string]*oauth.Grant
}

var _ oauth.Store = (*Store)(nil)

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{lock: make(chan struct{}, 1), grants: make(map[string]*oauth.Grant)}
}

// Load implements [oauth.Store].
func (s *Store) Load(_ context.Context, url string) (*oauth.Grant, error) { return s.Grant(url), nil }

// Save implements [oauth.Store].
func (s *Store) Save(_ context.Context, url string, g *oauth.Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g == nil {
		delete(s.grants, url)
		return nil
	}
	c := *g
	s.grants[url] = &c
	return nil
}

// Lock implements [oauth.Store].
func (s *Store) Lock(ctx context.Context, _ string) (unlock func(), err error) {
	select {
	case s.lock <- struct{}{}:
		return func() { <-s.lock }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Grant returns a copy of the grant for a server; nil for none.
func (s *Store) Grant(url string) *oauth.Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.grants[url]; g != nil {
		c := *g
		return &c
	}
	return nil
}

// Change modifies the grant for a server.
func (s *Store) Change(url string, change func(*oauth.Grant)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.grants[url])
}
