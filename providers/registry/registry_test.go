package registry_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/providers/registry"
)

// A world is an agent directory, an environment, and the configurations that the factories received.
type world struct {
	*testing.T
	dir     string
	env     map[string]string
	notices []string
	opened  []providers.Config
}

func newWorld(t *testing.T) *world {
	return &world{T: t, dir: t.TempDir(), env: map[string]string{}}
}

func (w *world) write(name, text string, mode os.FileMode) string {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		w.Fatal(err)
	}
	return path
}

func (w *world) registry(change ...func(*registry.Options)) *registry.Registry {
	factory := func(cfg providers.Config) (providers.Model, error) {
		w.opened = append(w.opened, cfg)
		return providertest.NewScript(cfg.Info), nil
	}
	opts := registry.Options{
		AgentDir: w.dir, Getenv: func(name string) string { return w.env[name] }, Fallback: offline.Info(),
		Factories: map[string]providers.Factory{
			"anthropic-messages": factory, "openai-completions": factory, "openai-responses": factory, offline.API: offline.Open,
		},
		Notice: func(s string) { w.notices = append(w.notices, s) },
	}
	for _, fn := range change {
		fn(&opts)
	}
	return registry.New(opts)
}

func refs(models []providers.ModelInfo) (list []string) {
	for _, m := range models {
		list = append(list, m.Ref())
	}
	return list
}

// open opens the model with the reference ref and returns the configuration that its factory received.
func (w *world) open(r *registry.Registry, ref string) providers.Config {
	w.Helper()
	info, _, err := r.Find(ref)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := r.Open(w.Context(), info); err != nil {
		w.Fatal(err)
	}
	cfg := w.opened[len(w.opened)-1]
	if cfg.Received == nil {
		w.Errorf("the model %s records no limits", ref)
	}
	cfg.Received = nil // TestRegistry_Quotas calls it
	return cfg
}

func TestNewRegistry_DoesNothing(t *testing.T) {
	registry.New(registry.Options{
		AgentDir: string([]byte{0}), Getenv: func(name string) string { t.Errorf("reads %s", name); return "" },
	})
}

func TestRegistry_WithoutKeysOnlyOffline(t *testing.T) {
	w := newWorld(t)
	r := w.registry()
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := refs(r.Models()); !cmp.Equal(got, []string{"offline/demo"}) {
		t.Errorf("models = %v", got)
	}
	if m, ok := r.Default(); !ok || m.Ref() != "offline/demo" {
		t.Errorf("default = %v", m)
	}
	all := refs(r.All())
	if len(all) < 10 || all[len(all)-1] != "offline/demo" || !strings.HasPrefix(all[0], "anthropic/") {
		t.Errorf("all = %v", all)
	}
	info, _, err := r.Find("anthropic/claude-opus-5-5")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Open(w.Context(), info)
	if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindAuth || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
		t.Errorf("err = %v, want auth, with what to do", err)
	}
}

func TestRegistry_KeyOrder(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", "providers:\n  anthropic:\n    apiKey: from-models-yml\n", 0o644)
	check := func(r *registry.Registry, key, source string) {
		t.Helper()
		if got := r.CredentialSource("anthropic"); got != source {
			t.Errorf("source = %q, want %q", got, source)
		}
		if cfg := w.open(r, "claude-opus-5-5"); cfg.APIKey != key {
			t.Errorf("key = %q, want %q", cfg.APIKey, key)
		}
	}
	check(w.registry(), "from-models-yml", "models.yml")
	w.env["ANTHROPIC_API_KEY"] = "from-env"
	check(w.registry(), "from-env", "environment ANTHROPIC_API_KEY")
	w.write("auth.json", `{"anthropic":{"type":"api_key","key":"from-auth"}}`, 0o600)
	check(w.registry(), "from-auth", "auth.json")
	check(w.registry(func(o *registry.Options) { o.APIKey = "sk-ant-flag" }), "sk-ant-flag", "--api-key")
	check(w.registry(func(o *registry.Options) { o.APIKey, o.APIKeyProvider = "flag", "anthropic" }), "flag", "--api-key")
	// A key of one provider must not go to another.
	check(w.registry(func(o *registry.Options) { o.APIKey = "sk-proj-flag" }), "from-auth", "auth.json")
}

