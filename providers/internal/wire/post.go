package wire

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// Client returns the HTTP client of cfg, or a new one, as a copy that follows no redirect to another origin: net/http
// would carry the conversation and the extra headers to whatever host the server names.
func Client(cfg *providers.Config) *http.Client {
	client := cfg.HTTPClient
	if client == nil {
		client = providers.NewHTTPClient()
	}
	guarded := *client
	guarded.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		// A redirect that makes a GET of the POST loses the body, and the answer to it helps nobody.
		if len(via) >= 10 || req.Method != via[0].Method || !sameOrigin(req.URL, via[0].URL) {
			return &redirectError{to: (&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: req.URL.Path}).String()}
		}
		if client.CheckRedirect != nil {
			return client.CheckRedirect(req, via)
		}
		return nil
	}
	return &guarded
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

// redirectError is the error of a redirect that is not followed.
type redirectError struct{ to string }

func (e *redirectError) Error() string {
	return "the server sends requests on to " + e.to + ", and gjc does not follow; if you trust that address, change the base URL"
}

// Post returns what [Open] needs to send body, which is JSON, to address. Header is not changed; it wins over what
// every request has, Accept alone excepted.
func Post(client *http.Client, address string, header http.Header, body []byte) func(context.Context, **http.Response) error {
	return func(ctx context.Context, res **http.Response) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("User-Agent", "gjc")
		for name, values := range header {
			req.Header[name] = values
		}
		req.Header.Set("Accept", "text/event-stream")
		*res, err = client.Do(req)
		return err
	}
}
