package registry

import (
	_ "embed"

	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// catalogueJSON lists the built-in providers and models in the order in which they are offered; the first model of a provider is
// its default. Prices are those of the default service tier, with separate ones for long prompts and other tiers.
//
//go:embed catalogue.json
var catalogueJSON []byte

type builtInCatalogue struct {
	// Made is the day on which the data was collected, as 2006-01-02.
	Made      string            `json:"made"`
	Providers []builtInProvider `json:"providers"`
	Profiles  []builtInProfile  `json:"profiles"`
}

type builtInProvider struct {
	Name string `json:"name"`
	// Label is the name for people.
	Label string `json:"label"`
	API   string `json:"api"`
	// BaseURL is empty if the API's public address applies, or if each customer has an address (NeedsURL).
	BaseURL    string   `json:"base_url"`
	NeedsURL   bool     `json:"needs_url"`
	KeyEnv     []string `json:"key_env"`
	BaseURLEnv []string `json:"base_url_env"`
	// Keyless providers run on the user's machine.
	Keyless        bool                     `json:"keyless"`
	Discovery      providers.DiscoveryType  `json:"discovery"`
	CacheRetention providers.CacheRetention `json:"cache_retention"`
	Models         []builtInModel           `json:"models"`
	// ModelsOf names the provider whose models this one offers too; empty for none.
	ModelsOf string `json:"models_of"`
}

type builtInModel struct {
	ID string `json:"id"`
	// Canonical is the maker's id, if this provider uses another one.
	Canonical    string                    `json:"canonical"`
	Name         string                    `json:"name"`
	Window       int                       `json:"window"`
	Output       int                       `json:"output"`
	Images       bool                      `json:"images"`
	Thinking     []providers.ThinkingLevel `json:"thinking"`
	ThinkingMode providers.ThinkingMode    `json:"thinking_mode"`
	ServiceTiers []string                  `json:"service_tiers"`
	Promotion    string                    `json:"context_promotion_target"`
	// TierPrices are factors of the cost, by service tier.
	TierPrices map[string]float64 `json:"tier_prices"`
	Cost       providers.Cost     `json:"cost"`
}

type builtInProfile struct {
	Name     string            `json:"name"`
	Requires []string          `json:"requires"`
	Models   map[string]string `json:"models"`
}

func (m *builtInModel) info(p *builtInProvider) providers.ModelInfo {
	return providers.ModelInfo{
		Provider: p.Name, ID: m.ID, Name: m.Name, API: p.API, Canonical: m.Canonical,
		ContextWindow: m.Window, MaxOutput: m.Output, Images: m.Images,
		Thinking: m.Thinking, ThinkingMode: m.ThinkingMode, ServiceTiers: m.ServiceTiers, ContextPromotionTarget: m.Promotion,
		TierPrices: m.TierPrices,
		Cost:       m.Cost,
	}
}

func (c *builtInCatalogue) provider(name string) *builtInProvider {
	for i := range c.Providers {
		if c.Providers[i].Name == name {
			return &c.Providers[i]
		}
	}
	return nil
}

// builtIn decodes the built-in catalogue.
func builtIn() *builtInCatalogue {
	c := new(builtInCatalogue)
	if err := jsonx.Unmarshal(catalogueJSON, c, jsonx.Strict()); err != nil {
		bug.Reportf("decoding the built-in catalogue: %v", err)
	}
	return c
}

// CatalogueDate returns the day on which the data about the built-in models was collected, as 2006-01-02.
func CatalogueDate() string { return builtIn().Made }

// PublicAddress returns the API of a built-in provider and the address that it has for everyone. The address is empty if each customer has
// one; the API is empty for an unknown provider.
func PublicAddress(provider string) (api, address string) {
	p := builtIn().provider(provider)
	if p == nil {
		return "", ""
	}
	address = p.BaseURL
	switch {
	case address != "" || p.NeedsURL:
	case p.API == "google-generative-ai":
		address = "https://generativelanguage.googleapis.com/v1beta"
	default:
		address = typeOfAPI(p.API).baseURL
	}
	return p.API, address
}