func TestRegistry_BaseURLOrder(t *testing.T) {
	w := newWorld(t)
	w.env["ANTHROPIC_API_KEY"], w.env["OPENAI_API_KEY"] = "a", "o"
	if cfg := w.open(w.registry(), "claude-opus-5-5"); cfg.BaseURL != "" {
		t.Errorf("base = %q", cfg.BaseURL)
	}
	w.env["ANTHROPIC_BASE_URL"], w.env["OPENAI_BASE_URL"] = "https://a.example", "https://o.example/v1"
	if cfg := w.open(w.registry(), "claude-opus-5-5"); cfg.BaseURL != "https://a.example" {
		t.Errorf("base = %q", cfg.BaseURL)
	}
	if cfg := w.open(w.registry(), "gpt-4.1"); cfg.BaseURL != "https://o.example/v1" {
		t.Errorf("base = %q", cfg.BaseURL)
	}
	w.write("models.yml", "providers:\n  anthropic:\n    baseUrl: https://file.example\n", 0o644)
	if cfg := w.open(w.registry(), "claude-opus-5-5"); cfg.BaseURL != "https://file.example" {
		t.Errorf("base = %q", cfg.BaseURL)
	}
}

func TestRegistry_ModelsFile(t *testing.T) {
	w := newWorld(t)
	w.env["MY_KEY"] = "secret"
	w.write("models.yml", `
providers:
  ollama: # keyless, because it is on this machine
    baseUrl: http://127.0.0.1:11434/v1
    api: openai-completions
    models:
      - id: qwen3:8b
        reasoning: true
        input: [text, image]
        contextWindow: 32768
        contextPromotionTarget: gateway/local-claude
        maxTokens: 4096
        cost: {input: 1, output: 2, cacheRead: 0.5, cacheWrite: 3}
  gateway:
    baseUrl: https://gw.example/v1
    apiKey: MY_KEY
    api: openai-completions
    headers: {X-Team: platform}
    models:
      - id: anthropic/claude
        name: Claude there
        headers: {X-Model: a}
      - id: local-claude
        api: anthropic-messages
        thinking: {levels: [low, high], mode: budget}
  unset:
    baseUrl: https://u.example
    apiKey: NO_SUCH_VARIABLE
    api: anthropic-messages
    models: [{id: claude-opus-5-5, reasoning: true}]
  anthropic:
    models:
      - id: claude-opus-5-5
        maxTokens: 1000
`, 0o644)
	r := w.registry()
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"ollama/qwen3:8b", "gateway/anthropic/claude", "gateway/local-claude", "offline/demo"}
	if diff := cmp.Diff(want, refs(r.Models())); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	if m, _ := r.Default(); m.Ref() != want[0] {
		t.Errorf("default = %s", m.Ref())
	}
	cfg := w.open(r, "qwen3:8b")
	info := providers.ModelInfo{
		Provider: "ollama", ID: "qwen3:8b", API: "openai-completions", ContextWindow: 32768, MaxOutput: 4096, Images: true,
		ContextPromotionTarget: "gateway/local-claude", Canonical: "qwen3:8b",
		Thinking: []providers.ThinkingLevel{"low", "medium", "high"},
		Cost:     providers.Cost{Input: 1, Output: 2, CacheRead: 0.5, CacheWrite: 3},
	}
	if diff := cmp.Diff(info, cfg.Info); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
	if cfg.APIKey != "" || cfg.BaseURL != "http://127.0.0.1:11434/v1" {
		t.Errorf("config = %+v", cfg)
	}
	cfg = w.open(r, "gateway/anthropic/claude")
	if cfg.APIKey != "secret" || cfg.Headers["X-Team"] != "platform" || cfg.Headers["X-Model"] != "a" {
		t.Errorf("config = %+v", cfg)
	}
	if cfg = w.open(r, "gateway/local-claude"); cfg.Info.API != "anthropic-messages" || cfg.Info.ThinkingMode != "budget" || len(cfg.Headers) != 1 {
		t.Errorf("config = %+v", cfg)
	}
	if m, _, err := r.Find("anthropic/claude-opus-5-5"); err != nil || m.MaxOutput != 1000 || m.ContextWindow != 1_000_000 {
		t.Errorf("%+v, %v; want the catalogue's facts, with the file's limit", m, err)
	}
	if m, _, err := r.Find("unset/claude-opus-5-5"); err != nil || m.ThinkingMode != providers.ThinkingEffortAlways {
		t.Errorf("%+v, %v; want the thinking mode of the same model", m, err)
	}
	if r.CredentialSource("unset") != "" {
		t.Error("the name of an unset variable counts as a key")
	}
}

