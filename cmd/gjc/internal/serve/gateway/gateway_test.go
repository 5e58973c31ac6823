package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/gateway"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/anthropic"
	"github.com/gajae-code/gjc/providers/google"
	"github.com/gajae-code/gjc/providers/ollama"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/providers/registry"
)

const secret = "sk-real-0123456789abcdef"

// world is a gateway with one provider, "fake", and what it has counted.
type world struct {
	t    *testing.T
	file string
	keys *gateway.Keys
	*gateway.Gateway

	mu      sync.Mutex
	counts  map[string]int
	refused []string
}

// newWorld writes the keys, and starts a gateway that trusts the certificate of server; nil for none.
func newWorld(t *testing.T, keys map[string]any, server *httptest.Server) *world {
	t.Helper()
	w := &world{t: t, file: filepath.Join(t.TempDir(), "keys.json"), counts: make(map[string]int)}
	w.write(keys)
	var err error
	if w.keys, err = gateway.OpenKeys(w.file); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	if server != nil {
		transport = server.Client().Transport.(*http.Transport).Clone()
		transport.DisableCompression = true
	}
	t.Cleanup(transport.CloseIdleConnections)
	w.Gateway = gateway.New(gateway.Options{
		Keys: w.keys, Transport: transport,
		Count: func(user, provider, outcome string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.counts[user+" "+provider+" "+outcome]++
		},
		Refused: func(user string, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.refused = append(w.refused, user+": "+err.Error())
		},
	})
	return w
}

