package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// unavailable is the reason why a model cannot be used.
type unavailable struct {
	kind providers.ErrorKind
	text string
}

// Availability returns the source of the credentials for a model, as [Router.CredentialSource] does. If the model cannot be used,
// source is empty, and problem says why and what to do about it.
func (r *Router) Availability(info providers.ModelInfo) (source, problem string) {
	source, why := r.state().availability(&info)
	return source, why.text
}

func (s *state) availability(info *providers.ModelInfo) (source string, why unavailable) {
	id := info.Provider
	switch {
	case s.disabled[id]:
		return "", unavailable{providers.KindModel, "the provider is disabled; choose another model"}
	case s.opts.Factories[info.API] == nil:
		return "", unavailable{providers.KindModel, fmt.Sprintf("this build does not support the API %q", info.API)}
	}
	if s.providers[id] == nil {
		// A session may have the model of a provider that has been removed from models.yml, or whose entry has a mistake.
		return "", unavailable{providers.KindModel, fmt.Sprintf("unknown provider %q; check models.yml for mistakes, or choose another model", id)}
	}
	if to := s.redirects[id]; to == nil || to.ownKeys {
		if why := s.addressProblem(id, info.API); why != "" {
			return "", unavailable{providers.KindInvalid, why}
		}
	}
	from := s.source(id)
	if slices.ContainsFunc(from.keys, func(key string) bool { return strings.ContainsFunc(key, isControl) }) {
		return "", unavailable{providers.KindAuth, "the API key from " + from.name + " contains a line break or a control character; store it again"}
	}
	if source = from.name; source == "" {
		source = s.keys.ambientFor(info.API)
	}
	if source == "" {
		return "", unavailable{providers.KindAuth, s.howToAuthorize(info)}
	}
	return source, unavailable{}
}

// howToAuthorize returns what to do for a model without a key.
func (s *state) howToAuthorize(info *providers.ModelInfo) string {
	text := "no API key; run gjc login " + info.Provider + ", or set " + strings.Join(s.keyVariables(info.Provider), " or ")
	switch info.API {
	case "google-vertex", "anthropic-messages-vertex":
		return text + ", or sign in with gcloud auth application-default login"
	case "anthropic-messages-bedrock":
		return text + ", or give AWS credentials (AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)"
	}
	return text
}

// addressProblem describes what is wrong with the address of a provider for an API; empty if nothing is.
func (s *state) addressProblem(id, api string) string {
	p := s.providers[id]
	if p == nil {
		return ""
	}
	if p.addressUnknown && s.redirects[id] == nil {
		return "models.yml cannot be used and may set the address of " + id + "; fix the file first, so that nothing is sent to the wrong place"
	}
	url := s.address(p, id)
	if url == "" {
		if p.builtIn.NeedsURL {
			variable := variableOf(id, "_BASE_URL")
			if len(p.builtIn.BaseURLEnv) > 0 {
				variable = p.builtIn.BaseURLEnv[0]
			}
			return "no address; set baseUrl in models.yml, or " + variable
		}
		if p.builtIn.API != "" && s.redirects[id] == nil && typeOfAPI(api).name != typeOfAPI(p.builtIn.API).name {
			// The API's public address belongs to another company, which must not get the key.
			return "no address for the API " + api + "; set baseUrl of " + id + " in models.yml"
		}
		return ""
	}
	if why := invalidBaseURL(url); why != "" {
		return "the base URL " + why
	}
	return ""
}
