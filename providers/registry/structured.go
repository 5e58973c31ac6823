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
	to, name := s.redirects[m.Provider], m.ID
	if p := s.providers[m.Provider]; p != nil && (to == nil || to.ownKeys) {
		own := p.model(m.ID)
		if set := cmp.Or(own.structured, p.structured); set != nil {
			return *set
		}
		name = cmp.Or(own.wireModelID, name)
	}
	host := ""
	if address := s.baseURL(m.Provider, typeOfAPI(m.API)); address != "" {
		u, err := url.Parse(address)
		if err != nil {
			return false
		}
		host = strings.ToLower(u.Hostname())
	}
	switch m.API {
	case "anthropic-messages":
		return host == "api.anthropic.com" && structuredClaude(name)
	case "openai-responses", "openai-completions":
		return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") // subdomains are regions
	case "google-generative-ai":
		return (host == "" || host == "generativelanguage.googleapis.com") && !strings.Contains(name, "gemma")
	case "ollama-chat":
		// The cloud's models ignore the schema, also through a local server.
		return host != "ollama.com" && !strings.HasSuffix(host, ".ollama.com") && !strings.HasSuffix(name, "cloud")
	}
	return false
}

// structuredClaude reports whether a model of Anthropic is of version 4.5 or newer. A name without a version is of a newer one.
func structuredClaude(name string) bool {
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
	case version[0] != 4:
		return version[0] > 4
	}
	return len(version) > 1 && version[1] >= 5
}