func (w *world) write(keys map[string]any) {
	w.t.Helper()
	data, err := json.Marshal(keys)
	if err == nil {
		err = os.WriteFile(w.file, data, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// engine holds what an engine knows of the gateway.
type engine struct {
	*registry.Gateway
	socket string
	end    func()
}

// open opens a door for a user.
func (w *world) open(user string) *engine {
	w.t.Helper()
	dir, err := os.MkdirTemp("", "gw") // the path of a socket is short
	if err != nil {
		w.t.Fatal(err)
	}
	env, end, err := w.Open(user, dir)
	if err != nil {
		w.t.Fatal(err)
	}
	_, value, _ := strings.Cut(env[0], "=")
	if strings.Contains(value, secret) {
		w.t.Errorf("the environment has the key: %s", value)
	}
	own, err := gateway.FromVariable(value)
	if err != nil {
		w.t.Fatal(err)
	}
	var a struct{ Socket string }
	if err := json.Unmarshal([]byte(value), &a); err != nil {
		w.t.Fatal(err)
	}
	e := &engine{Gateway: own, socket: a.Socket, end: sync.OnceFunc(end)}
	w.t.Cleanup(func() {
		for name := range own.Addresses {
			own.Client(name).CloseIdleConnections()
		}
		e.end()
		_ = os.RemoveAll(dir)
	})
	return e
}

// do sends a request through the gateway.
func (e *engine) do(t *testing.T, method, address string, body io.Reader, header map[string]string) (status int, text string, h http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	client := *e.Client("fake")
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	return res.StatusCode, string(data), res.Header
}

// wires are the APIs that work with a key alone, with the header that has it.
func wires() []struct {
	api    string
	format providertest.Format
	open   providers.Factory
	header string
} {
	return []struct {
		api    string
		format providertest.Format
		open   providers.Factory
		header string
	}{
		{anthropic.API, providertest.AnthropicMessages(), anthropic.Open, "X-Api-Key"},
		{anthropic.APIBedrock, providertest.AnthropicBedrock(), anthropic.Bedrock{}.Open, "Authorization"},
		{openai.API, providertest.OpenAICompletions(), openai.Open, "Authorization"},
		{openai.APIResponses, providertest.OpenAIResponses(), openai.OpenResponses, "Authorization"},
		{openai.APIAzure, providertest.AzureResponses(), openai.OpenAzure, "Api-Key"},
		{google.API, providertest.Gemini(), google.Open, "X-Goog-Api-Key"},
		{google.APIVertex, providertest.GeminiVertex(), google.Vertex{Getenv: func(name string) string {
			return map[string]string{"GOOGLE_CLOUD_PROJECT": "p1", "GOOGLE_CLOUD_LOCATION": "us-east5"}[name]
		}}.Open, "X-Goog-Api-Key"},
		{ollama.API, providertest.OllamaChat(), ollama.Open, "Authorization"},
	}
}

func TestGateway_Wires(t *testing.T) {
	testenv.NoLeaks(t)
	for _, wire := range wires() {
		t.Run(wire.api, func(t *testing.T) {
			gate, said := providertest.NewGate(), secret
			if wire.api == anthropic.APIBedrock {
				said = "" // its events are in base64, with checksums
			}
			model := providertest.NewServer(providertest.Step{providertest.Text("Hello"), gate.Hold(), providertest.Text(" there " + said)})
			defer model.Close()
			defer gate.Open()
			target, err := url.Parse(model.URL(wire.format))
			if err != nil {
				t.Fatal(err)
			}
			path := target.Path
			target.Path = ""
			proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				data, err := io.ReadAll(r.Body) // a proxy that reads while it answers may break the answer off
				if err != nil {
					t.Error(err)
				}
				r.Body = io.NopCloser(bytes.NewReader(data))
				proxy.ServeHTTP(w, r)
			}))
			defer server.Close()
			w := newWorld(t, map[string]any{"fake": map[string]any{"key": secret, "api": wire.api, "baseUrl": server.URL + path}}, server)
			e := w.open("ann")
			m, err := wire.open(providers.Config{
				Info: providers.ModelInfo{Provider: "fake", ID: "m1", API: wire.api}, BaseURL: e.Addresses["fake"], APIKey: e.Key, HTTPClient: e.Client("fake"),
			})
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for ev, err := range m.Stream(t.Context(), &providers.Request{Messages: []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "Hi"}}}}}) {
				if err != nil {
					t.Fatal(err)
				}
				if d, ok := ev.(providers.TextDelta); ok {
					text.WriteString(d.Text)
					gate.Open() // the first delta is here before the answer is over
				}
			}
			if !strings.HasPrefix(text.String(), "Hello there") || strings.Contains(text.String(), secret) {
				t.Errorf("the answer is %q", text.String())
			}
			requests := model.Requests()
			if len(requests) != 1 {
				t.Fatalf("the provider got %d requests", len(requests))
			}
			if got := strings.TrimPrefix(requests[0].Header.Get(wire.header), "Bearer "); got != secret {
				t.Errorf("%s is %q", wire.header, requests[0].Header.Get(wire.header))
			}
			if all := fmt.Sprint(requests[0].Header); strings.Contains(all, e.Key) {
				t.Errorf("the placeholder reaches the provider: %s", all)
			}
			if diff := cmp.Diff(map[string]int{"ann fake ok": 1}, w.counts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGateway_Cancel(t *testing.T) {
	testenv.NoLeaks(t)
	gate := providertest.NewGate()
	model := providertest.NewServer(providertest.Step{providertest.Text("Hello"), gate.Hold()})
	defer model.Close()
	defer gate.Open()
	w := newWorld(t, map[string]any{"fake": map[string]any{"key": secret, "api": openai.API, "baseUrl": model.OpenAIURL()}}, nil)
	e := w.open("ann")
	m, err := openai.Open(providers.Config{Info: providers.ModelInfo{Provider: "fake", ID: "m1"}, BaseURL: e.Addresses["fake"], APIKey: e.Key, HTTPClient: e.Client("fake")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range m.Stream(ctx, &providers.Request{Messages: []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "Hi"}}}}}) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		cancel()
	}
	<-model.Disconnected()
}

