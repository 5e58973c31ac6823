package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// unavailable is why a model cannot be used.
type unavailable struct {
	kind providers.ErrorKind
	text string
}

// Availability says where the credentials for a model come from, as [Registry.CredentialSource] does, or, with an empty
// source, why the model cannot be used and what to do about it.
func (r *Registry) Availability(info providers.ModelInfo) (source, problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	source, why := r.availabilityLocked(&info)
	return source, why.text
}

func (r *Registry) availabilityLocked(info *providers.ModelInfo) (source string, why unavailable) {
	id := info.Provider
	switch {
	case r.disabled[id]:
		return "", unavailable{providers.KindModel, "the provider is disabled; choose another model"}
	case r.opts.Factories[info.API] == nil:
		return "", unavailable{providers.KindModel, fmt.Sprintf("this build does not speak the API %q", info.API)}
	}
	if r.access[id] == nil {
		// A session may still have the model of a provider that models.yml has no more, or not as long as it has a mistake.
		return "", unavailable{providers.KindModel, "there is no provider " + id + " now; see whether models.yml has a mistake, or choose another model"}
	}
	if to := r.routes[id]; to == nil || to.ownKeys {
		if why := r.addressProblem(id, info.API); why != "" {
			return "", unavailable{providers.KindInvalid, why}
		}
	}
	from := r.sourceLocked(id)
	if slices.ContainsFunc(from.keys, func(key string) bool { return strings.ContainsFunc(key, control) }) {
		return "", unavailable{providers.KindAuth, "the API key from " + from.name + " holds a line break or a control character; store it again"}
	}
	if source = from.name; source == "" {
		source = r.ambientLocked(info.API)
	}
	if source == "" {
		return "", unavailable{providers.KindAuth, r.keyless(info)}
	}
	return source, unavailable{}
}

// keyless says what to do for a model that there is no key for.
func (r *Registry) keyless(info *providers.ModelInfo) string {
	text := "no API key; run gjc login " + info.Provider + ", or set " + strings.Join(r.variablesLocked(info.Provider), " or ")
	switch info.API {
	case "google-vertex", "anthropic-messages-vertex":
		return text + ", or sign in with gcloud auth application-default login"
	case "anthropic-messages-bedrock":
		return text + ", or give AWS credentials (AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)"
	}
	return text
}

// ambientLocked is what the surroundings have for an API. They are looked at once for each load: it takes reading files.
func (r *Registry) ambientLocked(api string) string {
	look := r.opts.Ambient[api]
	if look == nil {
		return ""
	}
	found, looked := r.ambient[api]
	if !looked {
		found = look()
		r.ambient[api] = found
	}
	return found
}

// addressProblem says what is wrong with the address of a provider for an API, if anything.
func (r *Registry) addressProblem(id, api string) string {
	a := r.access[id]
	if a == nil {
		return ""
	}
	if a.unsure && r.routes[id] == nil {
		return "models.yml cannot be used and may have an address of " + id + "; put it right first, so that nothing goes to the wrong place"
	}
	url := r.addressLocked(a, id)
	if url == "" {
		if a.needsURL {
			return "there is no address; set baseUrl in models.yml, or " + strings.Join(append(a.baseURLEnv, derivedName(id, "_BASE_URL"))[:1], " or ")
		}
		if a.ownAPI != "" && r.routes[id] == nil && typeOfAPI(api).word != typeOfAPI(a.ownAPI).word {
			// The API's public address is another company's, which must not get the key.
			return "there is no address for the API " + api + "; set baseUrl of " + id + " in models.yml"
		}
		return ""
	}
	if why := badBaseURL(url); why != "" {
		return "the base URL " + why
	}
	return ""
}
