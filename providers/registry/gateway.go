package registry

import (
	"net/http"
	"net/url"
	"strings"
)

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

// PublicAddress returns the API of a built-in provider and the address that it has for everyone. The address is empty if each customer has
// one; the API is empty for an unknown provider.
func PublicAddress(provider string) (api, address string) {
	p := builtIn().provider(provider)
	if p == nil {
		return "", ""
	}
	address = p.BaseURL
	switch {
	case address != "" || p.NeedsURL:
	case p.API == "google-generative-ai":
		address = "https://generativelanguage.googleapis.com/v1beta"
	default:
		address = typeOfAPI(p.API).baseURL
	}
	return p.API, address
}
