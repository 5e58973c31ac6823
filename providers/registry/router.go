package registry

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/quota"
)

// A Router finds models by name or role, opens them, and redirects or disables providers for the lifetime of the process. It is
// safe for concurrent use.
type Router struct {
	opts      *Options
	catalogue *Catalogue
	keys      *Keys
	quotas    *quota.Book

	// mu guards the fields below. Methods of catalogue and keys may be called while it is held.
	mu sync.Mutex
	// redirects holds the redirects of [Router.SetProvider], and disabled the providers of [Router.DisableProvider]. Both maps are
	// replaced and never modified.
	redirects map[string]*redirect
	disabled  map[string]bool
	// opened caches the models that were opened from openedFrom, by reference.
	opened     map[string]providers.Model
	openedFrom configuration
	// client serves all models; it was made from clientOptions.
	client        *http.Client
	clientOptions providers.HTTPOptions
}

// A configuration identifies the inputs from which a model was opened.
type configuration struct {
	listing     *listing
	keysVersion int
}

// state is a snapshot of the catalogue, the keys and the router. It is immutable.
type state struct {
	*listing

	stored    storedKeys
	keys      *Keys // for the ambient credentials
	redirects map[string]*redirect
	disabled  map[string]bool
}

// state returns the current state. It reads the files if necessary.
func (r *Router) state() *state {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stateLocked()
}

func (r *Router) stateLocked() *state {
	return &state{
		stored: r.keys.current(), listing: r.catalogue.listing(), keys: r.keys, redirects: r.redirects, disabled: r.disabled,
	}
}

// enabledModels returns the models of the providers that are not disabled, with the API and prices that apply to requests.
func (s *state) enabledModels() []providers.ModelInfo {
	models := make([]providers.ModelInfo, 0, len(s.models))
	for i := range s.models {
		if m := s.models[i]; !s.disabled[m.Provider] {
			models = append(models, s.routed(m))
		}
	}
	return models
}

// usableModels returns the enabled models that can be used, and that the settings list for sessions in dir.
func (s *state) usableModels(dir string) []providers.ModelInfo {
	// Availability depends on provider and API only, and the models of a provider are adjacent.
	var provider, api, source string
	usable := slices.DeleteFunc(s.enabledModels(), func(m providers.ModelInfo) bool {
		if m.Provider != provider || m.API != api {
			provider, api = m.Provider, m.API
			source, _ = s.availability(&m)
		}
		return source == ""
	})
	return s.settings.enabled(usable, dir, s.opts.Fallback.Provider)
}

// All returns every model, usable or not: the built-in ones, those of models.yml, the discovered ones, and the fallback.
func (r *Router) All() []providers.ModelInfo { return r.state().enabledModels() }

// Models is like [Router.ModelsIn], but for no particular directory.
func (r *Router) Models() []providers.ModelInfo { return r.ModelsIn("") }

// ModelsIn returns the models that sessions in dir can use, in the order of [Router.All]: those whose provider has a key or needs
// none, and that the settings list for dir.
func (r *Router) ModelsIn(dir string) []providers.ModelInfo { return r.state().usableModels(dir) }

// Default is like [Router.DefaultIn], but for no particular directory.
func (r *Router) Default() (providers.ModelInfo, bool) { return r.DefaultIn("") }

// DefaultIn returns the default model for sessions in dir: the model of the role default if it can be used there, else the first of
// [Router.ModelsIn]. It reports false if there is none.
func (r *Router) DefaultIn(dir string) (providers.ModelInfo, bool) {
	s := r.state()
	if info, _, err := s.role(RoleDefault); err == nil && !s.settings.disablesIn(info.Provider, dir) {
		return info, true
	}
	usable := s.usableModels(dir)
	for _, m := range usable {
		if s.dependable(m.Provider) {
			return m, true
		}
	}
	if len(usable) == 0 {
		return providers.ModelInfo{}, false
	}
	return usable[0], true
}

// clientLocked returns the HTTP client of all models.
func (r *Router) clientLocked(s *state) (*http.Client, error) {
	if r.client != nil && !reflect.DeepEqual(r.clientOptions, s.settings.HTTP) {
		r.client.CloseIdleConnections()
		r.client = nil
	}
	if r.client != nil {
		return r.client, nil
	}
	r.clientOptions = s.settings.HTTP
	if r.opts.HTTPClient != nil {
		r.client = r.opts.HTTPClient
		return r.client, nil
	}
	client, err := s.settings.HTTP.Client()
	r.client = client
	return client, err
}

// Quotas returns what the account of a provider that was used last has used of its limits, as far as the provider has reported it.
func (r *Router) Quotas(provider string) []providers.Quota { return r.quotas.Quotas(provider) }

// QuotaWarnings returns the limits of a provider's account of which the user must be warned, each once for 80 % and for 95 % of it.
func (r *Router) QuotaWarnings(provider string) []providers.Quota { return r.quotas.Warnings(provider) }

// quotaTimeout bounds [Router.RefreshQuotas].
const quotaTimeout = 5 * time.Second

// RefreshQuotas asks a provider for the limits of its account, if it reports them at an address of its own and not with each response:
// OpenRouter does. It takes at most five seconds.
func (r *Router) RefreshQuotas(ctx context.Context, provider string) error {
	base, keys, client, err := r.quotaServer(provider)
	if err != nil || len(keys) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, quotaTimeout, fmt.Errorf("%s did not answer within %v", provider, quotaTimeout))
	defer cancel()
	found, err := quota.OpenRouter(ctx, client, base, keys[0])
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	r.quotas.Put(provider, quota.Account(keys[0]), found)
	return nil
}

// quotaServer returns the address of a provider that reports limits at an address of its own, and the keys for it; none for others.
func (r *Router) quotaServer(provider string) (base string, keys []string, client *http.Client, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stateLocked()
	if to := s.redirects[provider]; s.disabled[provider] || to != nil && !to.ownKeys {
		return "", nil, nil, nil
	}
	base = strings.TrimRight(s.baseURL(provider, typeOfAPI("openai-completions")), "/")
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" || u.Hostname() != quota.OpenRouterHost {
		return "", nil, nil, nil //nolint:nilerr // the requests of models report a bad address
	}
	source := s.source(provider)
	if source.gateway { // the account is the operator's
		return "", nil, nil, nil
	}
	client, err = r.clientLocked(s)
	return base, source.keys, client, err
}

// Close closes idle connections. The router can still be used.
func (r *Router) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		r.client.CloseIdleConnections()
	}
	if g := r.opts.Gateway; g != nil {
		for id := range g.Addresses {
			g.Client(id).CloseIdleConnections()
		}
	}
}
