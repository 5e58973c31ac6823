package registry_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/providers/registry"
)

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (fn roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

// The limits of an account come from its responses, and those of OpenRouter also from its own address, which alone gets the key.
func TestRegistry_Quotas(t *testing.T) {
	w := newWorld(t)
	w.env["OPENROUTER_API_KEY"], w.env["ANTHROPIC_API_KEY"] = "or-key", "ant-key"
	w.write("models.yml", "providers: {openrouter: {models: [{id: a}]}}\n", 0o600)
	var asked []string
	remaining := "1"
	r := w.registry(func(o *registry.Options) {
		o.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.String()+" "+r.Header.Get("Authorization"))
			return &http.Response{
				StatusCode: http.StatusOK, Request: r, Header: http.Header{},
				Body: io.NopCloser(strings.NewReader(`{"data":{"limit":10,"limit_remaining":` + remaining + `}}`)),
			}, nil
		})}
	})
	info, _, err := r.Find("anthropic/claude-opus-5-5")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	w.opened[0].Received(http.StatusOK, http.Header{"Anthropic-Ratelimit-Unified-5h-Utilization": {"0.9"}})
	if got := r.Quotas("anthropic"); len(got) != 1 || got[0].Name != "5h" || got[0].Used != 0.9 {
		t.Errorf("anthropic: %+v", got)
	}
	if got := r.QuotaWarnings("anthropic"); len(got) != 1 {
		t.Errorf("warnings: %+v", got)
	}
	for _, provider := range []string{"anthropic", "openai", "unknown", "openrouter"} {
		if err := r.RefreshQuotas(t.Context(), provider); err != nil {
			t.Errorf("%s: %v", provider, err)
		}
	}
	if len(asked) != 1 || asked[0] != "https://openrouter.ai/api/v1/key Bearer or-key" {
		t.Errorf("asked %q", asked)
	}
	if got := r.Quotas("openrouter"); len(got) != 1 || got[0].Used != 0.9 {
		t.Errorf("openrouter: %+v", got)
	}
	remaining = `"none"`
	if err := r.RefreshQuotas(t.Context(), "openrouter"); err == nil {
		t.Error("a malformed answer is no error")
	}
	if err := r.SetProvider("openrouter", "openai", "https://gateway.example/v1", nil); err != nil {
		t.Fatal(err)
	}
	if err := r.RefreshQuotas(t.Context(), "openrouter"); err != nil || len(asked) != 2 {
		t.Errorf("a redirected provider: %v, %q", err, asked)
	}
}
