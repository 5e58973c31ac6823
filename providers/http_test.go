package providers_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// tlsServer is a server that only those trust who have its certificate, in file. It counts connections.
type tlsServer struct {
	*httptest.Server
	file string

	mu       sync.Mutex
	conns    int
	requests []string // protocol, method, path
	secrets  []string // headers that carry a key
}

func newTLSServer(t *testing.T) *tlsServer {
	t.Helper()
	s := &tlsServer{file: filepath.Join(t.TempDir(), "ca.pem")}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.Proto+" "+r.Method+" "+r.URL.Path)
		s.secrets = append(s.secrets, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
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
	if err := os.WriteFile(s.file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHTTPOptions_Client(t *testing.T) {
	testenv.NoLeaks(t)
	server := newTLSServer(t)
	client, err := providers.HTTPOptions{CAFiles: []string{server.file}}.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	for range 4 {
		res, err := client.Post(server.URL+"/v1", "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	server.mu.Lock()
	if server.conns != 1 || len(server.requests) != 4 || server.requests[0] != "HTTP/2.0 POST /v1" {
		t.Errorf("%d connections for %q, want one of HTTP/2", server.conns, server.requests)
	}
	server.mu.Unlock()
	stranger := providers.NewHTTPClient()
	defer stranger.CloseIdleConnections()
	if res, err := stranger.Get(server.URL); err == nil {
		_ = res.Body.Close()
		t.Error("a certificate that nobody vouches for is trusted")
	}
}

func TestHTTPOptions_Mistakes(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]providers.HTTPOptions{
		"no file":     {CAFiles: []string{filepath.Join(dir, "none.pem")}},
		"no PEM":      {CAFiles: []string{empty}},
		"no key":      {CertFile: empty},
		"ftp proxy":   {Proxy: "ftp://user:secret@p.example"},
		"no host":     {Proxy: "http://"},
		"not a URL":   {Proxy: "::secret"},
		"only a host": {Proxy: "proxy.secret:3128"},
	} {
		_, err := opts.Client()
		if !errors.Is(err, providers.ErrHTTPOptions) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		// A model says so, and the others of its kind do.
		w := newWorld(t)
		w.write("models.yml", localModels, 0o600)
		r := w.registry(w.settings(providers.RegistrySettings{HTTP: opts}))
		info, _, _ := r.Find("local/small")
		if _, err := r.Open(t.Context(), info); !errors.Is(err, providers.ErrHTTPOptions) {
			t.Errorf("%s: opening a model: %v", name, err)
		}
	}
}

// A proxy takes the requests to other machines, and those to this one only if the settings do not leave them out.
func TestHTTPOptions_Proxy(t *testing.T) {
	testenv.NoLeaks(t)
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		w.WriteHeader(http.StatusTeapot)
	}))
	defer proxy.Close()
	address := strings.Replace(proxy.URL, "http://", "http://user:pass@", 1)
	client, err := providers.HTTPOptions{Proxy: address, NoProxy: []string{".near.example"}, ConnectTimeout: time.Second}.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://model.example/v1")
	if err != nil || res.StatusCode != http.StatusTeapot {
		t.Fatalf("%v, %v", res, err)
	}
	_ = res.Body.Close()
	if _, err := client.Get("https://model.example/v1"); err == nil {
		t.Error("the proxy's refusal is no error")
	}
	const auth = "Basic dXNlcjpwYXNz"
	if len(asked) != 2 || asked[0] != "GET model.example "+auth || asked[1] != "CONNECT model.example:443 "+auth {
		t.Errorf("the proxy was asked %q", asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.near.example", http.NoBody)
	if _, err := client.Do(req); err == nil || len(asked) != 2 {
		t.Errorf("a host that is left out goes to the proxy: %v, %q", err, asked)
	}
}

func TestRegistry_Preconnect(t *testing.T) {
	testenv.NoLeaks(t)
	server := newTLSServer(t)
	w := newWorld(t)
	w.write("models.yml", `
providers:
  remote:
    baseUrl: `+server.URL+`/deep/v1
    api: openai-completions
    apiKey: a-secret-key
    headers: { X-Api-Key: a-secret-header }
    models: [{ id: m }]
  shut: { baseUrl: `+server.URL+`, api: openai-completions, apiKeyEnv: SHUT_KEY, models: [{ id: m }] }
  dead: { baseUrl: "https://127.0.0.1:1", api: openai-completions, apiKey: k-e-y, models: [{ id: m }] }
`, 0o600)
	var client *http.Client
	r := w.registry(w.settings(providers.RegistrySettings{HTTP: providers.HTTPOptions{CAFiles: []string{server.file}}}), func(o *providers.RegistryOptions) {
		o.PreconnectLoopback = true
		o.Factories["openai-completions"] = func(cfg providers.Config) (providers.Model, error) {
			client = cfg.HTTPClient
			return providertest.NewScript(cfg.Info), nil
		}
	})
	defer r.Close()
	for _, ref := range []string{"remote/m", "shut/m", "dead/m", "offline/demo"} {
		info, _, err := r.Find(ref)
		if err != nil {
			t.Fatal(err)
		}
		r.Preconnect(t.Context(), info)
	}
	info, _, _ := r.Find("remote/m")
	if _, err := r.Open(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	res, err := client.Post(server.URL+"/deep/v1/chat", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.conns != 1 || len(server.requests) != 2 || server.requests[0] != "HTTP/2.0 HEAD /" || server.secrets[0] != "" {
		t.Errorf("%d connections, requests %q, secrets %q", server.conns, server.requests, server.secrets[0])
	}
}

// A server that takes the connection and says nothing does not hold up a request.
func TestHTTPOptions_ConnectTimeout(t *testing.T) {
	testenv.NoLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := providers.HTTPOptions{ConnectTimeout: 50 * time.Millisecond}.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	_, err = client.Get("https://" + l.Addr().String())
	if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
		t.Errorf("err = %v, want a timeout", err)
	}
}