func TestRegistry_ModelsFileMistakes(t *testing.T) {
	good := "baseUrl: https://x.example, apiKey: k, api: openai-completions"
	for _, test := range []struct {
		text  string
		line  int
		field string
	}{
		{"providers:\n  x: {" + good + ", modls: []}\n", 2, "providers.x.modls"},
		{"providers:\n  x: {" + good + "}\n", 2, "providers.x.models"},
		{"providers:\n  x:\n    baseUrl: https://x.example\n    apiKey: k\n    api: telepathy\n    models: [{id: a}]\n", 5, "providers.x.api"},
		{"providers:\n  x:\n    " + strings.ReplaceAll(good, ", ", "\n    ") + "\n    models:\n      - id: a\n        contextWindow: big\n", 8, "providers.x.models[0].contextWindow"},
		{"providers:\n  x:\n    " + strings.ReplaceAll(good, ", ", "\n    ") + "\n    models:\n      - id: a\n        contextWindow: -1\n", 8, "providers.x.models[0].contextWindow"},
		{"providers:\n  x:\n    " + strings.ReplaceAll(good, ", ", "\n    ") + "\n    models:\n      - id: a\n        contextPromotionTarget: x/a\n", 8, "providers.x.models[0].contextPromotionTarget"},
		{"providers:\n  x:\n    " + strings.ReplaceAll(good, ", ", "\n    ") + "\n    models:\n      - id: a\n        contextPromotionTarget: [b]\n", 8, "providers.x.models[0].contextPromotionTarget"},
		{"providers:\n  x:\n    " + strings.ReplaceAll(good, ", ", "\n    ") + "\n    models:\n      - id: a\n        colour: red\n", 8, "providers.x.models[0].colour"},
		{"providers:\n  x: {" + good + ", models: [{name: a}]}\n", 2, "providers.x.models[0].id"},
		{"providers:\n  x: {apiKey: k, api: openai-completions, models: [{id: a}]}\n", 2, "providers.x.baseUrl"},
		{"providers:\n  x: {baseUrl: https://x.example, api: openai-completions, models: [{id: a}]}\n", 2, "providers.x.apiKey"},
		{"providers:\n  x: {baseUrl: x.example, apiKey: k, api: openai-completions, models: [{id: a}]}\n", 2, "providers.x.baseUrl"},
		{"providers:\n  offline: {" + good + ", models: [{id: a}]}\n", 2, "providers.offline"},
		{"providers: [a]\n", 1, "providers"},
		{"providers:\n  x: 1\n", 2, "providers.x"},
		{"\nprofils: {}\n", 2, "profils"},
		{"providers:\n  x: {\n", 2, ""},
		{"a: b: c\n", 1, ""},
	} {
		w := newWorld(t)
		w.env["OPENAI_API_KEY"] = "k"
		path := w.write("models.yml", test.text, 0o644)
		r := w.registry()
		err := r.Load(t.Context())
		e, ok := errors.AsType[*registry.ConfigError](err)
		if !ok {
			t.Errorf("%q: err = %v, want a ConfigError", test.text, err)
			continue
		}
		if e.File != path || e.Line != test.line || e.Field != test.field || strings.Contains(e.Reason, "\n") {
			t.Errorf("%q: error = %v\nwant line %d, field %q", test.text, e, test.line, test.field)
		}
		if m, _ := r.Default(); m.Provider != "openai" {
			t.Errorf("%q: default = %s; the built-in models must still work", test.text, m.Ref())
		}
		if data, _ := os.ReadFile(path); string(data) != test.text {
			t.Errorf("%q: the file was changed", test.text)
		}
	}
	for _, text := range []string{"", "# nothing\n", "providers:\n", "providers: {}\n", "---\n"} {
		w := newWorld(t)
		w.write("models.yml", text, 0o644)
		if err := w.registry().Load(t.Context()); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRegistry_Find(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", "providers:\n  local:\n    baseUrl: http://localhost:1\n    api: openai-completions\n"+
		"    models: [{id: 'qwen:high'}, {id: gpt-4.1}, {id: llama}]\n", 0o644)
	r := w.registry()
	for _, test := range []struct{ ref, want, level string }{
		{"anthropic/claude-opus-5-5", "anthropic/claude-opus-5-5", ""},
		{"anthropic/claude-opus-5-5:high", "anthropic/claude-opus-5-5", "high"},
		{"claude-opus-5-5:off", "anthropic/claude-opus-5-5", "off"},
		{"qwen:high", "local/qwen:high", ""},
		{"local/qwen:high:low", "local/qwen:high", "low"},
		{"local/gpt-4.1", "local/gpt-4.1", ""},
		{"gpt-4.1", "local/gpt-4.1", ""}, // the variant that can be used
		{"lama:low", "local/llama", "low"},
		{"sonnet", "anthropic/claude-sonnet-5-5", ""}, // the newest one
		{"Opus 5.5", "anthropic/claude-opus-5-5", ""},
	} {
		info, level, err := r.Find(test.ref)
		if err != nil || info.Ref() != test.want || string(level) != test.level {
			t.Errorf("Find(%q) = %s, %q, %v", test.ref, info.Ref(), level, err)
		}
	}
	for _, test := range []struct {
		ref       string
		near      string
		ambiguous bool
	}{
		{"local", "local/llama", true},
		{"anthropic/claude-opus-55", "anthropic/claude-opus-5-5", false},
		{"claude-sonnet-55", "anthropic/claude-sonnet-5-5", false},
		{"zzzzzzzzzz", "", false},
		{"", "", false},
		{"claude-opus-5-5:turbo", "anthropic/claude-opus-5-5", false},
	} {
		_, _, err := r.Find(test.ref)
		e, ok := errors.AsType[*providers.NotFoundError](err)
		if !ok || e.Ambiguous != test.ambiguous || len(e.Near) > 5 {
			t.Errorf("Find(%q): %v", test.ref, err)
			continue
		}
		if !strings.Contains(strings.Join(e.Near, " "), test.near) {
			t.Errorf("Find(%q): near %v, want %q", test.ref, e.Near, test.near)
		}
	}
}

func TestRegistry_Credentials(t *testing.T) {
	w := newWorld(t)
	w.dir = filepath.Join(w.dir, "not", "there")
	r := w.registry()
	if err := r.StoreKey("openai", " sk-new \n", registry.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, "auth.json")
	if info, err := os.Stat(path); err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != 0o600) {
		t.Errorf("auth.json: %v, %v", info.Mode(), err)
	}
	if cfg := w.open(r, "openai/gpt-4.1"); cfg.APIKey != "sk-new" {
		t.Errorf("key = %q", cfg.APIKey)
	}
	// Another process adds a provider of an unknown type; the entry survives.
	w.write("auth.json", `{"openai":{"type":"api_key","key":"sk-new"},"x":{"type":"oauth","refresh":"r"}}`, 0o600)
	if err := r.StoreKey("openai", "sk-newer", registry.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if cfg := w.open(r, "openai/gpt-4.1"); cfg.APIKey != "sk-newer" {
		t.Errorf("key = %q; the open model keeps the old one", cfg.APIKey)
	}
	if err := r.RemoveCredential("openai"); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	if got := strings.TrimSpace(string(data)); got != `{"x":{"type":"oauth","refresh":"r"}}` {
		t.Errorf("auth.json = %s", got)
	}
	if r.CredentialSource("openai") != "" || r.CredentialSource("x") != "" {
		t.Error("the key is still there")
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, ".auth*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if r.StoreKey("openai", " ", registry.StoreOptions{}) == nil {
		t.Error("an empty key is kept")
	}
}

func TestRegistry_MalformedCredentials(t *testing.T) {
	for _, text := range []string{"sk-secret-key", `{"openai":"sk-secret-key"}`, `{"openai":{"key":["sk-secret-key"]}}`, `[]`, "null", ""} {
		w := newWorld(t)
		path := w.write("auth.json", text, 0o600)
		r := w.registry()
		err := r.Load(t.Context())
		if e, ok := errors.AsType[*registry.ConfigError](err); !ok || e.File != path {
			t.Errorf("%q: err = %v", text, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the key: %v", err)
		}
		if err := r.StoreKey("anthropic", "k", registry.StoreOptions{}); err == nil {
			t.Errorf("%q: StoreKey overwrites it", text)
		}
		if data, _ := os.ReadFile(path); string(data) != text {
			t.Errorf("%q: the file was changed to %q", text, data)
		}
		if _, ok := r.Default(); !ok {
			t.Errorf("%q: no model at all", text)
		}
	}
}

func TestRegistry_TightensPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such bits")
	}
	w := newWorld(t)
	path := w.write("auth.json", `{"openai":{"type":"api_key","key":"sk-1"}}`, 0o644)
	r := w.registry()
	if err := r.Load(t.Context()); err != nil || r.CredentialSource("openai") == "" {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %o", info.Mode().Perm())
	}
	if len(w.notices) != 1 || !strings.Contains(w.notices[0], "644") || strings.Contains(w.notices[0], "sk-1") {
		t.Errorf("notices = %q", w.notices)
	}
}