// provider is a plain server that records requests and answers with what the test wants.
func provider(t *testing.T, answer http.HandlerFunc) (server *httptest.Server, got func() []*http.Request) {
	t.Helper()
	var mu sync.Mutex
	var all []*http.Request
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all = append(all, r)
		mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func TestGateway_Hostile(t *testing.T) {
	server, got := provider(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	w := newWorld(t, map[string]any{
		"fake":   map[string]any{"key": secret, "api": "anthropic-messages", "baseUrl": server.URL + "/base"},
		"google": map[string]any{"key": secret, "baseUrl": server.URL},
	}, server)
	ann, bob := w.open("ann"), w.open("bob")
	good := map[string]string{"X-Api-Key": ann.Key}
	const messages = "/base/v1/messages"
	for _, c := range []struct {
		name, method, path string
		header             map[string]string
		status             int
	}{
		{"a good one", "POST", messages, good, 200},
		{"a good one with a bearer", "POST", messages, map[string]string{"Authorization": "Bearer " + ann.Key}, 200},
		{"no key", "POST", messages, nil, 401},
		{"bob's placeholder", "POST", messages, map[string]string{"X-Api-Key": bob.Key}, 401},
		{"a key of one's own, too", "POST", messages, map[string]string{"X-Api-Key": ann.Key, "Authorization": "Bearer mine"}, 401},
		{"another path", "POST", "/base/v1/files", good, 403},
		{"another method", "DELETE", "/base/v1/messages", good, 403},
		{"the base of another", "POST", "/v1/messages", good, 403},
		{"traversal", "GET", "/base/v1/models/../organizations", good, 403},
		{"escaped traversal", "GET", "/base/v1/models/%2e%2e", good, 403},
		{"doubly escaped traversal", "GET", "/base/v1/models/%252e%252e%252fkeys", good, 403},
		{"an escaped slash", "GET", "/base/v1/models/a%2f..%2fb", good, 403},
		{"a backslash", "GET", `/base/v1/models/a%5c..%5cb`, good, 403},
		{"an empty element", "GET", "/base/v1/models/", good, 403},
		{"another query", "POST", messages + "?upload=1", good, 400},
		{"an upgrade", "POST", messages, map[string]string{"X-Api-Key": ann.Key, "Connection": "Upgrade", "Upgrade": "h2c"}, 400},
	} {
		before := len(got())
		status, text, _ := ann.do(t, c.method, server.URL+c.path, strings.NewReader("{}"), c.header)
		if status != c.status || strings.Contains(text, secret) {
			t.Errorf("%s: HTTP %d %s", c.name, status, text)
		}
		if reached := len(got()) > before; reached != (c.status == 200) {
			t.Errorf("%s: it reaches the provider: %v", c.name, reached)
		}
	}
	if len(w.refused) != 3 || !strings.HasPrefix(w.refused[1], "ann: ") {
		t.Errorf("refused keys: %q", w.refused)
	}

	// Lines that no client of Go sends.
	for name, head := range map[string]string{
		"CONNECT":             "CONNECT evil.example.com:443 HTTP/1.1\r\nHost: evil.example.com:443\r\n\r\n",
		"an absolute URI":     "POST https://evil.example.com/fake/base/v1/messages HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: " + ann.Key + "\r\nContent-Length: 0\r\n\r\n",
		"another host":        "POST /fake/base/v1/messages HTTP/1.1\r\nHost: evil.example.com\r\nX-Api-Key: " + ann.Key + "\r\nContent-Length: 0\r\n\r\n",
		"two slashes":         "POST //evil.example.com/v1/messages HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: " + ann.Key + "\r\nContent-Length: 0\r\n\r\n",
		"an unknown provider": "POST /other/base/v1/messages HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: " + ann.Key + "\r\nContent-Length: 0\r\n\r\n",
		"no length":           "POST /fake/base/v1/messages HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: " + ann.Key + "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a huge body":         "POST /fake/base/v1/messages HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: " + ann.Key + "\r\nContent-Length: 999999999999\r\n\r\n",
		"a long header":       "POST /fake/base/v1/messages HTTP/1.1\r\nHost: gateway\r\nX-Long: " + strings.Repeat("x", 80<<10) + "\r\n\r\n",
	} {
		before := len(got())
		conn, err := net.Dial("unix", ann.socket)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(conn, head) }() // the gateway may answer before it has read all
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode < 400 || res.StatusCode >= 500 {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
		if res != nil {
			_ = res.Body.Close()
		}
		_ = conn.Close()
		if len(got()) > before {
			t.Errorf("%s reaches the provider", name)
		}
	}

	// After its engine has ended, a placeholder is good for nothing.
	ann.end()
	if _, err := net.Dial("unix", ann.socket); err == nil {
		t.Error("the socket of an engine that has ended accepts connections")
	}
	if status, text, _ := bob.do(t, "POST", server.URL+messages, nil, good); status != 401 || !strings.Contains(text, "connect again") {
		t.Errorf("the placeholder of an engine that has ended: HTTP %d %s", status, text)
	}
}

func TestGateway_HeadersAndQuery(t *testing.T) {
	server, got := provider(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "account=1")
		w.Header().Set("X-Echo", secret)
		w.Header().Set("Request-Id", "r1")
		w.Header().Set("X-Ratelimit-Limit-Requests", secret)
		_, _ = io.WriteString(w, "{}")
	})
	w := newWorld(t, map[string]any{"fake": map[string]any{"key": secret, "api": "google-generative-ai", "baseUrl": server.URL + "/v1beta"}}, server)
	e := w.open("ann")
	status, text, header := e.do(t, "POST", server.URL+"/v1beta/models/gemini-3:streamGenerateContent?alt=sse&key="+e.Key, strings.NewReader("{}"), map[string]string{
		"Cookie": "a=b", "X-Goog-User-Project": "other", "X-Forwarded-For": "10.0.0.1", "Accept-Encoding": "gzip", "Content-Type": "application/json", "User-Agent": "gjc " + e.Key,
	})
	if status != 200 {
		t.Fatalf("HTTP %d %s", status, text)
	}
	r := got()[0]
	if diff := cmp.Diff(url.Values{"alt": {"sse"}, "key": {secret}}, r.URL.Query()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(http.Header{"Accept-Encoding": {"identity"}, "Content-Type": {"application/json"}, "User-Agent": {"gjc"}, "Content-Length": {"2"}}, r.Header); diff != "" {
		t.Errorf("the provider's headers: %s", diff)
	}
	header.Del("Date")
	if diff := cmp.Diff(http.Header{"Request-Id": {"r1"}, "Content-Type": {"text/plain; charset=utf-8"}}, header); diff != "" {
		t.Errorf("the engine's headers: %s", diff)
	}
}

// TestGateway_Answers has answers that would give the key away.
func TestGateway_Answers(t *testing.T) {
	var answer http.HandlerFunc
	server, _ := provider(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r) })
	w := newWorld(t, map[string]any{"fake": map[string]any{"key": secret, "api": "openai-completions", "baseUrl": server.URL}}, server)
	e := w.open("ann")
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		status int
		text   string
	}{
		"an error with the key": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "wrong key: "+r.Header.Get("Authorization")+"!", http.StatusUnauthorized)
		}, 401, "wrong key: Bearer " + strings.Repeat("*", len(secret)) + "!"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example.com/?k="+secret, http.StatusTemporaryRedirect)
		}, 502, "is not followed with the operator's key"},
		"a compressed answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("\x1f\x8b"))
		}, 502, "compressed"},
	} {
		answer = c.answer
		status, text, header := e.do(t, "POST", server.URL+"/chat/completions", strings.NewReader("{}"), map[string]string{"Authorization": "Bearer " + e.Key})
		if status != c.status || !strings.Contains(text, c.text) || strings.Contains(text, secret) || header.Get("Location") != "" {
			t.Errorf("%s: HTTP %d %s %v", name, status, text, header)
		}
	}
	// An answer that breaks off does not end in good order.
	answer = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/chat/completions", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+e.Key)
	res, err := e.Client("fake").Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if data, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("a broken answer ends in good order after %q", data)
	}
	// A provider without its certificate gets no key.
	w2 := newWorld(t, map[string]any{"fake": map[string]any{"key": secret, "api": "openai-completions", "baseUrl": server.URL}}, nil)
	e2 := w2.open("ann")
	if status, text, _ := e2.do(t, "POST", server.URL+"/chat/completions", nil, map[string]string{"Authorization": "Bearer " + e2.Key}); status != 502 || !strings.Contains(text, "certificate") {
		t.Errorf("an unknown certificate: HTTP %d %s", status, text)
	}
}

