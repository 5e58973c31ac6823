package providers

import (
	"net"
	"net/http"
	"time"
)

// NewHTTPClient returns a client for model calls. One client should serve a whole process, so that connections are
// used again. It bounds how long connecting and the first byte take, and not how long an answer takes: a stream is
// watched by its stall timeout. Proxies are those of the environment.
func NewHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second,
		// A local model reads a long prompt before it says anything.
		ResponseHeaderTimeout: 10 * time.Minute,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		// A compressed stream arrives in lumps.
		DisableCompression: true,
	}}
}
