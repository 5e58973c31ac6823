package registry_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

const gatewayFile = `
providers:
  gateway:
    baseUrl: https://user:secret@gw.example/v1?key=secret
    apiKey: file-key
    api: openai-completions
    headers: {X-Team: platform}
    models: [{id: one, headers: {X-Model: a}}, {id: two, api: anthropic-messages}]
  local:
    baseUrl: http://127.0.0.1:1234/v1
    api: openai-completions
    models: [{id: llama}]
`

func state(t *testing.T, r *registry.Registry, id string) providers.ProviderState {
	t.Helper()
	for _, p := range r.Providers() {
		if p.ID == id {
			return p
		}
	}
	t.Fatalf("%s is not listed", id)
	panic("unreachable")
}

func TestProviders(t *testing.T) {
	w := newWorld(t)
	w.env["OPENAI_BASE_URL"] = "https://o.example/v1"
	w.write("models.yml", gatewayFile, 0o644)
	both := []string{"anthropic", "openai"}
	want := []providers.ProviderState{
		{ID: "anthropic", Supported: both, Current: &providers.ProviderRoute{APIType: "anthropic", BaseURL: "https://api.anthropic.com"}},
		{ID: "openai", Supported: both, Current: &providers.ProviderRoute{APIType: "openai", BaseURL: "https://o.example/v1"}},
		{ID: "gateway", Supported: both, Current: &providers.ProviderRoute{APIType: "openai", BaseURL: "https://gw.example/v1"}},
		{ID: "local", Supported: both, Current: &providers.ProviderRoute{APIType: "openai", BaseURL: "http://127.0.0.1:1234/v1"}},
		{ID: "offline", Supported: []string{}, Required: true, Current: &providers.ProviderRoute{APIType: "_offline"}},
	}
	ours := []string{"anthropic", "openai", "gateway", "local", "offline"}
	got := slices.DeleteFunc(w.registry().Providers(), func(p providers.ProviderState) bool { return !slices.Contains(ours, p.ID) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	onlyOne := w.registry(func(o *registry.Options) { delete(o.Factories, "anthropic-messages") })
	if got := state(t, onlyOne, "openai").Supported; !cmp.Equal(got, []string{"openai"}) {
		t.Errorf("supported = %q", got)
	}
}

// The API types of clouds stand for the APIs that a model uses there. A model of such an API keeps it.
func TestSetProvider_Clouds(t *testing.T) {
	w := newWorld(t)
	r := w.registry(func(o *registry.Options) {
		for _, api := range []string{"google-vertex", "anthropic-messages-vertex", "anthropic-messages-bedrock"} {
			o.Factories[api] = o.Factories["openai-completions"]
		}
	})
	for id, want := range map[string][2]string{
		"google-vertex": {"vertex", "google-vertex"}, "vertex-anthropic": {"vertex", "anthropic-messages-vertex"}, "amazon-bedrock": {"bedrock", "anthropic-messages-bedrock"},
	} {
		if p := state(t, r, id); p.Current == nil || p.Current.APIType != want[0] || !slices.Contains(p.Supported, want[0]) {
			t.Errorf("%+v", p)
		}
		if err := r.SetProvider(id, want[0], "https://gw.example", nil); err != nil {
			t.Error(err)
		}
		at := slices.IndexFunc(r.Models(), func(m providers.ModelInfo) bool { return m.Provider == id })
		if cfg := w.open(r, r.Models()[at].Ref()); cfg.Info.API != want[1] || !cfg.NoAmbient {
			t.Errorf("%+v", cfg)
		}
	}
}

func TestSetProvider_ReplacesTheWholeConfiguration(t *testing.T) {
	w := newWorld(t)
	w.env["ANTHROPIC_API_KEY"] = "env-key"
	w.write("models.yml", gatewayFile, 0o644)
	r := w.registry()
	if cfg := w.open(r, "gateway/one"); cfg.APIKey != "file-key" || len(cfg.Headers) != 2 {
		t.Fatalf("config = %+v", cfg)
	}
	stale, _, err := r.Find("gateway/two")
	if err != nil {
		t.Fatal(err)
	}
	w.open(r, "gateway/two")
	headers := map[string]string{"authorization": "Bearer from-editor", "X-Route": "a"}
	if err := r.SetProvider("gateway", "openai", "https://other.example/api", headers); err != nil {
		t.Fatal(err)
	}
	headers["X-Route"] = "changed later"
	want := providers.Config{BaseURL: "https://other.example/api", NoAmbient: true, Headers: map[string]string{"authorization": "Bearer from-editor", "X-Route": "a"}}
	for _, ref := range []string{"gateway/one", "gateway/two"} {
		cfg := w.open(r, ref)
		if cfg.Info.API != "openai-completions" {
			t.Errorf("%s goes by %s", ref, cfg.Info.API)
		}
		cfg.Info, cfg.HTTPClient = providers.ModelInfo{}, nil
		if diff := cmp.Diff(want, cfg); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ref, diff)
		}
	}
	// A session holds the earlier description.
	before := len(w.opened)
	if m, err := r.Open(t.Context(), stale); err != nil || m.Info().API != "openai-completions" || len(w.opened) != before {
		t.Errorf("%v, %v", m, err)
	}
	if source := r.CredentialSource("gateway"); source != "editor" {
		t.Errorf("source = %q", source)
	}
	current := state(t, r, "gateway").Current
	if current == nil || *current != (providers.ProviderRoute{APIType: "openai", BaseURL: "https://other.example/api"}) {
		t.Errorf("current = %+v", current)
	}
	// Other providers and the files are unchanged; a reload keeps the redirect.
	if cfg := w.open(r, "claude-opus-5-5"); cfg.APIKey != "env-key" || cfg.BaseURL != "" {
		t.Errorf("config = %+v", cfg)
	}
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if cfg := w.open(r, "gateway/one"); cfg.BaseURL != "https://other.example/api" {
		t.Errorf("after a reload: %+v", cfg)
	}
	if cfg := w.open(w.registry(), "gateway/one"); cfg.BaseURL == "https://other.example/api" {
		t.Error("another registry knows of it")
	}
	// The next redirect replaces the whole previous one.
	if err := r.SetProvider("gateway", "anthropic", "https://third.example", nil); err != nil {
		t.Fatal(err)
	}
	if cfg := w.open(r, "gateway/one"); len(cfg.Headers) != 0 || cfg.Info.API != "anthropic-messages" || cfg.APIKey != "" {
		t.Errorf("config = %+v", cfg)
	}
	if text := fmt.Sprintf("%+v %+v", r.Providers(), r.Accounts()); strings.Contains(text, "from-editor") {
		t.Errorf("the text contains a secret: %s", text)
	}
}

