package access_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/access"
)

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serve", "tokens.json")
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	server, command := access.OpenTokens(path, clock), access.OpenTokens(path, clock)
	if _, err := server.Verify(t.Context(), "gjc_0123_none"); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("without a file: %v", err)
	}
	limits := access.Limits{Connections: 2, Cost: 1.5}
	ann, created, err := command.Create(t.Context(), access.Token{User: "ann", Note: "laptop", Scopes: access.Working(), Limits: limits, Expires: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	bob, _, err := command.Create(t.Context(), access.Token{User: "bob", Scopes: []access.Scope{access.Read}})
	if err != nil {
		t.Fatal(err)
	}
	who, err := server.Verify(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	want := &access.Identity{User: "ann", Token: created.ID, Scopes: access.Working(), Limits: limits, Expires: now.Add(time.Hour)}
	if diff := cmp.Diff(want, who); diff != "" {
		t.Error(diff)
	}
	if who.Has(access.Admin) || !who.Has(access.Prompt) {
		t.Errorf("scopes: %v", who.Scopes)
	}

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{ann, bob} {
		if _, key, _ := strings.Cut(strings.TrimPrefix(secret, "gjc_"), "_"); len(key) < 40 || strings.Contains(string(data), key) {
			t.Errorf("the key %q is short or in the file %s", key, data)
		}
	}
	for _, wrong := range []string{"", "gjc_", "gjc__", ann[:len(ann)-1], ann + "x", strings.ToUpper(ann), strings.Replace(ann, created.ID, "000000000000", 1), "Bearer " + ann} {
		if _, err := server.Verify(t.Context(), wrong); !errors.Is(err, access.ErrUnknown) {
			t.Errorf("%q: %v", wrong, err)
		}
	}

	now = now.Add(time.Hour)
	if _, err := server.Verify(t.Context(), ann); !errors.Is(err, access.ErrExpired) {
		t.Errorf("after its time: %v", err)
	}
	if _, err := server.Verify(t.Context(), bob); err != nil {
		t.Errorf("the other one: %v", err)
	}
	revoked, err := command.Revoke(t.Context(), "bob")
	if err != nil || len(revoked) != 1 || revoked[0].User != "bob" {
		t.Errorf("revoked: %v, %v", revoked, err)
	}
	if _, err := server.Verify(t.Context(), bob); !errors.Is(err, access.ErrRevoked) {
		t.Errorf("a revoked one: %v", err)
	}
	if again, err := command.Revoke(t.Context(), "bob"); err != nil || len(again) != 0 {
		t.Errorf("revoked again: %v, %v", again, err)
	}
	if _, err := command.Revoke(t.Context(), "eve"); err == nil || !strings.Contains(err.Error(), "gjc serve token list") {
		t.Errorf("revoking no token: %v", err)
	}
}

// TestTokens_Damaged checks that a damaged file grants nothing.
func TestTokens_Damaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	tokens := access.OpenTokens(path, time.Now)
	secret, _, err := tokens.Create(t.Context(), access.Token{User: "ann", Scopes: access.Working()})
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		`{"tokens":[`,
		strings.Replace(string(good), `"read"`, `"root"`, 1),
		strings.Replace(string(good), `"ann"`, `"../ann"`, 1),
		strings.Replace(string(good), `"hash":"`, `"hash":"0`, 1),
	} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if who, err := access.OpenTokens(path, time.Now).Verify(t.Context(), secret); err == nil {
			t.Errorf("%s: %+v", bad, who)
		}
		if _, _, err := tokens.Create(t.Context(), access.Token{User: "eve", Scopes: access.Working()}); err == nil {
			t.Errorf("%s: it was overwritten", bad)
		}
	}
}

func TestParseScopes(t *testing.T) {
	got, err := access.ParseScopes("control, read")
	if diff := cmp.Diff([]access.Scope{access.Read, access.Control}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"", " , ", "write", "read,Admin"} {
		if got, err := access.ParseScopes(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestCheckUser(t *testing.T) {
	for _, good := range []string{"ann", "ann.lee@example.com", "7", "a+b"} {
		if err := access.CheckUser(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "../ann", "a/b", `a\b`, "-rf", "Ann", "an n", "ann.", "ä", strings.Repeat("a", 65), "a\x00"} {
		if err := access.CheckUser(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