func TestKeys_Reload(t *testing.T) {
	server, got := provider(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	entry := func(key string) map[string]any {
		return map[string]any{"key": key, "api": "openai-completions", "baseUrl": server.URL}
	}
	w := newWorld(t, map[string]any{"fake": entry(secret)}, server)
	e := w.open("ann")
	ask := func() (int, string) {
		t.Helper()
		status, text, _ := e.do(t, "POST", server.URL+"/chat/completions", strings.NewReader("{}"), map[string]string{"Authorization": "Bearer " + e.Key})
		return status, text
	}
	w.write(map[string]any{"fake": entry("sk-another-key")})
	if err := w.keys.Reload(); err != nil {
		t.Fatal(err)
	}
	if status, text := ask(); status != 200 || got()[0].Header.Get("Authorization") != "Bearer sk-another-key" {
		t.Errorf("after the key was replaced: %d %s, %v", status, text, got()[0].Header)
	}
	w.write(map[string]any{"fake": "sk-wrong-form"})
	if err := w.keys.Reload(); err == nil || strings.Contains(err.Error(), "sk-wrong-form") {
		t.Errorf("a wrong file: %v", err)
	}
	if status, _ := ask(); status != 200 {
		t.Error("a wrong file ends the keys that were")
	}
	w.write(map[string]any{"mistral": map[string]any{"key": secret}})
	if err := w.keys.Reload(); err != nil {
		t.Fatal(err)
	}
	if status, text := ask(); status != 404 || !strings.Contains(text, "no key for this provider any more") {
		t.Errorf("after the provider was removed: %d %s", status, text)
	}
}

func TestOpenKeys_Wrong(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		`{}`:                                     "it has no keys",
		`nonsense sk-secret`:                     "it must be JSON",
		`{"anthropic": {}}`:                      "key is missing",
		`{"anthropic": {"key": "sk-se cret"}}`:   "one word of ASCII",
		`{"anthropic": {"type": "keyring"}}`:     `type is "keyring"`,
		`{"corp": {"key": "sk-secret"}}`:         "add api and baseUrl",
		`{"azure-openai": {"key": "sk-secret"}}`: "baseUrl is missing",
		`{"vertex-anthropic": {"key": "sk-secret", "baseUrl": "https://x.example"}}`:                 "needs more than a key",
		`{"openai": {"key": "sk-secret", "baseUrl": "http://api.example.com/v1"}}`:                   "must begin with https://",
		`{"openai": {"key": "sk-secret", "baseUrl": "https://me:sk-secret@api.example.com"}}`:        "without a password",
		`{"a/b": {"key": "sk-secret", "api": "openai-completions", "baseUrl": "https://x.example"}}`: "not the name of a provider",
		`{"openai": {"key": "sk-secret", "keys": ["sk-secret"]}}`:                                    "it must be JSON",
	} {
		file := filepath.Join(dir, "keys.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := gateway.OpenKeys(file); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sk-se") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := gateway.OpenKeys(dir); err == nil {
		t.Error("a directory is a file of keys")
	}
}

func TestFromVariable(t *testing.T) {
	if g, err := gateway.FromVariable(""); g != nil || err != nil {
		t.Errorf("%v, %v", g, err)
	}
	if _, err := gateway.FromVariable(`{"socket":""}`); err == nil {
		t.Error("a gateway without a socket")
	}
}

// FuzzRedact reads a body in pieces of any length. The key never passes, nothing else is changed.
func FuzzRedact(f *testing.F) {
	f.Add([]byte("a secretsecretsecre t"), uint8(1))
	f.Add([]byte(strings.Repeat("secret", 9)), uint8(7))
	f.Fuzz(func(t *testing.T, body []byte, piece uint8) {
		pieces := &chunks{data: body, size: int(piece%50) + 1}
		got, err := io.ReadAll(gateway.NewRedacting(io.NopCloser(pieces), "secretse"))
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.ReplaceAll(body, []byte("secretse"), []byte("********"))
		if !bytes.Equal(got, want) {
			t.Errorf("%q becomes %q", body, got)
		}
	})
}

// chunks is a reader that returns a few bytes at a time.
type chunks struct {
	data []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.size)], c.data)
	c.data = c.data[n:]
	return n, nil
}
