package grants_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/cmd/gjc/internal/grants"
	"github.com/gajae-code/gjc/mcp/oauth"
	"github.com/gajae-code/gjc/providers/registry"
)

// keyring is a [registry.Keyring] in memory.
type keyring struct {
	mu      sync.Mutex
	secrets map[string]string
	broken  error
}

func (k *keyring) Get(_ context.Context, name string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if secret, ok := k.secrets[name]; ok && k.broken == nil {
		return secret, nil
	}
	if k.broken != nil {
		return "", k.broken
	}
	return "", registry.ErrNoSecret
}

func (k *keyring) Set(_ context.Context, name, secret string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken == nil {
		k.secrets[name] = secret
	}
	return k.broken
}

func (k *keyring) Delete(_ context.Context, name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.secrets, name)
	return k.broken
}

func open(dir string, ring registry.Keyring, inKeyring bool) *grants.Store {
	models := registry.New(registry.Options{AgentDir: dir, Getenv: func(string) string { return "" }, Notice: func(string) {}, Keyring: ring})
	return &grants.Store{Keys: models, Dir: filepath.Join(dir, "mcp"), Keyring: inKeyring}
}

const server = "https://mcp.example/mcp?x=1"

func TestStore(t *testing.T) {
	for _, inKeyring := range []bool{false, true} {
		dir, ring := t.TempDir(), &keyring{secrets: make(map[string]string)}
		auth := filepath.Join(dir, "auth.json")
		if err := os.WriteFile(auth, []byte(`{"anthropic":{"type":"api_key","key":"k"},"other":{"type":"theirs","x":[1]}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(dir, ring, inKeyring)
		if g, err := s.Load(t.Context(), server); g != nil || err != nil {
			t.Errorf("before: %v, %v", g, err)
		}
		want := &oauth.Grant{ClientID: "c", TokenURL: "https://as.example/token", AccessToken: "the-access-token", RefreshToken: "r", Scopes: []string{"a"}, Expiry: time.Now().UTC().Round(time.Second)}
		if err := s.Save(t.Context(), server, want); err != nil {
			t.Fatal(err)
		}
		// Another process sees it, and replaces it in the same place.
		other := open(dir, ring, false)
		g, err := other.Load(t.Context(), server)
		if diff := cmp.Diff(want, g); diff != "" || err != nil {
			t.Errorf("in another process: %v %s", err, diff)
		}
		g.AccessToken = "the-next-token"
		if err := other.Save(t.Context(), server, g); err != nil {
			t.Fatal(err)
		}
		if g, err := s.Load(t.Context(), server); err != nil || g.AccessToken != "the-next-token" {
			t.Errorf("after a change by another process: %v, %v", g, err)
		}
		data, err := os.ReadFile(auth)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "the-next-token") == inKeyring || (len(ring.secrets) > 0) != inKeyring {
			t.Errorf("keyring %v: auth.json is %s, the keyring has %d secrets", inKeyring, data, len(ring.secrets))
		}
		if err := s.Save(t.Context(), server, nil); err != nil {
			t.Fatal(err)
		}
		data, _ = os.ReadFile(auth)
		if string(data) != `{"anthropic":{"type":"api_key","key":"k"},"other":{"type":"theirs","x":[1]}}`+"\n" || len(ring.secrets) != 0 {
			t.Errorf("after deleting: %s, %d secrets", data, len(ring.secrets))
		}
	}
}

// TestStore_Bad checks errors: they must not quote what is stored.
func TestStore_Bad(t *testing.T) {
	for _, text := range []string{
		`{"mcp ` + server + `":{"type":"api_key","key":"SECRET"}}`, `{"mcp ` + server + `":{"type":"oauth_grant","grant":"SECRET"}}`,
		`{"mcp ` + server + `":{"type":"oauth_grant","grant":{"accessToken":["SECRET"]}}}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "auth.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open(dir, nil, false).Load(t.Context(), server); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", text, err)
		}
		if err := open(dir, nil, false).Save(t.Context(), server, nil); err != nil {
			t.Errorf("deleting %s: %v", text, err)
		}
	}
	broken := &keyring{broken: errors.New("locked")}
	if err := open(t.TempDir(), broken, true).Save(t.Context(), server, &oauth.Grant{}); err == nil {
		t.Error("a broken keyring gives no error")
	}
}

// TestStore_Lock lets two stores, as of two processes, hold the lock for a server in turn.
func TestStore_Lock(t *testing.T) {
	dir := t.TempDir()
	var held atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		s := open(dir, nil, false)
		wg.Go(func() {
			for range 5 {
				unlock, err := s.Lock(t.Context(), server)
				if err != nil {
					t.Error(err)
					return
				}
				if held.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				held.Add(-1)
				unlock()
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancelCause(t.Context())
	unlock, err := open(dir, nil, false).Lock(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	why := errors.New("the call has ended")
	cancel(why)
	if _, err := open(dir, nil, false).Lock(ctx, server); !errors.Is(err, why) {
		t.Errorf("a wait that ends: %v", err)
	}
}
