package registry

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// An apiType is an API in the words of ACP.
type apiType struct {
	word, api string
	// baseURL is the API's public address; empty where each customer has one.
	baseURL string
}

// apiTypes are the known ones. Of two APIs with the same word the first that the registry speaks serves.
var apiTypes = [...]apiType{
	{"anthropic", "anthropic-messages", "https://api.anthropic.com"},
	// More servers speak this one of the two. A model that has the other one keeps it.
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
	return apiType{word: "_" + api, api: api}
}

// route is what a client has put in the place of a provider's access.
type route struct {
	// word is the API's name in ACP, and api the one that models of another API are reached by.
	word    string
	api     string
	baseURL string
	headers map[string]string
	// ownKeys reports that the keys that the registry has for the provider may go there.
	ownKeys bool
}

// credentialHeaders are those that carry a key.
var credentialHeaders = []string{"authorization", "x-api-key", "api-key", "x-goog-api-key", "proxy-authorization"}

func (to *route) authorized() bool {
	for name := range to.headers {
		if slices.Contains(credentialHeaders, strings.ToLower(name)) {
			return true
		}
	}
	return false
}

// routedLocked returns m with the API that its provider is reached by, and what its caches cost there.
func (r *Registry) routedLocked(m providers.ModelInfo) providers.ModelInfo {
	if to := r.routes[m.Provider]; to != nil && typeOfAPI(m.API).word != to.word {
		m.API = to.api
	}
	return r.pricedLocked(m)
}

// Providers returns the providers that have models, in the order of the models, the disabled ones too.
func (r *Registry) Providers() []providers.ProviderState {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	var list []providers.ProviderState
	for i := range r.models {
		m := &r.models[i]
		if slices.ContainsFunc(list, func(p providers.ProviderState) bool { return p.ID == m.Provider }) {
			continue
		}
		p := providers.ProviderState{ID: m.Provider, Required: r.requiredLocked(m.Provider), Supported: r.supportedLocked(m.Provider)}
		if !r.disabled[m.Provider] {
			t := typeOfAPI(r.routedLocked(*m).API)
			p.Current = &providers.ProviderRoute{APIType: t.word, BaseURL: shownURL(r.baseURLLocked(m.Provider, t))}
		}
		list = append(list, p)
	}
	return list
}

func (r *Registry) requiredLocked(id string) bool {
	return r.opts.Fallback.ID != "" && id == r.opts.Fallback.Provider
}

func (r *Registry) supportedLocked(id string) []string {
	words := []string{}
	if r.requiredLocked(id) {
		return words
	}
	for _, t := range apiTypes {
		if r.opts.Factories[t.api] != nil && !slices.Contains(words, t.word) {
			words = append(words, t.word)
		}
	}
	return words
}

func (r *Registry) baseURLLocked(id string, t apiType) string {
	if to := r.routes[id]; to != nil {
		return to.baseURL
	}
	if a := r.access[id]; a != nil {
		if url := r.addressLocked(a, id); url != "" {
			return url
		}
	}
	return t.baseURL
}

// shownURL takes out of a URL what may be secret.
func shownURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// SetProvider sends all requests of a provider to baseURL from now on, in the API that apiType names in the words of
// ACP, with these headers and no others, and enables the provider if it was disabled. It holds for this process and
// is written nowhere. Models that were opened before keep going where they went; [Registry.Open] gives new ones.
//
// The headers may carry the credentials: no key is needed then. Keys that the registry knows are sent only where the
// provider's requests went anyhow, and not if the headers bring credentials. With them holds what models.yml says of the
// server: how the key goes, what models are called there, how long it caches, and where it differs from its API. Errors: [ErrUnknownProvider],
// [ErrUnsupportedAPI], [ErrInvalidProvider].
func (r *Registry) SetProvider(id, apiType, baseURL string, headers map[string]string) error {
	if err := checkRoute(baseURL, headers); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	first := slices.IndexFunc(r.models, func(m providers.ModelInfo) bool { return m.Provider == id })
	if first < 0 {
		return fmt.Errorf("%w %.80q; there are: %s", providers.ErrUnknownProvider, id, strings.Join(r.providerIDsLocked(), ", "))
	}
	if supported := r.supportedLocked(id); !slices.Contains(supported, apiType) {
		return fmt.Errorf("%w %.80q for %s; it takes: %s", providers.ErrUnsupportedAPI, apiType, id, strings.Join(supported, ", "))
	}
	to := &route{word: apiType, api: r.apiOf(apiType), baseURL: baseURL, headers: maps.Clone(headers)}
	configured := typeOfAPI(r.models[first].API).baseURL
	if a := r.access[id]; a != nil {
		configured = cmp.Or(r.addressLocked(a, id), configured)
	}
	to.ownKeys = !to.authorized() && sameOrigin(configured, baseURL)
	r.routes[id] = to
	delete(r.disabled, id)
	r.forgetLocked(id)
	return nil
}

func (r *Registry) providerIDsLocked() []string {
	var ids []string
	for i := range r.models {
		if id := r.models[i].Provider; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// apiOf returns the API that a word of ACP stands for here.
func (r *Registry) apiOf(word string) string {
	for _, t := range apiTypes {
		if t.word == word && r.opts.Factories[t.api] != nil {
			return t.api
		}
	}
	return ""
}

func checkRoute(baseURL string, headers map[string]string) error {
	u, err := url.Parse(baseURL)
	if err != nil || !httpURL(baseURL) {
		return fmt.Errorf("%w: the base URL must be a URL with http or https", providers.ErrInvalidProvider)
	}
	if u.User != nil {
		return fmt.Errorf("%w: the base URL must not hold a user or a password; put credentials into the headers", providers.ErrInvalidProvider)
	}
	names := map[string]bool{}
	for name, value := range headers {
		if !token(name) {
			return fmt.Errorf("%w: %.80q is no name of a header", providers.ErrInvalidProvider, name)
		}
		if name = http.CanonicalHeaderKey(name); names[name] {
			return fmt.Errorf("%w: the header %.80s is given twice: capital and small letters are the same in its name", providers.ErrInvalidProvider, name)
		}
		names[name] = true
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("%w: the value of the header %s holds a control character", providers.ErrInvalidProvider, name)
		}
	}
	return nil
}

// token reports whether s can be the name of a header (RFC 9110).
func token(s string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

func sameOrigin(a, b string) bool {
	u, errA := url.Parse(a)
	v, errB := url.Parse(b)
	return errA == nil && errB == nil && u.Host != "" && strings.EqualFold(u.Scheme, v.Scheme) &&
		strings.EqualFold(u.Hostname(), v.Hostname()) && port(u) == port(v)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

// DisableProvider takes a provider away: its models are no longer listed, found or opened, until
// [Registry.SetProvider]. It holds for this process and is written nowhere. An unknown id is fine; the fallback's is
// an [ErrRequiredProvider].
func (r *Registry) DisableProvider(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	if r.requiredLocked(id) {
		return fmt.Errorf("%s: %w", id, providers.ErrRequiredProvider)
	}
	if r.access[id] == nil {
		return nil // and a provider without models may yet tell some
	}
	r.disabled[id] = true
	delete(r.routes, id)
	r.forgetLocked(id)
	return nil
}

// forgetLocked lets the models of a provider be opened anew.
func (r *Registry) forgetLocked(id string) {
	maps.DeleteFunc(r.opened, func(_ string, m providers.Model) bool { return m.Info().Provider == id })
}
