package wire

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// An Endpoint takes the requests of one model. It is safe for concurrent use.
type Endpoint struct {
	cfg     *providers.Config
	client  *http.Client
	address string
	header  http.Header
}

// NewEndpoint returns the endpoint of the model that cfg opens, at the URL address. Header goes with every request and
// wins over what every request has, Accept alone excepted. Neither cfg nor header may be changed afterwards.
func NewEndpoint(cfg *providers.Config, address string, header http.Header) *Endpoint {
	return &Endpoint{cfg: cfg, client: guard(cfg.HTTPClient), address: address, header: header}
}

// Post sends body, which is JSON, and returns the stream of its response. Its errors are those of [Open].
func (e *Endpoint) Post(ctx context.Context, body []byte) (*Stream, error) {
	return Open(ctx, e.cfg, func(ctx context.Context, res **http.Response) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("User-Agent", "gjc")
		maps.Copy(req.Header, e.header)
		req.Header.Set("Accept", "text/event-stream")
		*res, err = e.client.Do(req) //nolint:bodyclose // Open and its Stream close it
		return err
	})
}

// guard returns client, or a new one, as a copy that follows no redirect to another origin: net/http would carry the
// conversation and the extra headers to whatever host the server names.
func guard(client *http.Client) *http.Client {
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
