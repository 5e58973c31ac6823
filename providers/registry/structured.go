package registry

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// structured reports whether a model accepts [providers.Request.Output]: models.yml says so, or it is at its maker's own server. Most
// servers that imitate an API accept the schema and ignore it.
func (s *state) structured(m *providers.ModelInfo) bool {
	at, set := s.served(m, func(p *provider) *bool { return p.structured }, func(own *fileModel) *bool { return own.structured })
	if set != nil {
		return *set
	}
	switch m.API {
	case "anthropic-messages":
		return at.host == anthropicHost && atLeast(at.name, 4, 5)
	case "openai-responses", "openai-completions":
		return at.openAI()
	case "google-generative-ai":
		return (at.host == "" || at.host == "generativelanguage.googleapis.com") && !strings.Contains(at.name, "gemma")
	case "ollama-chat":
		// The cloud's models ignore the schema, also through a local server.
		return !at.unknown && at.host != "ollama.com" && !strings.HasSuffix(at.host, ".ollama.com") && !strings.HasSuffix(at.name, "cloud")
	}
	return false
}

// toolSearch reports whether the API of a model can add the tools of [providers.Request.Search] where they were found: models.yml says
// so, or it is a new enough model at its maker's own server.
func (s *state) toolSearch(m *providers.ModelInfo) bool {
	at, set := s.served(m, func(p *provider) *bool { return p.toolSearch }, func(own *fileModel) *bool { return own.toolSearch })
	if set != nil {
		return *set
	}
	switch m.API {
	case "anthropic-messages":
		return at.host == anthropicHost && (atLeast(at.name, 4, 5) || atLeast(at.name, 4, 0) && !strings.Contains(at.name, "haiku"))
	case "openai-responses":
		return at.openAI() && strings.HasPrefix(at.name, "gpt-") && atLeast(at.name, 5, 4)
	}
	return false
}

const anthropicHost = "api.anthropic.com"

// served is the place at which requests reach a model, and the model's name there.
type served struct {
	// host is empty for the API's public address.
	host, name string
	// unknown reports that the address is invalid.
	unknown bool
}

func (at *served) openAI() bool {
	return at.host == "api.openai.com" || strings.HasSuffix(at.host, ".api.openai.com") // subdomains are regions
}

// served returns where a model is served. set is what models.yml says of an ability of the model or of its provider; nil if it does not,
// or if requests go elsewhere.
func (s *state) served(m *providers.ModelInfo, ofProvider func(*provider) *bool, ofModel func(*fileModel) *bool) (at served, set *bool) {
	to := s.redirects[m.Provider]
	at.name = m.ID
	if p := s.providers[m.Provider]; p != nil && (to == nil || to.ownKeys) {
		own := p.model(m.ID)
		set = cmp.Or(ofModel(own), ofProvider(p))
		at.name = cmp.Or(own.wireModelID, at.name)
	}
	if address := s.baseURL(m.Provider, typeOfAPI(m.API)); address != "" {
		u, err := url.Parse(address)
		if err != nil {
			at.unknown, at.host = true, "?"
			return at, set
		}
		at.host = strings.ToLower(u.Hostname())
	}
	return at, set
}

// atLeast reports whether a model is of that version or newer. A name without a version is of a newer one.
func atLeast(name string, major, minor int) bool {
	var version []int
	for part := range strings.SplitSeq(strings.ReplaceAll(name, ".", "-"), "-") {
		const longest = 2 // a date is longer
		if n, err := strconv.Atoi(part); err == nil && len(part) <= longest {
			version = append(version, n)
		}
	}
	switch {
	case len(version) == 0:
		return true
	case version[0] != major:
		return version[0] > major
	}
	return minor == 0 || len(version) > 1 && version[1] >= minor
}
