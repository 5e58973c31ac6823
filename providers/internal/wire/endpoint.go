package wire

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// An Endpoint takes the requests of one model. It is safe for concurrent use.
type Endpoint struct {
	cfg     *providers.Config
	client  *http.Client
	address string
	header  http.Header
	sign    func(req *http.Request, body []byte) error
}

// NewEndpoint returns the endpoint of the model that cfg opens, at the URL address. Header goes with every request and
// wins over what every request has, Accept alone excepted; the transform of cfg comes behind it. Neither cfg nor header
// may be changed afterwards.
func NewEndpoint(cfg *providers.Config, address string, header http.Header) *Endpoint {
	return &Endpoint{cfg: cfg, client: Guard(cfg.HTTPClient), address: address, header: header}
}

// Sign returns a copy of e that has every request signed before it is sent: sign may change its header.
func (e *Endpoint) Sign(sign func(req *http.Request, body []byte) error) *Endpoint {
	signed := *e
	signed.sign = sign
	return &signed
}

// Post sends body, which is JSON, and returns the stream of its response. Its errors are those of [Open]: a signer's
// [*providers.Error] keeps its kind and is given the model, any other error of it counts as one of the network.
func (e *Endpoint) Post(ctx context.Context, body []byte) (*Stream, error) {
	cfg := *e.cfg // that of this request
	return Open(ctx, &cfg, func(ctx context.Context, res **http.Response) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("User-Agent", "gjc")
		maps.Copy(req.Header, e.header)
		req.Header.Set("Accept", "text/event-stream")
		TransformHeader(e.cfg, req.Header)
		if e.sign != nil {
			if err := e.sign(req, body); err != nil {
				return err
			}
			cfg.Headers = signed(cfg.Headers, req.Header)
		}
		*res, err = e.client.Do(req) //nolint:bodyclose // Open and its Stream close it
		return err
	})
}

// Ask returns the events of one request: encode makes its body when the iteration begins, and read yields what comes of the
// stream, which is closed behind it.
func (e *Endpoint) Ask(
	ctx context.Context, encode func() ([]byte, error), read func(s *Stream, yield func(providers.Event, error) bool),
) iter.Seq2[providers.Event, error] {
	return func(yield func(providers.Event, error) bool) {
		body, err := encode()
		if err != nil {
			yield(nil, Errorf(e.cfg, providers.KindInvalid, "encoding the request: %v", err))
			return
		}
		s, err := e.Post(ctx, body)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		read(s, yield)
	}
}

// signed adds to headers what a signer has put into the header, so that no error repeats it.
func signed(headers map[string]string, header http.Header) map[string]string {
	all := maps.Clone(headers)
	if all == nil {
		all = make(map[string]string)
	}
	for _, name := range []string{"Authorization", "X-Amz-Security-Token"} {
		if value := header.Get(name); value != "" {
			all[name] = value
		}
	}
	return all
}

// TransformHeader does to a request's header what the transform of cfg says.
func TransformHeader(cfg *providers.Config, header http.Header) {
	for _, name := range cfg.Transform.StripHeaders {
		prefix, wild := strings.CutSuffix(http.CanonicalHeaderKey(name), "*")
		if !wild {
			header.Del(name)
			continue
		}
		maps.DeleteFunc(header, func(key string, _ []string) bool {
			return len(key) >= len(prefix) && strings.EqualFold(key[:len(prefix)], prefix)
		})
	}
	for name, value := range cfg.Transform.SetHeaders {
		if value == nil {
			header.Del(name)
		} else {
			header.Set(name, *value)
		}
	}
}

// ExtraBody puts the extra members of cfg into body, which is a JSON object, in the order of their names. A member that
// body has is replaced, unless [providers.ProtectedBody] lists it.
func ExtraBody(cfg *providers.Config, body []byte) []byte {
	extra := maps.Clone(cfg.Compat.ExtraBody)
	if extra == nil {
		extra = make(map[string]jsonx.Raw)
	}
	maps.Copy(extra, cfg.Transform.ExtraBody)
	for _, name := range providers.ProtectedBody() {
		delete(extra, name)
	}
	if len(extra) == 0 {
		return body
	}
	out := append(make([]byte, 0, len(body)+256), '{')
	add := func(name string, value jsonx.Raw) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonx.AppendString(out, name), ':'), value...)
	}
	for name, value := range jsonx.Members(body) {
		if other, replaced := extra[name]; replaced {
			value = other
		}
		add(name, value)
		delete(extra, name)
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		add(name, extra[name])
	}
	return append(out, '}')
}

// Guard returns client, or a new one, as a copy that follows no redirect to another origin: net/http would carry the
// conversation and the extra headers to whatever host the server names.
func Guard(client *http.Client) *http.Client {
	if client == nil {
		client = providers.NewHTTPClient()
	}
	guarded := *client
	guarded.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		// A redirect that makes a GET of the POST loses the body, and the answer to it helps nobody.
		if len(via) >= 10 || req.Method != via[0].Method || !sameOrigin(req.URL, via[0].URL) {
			return &redirectError{to: shorten((&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: req.URL.Path}).String(), 300)}
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