// The user's keys go only to the address that they went to before.
func TestSetProvider_Keys(t *testing.T) {
	for _, test := range []struct {
		url     string
		headers map[string]string
		key     string
		source  string
	}{
		{"https://api.openai.com/v1", nil, "env-key", "environment OPENAI_API_KEY"},
		{"https://API.openai.com:443/other", map[string]string{"X-Trace": "1"}, "env-key", "environment OPENAI_API_KEY"},
		{"http://api.openai.com/v1", nil, "", "none needed"},
		{"https://api.openai.com.evil.example/v1", nil, "", "none needed"},
		{"https://gw.example/v1", map[string]string{"X-Trace": "1"}, "", "none needed"},
		{"https://gw.example/v1", map[string]string{"AUTHORIZATION": "Bearer x"}, "", "editor"},
		{"https://api.openai.com/v1", map[string]string{"Api-Key": "x"}, "", "editor"},
	} {
		w := newWorld(t)
		w.env["OPENAI_API_KEY"] = "env-key"
		r := w.registry()
		if err := r.SetProvider("openai", "openai", test.url, test.headers); err != nil {
			t.Fatal(err)
		}
		if cfg := w.open(r, "gpt-4.1"); cfg.APIKey != test.key || cfg.BaseURL != test.url || r.CredentialSource("openai") != test.source {
			t.Errorf("%s %v: key %q from %q", test.url, test.headers, cfg.APIKey, r.CredentialSource("openai"))
		}
	}
	w := newWorld(t) // a world without any key
	r := w.registry()
	if err := r.SetProvider("openai", "openai", "https://api.openai.com/v1", nil); err != nil || r.CredentialSource("openai") != "" {
		t.Errorf("%v, has credentials: %t", err, r.CredentialSource("openai") != "")
	}
}

