package registry_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

const localModels = `
providers:
  local:
    baseUrl: http://127.0.0.1:1/v1
    api: openai-completions
    models: [{id: small}, {id: large, reasoning: true}, {id: other}]
  shut:
    baseUrl: https://shut.example/v1
    api: openai-completions
    apiKeyEnv: SHUT_KEY
    models: [{id: best}]
`

func (w *world) settings(set registry.Settings) func(*registry.Options) {
	return func(o *registry.Options) {
		o.Settings = func() (registry.Settings, error) { return set, nil }
	}
}

func TestRegistry_Roles(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", localModels+`
modelBindings:
  modelRoles: { default: local/small, smol: local/small, plan: gjc/slow:low, slow: local/large:high, loop: gjc/pool, pool: gjc/loop, gone: local/gone }
  agentModelOverrides: { executor: local/other:low }
profiles:
  base: { model_mapping: { slow: local/other, commit: local/small } }
  work: { extends: base, required_providers: [local], model_mapping: { default: local/other } }
  rich: { required_providers: [shut], model_mapping: { default: shut/best } }
  lost: { model_mapping: { default: local/nowhere } }
  orphan: { extends: nobody, model_mapping: {} }
`, 0o600)
	plain := w.registry()
	if err := plain.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	layered := w.registry(w.settings(registry.Settings{
		Profile: "work", Roles: map[string]string{"default": "local/large", "smol": "local/large", "my own": "other:high"},
		Overrides: map[string]string{"smol": "local/other"},
	}))
	for _, test := range []struct {
		registry          *registry.Registry
		role, want, level string
	}{
		{plain, "default", "local/small", ""},
		{plain, "slow", "local/large", "high"},
		{plain, "plan", "local/large", "low"},   // the suffix on the requested role
		{layered, "default", "local/other", ""}, // the profile takes precedence over config.yml
		{layered, "smol", "local/other", ""},    // the environment takes precedence over everything
		{layered, "slow", "local/other", ""},    // inherited from the extended profile
		{layered, "plan", "local/other", "low"},
		{layered, "my own", "local/other", "high"}, // any role name, any form of model name
		{layered, "commit", "local/small", ""},
	} {
		info, level, err := test.registry.Role(test.role)
		if err != nil || info.Ref() != test.want || string(level) != test.level {
			t.Errorf("role %s = %s:%s, %v; want %s:%s", test.role, info.Ref(), level, err, test.want, test.level)
		}
	}
	for role, want := range map[string]string{
		"loop": "refers to itself: loop, pool, loop", "gone": "local/gone", "nothing": "modelRoles.nothing",
	} {
		_, _, err := plain.Role(role)
		if e, ok := errors.AsType[*registry.RoleError](err); !ok || !strings.Contains(err.Error(), want) || e.Unset != (role == "nothing") {
			t.Errorf("role %s: %v, want %q", role, err, want)
		}
	}
	if info, level, err := plain.Find("gjc/slow:low"); err != nil || info.Ref() != "local/large" || level != "low" {
		t.Errorf("gjc/slow:low is %s:%s, %v", info.Ref(), level, err)
	}
	if got := plain.AgentModel("executor"); got != "local/other:low" {
		t.Errorf("the executor's model is %q", got)
	}
	if m, _ := plain.Default(); m.Ref() != "local/small" {
		t.Errorf("default = %s", m.Ref())
	}
	if diff := cmp.Diff([]string{"default", "gone", "plan", "slow", "smol"}, slices.Sorted(maps.Keys(plain.Roles()))); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	for profile, want := range map[string]string{
		"": "", "work": "", "base": "", "rich": "SHUT_KEY", "lost": "local/nowhere", "orphan": `"nobody"`, "none": "the profiles are: claude-eco,",
	} {
		err := plain.CheckProfile(profile)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("profile %q: %v, want %q", profile, err, want)
		}
	}
	w.env["SHUT_KEY"] = "k"
	if err := plain.CheckProfile("rich"); err != nil {
		t.Error(err)
	}
}

// A role whose model cannot be used is not the default.
func TestRegistry_RoleWithoutKey(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", localModels, 0o600)
	r := w.registry(w.settings(registry.Settings{Roles: map[string]string{"default": "shut/best"}}))
	if _, _, err := r.Role("default"); err == nil || !strings.Contains(err.Error(), "SHUT_KEY") {
		t.Errorf("err = %v, want what to set", err)
	}
	if m, _ := r.Default(); m.Ref() != "local/small" {
		t.Errorf("default = %s", m.Ref())
	}
}

func TestRegistry_BuiltInProfiles(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"} {
		w.env[name] = "k"
	}
	factory := func(cfg providers.Config) (providers.Model, error) { return nil, errors.New(cfg.Info.ID) }
	r := w.registry(func(o *registry.Options) {
		for _, api := range []string{"openai-responses", "google-generative-ai"} {
			o.Factories[api] = factory
		}
	})
	for _, p := range r.Profiles() {
		if err := r.CheckProfile(p.Name); err != nil {
			t.Error(err)
		}
		if p.Models["default"] == "" {
			t.Errorf("%s has no default", p.Name)
		}
	}
}

func TestRegistry_Canonical(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", `
providers:
  gateway:
    baseUrl: http://127.0.0.1:1/v1
    api: openai-completions
    models: [{id: anthropic/claude-opus-5-5}, {id: claude-opus-5.5}, {id: claude-haiku-4-5@20251001}, {id: my-opus}, {id: claude-sonnet-5}, {id: claude-opus-99}]
  second:
    baseUrl: http://127.0.0.1:1/v1
    api: openai-completions
    models: [{id: claude-opus-5-5}]
equivalence:
  overrides: { gateway/my-opus: claude-opus-5-5 }
  exclude: [gateway/claude-sonnet-5]
`, 0o600)
	r := w.registry()
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"anthropic/claude-opus-5-5": "claude-opus-5-5", "gateway/anthropic/claude-opus-5-5": "claude-opus-5-5",
		"gateway/claude-opus-5.5": "claude-opus-5-5", "gateway/claude-haiku-4-5@20251001": "claude-haiku-4-5",
		"gateway/my-opus": "claude-opus-5-5", "gateway/claude-sonnet-5": "", "gateway/claude-opus-99": "claude-opus-99",
	} {
		if info, _, err := r.Find(ref); err != nil || info.Canonical != want {
			t.Errorf("%s is %q, %v; want %q", ref, info.Canonical, err, want)
		}
	}
	// A usable variant takes precedence; among usable ones, that of the preferred provider or else the first.
	if info, _, _ := r.Find("claude-opus-5-5"); info.Provider != "gateway" {
		t.Errorf("claude-opus-5-5 is %s", info.Ref())
	}
	ordered := w.registry(w.settings(registry.Settings{ProviderOrder: []string{"anthropic", "second"}}))
	if info, _, _ := ordered.Find("claude-opus-5-5"); info.Ref() != "second/claude-opus-5-5" {
		t.Errorf("with an order, claude-opus-5-5 is %s", info.Ref())
	}
	w.env["ANTHROPIC_API_KEY"] = "k"
	if info, _, _ := ordered.Find("claude-opus-5-5:high"); info.Provider != "anthropic" {
		t.Errorf("with a key, claude-opus-5-5 is %s", info.Ref())
	}
	if info, _, _ := r.Find("claude-sonnet-5"); info.Provider != "anthropic" {
		t.Errorf("claude-sonnet-5 is %s, but that one is excluded", info.Ref())
	}
}

func TestRegistry_EnabledModels(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", localModels, 0o600)
	root := t.TempDir()
	work := filepath.Join(root, "work")
	r := w.registry(w.settings(registry.Settings{
		EnabledModels:     []registry.Scoped{{Values: []string{"local/*a*"}}, {Paths: []string{work}, Values: []string{"other"}}},
		DisabledProviders: []registry.Scoped{{Paths: []string{filepath.Join(root, "private")}, Values: []string{"local"}}},
	}))
	for dir, want := range map[string][]string{
		"":                                    {"local/small", "local/large", "offline/demo"},
		filepath.Join(work, "deep", "er"):     {"local/small", "local/large", "local/other", "offline/demo"},
		work + "shop":                         {"local/small", "local/large", "offline/demo"},
		filepath.Join(root, "private", "sub"): {"offline/demo"},
	} {
		if diff := cmp.Diff(want, refs(r.ModelsIn(dir))); diff != "" {
			t.Errorf("in %q (-want +got):\n%s", dir, diff)
		}
	}
	if _, _, err := r.Find("local/other"); err != nil {
		t.Errorf("a model that is not listed cannot be named: %v", err)
	}
}

func TestRegistry_Availability(t *testing.T) {
	w := newWorld(t)
	w.env["SHUT_KEY"] = "two\nlines"
	w.env["OPENAI_API_KEY"], w.env["OPENAI_BASE_URL"] = "k", "openai.example"
	w.write("models.yml", localModels, 0o600)
	r := w.registry(func(o *registry.Options) {
		o.Ambient = map[string]func() string{"anthropic-messages": func() string { return "the cloud" }}
	})
	for ref, want := range map[string]struct{ source, problem string }{
		"local/small":               {"none needed", ""},
		"shut/best":                 {"", "environment SHUT_KEY contains a line break"},
		"openai/gpt-6-sol":          {"", "URL with http or https"},
		"anthropic/claude-opus-5-5": {"the cloud", ""},
	} {
		info, _, err := r.Find(ref)
		if err != nil {
			t.Fatal(err)
		}
		source, problem := r.Availability(info)
		if source != want.source || want.problem != "" && !strings.Contains(problem, want.problem) || (problem == "") != (source != "") {
			t.Errorf("%s: %q, %q", ref, source, problem)
		}
		_, err = r.Open(t.Context(), info)
		if (err == nil) != (source != "") || strings.Contains(problem, "two") {
			t.Errorf("%s: opening: %v", ref, err)
		}
	}
}

func TestRegistry_Fallback(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", localModels+"fallbacks:\n  - [local/large, shut/best, local/gone, local/small]\n  - [local/other, local/large]\n", 0o600)
	r := w.registry()
	next := func(ref string, kind providers.ErrorKind) string {
		info, _, err := r.Find(ref)
		if err != nil {
			t.Fatal(err)
		}
		m, _, ok := r.Fallback(info, &providers.Error{Kind: kind}, nil)
		if !ok {
			return ""
		}
		return m.Ref()
	}
	if got := next("local/large", providers.KindOverloaded); got != "local/small" {
		t.Errorf("after large comes %q, want the next usable one", got)
	}
	if got := next("local/other", providers.KindQuota); got != "local/large" {
		t.Errorf("after other comes %q", got)
	}
	if got := next("local/small", providers.KindServer); got != "" {
		t.Errorf("after the last one comes %q", got)
	}
	for _, kind := range []providers.ErrorKind{providers.KindInvalid, providers.KindContextOverflow, providers.KindAuth, providers.KindModel} {
		if got := next("local/large", kind); got != "" {
			t.Errorf("for %s comes %q: another model would fail too, or hide what the user must mend", kind, got)
		}
	}
	if _, _, ok := r.Fallback(providers.ModelInfo{}, errors.New("x"), nil); ok {
		t.Error("any error has a fallback")
	}
}

// An entry of a fallback list is an ordinary model name, with or without a level, and every entry that was not tried gets its turn.
func TestRegistry_FallbackNames(t *testing.T) {
	const opus, luna = "anthropic/claude-opus-5-5", "openai/gpt-6-luna"
	for _, tt := range []struct {
		lists, from string
		tried       []string
		want        string
		level       providers.ThinkingLevel
	}{
		{"[anthropic/claude-opus-5-5:high, openai/gpt-6-luna]", opus, nil, luna, ""},
		{"[anthropic/claude-opus-5-5, openai/gpt-6-luna:low]", opus, nil, luna, "low"},
		{"[anthropic/claude-opus-5.5, openai/gpt-6-luna]", opus, nil, luna, ""},
		{"[anthropic/opus, openai/luna:max]", opus, nil, luna, "max"},
		{"[anthropic/nobody, openai/gpt-6-luna]", opus, nil, "", ""},
		{"[anthropic/claude-opus-5-5, anthropic/claude-opus-5-5:low, openai/gpt-6-luna]", opus, nil, luna, ""},
		{"[openai/gpt-4.1, openai/gpt-4.1]", "openai/gpt-4.1", nil, "", ""},
		{"[anthropic/opus, openai/gpt-6-luna]\n  - [openai/gpt-6-luna, anthropic/opus, openai/gpt-4.1]", luna, []string{opus, luna}, "openai/gpt-4.1", ""},
		{"[anthropic/opus, openai/gpt-6-luna]\n  - [openai/gpt-6-luna, anthropic/opus]", luna, []string{opus, luna}, "", ""},
	} {
		w := newWorld(t)
		w.env["ANTHROPIC_API_KEY"], w.env["OPENAI_API_KEY"] = "k", "k"
		w.write("models.yml", "fallbacks:\n  - "+tt.lists+"\n", 0o600)
		r := w.registry()
		if err := r.Load(t.Context()); err != nil {
			t.Errorf("%s: %v", tt.lists, err)
		}
		tried := map[string]bool{}
		for _, ref := range tt.tried {
			tried[ref] = true
		}
		info, _, _ := r.Find(tt.from)
		next, level, ok := r.Fallback(info, &providers.Error{Kind: providers.KindServer}, tried)
		if ok != (tt.want != "") || ok && next.Ref() != tt.want || level != tt.level {
			t.Errorf("%s: after %s comes %s at %q, want %s at %q", tt.lists, tt.from, next.Ref(), level, tt.want, tt.level)
		}
		if missing := strings.Contains(tt.lists, "nobody"); missing != (len(r.Warnings()) > 0) {
			t.Errorf("%s: warnings %v", tt.lists, r.Warnings())
		}
	}
}

// A gateway's model is a variant of the built-in model; a disabled provider's variant is the last choice.
func TestRegistry_CanonicalOfAGateway(t *testing.T) {
	w := newWorld(t)
	w.env["OPENROUTER_API_KEY"], w.env["OPENAI_API_KEY"] = "k", "k"
	list := &serverList{models: map[string][]providers.ModelInfo{"openrouter": {{ID: "anthropic/claude-opus-5.5"}, {ID: "openai/gpt-4.1"}}}}
	r := w.registry(func(o *registry.Options) { o.Discover = list.discover },
		w.settings(registry.Settings{DisabledProviders: []registry.Scoped{{Values: []string{"openai"}}}}))
	if _, err := r.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"claude-opus-5-5": "openrouter/anthropic/claude-opus-5.5", // Anthropic's own has no key
		"gpt-4.1":         "openrouter/openai/gpt-4.1",
		"openai/gpt-4.1":  "openai/gpt-4.1",
	} {
		if info, _, err := r.Find(ref); err != nil || info.Ref() != want {
			t.Errorf("%s is %s, %v; want %s", ref, info.Ref(), err, want)
		}
	}
}

// A serverList plays the servers of TestRegistry_Discover.
type serverList struct {
	mu      sync.Mutex
	models  map[string][]providers.ModelInfo
	sources []providers.DiscoverySource
}

func (s *serverList) discover(_ context.Context, src providers.DiscoverySource) ([]providers.ModelInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources = append(s.sources, src)
	models, ok := s.models[src.Provider]
	if !ok {
		return nil, &providers.Error{Kind: providers.KindNetwork, Provider: src.Provider, Message: "connection refused"}
	}
	return models, nil
}

func TestRegistry_Discover(t *testing.T) {
	w := newWorld(t)
	w.env["BOX_KEY"] = "box-key"
	const file = `
providers:
  box:
    baseUrl: http://me:box-password@box.example/v1
    api: openai-completions
    apiKeyEnv: BOX_KEY
    discovery: { type: openai }
    headers: { X-Team: a }
    requestTransform: { setHeaders: { X-Gate: open } }
    modelOverrides: { found: { contextWindow: 9000 } }
    models: [{ id: listed, name: By hand }]
  off:
    baseUrl: http://off.example/v1
    api: openai-completions
    auth: none
    discovery: { type: lm-studio }
`
	w.write("models.yml", file, 0o600)
	list := &serverList{models: map[string][]providers.ModelInfo{
		"box": {{ID: "found", Name: "Found", ContextWindow: 4096, Images: true, Cost: providers.Cost{Input: 1, Output: 2}}, {ID: "listed", Name: "Told"}},
	}}
	open := func() *registry.Registry {
		return w.registry(func(o *registry.Options) { o.Discover = list.discover })
	}
	r := open()
	changed, err := r.Discover(t.Context())
	if !changed || err == nil || !strings.Contains(err.Error(), "off") || strings.Contains(err.Error(), "box") {
		t.Errorf("changed %t, err %v; want the server that is off", changed, err)
	}
	check := func(r *registry.Registry) {
		t.Helper()
		info, _, err := r.Find("box/found")
		if err != nil || info.Name != "Found" || info.ContextWindow != 9000 || !info.Images || info.API != "openai-completions" || info.Cost.Output != 2 {
			t.Errorf("box/found is %+v, %v", info, err)
		}
		if info, _, _ := r.Find("box/listed"); info.Name != "By hand" {
			t.Errorf("box/listed is %+v", info)
		}
	}
	check(r)
	i := slices.IndexFunc(list.sources, func(s providers.DiscoverySource) bool { return s.Provider == "box" })
	if s := list.sources[i]; s.APIKey != "box-key" || s.BaseURL != "http://me:box-password@box.example/v1" || s.Type != "openai" || s.Headers["X-Team"] != "a" ||
		s.Transform.SetHeaders["X-Gate"] == nil || s.Client == nil {
		t.Errorf("the server was asked with %+v", s)
	}
	if changed, _ := r.Discover(t.Context()); changed {
		t.Error("the same answer is a change")
	}

	list.sources = nil
	silent := w.registry(w.settings(registry.Settings{DisabledProviders: []registry.Scoped{{Values: []string{"off", "box"}}}}),
		func(o *registry.Options) { o.Discover = list.discover })
	if _, err := silent.Discover(t.Context()); err != nil || slices.ContainsFunc(list.sources, func(s providers.DiscoverySource) bool {
		return s.Provider == "off" || s.Provider == "box"
	}) {
		t.Errorf("disabled providers are asked: %v, %+v", err, list.sources)
	}

	// The next process knows the models before it asks, unless the address has changed.
	check(open())
	w.write("models.yml", strings.ReplaceAll(file, "box.example", "fox.example"), 0o600)
	if _, _, err := open().Find("box/found"); err == nil {
		t.Error("models of another address are listed")
	}
	w.write("models.yml", file, 0o600)
	cache := filepath.Join(w.dir, "cache", "models.json")
	if text, err := os.ReadFile(cache); err != nil || !strings.Contains(string(text), `"found"`) || strings.Contains(string(text), "password") || strings.Contains(string(text), "box-key") {
		t.Errorf("the cache: %v\n%s", err, text)
	}
	if err := os.WriteFile(cache, []byte("{oops"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = open()
	if err := r.Load(t.Context()); err != nil {
		t.Errorf("a broken cache is an error: %v", err)
	}
	// A provider that was disabled before it listed models stays disabled.
	list.models["lm-studio"] = []providers.ModelInfo{{ID: "late"}}
	early := open()
	if err := early.DisableProvider("lm-studio"); err != nil {
		t.Fatal(err)
	}
	_, _ = early.Discover(t.Context()) // ignore the error about a server that is off
	if _, _, err := early.Find("lm-studio/late"); err == nil {
		t.Error("the model of a disabled provider is found")
	}
	// A model that the server no longer lists is gone.
	list.models["box"] = nil
	if _, err := r.Discover(t.Context()); err == nil {
		t.Error("the server that is off is not reported")
	}
	if _, _, err := r.Find("box/found"); err == nil {
		t.Error("a model that its server has no more is listed")
	}
}

// The address of the user's own server may lack a scheme, gets a key if it needs one, and is reported if it is invalid.
func TestRegistry_DiscoverByVariables(t *testing.T) {
	w := newWorld(t)
	var asked []providers.DiscoverySource
	answer := &providers.Error{Kind: providers.KindAuth, Provider: "ollama", Message: "unauthorized"}
	r := w.registry(func(o *registry.Options) {
		o.Factories["ollama-chat"] = o.Factories["anthropic-messages"]
		o.Discover = func(_ context.Context, src providers.DiscoverySource) ([]providers.ModelInfo, error) {
			if src.Provider == "ollama" {
				asked = append(asked, src)
				return nil, answer
			}
			return nil, nil
		}
	})
	w.env["OLLAMA_BASE_URL"] = "gpu.lan:11434"
	if _, err := r.Discover(t.Context()); len(asked) != 1 || asked[0].BaseURL != "http://gpu.lan:11434" || err == nil || !strings.Contains(err.Error(), "unauthorized") {
		t.Errorf("asked %+v: %v", asked, err)
	}
	if !slices.Contains(r.KeyProviders(), "ollama") {
		t.Error("no key can be stored for it")
	}
	if err := r.StoreKey("ollama", "k-ollama", registry.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	answer.Kind = providers.KindNetwork
	if _, err := r.Discover(t.Context()); len(asked) != 2 || asked[1].APIKey != "k-ollama" || err != nil {
		t.Errorf("asked %+v: %v", asked[1:], err)
	}
	w.env["OLLAMA_BASE_URL"] = "ftp://gpu.lan"
	if _, err := r.Discover(t.Context()); len(asked) != 2 || err == nil || !strings.Contains(err.Error(), "asking ollama for its models: the base URL") {
		t.Errorf("asked %+v: %v", asked[2:], err)
	}
}
