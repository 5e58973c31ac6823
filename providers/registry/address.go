package registry

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// An apiType is an API under its name in ACP.
type apiType struct {
	name, api string
	// baseURL is the API's public address; empty if every customer has a separate one.
	baseURL string
}

// apiTypes lists the known API types. Of two APIs with one name, the first that has a factory is used.
var apiTypes = [...]apiType{
	{"anthropic", "anthropic-messages", "https://api.anthropic.com"},
	// More servers implement this API than the next one. A model that uses the next one keeps it.
	{"openai", "openai-completions", "https://api.openai.com/v1"},
	{"openai", "openai-responses", "https://api.openai.com/v1"},
	{"azure", "azure-openai-responses", ""},
	{"vertex", "google-vertex", ""},
	{"vertex", "anthropic-messages-vertex", ""},
	{"bedrock", "anthropic-messages-bedrock", ""},
}

func typeOfAPI(api string) apiType {
	for _, t := range apiTypes {
		if t.api == api {
			return t
		}
	}
	return apiType{name: "_" + api, api: api}
}

const apiAzure = "azure-openai-responses"

// address returns the base URL of a provider from models.yml, the environment, or the built-in catalogue, in this order. It is
// empty if the API's public address applies or if there is none.
func (l *listing) address(p *provider, id string) string {
	address := l.configuredAddress(p, id)
	if p.api != apiAzure {
		return address
	}
	if resource := l.opts.Getenv("AZURE_OPENAI_RESOURCE_NAME"); address == "" && resource != "" {
		address = "https://" + resource + ".openai.azure.com/openai/v1"
	}
	version := l.opts.Getenv("AZURE_OPENAI_API_VERSION")
	if u, err := url.Parse(address); err == nil && address != "" && version != "" && !u.Query().Has("api-version") {
		q := u.Query()
		q.Set("api-version", version)
		u.RawQuery = q.Encode()
		address = u.String()
	}
	return address
}

func (l *listing) configuredAddress(p *provider, id string) string {
	if p.fileURL != "" {
		return p.fileURL
	}
	for _, name := range append(slices.Clone(p.builtIn.BaseURLEnv), variableOf(id, "_BASE_URL")) {
		if address := strings.TrimSpace(l.opts.Getenv(name)); address != "" {
			if p.keyless && p.discovery != "" && !strings.Contains(address, "://") {
				address = "http://" + address // OLLAMA_HOST is often only "host:port"
			}
			return address
		}
	}
	return cmp.Or(l.opts.gatewayAddress(id), p.builtIn.BaseURL)
}

// variableOf returns the name of a provider's environment variable: "my-proxy" and "_BASE_URL" make MY_PROXY_BASE_URL.
func variableOf(provider, suffix string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '_'
	}, provider) + suffix
}

// deployment returns the name of a model's Azure deployment; empty if it is the model's id.
func (l *listing) deployment(info providers.ModelInfo) string {
	if info.API != apiAzure {
		return ""
	}
	for pair := range strings.SplitSeq(l.opts.Getenv("AZURE_OPENAI_DEPLOYMENT_NAME_MAP"), ",") {
		if id, name, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && strings.TrimSpace(id) == info.ID {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// retention returns the cache retention of a provider: that of models.yml, the environment, or the built-in catalogue.
func (l *listing) retention(p *provider) providers.CacheRetention {
	if p.cacheRetention != "" {
		return p.cacheRetention
	}
	switch set := providers.CacheRetention(l.opts.Getenv("GJC_CACHE_RETENTION")); set {
	case "":
		return p.builtIn.CacheRetention
	case providers.CacheLong, providers.CacheNone:
		return set
	case providers.CacheShort:
	}
	return providers.CacheShort
}
