// Package anthropic implements Anthropic's Messages API: at Anthropic and compatible servers, at Amazon Bedrock, and at
// Google's Vertex AI.
//
// It builds requests from the SDK's types, and sends those to the Messages API with the SDK's client. It does not use the SDK's
// clients for Bedrock and Vertex AI, which link the whole sign-in of AWS and Google (docs/dependencies.md). It decodes the
// events of the stream itself: the SDK's unions take seven times as long.
//
// It never sends tools as strict: the API accepts only some schemas, and few of them in one request; models follow the others
// as well.
package anthropic

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// The names of the wire formats in [providers.ModelInfo].
const (
	// API is the Messages API itself.
	API = "anthropic-messages"
	// APIBedrock is the Messages API at Amazon Bedrock.
	APIBedrock = "anthropic-messages-bedrock"
	// APIVertex is the Messages API at Vertex AI.
	APIVertex = "anthropic-messages-vertex"
)

const officialHost = "api.anthropic.com"

// A model is one model of the Messages API.
type model struct {
	cfg providers.Config
	// send sends a body and returns the stream of its response.
	send func(ctx context.Context, body []byte) (*wire.Stream, error)
	// version, if not empty, replaces the model in the body if the address names the model; streams reports that the address also
	// selects streaming.
	version string
	streams bool
	// search is the addition of tools where the model has found them.
	search wire.Feature
	// ttl is the lifetime of a request's cache entries; empty for the API's default.
	ttl sdk.CacheControlEphemeralTTL
}

var _ providers.Model = (*model)(nil)

// Open is the package's [providers.Factory]. It does no I/O and reads no environment.
func Open(cfg providers.Config) (providers.Model, error) {
	base, err := baseURL(&cfg)
	if err != nil {
		return nil, err
	}
	cfg.BaseURL = base.String()
	cfg.HTTPClient = wire.Guard(cfg.HTTPClient)
	cfg.Info.API = cmp.Or(cfg.Info.API, API)
	m := &model{cfg: cfg}
	if cfg.CacheRetention == providers.CacheLong && base.Hostname() == officialHost {
		m.ttl = sdk.CacheControlEphemeralTTLTTL1h // other servers support only the default
	}
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(cfg.HTTPClient),
		option.WithMaxRetries(0), // the caller retries
		option.WithHeader("User-Agent", "gjc"),
	}
	switch {
	case cfg.APIKey == "":
	case cfg.AuthHeader:
		opts = append(opts, option.WithAuthToken(cfg.APIKey))
	default:
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	for name, value := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	opts = append(opts, option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		wire.TransformHeader(&m.cfg, req.Header)
		return next(req)
	}))
	// Do not use NewClient: it reads the environment and links every service of the SDK.
	client := sdk.Client{Options: opts}
	m.send = func(ctx context.Context, body []byte) (*wire.Stream, error) {
		return wire.Open(ctx, &m.cfg, func(ctx context.Context, res **http.Response) error {
			// The SDK would read the whole body of an error; Open reads only a bounded part.
			var failed *http.Response
			keep := func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
				got, err := next(req)
				if err != nil || got.StatusCode < http.StatusBadRequest {
					return got, err
				}
				failed = got
				bare := *got
				bare.Body = http.NoBody
				return &bare, nil
			}
			err := client.Post(ctx, "v1/messages", body, res, option.WithHeader("Accept", "text/event-stream"), option.WithMiddleware(keep))
			if failed != nil {
				*res = failed
			}
			return err
		})
	}
	return m, nil
}

func baseURL(cfg *providers.Config) (*url.URL, error) {
	u, err := wire.BaseURL(cfg, "https://"+officialHost)
	if err != nil {
		return nil, err
	}
	// The SDK adds v1/messages; users write the address with and without v1.
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1") + "/"
	return u, nil
}

// Info implements [providers.Model].
func (m *model) Info() providers.ModelInfo { return m.cfg.Info }

// Stream implements [providers.Model].
func (m *model) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	send, found := m.send, (*dialect.Found)(nil)
	if m.cfg.Info.ToolSearch && !m.search.Lacking() {
		found = dialect.NewFound(req)
	}
	if found != nil {
		send = m.search.Or(send, func() ([]byte, error) { return m.encode(req, nil) })
	}
	encode := func() ([]byte, error) { return m.encode(req, found) }
	return wire.Ask(ctx, &m.cfg, encode, send, func(s *wire.Stream, yield func(providers.Event, error) bool) {
		a := &answer{Answer: dialect.Answer{Ctx: ctx, Info: &m.cfg.Info, Req: req, Yield: yield}, stream: s}
		a.run()
	})
}