// At the address that still gets the user's keys, the settings of models.yml for the server apply; elsewhere they do not.
func TestSetProvider_OwnServer(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", `
providers:
  gw:
    baseUrl: https://gw.example/anthropic
    api: anthropic-messages
    apiKey: file-key
    authHeader: true
    disableStrictTools: true
    cacheRetention: none
    headers: {X-Team: platform}
    compat: {extraBody: {a: 1}}
    requestTransform: {setHeaders: {X-Set: a}}
    models: [{id: m, wireModelId: real-m, cacheRetention: short, compat: {extraBody: {b: 2}}}]
`, 0o600)
	r := w.registry()
	for url, want := range map[string]providers.Config{
		"https://gw.example/other": {
			APIKey: "file-key", AuthHeader: true, NoStrictTools: true, CacheRetention: "short", WireModel: "real-m",
			Compat: providers.Compat{ExtraBody: map[string]jsonx.Raw{"a": jsonx.Raw("1"), "b": jsonx.Raw("2")}},
		},
		"https://other.example": {NoAmbient: true},
	} {
		want.BaseURL, want.Headers = url, map[string]string{"X-Route": "a"}
		if err := r.SetProvider("gw", "anthropic", url, want.Headers); err != nil {
			t.Fatal(err)
		}
		cfg := w.open(r, "gw/m")
		cfg.Info, cfg.HTTPClient = providers.ModelInfo{}, nil
		if diff := cmp.Diff(want, cfg); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
}

func TestSetProvider_Refuses(t *testing.T) {
	w := newWorld(t)
	r := w.registry()
	before := r.Providers()
	for _, test := range []struct {
		id, api, url string
		headers      map[string]string
		want         error
	}{
		{"nobody", "openai", "https://x.example", nil, providers.ErrUnknownProvider},
		{"", "openai", "https://x.example", nil, providers.ErrUnknownProvider},
		{"openai", "bedrock", "https://x.example", nil, providers.ErrUnsupportedAPI},
		{"openai", "openai-completions", "https://x.example", nil, providers.ErrUnsupportedAPI},
		{"openai", "", "https://x.example", nil, providers.ErrUnsupportedAPI},
		{"offline", "openai", "https://x.example", nil, providers.ErrUnsupportedAPI},
		{"openai", "openai", "", nil, providers.ErrInvalidProvider},
		{"openai", "openai", "x.example", nil, providers.ErrInvalidProvider},
		{"openai", "openai", "file:///etc/passwd", nil, providers.ErrInvalidProvider},
		{"openai", "openai", "https://u:top-secret@x.example", nil, providers.ErrInvalidProvider},
		{"openai", "openai", "https://x.example", map[string]string{"a b": "top-secret"}, providers.ErrInvalidProvider},
		{"openai", "openai", "https://x.example", map[string]string{"": "top-secret"}, providers.ErrInvalidProvider},
		{"openai", "openai", "https://x.example", map[string]string{"X-Team": "top-secret", "x-team": "b"}, providers.ErrInvalidProvider},
		{"openai", "openai", "https://x.example", map[string]string{"X": "top-secret\r\nY: z"}, providers.ErrInvalidProvider},
	} {
		err := r.SetProvider(test.id, test.api, test.url, test.headers)
		if !errors.Is(err, test.want) || strings.Contains(err.Error(), "top-secret") {
			t.Errorf("%+v: err = %v", test, err)
		}
	}
	if diff := cmp.Diff(before, r.Providers()); diff != "" {
		t.Errorf("a refused change was made (-before +after):\n%s", diff)
	}
}

func TestDisableProvider(t *testing.T) {
	w := newWorld(t)
	w.env["ANTHROPIC_API_KEY"], w.env["OPENAI_API_KEY"] = "a", "o"
	r := w.registry()
	info, _, err := r.Find("anthropic/claude-opus-5-5")
	if err != nil {
		t.Fatal(err)
	}
	w.open(r, "anthropic/claude-opus-5-5")
	for range 2 {
		if err := r.DisableProvider("anthropic"); err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range [][]providers.ModelInfo{r.All(), r.Models()} {
		if text := strings.Join(refs(list), " "); strings.Contains(text, "anthropic/") || !strings.Contains(text, "openai/") {
			t.Errorf("models: %s", text)
		}
	}
	if m, _ := r.Default(); m.Provider != "openai" {
		t.Errorf("default = %s", m.Ref())
	}
	if _, _, err := r.Find("anthropic/claude-opus-5-5"); err == nil {
		t.Error("it is still found")
	}
	if _, err := r.Open(t.Context(), info); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("opening it: %v", err)
	}
	if p := state(t, r, "anthropic"); p.Current != nil || p.Required {
		t.Errorf("state = %+v", p)
	}
	if err := r.DisableProvider("nobody"); err != nil {
		t.Errorf("an unknown one: %v", err)
	}
	if err := r.DisableProvider("offline"); !errors.Is(err, providers.ErrRequiredProvider) {
		t.Errorf("the fallback: %v", err)
	}
	if err := r.DisableProvider("openai"); err != nil {
		t.Fatal(err)
	}
	if m, ok := r.Default(); !ok || m.Ref() != "offline/demo" {
		t.Errorf("with all disabled the default is %v", m)
	}
	if err := r.SetProvider("anthropic", "anthropic", "https://api.anthropic.com", nil); err != nil {
		t.Fatal(err)
	}
	if cfg := w.open(r, "anthropic/claude-opus-5-5"); cfg.APIKey != "a" {
		t.Errorf("enabled again: %+v", cfg)
	}
}

func TestAccounts(t *testing.T) {
	w := newWorld(t)
	w.env["ANTHROPIC_API_KEY"] = "secret-env"
	w.write("models.yml", strings.ReplaceAll(gatewayFile, "file-key", "secret-file"), 0o644)
	w.write("auth.json", `{"anthropic":{"type":"api_key","key":"secret-auth"},"x":{"type":"oauth"},"openai":{"type":"api_key","key":"secret-o"}}`, 0o600)
	r := w.registry()
	want := []providers.Account{
		{Label: "Anthropic API key", Provider: "anthropic", Source: "auth.json", Active: true},
		{Label: "Anthropic API key", Provider: "anthropic", Source: "environment ANTHROPIC_API_KEY"},
		{Label: "OpenAI API key", Provider: "openai", Source: "auth.json", Active: true},
		{Label: "gateway API key", Provider: "gateway", Source: "models.yml", Active: true},
	}
	if diff := cmp.Diff(want, r.Accounts()); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
	if text := fmt.Sprintf("%+v", r.Accounts()); strings.Contains(text, "secret") {
		t.Errorf("the text contains a secret: %s", text)
	}
	if err := errors.Join(r.DisableProvider("openai"),
		r.SetProvider("gateway", "openai", "https://gw2.example", map[string]string{"Authorization": "secret"})); err != nil {
		t.Fatal(err)
	}
	want[2].Active, want[3].Active = false, false
	want = append(want[:3], providers.Account{Label: "gateway credentials of the editor", Provider: "gateway", Source: "editor", Active: true}, want[3])
	if diff := cmp.Diff(want, r.Accounts()); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
	if got := newWorld(t).registry().Accounts(); len(got) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestLogout(t *testing.T) {
	w := newWorld(t)
	w.env["OPENAI_API_KEY"] = "o"
	path := w.write("auth.json", `{"anthropic":{"type":"api_key","key":"k"},"x":{"type":"oauth","refresh":"r"},"gone":{"type":"api_key","key":""}}`, 0o600)
	r := w.registry()
	w.open(r, "claude-opus-5-5")
	if err := r.Logout(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if got := strings.TrimSpace(string(data)); err != nil || got != `{"x":{"type":"oauth","refresh":"r"}}` {
		t.Errorf("auth.json = %s, %v", got, err)
	}
	if r.CredentialSource("anthropic") != "" || r.CredentialSource("openai") == "" {
		t.Error("the wrong keys were forgotten")
	}
	info, _, _ := r.Find("claude-opus-5-5")
	if _, err := r.Open(t.Context(), info); err == nil {
		t.Error("the model that is open keeps the key")
	}
	if err := r.Logout(); err != nil {
		t.Errorf("a second time: %v", err)
	}

	nothing := newWorld(t)
	if err := nothing.registry().Logout(); err != nil {
		t.Errorf("without a file: %v", err)
	}
	if left, _ := os.ReadDir(nothing.dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := nothing.registry(func(o *registry.Options) { o.AgentDir = "" }).Logout(); err != nil {
		t.Errorf("without a directory: %v", err)
	}
	broken := newWorld(t)
	path = broken.write("auth.json", `{"anthropic":`, 0o600)
	if err := broken.registry().Logout(); err == nil {
		t.Error("a file that cannot be read was logged out of")
	}
	if data, _ := os.ReadFile(path); string(data) != `{"anthropic":` {
		t.Errorf("the file was changed to %q", data)
	}
	if left, _ := filepath.Glob(filepath.Join(broken.dir, ".auth*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
