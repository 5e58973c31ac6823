package providertest

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// A TLSServer answers every request with "ok". Only clients that trust the certificate in File accept it.
type TLSServer struct {
	*httptest.Server
	// File holds the server's certificate, in PEM.
	File string

	mu       sync.Mutex // guards the fields below
	conns    int
	requests []string
	keys     []string
}

// NewTLSServer starts a server on the loopback interface. It is closed when the test ends.
func NewTLSServer(t testing.TB) *TLSServer {
	t.Helper()
	s := &TLSServer{File: filepath.Join(t.TempDir(), "ca.pem")}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.Proto+" "+r.Method+" "+r.URL.Path)
		s.keys = append(s.keys, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "ok")
	}))
	s.EnableHTTP2 = true
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.conns++
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(s.File, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Conns returns the number of connections so far.
func (s *TLSServer) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// Requests returns the requests so far, as "protocol method path", and for each request the values of the headers that carry a key,
// as one string.
func (s *TLSServer) Requests() (requests, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests), slices.Clone(s.keys)
}
