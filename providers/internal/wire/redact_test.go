package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/providers"
)

func TestRedact(t *testing.T) {
	cfg := &providers.Config{
		APIKey: "thekeyofthemodel", BaseURL: "https://me:passwordpassword@h.example/v1?key=secretinquery&api-version=2026-01-01",
		Headers: map[string]string{"Authorization": "Bearer abcdefghijklmnopqrstuvwxyz", "X-On": "true"},
	}
	cfg.Transform.SetHeaders = map[string]*string{"X-A": new("Token zyxwvutsrqponmlkjihg"), "X-B": nil}
	for _, test := range []struct{ in, want string }{
		{"wrong key thekeyofthemodel!", "wrong key …!"},
		{"Bearer abcdefghijklmnopqrstuvwxyz", "…"},
		{"the token abcdefghijklmnopqrstuvwxyz is old", "the token … is old"},
		{"zyxwvutsrqponmlkjihg", "…"},
		{"POST /v1/x?key=secretinquery: password passwordpassword", "POST /v1/x?key=…: password …"},
		{"Basic bWU6cGFzc3dvcmRwYXNzd29yZA==", "Basic …"},
		{"Proxy-Authorization: Basic c29tZWJvZHk6c29tZXRoaW5nCg==", "Proxy-Authorization: Basic …"},
		{"sk-proj-abcdefghijklmnop", "sk-…"},
		{"the api-version 2026-01-01 is true; Basic authentication is not", "the api-version 2026-01-01 is true; Basic authentication is not"},
	} {
		if got := redact(cfg, test.in); got != test.want {
			t.Errorf("%q became %q, want %q", test.in, got, test.want)
		}
	}
}

// A key at the end of a shortened message and a key of a signer are redacted too.
func TestEndpoint_ErrorsHoldNoKey(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, strings.Repeat("x", 280)+" "+r.Header.Get("X-Api-Key")+r.Header.Get("Authorization"))
	}))
	defer server.Close()
	cfg := &providers.Config{APIKey: "abcdefghijklmnopqrstuvwxyz0123456789"}
	plain := NewEndpoint(cfg, server.URL, http.Header{"X-Api-Key": {cfg.APIKey}})
	signed := NewEndpoint(&providers.Config{}, server.URL, http.Header{}).Sign(func(req *http.Request, _ []byte) error {
		req.Header.Set("Authorization", "Bearer abcdefghijklmnopqrstuvwxyz0123456789")
		return nil
	})
	for name, e := range map[string]*Endpoint{"plain": plain, "signed": signed} {
		_, err := e.Post(t.Context(), []byte("{}"))
		if err == nil || strings.Contains(err.Error(), "abcdef") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
