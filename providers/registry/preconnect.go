package registry

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// preconnectTimeout bounds a connection that is made ahead.
const preconnectTimeout = 10 * time.Second

// Preconnect makes a connection to the server of a model ahead of the first request, which then need not wait for it. It
// asks for nothing, sends no key, and fails without a word: the first request will say what is wrong. It returns when the
// connection is there, or cannot be.
func (r *Registry) Preconnect(ctx context.Context, info providers.ModelInfo) {
	address, client := r.origin(info)
	if address == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, preconnectTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, http.NoBody)
	if err != nil {
		return
	}
	req.Header.Set("User-Agent", "gjc")
	// Not the model's client, which may follow redirects: what is wanted is the connection alone.
	once := *client
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if res, err := once.Do(req); err == nil {
		_, _ = io.CopyN(io.Discard, res.Body, 1<<10)
		_ = res.Body.Close()
	}
}

// origin returns the address of a model's server without a path, and the client that reaches it; "" for a model that cannot
// be used, for one without a network, and for a server on this machine, which is near enough.
func (r *Registry) origin(info providers.ModelInfo) (string, *http.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	info = r.routedLocked(info)
	if source, _ := r.availabilityLocked(&info); source == "" {
		return "", nil
	}
	u, err := url.Parse(r.baseURLLocked(info.Provider, typeOfAPI(info.API)))
	if err != nil || u.Scheme != "https" || loopback(u.String()) && !r.opts.PreconnectLoopback {
		return "", nil
	}
	client, err := r.clientLocked()
	if err != nil {
		return "", nil
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String(), client
}
