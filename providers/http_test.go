package providers_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

func TestHTTPOptions_Client(t *testing.T) {
	testenv.NoLeaks(t)
	server := providertest.NewTLSServer(t)
	client, err := providers.HTTPOptions{CAFiles: []string{server.File}}.Client()
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
	if requests, _ := server.Requests(); server.Conns() != 1 || len(requests) != 4 || requests[0] != "HTTP/2.0 POST /v1" {
		t.Errorf("%d connections for %q, want one of HTTP/2", server.Conns(), requests)
	}
	stranger := providers.NewHTTPClient()
	defer stranger.CloseIdleConnections()
	if res, err := stranger.Get(server.URL); err == nil {
		_ = res.Body.Close()
		t.Error("an unknown certificate is trusted")
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
	}
}

// A proxy handles requests to other machines, and requests to this machine unless NoProxy excludes it.
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

// A server that accepts a connection and stays silent does not block a request.
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
