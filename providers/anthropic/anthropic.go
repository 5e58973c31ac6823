// Package anthropic speaks Anthropic's messages API, to Anthropic and to everybody who serves it.
//
// Requests are built from the SDK's types and sent by the SDK's client. The events of the stream are decoded here:
// the SDK's unions take seven times as long for an event, which is most of the time of a stream.
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// API is the wire format's name in [providers.ModelInfo].
const API = "anthropic-messages"

const defaultBaseURL = "https://api.anthropic.com"

// Model is one model behind the messages API.
type Model struct {
	cfg    providers.Config
	client sdk.Client
}

var _ providers.Model = (*Model)(nil)

// New returns a model. It does no I/O and reads no environment.
func New(cfg providers.Config) (*Model, error) {
	base, err := baseURL(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	cfg.BaseURL = base
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = providers.NewHTTPClient()
	}
	if cfg.Info.API == "" {
		cfg.Info.API = API
	}
	opts := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithHTTPClient(cfg.HTTPClient),
		option.WithMaxRetries(0), // trying again is the caller's business
		option.WithHeader("User-Agent", "gjc"),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	for name, value := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	// Not NewClient: it reads the environment and links every service of the SDK.
	return &Model{cfg: cfg, client: sdk.Client{Options: opts}}, nil
}

// Open is the package's [providers.Factory].
func Open(cfg providers.Config) (providers.Model, error) { return New(cfg) }

func baseURL(s string) (string, error) {
	if s == "" {
		return defaultBaseURL + "/", nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "", &providers.Error{
			Kind: providers.KindInvalid, Provider: "anthropic", Message: "the base URL is not a URL: " + s, Err: err,
		}
	}
	// The SDK adds v1/messages; people write the address with and without v1.
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1") + "/"
	return u.String(), nil
}

// Info describes the model.
func (m *Model) Info() providers.ModelInfo { return m.cfg.Info }

// Stream sends req and yields the answer.
func (m *Model) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	return func(yield func(providers.Event, error) bool) {
		body, err := m.encode(req)
		if err != nil {
			yield(nil, wire.Errorf(&m.cfg, providers.KindInvalid, "encoding the request: %v", err))
			return
		}
		s, err := wire.Open(ctx, &m.cfg, func(ctx context.Context, res **http.Response) error {
			return m.client.Post(ctx, "v1/messages", body, res, option.WithHeader("Accept", "text/event-stream"))
		})
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		a := &answer{model: m, stream: s, yield: yield}
		a.run()
	}
}
