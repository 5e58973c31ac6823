package registry_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// Every field of a provider and of a model reaches the model's configuration.
func TestModelsFile_EveryField(t *testing.T) {
	w := newWorld(t)
	w.env["PROXY_KEY"] = "from-environment\n"
	w.write("models.yml", `
providers:
  proxy:
    baseUrl: https://proxy.example/v1
    apiKeyEnv: PROXY_KEY
    api: openai-completions
    auth: apiKey
    authHeader: true
    disableStrictTools: true
    cacheRetention: short
    headers: { X-Team: platform, X-Both: provider }
    compat:
      supportsStore: true
      maxTokensField: max_tokens
      reasoningEffortMap: { xhigh: max, low: small }
      openRouterRouting: { only: [anthropic] }
      extraBody: { gateway: m1-01, nested: { a: [1, null] } }
    requestTransform:
      profile: openai-proxy
      setHeaders: { X-Set: b, X-Gone: null }
      extraBody: { from: provider }
    models:
      - id: big
        name: Big
        wireModelId: upstream/big
        contextWindow: 400000
        maxTokens: 128000
        reasoning: true
        thinking: { minLevel: low, maxLevel: xhigh, mode: effort-none, defaultLevel: high }
        input: [text, image]
        cost: { input: 1, output: 2.5, cacheRead: 0, cacheWrite: 3, long: { above: 200000, input: 2, output: 5 } }
        headers: { X-Both: model }
        cacheRetention: none
        contextPromotionTarget: huge
        compat:
          supportsStore: false
          requiresMistralToolIds: true
          reasoningEffortMap: { xhigh: most }
          openRouterRouting: { order: [openai] }
          extraBody: { controller: mlx }
        requestTransform: { extraBody: { from: model }, setHeaders: { X-Set: c } }
      - id: plain
  anthropic:
    modelOverrides:
      claude-opus-5-5: { name: Corp Opus, contextWindow: 500000, compat: { extraBody: { team: 7 } } }
      claude-unheard-of: { name: Not there }
`, 0o600)
	r := w.registry()
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg := w.open(r, "proxy/big")
	want := providers.ModelInfo{
		Provider: "proxy", ID: "big", Name: "Big", API: "openai-completions", Canonical: "big", ContextWindow: 400_000, MaxOutput: 128_000,
		Thinking:     []providers.ThinkingLevel{"low", "medium", "high", "xhigh"},
		ThinkingMode: "effort-none", DefaultThinking: "high", Images: true, ContextPromotionTarget: "huge",
		Cost: providers.Cost{Input: 1, Output: 2.5, CacheWrite: 3, Long: providers.LongCost{Above: 200_000, Input: 2, Output: 5, CacheRead: 2, CacheWrite: 2}},
	}
	if diff := cmp.Diff(want, cfg.Info); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
	type view struct {
		Key, Wire  string
		AuthHeader bool
		NoStrict   bool
		Retention  providers.CacheRetention
		Headers    map[string]string
		Compat     providers.Compat
		Transform  providers.RequestTransform
	}
	got := view{cfg.APIKey, cfg.Model(), cfg.AuthHeader, cfg.NoStrictTools, cfg.CacheRetention, cfg.Headers, cfg.Compat, cfg.Transform}
	if diff := cmp.Diff(view{
		"from-environment", "upstream/big", true, true, "none",
		map[string]string{"X-Team": "platform", "X-Both": "model"},
		providers.Compat{
			SupportsStore: new(false), MaxTokensField: "max_tokens", RequiresMistralToolIDs: new(true),
			ReasoningEffortMap: map[providers.ThinkingLevel]string{"xhigh": "most", "low": "small"},
			OpenRouterRouting:  &providers.GatewayRouting{Only: []string{"anthropic"}, Order: []string{"openai"}},
			ExtraBody:          map[string]jsonx.Raw{"gateway": jsonx.Raw(`"m1-01"`), "nested": jsonx.Raw(`{"a":[1,null]}`), "controller": jsonx.Raw(`"mlx"`)},
		},
		providers.RequestTransform{
			StripHeaders: []string{"X-Stainless-*", "OpenAI-Beta", "OpenAI-Organization", "OpenAI-Project", "Anthropic-Beta"},
			SetHeaders:   map[string]*string{"User-Agent": new("gjc"), "X-Set": new("c"), "X-Gone": nil},
			ExtraBody:    map[string]jsonx.Raw{"from": jsonx.Raw(`"model"`)},
		},
	}, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	cfg = w.open(r, "proxy/plain")
	if cfg.CacheRetention != "short" || *cfg.Compat.SupportsStore != true || cfg.Headers["X-Both"] != "provider" || cfg.Model() != "plain" {
		t.Errorf("the other model has %+v", cfg)
	}
	w.env["ANTHROPIC_API_KEY"] = "k"
	cfg = w.open(r, "anthropic/claude-opus-5-5")
	if cfg.Info.Name != "Corp Opus" || cfg.Info.ContextWindow != 500_000 || cfg.Info.MaxOutput == 0 || string(cfg.Compat.ExtraBody["team"]) != "7" {
		t.Errorf("the overridden model has %+v", cfg)
	}
	if _, _, err := r.Find("anthropic/claude-unheard-of"); err == nil {
		t.Error("an override makes a model")
	}
}

func TestModelsFile_Mistakes(t *testing.T) {
	provider := func(more string) string {
		return "providers:\n  x:\n    baseUrl: https://x.example\n    api: openai-completions\n" + more
	}
	const secret = "sk-verysecretkey"
	for _, test := range []struct {
		name, text, field string
		line              int
	}{
		{"both keys", provider("    apiKey: " + secret + "\n    apiKeyEnv: X_KEY\n    models: [{id: a}]\n"), "providers.x.apiKeyEnv", 6},
		{"a key with a newline", provider("    apiKey: \"" + secret + "\\nx\"\n    models: [{id: a}]\n"), "providers.x.apiKey", 5},
		{"a key for a name", provider("    apiKeyEnv: " + secret + "\n    models: [{id: a}]\n"), "providers.x.apiKeyEnv", 5},
		{"a name with a digit first", provider("    apiKeyEnv: 1verysecret\n    models: [{id: a}]\n"), "providers.x.apiKeyEnv", 5},
		{"no name", provider("    auth: none\n    apiKeyEnv: \"\"\n    models: [{id: a}]\n"), "providers.x.apiKeyEnv", 6},
		{"a name as in a shell", provider("    apiKeyEnv: $VERYSECRET\n    models: [{id: a}]\n"), "providers.x.apiKeyEnv", 5},
		{"a key as in a shell", provider("    auth: apiKey\n    apiKey: ${verysecret}\n    models: [{id: a}]\n"), "providers.x.apiKey", 6},
		{"a key as in a shell, short", provider("    auth: apiKey\n    apiKey: $verysecret\n    models: [{id: a}]\n"), "providers.x.apiKey", 6},
		{"a header with a newline", provider("    headers: {X: \"" + secret + "\\r\\nEvil: 1\"}\n    auth: none\n    models: [{id: a}]\n"), "providers.x.headers.X", 5},
		{"no header's name", provider("    headers:\n      \"a b\": c\n    auth: none\n    models: [{id: a}]\n"), "providers.x.headers.a b", 6},
		{"long for how long", provider("    auth: none\n    models:\n      - id: a\n        cost: {input: 1, long: {input: 2}}\n"), "providers.x.models[0].cost.long.above", 8},
		{"long from below zero", provider("    auth: none\n    models:\n      - id: a\n        cost: {long: {above: -1}}\n"), "providers.x.models[0].cost.long.above", 8},
		{"long prompts for nothing", provider("    auth: none\n    models:\n      - id: a\n        cost: {input: 1, output: 2, long: {above: 9, output: 2}}\n"), "providers.x.models[0].cost.long.input", 8},
		{"long answers for nothing", provider("    auth: none\n    models:\n      - id: a\n        cost:\n          long: {above: 9, input: 2}\n          input: 1\n          output: 2\n"), "providers.x.models[0].cost.long.output", 9},
		{"long from null", provider("    auth: none\n    models:\n      - id: a\n        cost: {input: 1, output: 2, long: {above: null, input: 1, output: 2}}\n"), "providers.x.models[0].cost.long.above", 8},
		{"a header twice", provider("    auth: none\n    models: [{id: a}]\n    headers:\n      X-Team: a\n      x-team: " + secret + "\n"), "providers.x.headers.x-team", 9},
		{"a header set and taken away", provider("    auth: none\n    models: [{id: a}]\n    requestTransform:\n      setHeaders: {X-Team: a, x-team: null}\n"), "providers.x.requestTransform.setHeaders.x-team", 8},
		{"no name of a header to take away", provider("    auth: none\n    models: [{id: a}]\n    requestTransform:\n      setHeaders: {a b: null}\n"), "providers.x.requestTransform.setHeaders.a b", 8},
		{"another host", provider("    headers: {host: x.example}\n    auth: none\n    models: [{id: a}]\n"), "providers.x.headers.host", 5},
		{"said twice", provider("    auth: none\n    models: [{id: a}]\n    modelOverrides:\n      a: {name: b}\n"), "providers.x.modelOverrides.a", 8},
		{"none with a key", provider("    apiKey: " + secret + "\n    auth: none\n    models: [{id: a}]\n"), "providers.x.auth", 6},
		{"not http", "providers:\n  x:\n    api: openai-completions\n    auth: none\n    baseUrl: ftp://x.example\n    models: [{id: a}]\n", "providers.x.baseUrl", 5},
		{"a file", "providers:\n  x:\n    api: openai-completions\n    auth: none\n    baseUrl: /etc/passwd\n    models: [{id: a}]\n", "providers.x.baseUrl", 5},
		{"negative window", provider("    auth: none\n    models:\n      - id: a\n        contextWindow: -5\n"), "providers.x.models[0].contextWindow", 8},
		{"window zero", provider("    auth: none\n    models:\n      - id: a\n        contextWindow: 0\n"), "providers.x.models[0].contextWindow", 8},
		{"broken window", provider("    auth: none\n    models:\n      - id: a\n        contextWindow: 1.5\n"), "providers.x.models[0].contextWindow", 8},
		{"enormous window", provider("    auth: none\n    models:\n      - id: a\n        contextWindow: 99999999999999999999\n"), "providers.x.models[0].contextWindow", 8},
		{"more out than in", provider("    auth: none\n    models:\n      - id: a\n        contextWindow: 10\n        maxTokens: 11\n"), "providers.x.models[0].maxTokens", 9},
		{"more out than in, put over", "providers:\n  anthropic:\n    modelOverrides:\n      claude-opus-5-5:\n        contextWindow: 10\n        maxTokens: 11\n", "providers.anthropic.modelOverrides.claude-opus-5-5.maxTokens", 6},
		{"all headers away", provider("    auth: none\n    models: [{id: a}]\n    requestTransform:\n      stripHeaders:\n        - X-Stainless-*\n        - \"*\"\n"), "providers.x.requestTransform.stripHeaders[1]", 10},
		{"no header to strip", provider("    auth: none\n    models: [{id: a}]\n    requestTransform:\n      stripHeaders: [X-A, a b]\n"), "providers.x.requestTransform.stripHeaders[1]", 8},
		{"negative price", provider("    auth: none\n    models:\n      - id: a\n        cost: {input: -1}\n"), "providers.x.models[0].cost.input", 8},
		{"half a price", provider("    auth: none\n    models:\n      - id: a\n        cost: {input: 1}\n"), "providers.x.models[0].cost", 8},
		{"the other half", "providers:\n  openai:\n    models:\n      - id: unheard-of\n        cost: {output: 1}\n", "providers.openai.models[0].cost", 5},
		{"twice", provider("    auth: none\n    models:\n      - id: a\n      - id: a\n"), "providers.x.models[1].id", 8},
		{"no level", provider("    auth: none\n    models:\n      - id: a\n        thinking: {levels: [low, loud]}\n"), "providers.x.models[0].thinking.levels[1]", 8},
		{"levels upside down", provider("    auth: none\n    models:\n      - id: a\n        thinking: {minLevel: high, maxLevel: low}\n"), "providers.x.models[0].thinking.maxLevel", 8},
		{"no mode", provider("    auth: none\n    models:\n      - id: a\n        thinking: {mode: loud}\n"), "providers.x.models[0].thinking.mode", 8},
		{"unknown flag", provider("    auth: none\n    compat:\n      supportStore: true\n    models: [{id: a}]\n"), "providers.x.compat.supportStore", 7},
		{"a flag that is a word", provider("    auth: none\n    compat:\n      supportsStore: maybe\n    models: [{id: a}]\n"), "providers.x.compat.supportsStore", 7},
		{"protected", provider("    auth: none\n    compat:\n      extraBody: {messages: []}\n    models: [{id: a}]\n"), "providers.x.compat.extraBody.messages", 7},
		{"no discovery type", provider("    auth: none\n    discovery: {}\n"), "providers.x.discovery.type", 6},
		{"unknown discovery", provider("    auth: none\n    discovery:\n      type: guess\n"), "providers.x.discovery.type", 7},
		{"discovery without an API", "providers:\n  x:\n    baseUrl: http://127.0.0.1:1\n    discovery: {type: ollama}\n", "providers.x.api", 2},
		{"nothing said", "providers:\n  anthropic: {}\n", "providers.anthropic", 2},
		{"an id in an override", "providers:\n  anthropic:\n    modelOverrides:\n      claude-opus-5-5: {id: b}\n", "providers.anthropic.modelOverrides.claude-opus-5-5.id", 4},
		{"a name with a slash", "providers:\n  a/b:\n    baseUrl: http://127.0.0.1:1\n    api: openai-completions\n    models: [{id: a}]\n", "providers.a/b", 2},
		{"cyclic profiles", "profiles:\n  a:\n    extends: b\n  b:\n    extends: c\n  c:\n    extends: a\n", "profiles.a.extends", 3},
		{"a profile of itself", "profiles:\n  a: {extends: a}\n", "profiles.a.extends", 2},
		{"a list for a role", "profiles:\n  a:\n    model_mapping:\n      default: a/b, c/d\n", "profiles.a.model_mapping.default", 4},
		{"an empty profile", "profiles:\n  a: {}\n", "profiles.a.model_mapping", 2},
		{"equivalence of nothing", "equivalence:\n  overrides:\n    a: b\n", "equivalence.overrides.a", 3},
		{"exclude", "equivalence:\n  exclude:\n    - a\n", "equivalence.exclude[0]", 3},
		{"one fallback", "fallbacks:\n  - [a/b]\n", "fallbacks[0]", 2},
		{"a bomb", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
			"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\nproviders: {x: *f}\n", "", -1},
		{"deep", "providers: " + strings.Repeat("[", 5000), "", -1},
		{"a circle of anchors", "providers: &p\n  x: *p\n", "", -1},
		{"twice the same key", "providers: {}\nproviders: {}\n", "", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.env["ANTHROPIC_API_KEY"] = "k"
			path := w.write("models.yml", test.text, 0o600)
			r := w.registry()
			err := r.Load(t.Context())
			e, ok := errors.AsType[*registry.ConfigError](err)
			if !ok {
				t.Fatalf("err = %v, want a ConfigError", err)
			}
			if e.File != path || e.Field != test.field || test.line > 0 && e.Line != test.line {
				t.Errorf("error = %v\nwant %s:%d: %s", e, path, test.line, test.field)
			}
			if strings.Contains(strings.ToLower(err.Error()), "verysecret") {
				t.Errorf("the error shows the key: %v", err)
			}
			if m, _ := r.Default(); m.Provider != "anthropic" {
				t.Errorf("default = %s; the built-in models must still work", m.Ref())
			}
			if data, _ := os.ReadFile(path); string(data) != test.text {
				t.Error("the file was changed")
			}
		})
	}
}

