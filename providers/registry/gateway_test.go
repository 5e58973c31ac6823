package registry_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/registry"
)

// routed is a client that records the keys of its requests.
type routed struct {
	mu   sync.Mutex
	keys []string
}

func (r *routed) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = append(r.keys, req.URL.Host+" "+req.Header.Get("Authorization"))
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusBadRequest)
	return w.Result(), nil
}

// The gateway is used if the user has neither a key nor another address for a provider.
func TestGateway(t *testing.T) {
	for name, c := range map[string]struct {
		env            map[string]string
		file, auth     string
		source         string
		direct, routed string
	}{
		"nothing of one's own": {source: "the server's operator", routed: "api.openai.com Bearer placeholder"},
		"a variable":           {env: map[string]string{"OPENAI_API_KEY": "own"}, source: "environment OPENAI_API_KEY", direct: "api.openai.com Bearer own"},
		"a stored key":         {auth: `{"openai": {"type": "api_key", "key": "own"}}`, source: "auth.json", direct: "api.openai.com Bearer own"},
		"a key in models.yml":  {file: "providers: {openai: {apiKey: own}}", source: "models.yml", direct: "api.openai.com Bearer own"},
		"another address":      {file: "providers: {openai: {baseUrl: 'https://o.example/v1'}}"},
		"another path":         {file: "providers: {openai: {baseUrl: 'https://api.openai.com/v2'}}"},
		"the same address":     {file: "providers: {openai: {baseUrl: 'https://api.openai.com/v1/'}}", source: "the server's operator", routed: "api.openai.com Bearer placeholder"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			maps.Copy(w.env, c.env)
			if c.file != "" {
				w.write("models.yml", c.file, 0o600)
			}
			if c.auth != "" {
				w.write("auth.json", c.auth, 0o600)
			}
			direct, through := new(routed), new(routed)
			r := w.registry(func(o *registry.Options) {
				o.HTTPClient = &http.Client{Transport: direct}
				o.Factories = map[string]providers.Factory{openai.APIResponses: openai.OpenResponses}
				o.Gateway = &registry.Gateway{
					Addresses: map[string]string{"openai": "https://api.openai.com/v1"}, Key: "placeholder",
					Client: func(string) *http.Client { return &http.Client{Transport: through} },
				}
			})
			if got := r.CredentialSource("openai"); got != c.source {
				t.Errorf("the source is %q, not %q", got, c.source)
			}
			_ = r.Probe(t.Context(), "openai") // each request fails
			for what, pair := range map[string][2]string{"directly": {one(direct.keys), c.direct}, "through the gateway": {one(through.keys), c.routed}} {
				if pair[0] != pair[1] {
					t.Errorf("%s: %q, not %q", what, pair[0], pair[1])
				}
			}
		})
	}
}

func one(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

func TestPublicAddress(t *testing.T) {
	for provider, want := range map[string][2]string{
		"anthropic":    {"anthropic-messages", "https://api.anthropic.com"},
		"openai":       {"openai-responses", "https://api.openai.com/v1"},
		"google":       {"google-generative-ai", "https://generativelanguage.googleapis.com/v1beta"},
		"mistral":      {"openai-completions", "https://api.mistral.ai/v1"},
		"azure-openai": {"azure-openai-responses", ""},
		"unknown":      {"", ""},
	} {
		if api, address := registry.PublicAddress(provider); api != want[0] || address != want[1] {
			t.Errorf("%s: %q %q", provider, api, address)
		}
	}
}
