package providers

import (
	_ "embed"

	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// The built-in models, in the order in which they are offered; the first of a provider is its default. The prices
// are those for short prompts: some models cost more for a prompt over 100,000 or 272,000 tokens. OpenAI's models
// list no levels because its chat completions API takes no reasoning effort beside tools; they are told "none". Prices
// are those of the default service tier.
//
//go:embed catalogue.json
var catalogueJSON []byte

type catalogue struct {
	// Made is the day on which the facts were gathered, as 2006-01-02.
	Made      string              `json:"made"`
	Providers []catalogueProvider `json:"providers"`
}

type catalogueProvider struct {
	Name       string           `json:"name"`
	API        string           `json:"api"`
	KeyEnv     string           `json:"key_env"`
	BaseURLEnv string           `json:"base_url_env"`
	Models     []catalogueModel `json:"models"`
}

type catalogueModel struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Window       int             `json:"window"`
	Output       int             `json:"output"`
	Images       bool            `json:"images"`
	Thinking     []ThinkingLevel `json:"thinking"`
	ThinkingMode ThinkingMode    `json:"thinking_mode"`
	ServiceTiers []string        `json:"service_tiers"`
	Cost         struct {
		Input      float64 `json:"input"`
		Output     float64 `json:"output"`
		CacheRead  float64 `json:"cache_read"`
		CacheWrite float64 `json:"cache_write"`
	} `json:"cost"`
}

func (m *catalogueModel) info(p *catalogueProvider) ModelInfo {
	return ModelInfo{
		Provider: p.Name, ID: m.ID, Name: m.Name, API: p.API,
		ContextWindow: m.Window, MaxOutput: m.Output, Images: m.Images,
		Thinking: m.Thinking, ThinkingMode: m.ThinkingMode, ServiceTiers: m.ServiceTiers,
		Cost: Cost{Input: m.Cost.Input, Output: m.Cost.Output, CacheRead: m.Cost.CacheRead, CacheWrite: m.Cost.CacheWrite},
	}
}

func builtIn() *catalogue {
	c := new(catalogue)
	if err := jsonx.Unmarshal(catalogueJSON, c); err != nil {
		bug.Reportf("the built-in catalogue of models: %v", err)
	}
	return c
}

// CatalogueDate is the day on which the facts about the built-in models were gathered, as 2006-01-02.
func CatalogueDate() string { return builtIn().Made }