// Numbers are read as in YAML, and a number that is too large is reported as such.
func TestModelsFile_Numbers(t *testing.T) {
	w := newWorld(t)
	text := "providers:\n  x: {baseUrl: 'http://127.0.0.1:1', api: openai-completions, models: [{id: 1e5x, contextWindow: 1e5, maxTokens: +1.5E+3}]}\n"
	w.write("models.yml", text, 0o600)
	r := w.registry()
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, _, err := r.Find("x/1e5x"); err != nil || info.ContextWindow != 100_000 || info.MaxOutput != 1500 {
		t.Errorf("%+v, %v", info, err)
	}
	for number, want := range map[string]string{
		"99999999999999999999": "contextWindow: is too large: at most 1000000000", "1e30": "is too large", "1.5": "must be a whole number above 0",
		"'1e5'": "must be a number, not a string", "-1e5": "must be a whole number above 0",
	} {
		w.write("models.yml", strings.Replace(text, "1e5,", number+",", 1), 0o600)
		if err := r.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", number, err, want)
		}
	}
}

// Prices that the file does not give for a built-in model keep their built-in values; complete prices replace all of them.
func TestModelsFile_PartOfAPrice(t *testing.T) {
	for _, list := range []string{
		"modelOverrides: {claude-opus-5-5: {cost: %s}}",
		"models: [{id: claude-opus-5-5, cost: %s}]",
	} {
		w := newWorld(t)
		cost := func(text string) providers.Cost {
			t.Helper()
			w.write("models.yml", "providers: {anthropic: {"+strings.Replace(list, "%s", text, 1)+"}}\n", 0o600)
			r := w.registry()
			if err := r.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			info, _, err := r.Find("anthropic/claude-opus-5-5")
			if err != nil {
				t.Fatal(err)
			}
			return info.Cost
		}
		w.write("models.yml", "", 0o600)
		known, _, err := w.registry().Find("anthropic/claude-opus-5-5")
		if err != nil || known.Cost.Output == 0 {
			t.Fatalf("%+v, %v", known, err)
		}
		if got := cost("{input: 77}"); got.Input != 77 || got.Output != known.Cost.Output || got.CacheRead != known.Cost.CacheRead {
			t.Errorf("%s: %+v", list, got)
		}
		if got := cost("{input: 4, output: 8, cacheRead: 0}"); got != (providers.Cost{Input: 4, Output: 8, CacheWrite: 4}) {
			t.Errorf("%s: caches that nothing is said of cost %+v", list, got)
		}
		long := providers.LongCost{Above: 9, Input: 5, Output: 6, CacheRead: 5, CacheWrite: 7}
		if got := cost("{long: {above: 9, input: 5, output: 6, cacheWrite: 7}}"); got.Long != long || got.Output != known.Cost.Output {
			t.Errorf("%s: long prompts cost %+v", list, got)
		}
		if got := cost("{input: 0, output: 0}"); got != (providers.Cost{}) {
			t.Errorf("%s: free is %+v", list, got)
		}
	}
}

