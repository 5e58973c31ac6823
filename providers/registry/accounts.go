package registry

import (
	"net/url"
	"slices"

	"github.com/gajae-code/gjc/providers"
)

// Accounts returns the credentials of all providers, in the order of the models; those of one provider in the order in
// which they count. It does no I/O beside loading.
func (r *Registry) Accounts() []providers.Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	var list []providers.Account
	for _, id := range r.providerIDsLocked() {
		active := !r.disabled[id]
		if to := r.routes[id]; to != nil && !to.ownKeys {
			if to.authorized() {
				list = append(list, providers.Account{
					Label: r.labelLocked(id) + " credentials of the editor", Provider: id, Source: sourceEditor, Active: active,
				})
			}
			active = false
		}
		for source := range r.keySourcesLocked(id) {
			list = append(list, providers.Account{Label: r.labelLocked(id) + " API key", Provider: id, Source: source.name, Active: active})
			active = false
		}
	}
	return list
}

// labelLocked is what people call a provider.
func (r *Registry) labelLocked(id string) string {
	if a := r.access[id]; a != nil && a.label != "" {
		return a.label
	}
	return id
}

// Logout takes all API keys out of auth.json and the keyring. Entries of types not known here stay, because they belong to another
// program; keys from elsewhere stay too. It does not overwrite a file that it can not read, and makes none.
func (r *Registry) Logout() error {
	if !r.keepsCredentials() {
		return nil
	}
	return r.changeCredentials(func(f *credentialFile) error {
		for provider := range f.entries {
			if c, err := f.decode(provider); err == nil && (c.Type == typeKey || c.Type == typeKeyring) {
				if err := r.removeEntry(f, provider); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// KeyProviders returns the providers that a key can be stored for: those of the catalogue and of models.yml that take one.
func (r *Registry) KeyProviders() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	var ids []string
	for _, id := range r.order {
		if a := r.access[id]; (!a.keyless || len(a.keyEnv) > 0) && (r.opts.Factories[a.api] != nil || !r.builtIn[id]) {
			ids = append(ids, id)
		}
	}
	return ids
}

// StoredKey returns the API key that auth.json holds under a name, which need not be a provider of models; empty for none.
func (r *Registry) StoredKey(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	if r.file == nil {
		return ""
	}
	c, err := r.file.decode(name)
	if keys := c.keys(); err == nil && len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// KeyVariables returns the environment variables that models.yml names for keys; those that it may name, while it has a
// mistake; and those of addresses that hold a key. Children should not see them.
func (r *Registry) KeyVariables() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	names := slices.Clone(r.config.suspects)
	for i := range r.config.providers {
		p := &r.config.providers[i]
		if p.apiKeyEnv != "" {
			names = append(names, p.apiKeyEnv)
		}
		if variableName(p.apiKey) {
			names = append(names, p.apiKey)
		}
	}
	for _, id := range r.order {
		for _, name := range append(slices.Clone(r.access[id].baseURLEnv), derivedName(id, "_BASE_URL")) {
			if u, err := url.Parse(r.opts.Getenv(name)); err != nil || u.User != nil {
				names = append(names, name) // there is a key in the address
			}
		}
	}
	return names
}
