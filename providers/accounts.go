package providers

// Account is a credential that the registry knows of, without the secret.
type Account struct {
	// Label is for people, such as "Anthropic API key".
	Label    string
	Provider string
	// Source is where it comes from, as [Registry.CredentialSource] says.
	Source string
	// Active reports that requests use it. Another one of the same provider may come before it, or the provider may be
	// disabled.
	Active bool
}

// Accounts returns the credentials of all providers, in the order of the models; those of one provider in the order in
// which they count. It does no I/O beside loading.
func (r *Registry) Accounts() []Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	var list []Account
	for _, id := range r.providerIDsLocked() {
		active := !r.disabled[id]
		if to := r.routes[id]; to != nil && !to.ownKeys {
			if to.authorized() {
				list = append(list, Account{
					Label: displayName(id) + " credentials of the editor", Provider: id, Source: sourceEditor, Active: active,
				})
			}
			active = false
		}
		for _, source := range r.keysLocked(id) {
			list = append(list, Account{Label: displayName(id) + " API key", Provider: id, Source: source, Active: active})
			active = false
		}
	}
	return list
}

func displayName(provider string) string {
	switch provider {
	case "anthropic":
		return "Anthropic"
	case "openai":
		return "OpenAI"
	default:
		return provider
	}
}

// Logout takes all API keys out of auth.json. Entries of types not known here stay, because they belong to another
// program; keys from elsewhere stay too. It does not overwrite a file that it can not read, and makes none.
func (r *Registry) Logout() error {
	if r.opts.AgentDir == "" {
		return nil
	}
	return r.changeCredentials(func(f *credentialFile) error {
		for provider := range f.entries {
			if c, err := f.decode(provider); err == nil && c.Type == "api_key" {
				delete(f.entries, provider)
			}
		}
		return nil
	})
}