func TestModelsFile_AllMistakesAtOnce(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", "providers:\n  x:\n    baseUrl: nowhere\n    api: telepathy\n    colour: red\n    models: [{name: a}]\nroles: {}\n", 0o600)
	err := w.registry().Load(t.Context())
	for _, want := range []string{"x.baseUrl", "x.api:", "x.colour", "models[0].id", "x.apiKey", "roles: unknown field"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not tell of %q: %v", want, err)
		}
	}
}

// A model's header replaces its provider's, whatever the case of its name.
func TestModelsFile_HeadersInAnyCase(t *testing.T) {
	w := newWorld(t)
	w.write("models.yml", `
providers:
  x:
    baseUrl: http://127.0.0.1:1
    api: openai-completions
    headers: {X-Team: provider, x-trace: a}
    requestTransform: {profile: openai-proxy, setHeaders: {user-agent: mine, X-SET: provider}}
    models: [{id: a, headers: {x-team: model}, requestTransform: {setHeaders: {x-set: null}}}]
`, 0o600)
	cfg := w.open(w.registry(), "x/a")
	if d := cmp.Diff(map[string]string{"X-Team": "model", "X-Trace": "a"}, cfg.Headers); d != "" {
		t.Errorf("headers (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]*string{"User-Agent": new("mine"), "X-Set": nil}, cfg.Transform.SetHeaders); d != "" {
		t.Errorf("what is set (-want +got):\n%s", d)
	}
}

func TestModelsFile_JSON(t *testing.T) {
	w := newWorld(t)
	path := w.write("models.json", `{"providers": {"local": {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "models": [{"id": "m"}]}}}`, 0o600)
	r := w.registry()
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if cfg := w.open(r, "local/m"); cfg.BaseURL != "http://127.0.0.1:9/v1" {
		t.Errorf("config = %+v", cfg)
	}
	w.write("models.yml", "providers: {}\n", 0o600)
	if r := w.registry(); len(refs(r.Models())) != 1 {
		t.Errorf("models.json is used in addition to models.yml: %v", refs(r.Models()))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func FuzzModelsFile(f *testing.F) {
	f.Add([]byte("providers:\n  x:\n    baseUrl: http://127.0.0.1:1\n    api: openai-completions\n    models: [{id: a, thinking: {levels: [low]}}]\n"))
	f.Add([]byte("profiles: {a: {extends: b, model_mapping: {default: x/y}}, b: {extends: a}}\nfallbacks: [[a/b, c/d]]\n"))
	f.Add([]byte("equivalence: {overrides: {a/b: c}, exclude: [d/e]}\nmodelBindings: {modelRoles: {smol: gjc/smol}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t)
		w.write("models.yml", string(data), 0o600)
		r := w.registry()
		_ = r.Load(t.Context())
		// No content of the file makes a method hang or panic.
		_, _ = r.Default()
		for _, m := range r.All() {
			_, _ = r.Open(t.Context(), m)
		}
		for _, p := range r.Profiles() {
			_ = r.CheckProfile(p.Name)
		}
		for role := range r.Roles() {
			_, _, _ = r.Role(role)
		}
		_, _, _ = r.Find("gjc/smol")
		_ = r.Accounts()
		_ = r.Providers()
	})
}

func TestRegistry_CloudAddresses(t *testing.T) {
	w := newWorld(t)
	w.env["AZURE_OPENAI_API_KEY"] = "k"
	azure := func() providers.Config {
		r := w.registry(func(o *registry.Options) {
			o.Factories["azure-openai-responses"] = o.Factories["openai-responses"]
		})
		return w.open(r, "azure-openai/gpt-4.1")
	}
	w.env["AZURE_OPENAI_RESOURCE_NAME"] = "corp"
	w.env["AZURE_OPENAI_DEPLOYMENT_NAME_MAP"] = "o3=reasoning, gpt-4.1 = gpt-41-prod"
	if cfg := azure(); cfg.BaseURL != "https://corp.openai.azure.com/openai/v1" || cfg.Model() != "gpt-41-prod" {
		t.Errorf("%s, %s", cfg.BaseURL, cfg.Model())
	}
	w.env["AZURE_OPENAI_API_VERSION"] = "2026-01-01"
	w.env["AZURE_OPENAI_BASE_URL"] = "https://gate.example/openai"
	if cfg := azure(); cfg.BaseURL != "https://gate.example/openai?api-version=2026-01-01" {
		t.Errorf("%s", cfg.BaseURL)
	}
	w.env["AZURE_OPENAI_BASE_URL"] = "https://gate.example/openai?api-version=mine"
	if cfg := azure(); cfg.BaseURL != "https://gate.example/openai?api-version=mine" {
		t.Errorf("%s", cfg.BaseURL)
	}
}

// The price of a cache is that of its retention.
func TestRegistry_CachePrices(t *testing.T) {
	price := func(env map[string]string, file string) (float64, providers.CacheRetention) {
		t.Helper()
		w := newWorld(t)
		w.env = env
		env["ANTHROPIC_API_KEY"] = "k"
		if file != "" {
			w.write("models.yml", file, 0o600)
		}
		r := w.registry()
		if err := r.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		cfg := w.open(r, "anthropic/claude-opus-5-5")
		return cfg.Info.Cost.CacheWrite / cfg.Info.Cost.Input, cfg.CacheRetention
	}
	for _, test := range []struct {
		env   map[string]string
		file  string
		times float64
		want  providers.CacheRetention
	}{
		{map[string]string{}, "", 2, "long"},
		{map[string]string{"GJC_CACHE_RETENTION": "short"}, "", 1.25, "short"},
		{map[string]string{"GJC_CACHE_RETENTION": "whatever"}, "", 1.25, "short"},
		{map[string]string{"GJC_CACHE_RETENTION": "none"}, "", 1.25, "none"},
		{map[string]string{"ANTHROPIC_BASE_URL": "https://proxy.example"}, "", 1.25, "long"},
		{map[string]string{}, "providers: {anthropic: {cacheRetention: short}}", 1.25, "short"},
		{map[string]string{}, "providers: {anthropic: {modelOverrides: {claude-opus-5-5: {cacheRetention: none}}}}", 1.25, "none"},
		{map[string]string{}, "providers: {anthropic: {modelOverrides: {claude-opus-5-5: {cost: {input: 1, cacheWrite: 7}}}}}", 7, "long"},
		{map[string]string{}, "providers: {anthropic: {modelOverrides: {claude-opus-5-5: {cost: {cacheRead: 0.3}}}}}", 2, "long"},
		{map[string]string{}, "providers: {anthropic: {modelOverrides: {claude-opus-5-5: {cost: {input: 8}}}}}", 2, "long"},
		{map[string]string{}, "providers: {anthropic: {modelOverrides: {claude-opus-5-5: {cost: {input: 8, output: 9, cacheWrite: 8}}}}}", 1, "long"},
	} {
		if times, retention := price(test.env, test.file); times != test.times || retention != test.want {
			t.Errorf("%v %s: %v times, %q; want %v, %q", test.env, test.file, times, retention, test.times, test.want)
		}
	}
}

// After a redirect the price is that of the retention that requests ask for there.
func TestSetProvider_CachePrices(t *testing.T) {
	for _, test := range []struct {
		url     string
		headers map[string]string
		times   float64
		want    providers.CacheRetention
	}{
		{"https://api.anthropic.com", nil, 2, "long"},
		{"https://gateway.example", nil, 1.25, ""},
		{"https://api.anthropic.com", map[string]string{"X-Api-Key": "x"}, 1.25, ""},
	} {
		w := newWorld(t)
		w.env["ANTHROPIC_API_KEY"] = "k"
		r := w.registry()
		w.open(r, "anthropic/claude-opus-5-5")
		if err := r.SetProvider("anthropic", "anthropic", test.url, test.headers); err != nil {
			t.Fatal(err)
		}
		info, _ := r.Lookup("anthropic/claude-opus-5-5")
		cfg := w.open(r, "anthropic/claude-opus-5-5")
		if times := cfg.Info.Cost.CacheWrite / cfg.Info.Cost.Input; times != test.times || cfg.CacheRetention != test.want || info.Cost != cfg.Info.Cost {
			t.Errorf("%s %v: %v times, %q, listed with %+v; want %v, %q", test.url, test.headers, times, cfg.CacheRetention, info.Cost, test.times, test.want)
		}
	}
}

// A price in the file for writing caches with long prompts is kept; otherwise that price is corrected like the one for other
// prompts.
func TestRegistry_LongCachePrices(t *testing.T) {
	for cost, want := range map[string][2]float64{
		"input: 1": {2, 2}, "input: 1, cacheWrite: 7": {7, 2}, "input: 1, long: {above: 9, input: 1, output: 2, cacheWrite: 3}": {2, 3},
	} {
		w := newWorld(t)
		w.env["ANTHROPIC_API_KEY"] = "k"
		w.write("models.yml", "providers: {anthropic: {modelOverrides: {claude-haiku-5-5: {cost: {"+cost+"}}}}}", 0o600)
		got := w.open(w.registry(), "anthropic/claude-haiku-5-5").Info.Cost
		if got.CacheWrite != want[0] || got.Long.CacheWrite/got.Long.Input != want[1] {
			t.Errorf("%s: %+v, want %v times the input", cost, got, want)
		}
	}
}
