package registry_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/providers/registry"
)

// everyAPI adds a factory for every API of the catalogue.
func everyAPI(o *registry.Options) {
	for _, api := range []string{
		"anthropic-messages-bedrock", "anthropic-messages-vertex", "azure-openai-responses", "google-generative-ai", "google-vertex", "ollama-chat",
	} {
		o.Factories[api] = func(cfg providers.Config) (providers.Model, error) { return providertest.NewScript(cfg.Info), nil }
	}
}

func TestCatalogue_IsComplete(t *testing.T) {
	w := newWorld(t)
	if _, err := time.Parse(time.DateOnly, registry.CatalogueDate()); err != nil {
		t.Error(err)
	}
	all := w.registry(everyAPI).All()
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.Ref()] || strings.ContainsAny(m.ID, " \t") {
			t.Errorf("%s stands twice, or is no id", m.Ref())
		}
		seen[m.Ref()] = true
		if m.Provider == "offline" {
			continue
		}
		if m.Name == "" || m.ContextWindow < 100_000 || m.MaxOutput < 8000 || m.MaxOutput >= m.ContextWindow {
			t.Errorf("%+v", m)
		}
		// Reading from a cache may cost as much as the input, but it is never free.
		if c := m.Cost; c.Input <= 0 || c.Output <= c.Input || c.CacheRead <= 0 || c.CacheRead > c.Input || c.CacheWrite < 0 || c.CacheWrite > 2*c.Input {
			t.Errorf("%s: cost %+v", m.Ref(), c)
		}
		if long := m.Cost.Long; long != (providers.LongCost{}) && (long.Above < 50_000 || long.Above >= m.ContextWindow ||
			long.Input <= m.Cost.Input || long.Output <= m.Cost.Output || long.CacheRead <= m.Cost.CacheRead || long.CacheWrite < m.Cost.CacheWrite) {
			t.Errorf("%s: cost %+v", m.Ref(), m.Cost)
		}
		for tier, factor := range m.TierPrices {
			if !slices.Contains(m.ServiceTiers, tier) || factor <= 0 || (factor > 1) != (tier == "priority") {
				t.Errorf("%s: tier prices %v", m.Ref(), m.TierPrices)
			}
		}
		if (len(m.ServiceTiers) > 0) != (m.Provider == "openai" || m.Provider == "azure-openai") || len(m.ServiceTiers) > 0 && !slices.Contains(m.ServiceTiers, "default") || len(m.ServiceTiers) > 0 && len(m.TierPrices) != len(m.ServiceTiers)-1 {
			t.Errorf("%s: service tiers %q", m.Ref(), m.ServiceTiers)
		}
		if main := m.Provider == "anthropic" || m.Provider == "openai" || m.Provider == "google"; main && (!m.Images || len(m.Thinking) == 0 && m.ID != "gpt-4.1") {
			t.Errorf("%s: %+v", m.Ref(), m)
		}
		wantLevels(t, &m)
	}
	for _, provider := range []string{
		"anthropic", "openai", "google", "google-vertex", "azure-openai", "amazon-bedrock", "vertex-anthropic",
		"mistral", "deepseek", "xai", "zai", "moonshot", "minimax", "groq", "cerebras",
	} {
		if !slices.ContainsFunc(all, func(m providers.ModelInfo) bool { return m.Provider == provider }) {
			t.Errorf("%s has no model", provider)
		}
	}
}

// wantLevels checks that the levels of a model are in ascending order, and that the API can express them.
func wantLevels(t *testing.T, m *providers.ModelInfo) {
	t.Helper()
	rising := []providers.ThinkingLevel{
		providers.ThinkingMinimal, providers.ThinkingLow, providers.ThinkingMedium, providers.ThinkingHigh, providers.ThinkingXHigh, providers.ThinkingMax,
	}
	modes := []providers.ThinkingMode{
		providers.ThinkingEffort, providers.ThinkingEffortNone, providers.ThinkingEffortBetween, providers.ThinkingEffortAlways, providers.ThinkingBudget,
	}
	before := -1
	for _, level := range m.Thinking {
		at := slices.Index(rising, level)
		if at <= before {
			t.Errorf("%s: levels %q", m.Ref(), m.Thinking)
		}
		before = at
	}
	if (len(m.Thinking) > 0) != slices.Contains(modes, m.ThinkingMode) {
		t.Errorf("%s: mode %q for the levels %q", m.Ref(), m.ThinkingMode, m.Thinking)
	}
}

// A model at a cloud has the facts of its maker's model.
func TestCatalogue_Variants(t *testing.T) {
	w := newWorld(t)
	w.env["GJC_CACHE_RETENTION"] = "short" // by default, the maker's caches last an hour, at a different price
	all := w.registry(everyAPI).All()
	for _, clouds := range []struct{ maker, cloud string }{
		{"anthropic", "amazon-bedrock"}, {"anthropic", "vertex-anthropic"}, {"openai", "azure-openai"}, {"google", "google-vertex"},
	} {
		own, theirs := map[string]providers.ModelInfo{}, map[string]providers.ModelInfo{}
		for _, m := range all {
			id := m.Canonical
			m.StructuredOutput, m.ToolSearch = false, false // facts of the server
			switch m.Provider {
			case clouds.maker:
				m.ID, m.Provider, m.API, m.Canonical = "", "", "", ""
				own[id] = m
			case clouds.cloud:
				m.ID, m.Provider, m.API, m.Canonical = "", "", "", ""
				theirs[id] = m
			}
		}
		if d := cmp.Diff(own, theirs); d != "" {
			t.Errorf("%s (-%s +%s):\n%s", clouds.cloud, clouds.maker, clouds.cloud, d)
		}
	}
}

// Each built-in profile has a model for each role, with a level that the model supports, and requires exactly the keys of these
// models.
func TestCatalogue_Profiles(t *testing.T) {
	w := newWorld(t)
	r := w.registry(everyAPI)
	profiles := r.Profiles()
	if len(profiles) == 0 {
		t.Error("there is no profile")
	}
	roles := []string{"commit", registry.RoleDefault, registry.RolePlan, registry.RoleSlow, registry.RoleSmol}
	for _, p := range profiles {
		if got := slices.Sorted(maps.Keys(p.Models)); !slices.Equal(got, roles) {
			t.Errorf("%s: roles %q, want %q", p.Name, got, roles)
		}
		needed := map[string]bool{}
		for role, ref := range p.Models {
			m, level, err := r.Find(ref)
			if err != nil {
				t.Errorf("%s, %s: %v", p.Name, role, err)
				continue
			}
			if want := strings.TrimSuffix(ref, ":"+string(level)); m.Ref() != want {
				t.Errorf("%s, %s: %s means %s", p.Name, role, ref, m.Ref())
			}
			if level != "" && !slices.Contains(m.Thinking, level) {
				t.Errorf("%s, %s: %s does not know the level", p.Name, role, ref)
			}
			needed[m.Provider] = true
		}
		if got := slices.Sorted(slices.Values(p.RequiredProviders)); !slices.Equal(got, slices.Sorted(maps.Keys(needed))) {
			t.Errorf("%s requires %q, its models are of %v", p.Name, got, needed)
		}
	}
}
