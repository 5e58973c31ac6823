package oauth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/gajae-code/gjc/internal/netaddr"
)

// client returns the client for requests to authorization servers. A server on the Internet must not make gjc send requests to this
// machine or its network, which it could name as its authorization server.
func (a *Account) client(ctx context.Context) (*http.Client, error) {
	base := a.all.opts.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	client := &http.Client{Timeout: requestTimeout, Transport: base}
	u, err := url.Parse(a.config.URL)
	if err != nil {
		return nil, errors.New("the address of the server is invalid")
	}
	t, ok := base.(*http.Transport)
	if !ok {
		return client, nil
	}
	own := t.Clone()
	own.DisableKeepAlives = true // there are few requests, at different times
	client.Transport = own
	if !isPrivate(ctx, u.Hostname()) {
		direct := own.Clone()
		dialer := &net.Dialer{Timeout: requestTimeout, ControlContext: netaddr.Control}
		direct.DialContext = dialer.DialContext
		client.Transport = &guarded{direct: direct, proxied: own}
	}
	return client, nil
}

// guarded makes requests without a proxy with direct. What a proxy may reach is its own decision.
type guarded struct{ direct, proxied *http.Transport }

func (g *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if g.proxied.Proxy != nil {
		if proxy, err := g.proxied.Proxy(req); err != nil {
			return nil, err
		} else if proxy != nil {
			return g.proxied.RoundTrip(req)
		}
	}
	resp, err := g.direct.RoundTrip(req)
	if errors.Is(err, netaddr.ErrPrivate) {
		err = errors.New("the server names " + req.URL.Host + " for the sign-in, which is an address of this machine or of a private network")
	}
	return resp, err
}

// isPrivate reports whether a host is on this machine or in a private network. Its authorization server may be there, too.
func isPrivate(ctx context.Context, host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return netaddr.Check(addr) != nil
	}
	if host == "localhost" {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addrs) == 0 {
		return false
	}
	for _, addr := range addrs {
		if netaddr.Check(addr) == nil {
			return false
		}
	}
	return true
}
