package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers/registry"
)

// Variable is the variable by which an engine learns of its gateway. It is hidden from the engine's own children.
const Variable = "GJC_GATEWAY"

// access is its value: what one engine needs.
type access struct {
	Socket    string            `json:"socket"`
	Key       string            `json:"key"`
	Addresses map[string]string `json:"addresses"`
}

// FromVariable returns the gateway of this process by the value of [Variable]; nil if it is empty. It does no I/O.
func FromVariable(value string) (*registry.Gateway, error) {
	if value == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	var a access
	if err := jsonx.Unmarshal([]byte(value), &a); err != nil || a.Socket == "" || a.Key == "" {
		return nil, errors.New(Variable + " is not what gjc serve sets it to; unset it")
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", a.Socket)
		},
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
	}
	clients := make(map[string]*http.Client)
	for name := range a.Addresses {
		clients[name] = &http.Client{Transport: &through{Transport: transport, provider: name}}
	}
	return &registry.Gateway{Addresses: a.Addresses, Key: a.Key, Client: func(provider string) *http.Client { return clients[provider] }}, nil
}

// through sends the requests of a provider to the gateway.
type through struct {
	*http.Transport // its connections, which all providers share
	provider        string
}

// RoundTrip implements [http.RoundTripper].
func (t *through) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	path := "/" + t.provider + req.URL.Path
	out.URL = &url.URL{Scheme: "http", Host: host, Path: path, RawPath: "/" + t.provider + req.URL.EscapedPath(), RawQuery: req.URL.RawQuery}
	out.Host = host
	return t.Transport.RoundTrip(out)
}
