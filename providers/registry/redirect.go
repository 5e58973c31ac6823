package registry

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/gajae-code/gjc/providers"
)

// A redirect replaces the address, the headers and possibly the API of a provider.
type redirect struct {
	// apiType is ACP's name for the API, and api the API for models whose own API has another type.
	apiType string
	api     string
	baseURL string
	headers map[string]string
	// ownKeys reports that the provider's keys may be sent to baseURL.
	ownKeys bool
}

// credentialHeaders are the headers that carry keys.
var credentialHeaders = []string{"authorization", "x-api-key", "api-key", "x-goog-api-key", "proxy-authorization"}

// authorized reports whether the headers contain credentials.
func (to *redirect) authorized() bool {
	for name := range to.headers {
		if slices.Contains(credentialHeaders, strings.ToLower(name)) {
			return true
		}
	}
	return false
}

// routed returns m with the API that requests use, and with the abilities and prices that apply there.
func (s *state) routed(m providers.ModelInfo) providers.ModelInfo {
	if to := s.redirects[m.Provider]; to != nil && typeOfAPI(m.API).name != to.apiType {
		m.API = to.api
	}
	m.StructuredOutput, m.ToolSearch = s.structured(&m), s.toolSearch(&m)
	return s.priced(m)
}

// priced corrects the price of writing to caches that last an hour: Anthropic charges twice the input price for those, and the
// built-in catalogue has the price for five minutes. Prices in models.yml take precedence.
func (s *state) priced(m providers.ModelInfo) providers.ModelInfo {
	p := s.providers[m.Provider]
	if m.API != "anthropic-messages" || p == nil {
		return m
	}
	address := ""
	if to := s.redirects[m.Provider]; to == nil {
		address = s.address(p, m.Provider)
	} else if address = to.baseURL; !to.ownKeys {
		return m // the requests set no retention
	}
	own := p.model(m.ID)
	if own.wholeCost() || cmp.Or(own.cacheRetention, s.retention(p)) != providers.CacheLong {
		return m
	}
	if u, err := url.Parse(address); err == nil && (u.Host == "" || u.Hostname() == "api.anthropic.com") {
		if !slices.Contains(own.costFields, "cacheWrite") {
			m.Cost.CacheWrite = 2 * m.Cost.Input
		}
		if !slices.Contains(own.costFields, "long") {
			m.Cost.Long.CacheWrite = 2 * m.Cost.Long.Input
		}
	}
	return m
}

// baseURL returns the address of a provider's requests over an API.
func (s *state) baseURL(id string, t apiType) string {
	if to := s.redirects[id]; to != nil {
		return to.baseURL
	}
	if p := s.providers[id]; p != nil {
		if address := s.address(p, id); address != "" {
			return address
		}
	}
	return t.baseURL
}

