package wire

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// An Endpoint sends the requests of one model. It is safe for concurrent use.
type Endpoint struct {
	cfg     *providers.Config
	client  *http.Client
	address string
	header  http.Header
	sign    func(req *http.Request, body []byte) error
}

// NewEndpoint returns the endpoint of the model of cfg at the URL address. Requests carry header, which takes precedence over
// the standard headers except Accept; the transform of cfg is applied last. The caller must not change cfg and header
// afterwards.
func NewEndpoint(cfg *providers.Config, address string, header http.Header) *Endpoint {
	return &Endpoint{cfg: cfg, client: Guard(cfg.HTTPClient), address: address, header: header}
}

// Sign returns a copy of e that calls sign before it sends a request. sign may change the request's header.
func (e *Endpoint) Sign(sign func(req *http.Request, body []byte) error) *Endpoint {
	signed := *e
	signed.sign = sign
	return &signed
}

// Post sends body, which is JSON, and returns the stream of the response. Its errors are those of [Open]. An error from a signer
// that is a [*providers.Error] keeps its kind; any other error from a signer counts as a network error.
func (e *Endpoint) Post(ctx context.Context, body []byte) (*Stream, error) {
	cfg := *e.cfg // a copy for this request, to which the signer's secrets are added
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

// Ask returns the events of one request to e.
func (e *Endpoint) Ask(
	ctx context.Context, encode func() ([]byte, error), read func(s *Stream, yield func(providers.Event, error) bool),
) iter.Seq2[providers.Event, error] {
	return Ask(ctx, e.cfg, encode, e.Post, read)
}

// Ask returns the events of one request. When the iteration begins, it calls encode, sends the body with post, and passes the
// stream of the response to read. It closes the stream.
func Ask(
	ctx context.Context, cfg *providers.Config, encode func() ([]byte, error), post func(context.Context, []byte) (*Stream, error),
	read func(s *Stream, yield func(providers.Event, error) bool),
) iter.Seq2[providers.Event, error] {
	return func(yield func(providers.Event, error) bool) {
		body, err := encode()
		if err != nil {
			if _, classified := errors.AsType[*providers.Error](err); !classified {
				err = Errorf(cfg, providers.KindInvalid, "encoding the request: %v", err)
			}
			yield(nil, err)
			return
		}
		s, err := post(ctx, body)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		read(s, yield)
	}
}

// signed returns headers with the values that a signer has put into header added, so that no error quotes them.
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

// TransformHeader applies the transform of cfg to the header of a request.
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

// ExtraBody adds the extra members of cfg to body, a JSON object, ordered by name. They replace members of body, except those
// that [providers.ProtectedBody] lists.
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

// Guard returns a copy of client, or a new client, that does not follow redirects to another origin: net/http would send the
// conversation and the extra headers there.
func Guard(client *http.Client) *http.Client {
	if client == nil {
		client = providers.NewHTTPClient()
	}
	guarded := *client
	guarded.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		// A redirect that turns the POST into a GET loses the body, so following it is useless.
		if len(via) >= 10 || req.Method != via[0].Method || !providers.SameOrigin(req.URL, via[0].URL) {
			return &redirectError{to: shorten((&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: req.URL.Path}).String(), 300)}
		}
		if client.CheckRedirect != nil {
			return client.CheckRedirect(req, via)
		}
		return nil
	}
	return &guarded
}

// redirectError reports a redirect that was not followed.
type redirectError struct{ to string }

func (e *redirectError) Error() string {
	return "the server redirects requests to " + e.to + ", which gjc does not follow; if you trust that address, use it as the base URL"
}
