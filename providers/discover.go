package providers

import (
	"context"
	"net/http"
)

// DiscoveryType is the protocol by which a server lists its models.
type DiscoveryType string

// The types of discovery.
const (
	DiscoverOllama   DiscoveryType = "ollama"
	DiscoverLlamaCPP DiscoveryType = "llama.cpp"
	DiscoverLMStudio DiscoveryType = "lm-studio"
	// DiscoverOpenAI is GET /v1/models, which lists only ids.
	DiscoverOpenAI DiscoveryType = "openai"
)

// A DiscoverySource is a server that can list its models.
type DiscoverySource struct {
	Provider string
	Type     DiscoveryType
	BaseURL  string
	// API is the API of the models.
	API     string
	APIKey  string
	Headers map[string]string
	// Transform is applied to the headers after Headers.
	Transform RequestTransform
	// Client sends the requests.
	Client *http.Client
}

// A Discoverer queries a server for its models. It sets Provider and API of the results to those of src. An [*Error] of kind
// [KindNetwork] reports that no server answers at the address.
type Discoverer func(ctx context.Context, src DiscoverySource) ([]ModelInfo, error)