func TestRegistry_ReloadSeesALogin(t *testing.T) {
	w := newWorld(t)
	r := w.registry()
	if r.CredentialSource("openai") != "" {
		t.Fatal("a key from nowhere")
	}
	if err := w.registry().StoreKey("openai", "k", registry.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if r.CredentialSource("openai") != "" {
		t.Error("the registry reads its files again by itself")
	}
	if err := r.Reload(t.Context()); err != nil || r.CredentialSource("openai") == "" {
		t.Errorf("after Reload: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := r.Load(ctx); !errors.Is(err, cause) {
		t.Errorf("err = %v", err)
	}
}

// No key goes to the public address of an API of another company.
func TestRegistry_KeysStayWithTheirProvider(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", "providers:\n  corp: {baseUrl: https://corp.example/v1, api: openai-completions, apiKeyEnv: K, models: [{id: m}]}\n", 0o600)
	w.write("auth.json", `{"corp":{"type":"api_key","key":"corp-key"}}`, 0o600)
	r := w.registry()
	info, _, err := r.Find("corp/m")
	if err != nil {
		t.Fatal(err)
	}
	w.write("models.yml", "providers: {oops: 1}\n", 0o600)
	if err := r.Reload(t.Context()); err == nil {
		t.Fatal("a mistake is no error")
	}
	if _, err := r.Open(w.Context(), info); err == nil || !strings.Contains(err.Error(), "models.yml") {
		t.Errorf("a provider that is gone: %v; opened %+v", err, w.opened)
	}

	w.env["OPENAI_API_KEY"] = "openai-key"
	w.write("models.yml", "providers: {openai: {models: [{id: claude, api: anthropic-messages}, {id: gpt, api: openai-completions}]}}\n", 0o600)
	r = w.registry()
	info, _, err = r.Find("openai/claude")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(w.Context(), info); err == nil || !strings.Contains(err.Error(), "baseUrl") {
		t.Errorf("an API of somebody else: %v; opened %+v", err, w.opened)
	}
	if cfg := w.open(r, "openai/gpt"); cfg.APIKey != "openai-key" {
		t.Errorf("key %q", cfg.APIKey)
	}
}

// While models.yml is malformed, a provider whose address it may set is not asked; others are.
func TestRegistry_AddressesOfABrokenFile(t *testing.T) {
	for _, text := range []string{
		"providers:\n  openai: {baseUrl: https://corp.example/v1, oops: 1}\n",
		"providers:\n  \"openai\":\n    baseUrl: https://corp.example/v1\n   broken: [\n",
		"\ufeffopenai: {baseUrl: https://corp.example/v1}\n",
		"p\x00\nopenai\x00 \x00: {baseUrl: https://corp.example/v1}\n",
		"providers: {\"open\\x61i\" : {baseUrl: https://corp.example/v1, oops: 1}}\n",
		"{\"providers\":{\"openai\":{\"baseUrl\":\"https://corp.example/v1\",\"oops\":1}}}",
		"providers: {ключ: 1,openai\n:\n {baseUrl: https://corp.example/v1, oops: 1}}\n",
	} {
		w := newWorld(t)
		w.env["OPENAI_API_KEY"], w.env["ANTHROPIC_API_KEY"] = "corp-key", "k"
		w.write("models.yml", text, 0o600)
		r := w.registry()
		if err := r.Load(t.Context()); err == nil {
			t.Fatal("a mistake is no error")
		}
		info, _, err := r.Find("openai/gpt-4.1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Open(w.Context(), info); err == nil || !strings.Contains(err.Error(), "models.yml cannot be used") {
			t.Errorf("%q: %v; opened %+v", text, err, w.opened)
		}
		w.open(r, "anthropic/claude-opus-5-5")
		w.write("models.yml", "providers: {openai: {baseUrl: https://corp.example/v1}}\n", 0o600)
		if err := r.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if cfg := w.open(r, "openai/gpt-4.1"); cfg.BaseURL != "https://corp.example/v1" {
			t.Errorf("it goes to %q", cfg.BaseURL)
		}
	}
}

// While models.yml exists but cannot be read, no provider is asked.
func TestRegistry_AddressesOfAnUnreadableFile(t *testing.T) {
	w := newWorld(t)
	w.env["OPENAI_API_KEY"] = "corp-key"
	if err := os.Mkdir(filepath.Join(w.dir, "models.yml"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := w.registry()
	if err := r.Load(t.Context()); err == nil {
		t.Fatal("a directory is no error")
	}
	info, _, err := r.Find("openai/gpt-4.1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(w.Context(), info); err == nil || !strings.Contains(err.Error(), "models.yml cannot be used") {
		t.Errorf("%v; opened %+v", err, w.opened)
	}
}

func BenchmarkRegistry_FirstDefault(b *testing.B) {
	dir := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		r := registry.New(registry.Options{
			AgentDir: dir, Fallback: offline.Info(), Getenv: func(string) string { return "" },
			Factories: map[string]providers.Factory{"anthropic-messages": offline.Open, offline.API: offline.Open},
		})
		r.Default()
	}
}

// Refresh reads changes that another process has made; they have no effect before.
func TestRegistry_Refresh(t *testing.T) {
	w := newWorld(t)
	r := w.registry()
	refresh := func(want bool) {
		t.Helper()
		if changed, err := r.Refresh(t.Context()); changed != want || err != nil {
			t.Errorf("changed %t, %v; want %t", changed, err, want)
		}
	}
	refresh(false) // the first call reads the files and reports no change
	w.write("models.yml", "providers: {box: {api: openai-completions, baseUrl: 'http://b.example/v1', auth: none, models: [{id: m}]}}\n", 0o600)
	if _, known := r.Lookup("box/m"); known {
		t.Error("the file is read by itself")
	}
	refresh(true)
	refresh(false)
	if m, known := r.Lookup("box/m"); !known || m.ID != "m" {
		t.Errorf("box/m is %+v", m)
	}
	for _, ref := range []string{"box", "m", "box/m:high", "ox/m", "box/", ""} {
		if m, known := r.Lookup(ref); known {
			t.Errorf("%q is %s", ref, m.Ref())
		}
	}
	w.write("auth.json", `{"openai":{"type":"api_key","key":"k"}}`, 0o600)
	refresh(true)
	if r.CredentialSource("openai") != "auth.json" {
		t.Errorf("the key comes from %q", r.CredentialSource("openai"))
	}
	if err := os.Remove(filepath.Join(w.dir, "models.yml")); err != nil {
		t.Fatal(err)
	}
	refresh(true)
	w.write("models.yml", "providers: [", 0o600)
	if changed, err := r.Refresh(t.Context()); !changed || err == nil {
		t.Errorf("a broken file: %t, %v", changed, err)
	}
	if changed, err := r.Refresh(t.Context()); changed || err == nil {
		t.Errorf("a file that stays broken: %t, %v", changed, err)
	}
}

// The text before a slash is a provider or a maker, and not a part of another name.
func TestRegistry_FindOfAProvider(t *testing.T) {
	w := newWorld(t)
	w.env["OPENAI_API_KEY"], w.env["ANTHROPIC_API_KEY"] = "k", "k"
	w.write("models.yml", "providers: {gate: {api: openai-completions, baseUrl: 'http://b.example/v1', auth: none, models: [{id: acme/large-2}]}}\n", 0o600)
	r := w.registry()
	for ref, want := range map[string]string{
		"anthropic/opus 5.5": "anthropic/claude-opus-5-5", "OpenAI/6.2-sol": "openai/gpt-6.2-sol", "gate/large": "gate/acme/large-2", "acme/large": "gate/acme/large-2",
		"p/m": "", "ai/gpt": "", "open/gpt-6": "", "gone/claude-opus-5-5": "",
	} {
		if m, _, err := r.Find(ref); m.Ref() != want && (want != "" || err == nil) {
			t.Errorf("%s is %s, %v; want %q", ref, m.Ref(), err, want)
		}
	}
}