// withoutSecrets returns a URL without user, password, query and fragment.
func withoutSecrets(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Providers returns the providers that have models, in the order of the models. It includes disabled providers.
func (r *Router) Providers() []providers.ProviderState {
	s := r.state()
	var list []providers.ProviderState
	for i := range s.models {
		m := &s.models[i]
		if slices.ContainsFunc(list, func(p providers.ProviderState) bool { return p.ID == m.Provider }) {
			continue
		}
		p := providers.ProviderState{ID: m.Provider, Required: r.opts.requires(m.Provider), Supported: r.opts.apiTypesOf(m.Provider)}
		if !s.disabled[m.Provider] {
			t := typeOfAPI(s.routed(*m).API)
			p.Current = &providers.ProviderRoute{APIType: t.name, BaseURL: withoutSecrets(s.baseURL(m.Provider, t))}
		}
		list = append(list, p)
	}
	return list
}

// requires reports whether a provider cannot be disabled or redirected.
func (o *Options) requires(id string) bool { return o.Fallback.ID != "" && id == o.Fallback.Provider }

// apiTypesOf returns the API types that a provider can be redirected to.
func (o *Options) apiTypesOf(id string) []string {
	names := []string{}
	if o.requires(id) {
		return names
	}
	for _, t := range apiTypes {
		if o.Factories[t.api] != nil && !slices.Contains(names, t.name) {
			names = append(names, t.name)
		}
	}
	return names
}

// apiOf returns the API of type name that has a factory.
func (o *Options) apiOf(name string) string {
	for _, t := range apiTypes {
		if t.name == name && o.Factories[t.api] != nil {
			return t.api
		}
	}
	return ""
}

// SetProvider redirects the requests of a provider to baseURL for the lifetime of the process: with the API that apiType names in
// ACP's terms, and with these headers and no others. It also enables a disabled provider. Models that are open keep their route;
// [Router.Open] returns new ones.
//
// The headers may contain credentials; then no key is needed. The provider's own keys are sent only if baseURL has the origin that
// its requests had before, and if the headers contain no credentials. In that case what models.yml says of the server still
// holds. The errors are [providers.ErrUnknownProvider], [providers.ErrUnsupportedAPI] and [providers.ErrInvalidProvider].
func (r *Router) SetProvider(id, apiType, baseURL string, headers map[string]string) error {
	if err := checkRedirect(baseURL, headers); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stateLocked()
	first := slices.IndexFunc(s.models, func(m providers.ModelInfo) bool { return m.Provider == id })
	if first < 0 {
		return fmt.Errorf("%w %.80q; the providers are: %s", providers.ErrUnknownProvider, id, strings.Join(s.modelProviders(), ", "))
	}
	if supported := r.opts.apiTypesOf(id); !slices.Contains(supported, apiType) {
		return fmt.Errorf("%w %.80q for %s; it supports: %s", providers.ErrUnsupportedAPI, apiType, id, strings.Join(supported, ", "))
	}
	to := &redirect{apiType: apiType, api: r.opts.apiOf(apiType), baseURL: baseURL, headers: maps.Clone(headers)}
	configured := typeOfAPI(s.models[first].API).baseURL
	if p := s.providers[id]; p != nil {
		configured = cmp.Or(s.address(p, id), configured)
	}
	to.ownKeys = !to.authorized() && sameOrigin(configured, baseURL)
	r.changeLocked(id, to, false)
	return nil
}

// DisableProvider removes a provider's models from all lists until [Router.SetProvider] is called or the process ends. Disabling an
// unknown provider is not an error. The provider of the fallback cannot be disabled; the error is [providers.ErrRequiredProvider].
func (r *Router) DisableProvider(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stateLocked()
	if r.opts.requires(id) {
		return fmt.Errorf("%s: %w", id, providers.ErrRequiredProvider)
	}
	if s.providers[id] != nil { // also without models: they may be discovered later
		r.changeLocked(id, nil, true)
	}
	return nil
}

// changeLocked sets the redirect of a provider, or removes it if to is nil. It enables or disables the provider and drops its
// cached models.
func (r *Router) changeLocked(id string, to *redirect, disabled bool) {
	redirects, off := maps.Clone(r.redirects), maps.Clone(r.disabled)
	if redirects == nil {
		redirects, off = map[string]*redirect{}, map[string]bool{}
	}
	delete(redirects, id)
	if to != nil {
		redirects[id] = to
	}
	delete(off, id)
	if disabled {
		off[id] = true
	}
	r.redirects, r.disabled = redirects, off
	maps.DeleteFunc(r.opened, func(_ string, m providers.Model) bool { return m.Info().Provider == id })
}

// checkRedirect returns an [providers.ErrInvalidProvider] for an address or a header that cannot be used.
func checkRedirect(baseURL string, headers map[string]string) error {
	u := httpURL(baseURL)
	if u == nil {
		return fmt.Errorf("%w: the base URL must be a URL with http or https", providers.ErrInvalidProvider)
	}
	if u.User != nil {
		return fmt.Errorf("%w: the base URL must not contain a user or a password; send credentials in the headers", providers.ErrInvalidProvider)
	}
	names := map[string]bool{}
	for name, value := range headers {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("%w: %.80q is not a valid header name", providers.ErrInvalidProvider, name)
		}
		if name = http.CanonicalHeaderKey(name); names[name] {
			return fmt.Errorf("%w: the header %.80s is given twice; header names ignore case", providers.ErrInvalidProvider, name)
		}
		names[name] = true
		if strings.ContainsFunc(value, isControl) {
			return fmt.Errorf("%w: the value of the header %s contains a control character", providers.ErrInvalidProvider, name)
		}
	}
	return nil
}

func sameOrigin(a, b string) bool {
	u, errA := url.Parse(a)
	v, errB := url.Parse(b)
	return errA == nil && errB == nil && u.Host != "" && providers.SameOrigin(u, v)
}
