package registry

import (
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// A keySource is a place that holds keys for a provider.
type keySource struct {
	// name is for display; empty if there is no source.
	name string
	// keys are the available keys. They are empty for a source that needs none, and for the keyring before it was asked.
	keys []string
	// keyring reports that the keys are in the system's keyring, and asked that it has returned them.
	keyring, asked bool
	// gateway reports that the key is good only at the gateway.
	gateway bool
}

// The names of sources without a place.
const (
	sourceEditor  = "editor"
	sourceNone    = "none needed"
	sourceKeyring = "keyring"
	sourceGateway = "the server's operator"
)

// inKeyring reports whether the keyring holds the keys of a provider.
func (k *storedKeys) inKeyring(provider string) bool {
	if k.file == nil {
		return false
	}
	c, err := k.file.decode(provider)
	return err == nil && c.Type == typeKeyring
}

// source returns the source of the stored keys of a provider, with false if there is none.
func (k *storedKeys) source(provider string) (keySource, bool) {
	if k.file == nil {
		return keySource{}, false
	}
	c, err := k.file.decode(provider)
	if err != nil {
		return keySource{}, false
	}
	if c.Type == typeKeyring {
		keys, asked := k.keyring[provider]
		return keySource{name: sourceKeyring, keys: keys, keyring: true, asked: asked}, true
	}
	keys := c.keys()
	name := "auth.json"
	if len(keys) > 1 {
		name = fmt.Sprintf("auth.json (%d keys)", len(keys))
	}
	return keySource{name: name, keys: keys}, len(keys) > 0
}

// keyProvider returns the provider of the key of the command line.
func (o *Options) keyProvider() string {
	switch {
	case o.APIKeyProvider != "":
		return o.APIKeyProvider
	case strings.HasPrefix(o.APIKey, "sk-ant-"):
		return "anthropic"
	case strings.HasPrefix(o.APIKey, "AIza"):
		return "google"
	}
	return "openai"
}

// keySources yields the sources of keys for a provider in order of precedence: the command line, auth.json or the keyring, the
// environment, models.yml, the gateway.
func (s *state) keySources(id string) iter.Seq[keySource] {
	return func(yield func(keySource) bool) {
		one := func(name, key string) bool {
			key = strings.TrimSpace(key)
			return key == "" || yield(keySource{name: name, keys: []string{key}})
		}
		if id == s.opts.keyProvider() && !one("--api-key", s.opts.APIKey) {
			return
		}
		if source, ok := s.stored.source(id); ok && !yield(source) {
			return
		}
		p := s.providers[id]
		if p == nil {
			return
		}
		for _, name := range p.keyEnv {
			if !one("environment "+name, s.opts.Getenv(name)) {
				return
			}
		}
		if one("models.yml", p.key) && s.throughGateway(id) {
			yield(keySource{name: sourceGateway, keys: []string{s.opts.Gateway.Key}, gateway: true})
		}
	}
}

// source returns the source of the keys that requests to a provider use.
func (s *state) source(id string) keySource {
	if to := s.redirects[id]; to != nil && !to.ownKeys {
		if to.authorized() {
			return keySource{name: sourceEditor}
		}
		return keySource{name: sourceNone}
	}
	for source := range s.keySources(id) {
		return source
	}
	if p := s.providers[id]; p != nil && p.keyless {
		return keySource{name: sourceNone}
	}
	return keySource{}
}

// CredentialSource returns the source of a provider's key, for people: "--api-key", "auth.json", "keyring", "environment NAME",
// "models.yml", "the server's operator", "editor" for credentials of [Router.SetProvider], or "none needed". It is empty if there is no key.
func (r *Router) CredentialSource(provider string) string { return r.state().source(provider).name }

// Accounts returns the credentials of all providers, in the order of the models and, for one provider, in order of precedence.
func (r *Router) Accounts() []providers.Account {
	s := r.state()
	var list []providers.Account
	for _, id := range s.modelProviders() {
		active := !s.disabled[id]
		if to := s.redirects[id]; to != nil && !to.ownKeys {
			if to.authorized() {
				list = append(list, providers.Account{
					Label: s.label(id) + " credentials of the editor", Provider: id, Source: sourceEditor, Active: active,
				})
			}
			active = false
		}
		for source := range s.keySources(id) {
			list = append(list, providers.Account{Label: s.label(id) + " API key", Provider: id, Source: source.name, Active: active})
			active = false
		}
	}
	return list
}

// A Gateway is a server with keys of its operator, which no program on this side can read: it replaces the key of requests. It offers a
// provider if the user has no key for it, and the provider has the address that the gateway knows.
type Gateway struct {
	// Addresses holds the base URLs of the providers that the gateway has keys for.
	Addresses map[string]string
	// Key is the key that the gateway replaces.
	Key string
	// Client returns the client that sends the requests of a provider through the gateway. They have the provider's own address. The
	// registry closes its idle connections.
	Client func(provider string) *http.Client
}

// gatewayAddress returns the address at which the gateway reaches a provider; empty for none.
func (o *Options) gatewayAddress(id string) string {
	if o.Gateway == nil {
		return ""
	}
	return o.Gateway.Addresses[id]
}

// throughGateway reports whether requests to a provider may use a key of the gateway: they must be meant for the same address.
func (l *listing) throughGateway(id string) bool {
	p, known := l.providers[id], l.opts.gatewayAddress(id)
	return p != nil && known != "" && sameBase(l.address(p, id), known)
}

// sameBase reports whether two base URLs are the same, whatever their queries.
func sameBase(a, b string) bool {
	u, err := url.Parse(a)
	v, err2 := url.Parse(b)
	return err == nil && err2 == nil && sameOrigin(a, b) && strings.TrimRight(u.EscapedPath(), "/") == strings.TrimRight(v.EscapedPath(), "/")
}

// clientFor returns the client of a provider whose keys are those of source.
func (r *Router) clientFor(id string, source *keySource, client *http.Client) *http.Client {
	if source.gateway {
		return r.opts.Gateway.Client(id)
	}
	return client
}
