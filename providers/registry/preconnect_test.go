package registry_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/providers/registry"
)

func TestRegistry_Preconnect(t *testing.T) {
	testenv.NoLeaks(t)
	server := providertest.NewTLSServer(t)
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
	r := w.registry(w.settings(registry.Settings{HTTP: providers.HTTPOptions{CAFiles: []string{server.File}}}), func(o *registry.Options) {
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
	requests, keys := server.Requests()
	if server.Conns() != 1 || len(requests) != 2 || requests[0] != "HTTP/2.0 HEAD /" || keys[0] != "" {
		t.Errorf("%d connections, requests %q, keys %q", server.Conns(), requests, keys)
	}
}

// If the network settings contain a mistake, every model that needs the network fails with it.
func TestRegistry_OpenWithBadNetworkSettings(t *testing.T) {
	for name, opts := range map[string]providers.HTTPOptions{
		"no file":     {CAFiles: []string{filepath.Join(t.TempDir(), "none.pem")}},
		"ftp proxy":   {Proxy: "ftp://user:secret@p.example"},
		"only a host": {Proxy: "proxy.secret:3128"},
		"unknown":     {Unknown: "config.yml cannot be read"},
	} {
		w := newWorld(t)
		w.write("models.yml", localModels, 0o600)
		r := w.registry(w.settings(registry.Settings{HTTP: opts}))
		info, _, _ := r.Find("local/small")
		if _, err := r.Open(t.Context(), info); !errors.Is(err, providers.ErrHTTPOptions) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: opening a model: %v", name, err)
		}
	}
}
