package registry

import (
	_ "embed"

	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// The built-in providers and models, in the order in which they are offered; the first of a provider is its default.
// Prices are those of the default service tier; those of longer prompts and of other tiers stand beside them.
//
//go:embed catalogue.json
var catalogueJSON []byte

type catalogue struct {
	// Made is the day on which the facts were gathered, as 2006-01-02.
	Made      string              `json:"made"`
	Providers []catalogueProvider `json:"providers"`
	Profiles  []catalogueProfile  `json:"profiles"`
}

type catalogueProvider struct {
	Name string `json:"name"`
	// Label is for people.
	Label string `json:"label"`
	API   string `json:"api"`
	// BaseURL is empty where the API's client knows it, and where every customer has another one (NeedsURL).
	BaseURL    string   `json:"base_url"`
	NeedsURL   bool     `json:"needs_url"`
	KeyEnv     []string `json:"key_env"`
	BaseURLEnv []string `json:"base_url_env"`
	// Keyless providers run on the user's machine.
	Keyless        bool                     `json:"keyless"`
	Discovery      providers.DiscoveryType  `json:"discovery"`
	CacheRetention providers.CacheRetention `json:"cache_retention"`
	Models         []catalogueModel         `json:"models"`
	// ModelsOf names the provider whose models this one has too.
	ModelsOf string `json:"models_of"`
}

type catalogueModel struct {
	ID string `json:"id"`
	// Canonical is the maker's id, where this provider has another one.
	Canonical    string                    `json:"canonical"`
	Name         string                    `json:"name"`
	Window       int                       `json:"window"`
	Output       int                       `json:"output"`
	Images       bool                      `json:"images"`
	Thinking     []providers.ThinkingLevel `json:"thinking"`
	ThinkingMode providers.ThinkingMode    `json:"thinking_mode"`
	ServiceTiers []string                  `json:"service_tiers"`
	Promotion    string                    `json:"context_promotion_target"`
	// TierPrices are by how much a service tier multiplies the cost.
	TierPrices map[string]float64 `json:"tier_prices"`
	Cost       struct {
		catalogueCost

		Long struct {
			catalogueCost

			Above int `json:"above"`
		} `json:"long"`
	} `json:"cost"`
}

type catalogueCost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

type catalogueProfile struct {
	Name     string            `json:"name"`
	Requires []string          `json:"requires"`
	Models   map[string]string `json:"models"`
}

func (m *catalogueModel) info(p *catalogueProvider) providers.ModelInfo {
	return providers.ModelInfo{
		Provider: p.Name, ID: m.ID, Name: m.Name, API: p.API, Canonical: m.Canonical,
		ContextWindow: m.Window, MaxOutput: m.Output, Images: m.Images,
		Thinking: m.Thinking, ThinkingMode: m.ThinkingMode, ServiceTiers: m.ServiceTiers, ContextPromotionTarget: m.Promotion,
		TierPrices: m.TierPrices,
		Cost: providers.Cost{
			Input: m.Cost.Input, Output: m.Cost.Output, CacheRead: m.Cost.CacheRead, CacheWrite: m.Cost.CacheWrite,
			Long: providers.LongCost{
				Above: m.Cost.Long.Above, Input: m.Cost.Long.Input, Output: m.Cost.Long.Output,
				CacheRead: m.Cost.Long.CacheRead, CacheWrite: m.Cost.Long.CacheWrite,
			},
		},
	}
}

func (c *catalogue) provider(name string) *catalogueProvider {
	for i := range c.Providers {
		if c.Providers[i].Name == name {
			return &c.Providers[i]
		}
	}
	return nil
}

func builtIn() *catalogue {
	c := new(catalogue)
	if err := jsonx.Unmarshal(catalogueJSON, c, jsonx.Strict()); err != nil {
		bug.Reportf("the built-in catalogue of models: %v", err)
	}
	return c
}

// CatalogueDate is the day on which the facts about the built-in models were gathered, as 2006-01-02.
func CatalogueDate() string { return builtIn().Made }
