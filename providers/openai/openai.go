// Package openai speaks OpenAI's chat completions API, to OpenAI and to every server that is compatible with it:
// Ollama, LM Studio, llama.cpp, vLLM, OpenRouter and others.
//
// Requests are built from the SDK's types and sent by the SDK's client. The chunks of the stream are decoded here: the
// SDK takes several times as long for a chunk, and knows nothing of what other servers add to it.
package openai

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// API is the wire format's name in [providers.ModelInfo].
const API = "openai-completions"

const (
	officialHost   = "api.openai.com"
	defaultBaseURL = "https://" + officialHost + "/v1/"
)

// Model is one model behind the chat completions API.
type Model struct {
	cfg    providers.Config
	client sdk.Client
	// official reports that OpenAI itself is at the other end, who takes what others do not.
	official bool
}

var _ providers.Model = (*Model)(nil)

// New returns a model. It does no I/O and reads no environment.
func New(cfg providers.Config) (*Model, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = defaultBaseURL
	}
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" {
		return nil, &providers.Error{
			Kind: providers.KindInvalid, Provider: cfg.Info.Provider, Model: cfg.Info.ID,
			Message: "the base URL is not a URL: " + cfg.BaseURL, Err: err,
		}
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	cfg.BaseURL = u.String()
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = providers.NewHTTPClient()
	}
	if cfg.Info.API == "" {
		cfg.Info.API = API
	}
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
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
	return &Model{cfg: cfg, client: sdk.Client{Options: opts}, official: u.Hostname() == officialHost}, nil
}

// Open is the package's [providers.Factory].
func Open(cfg providers.Config) (providers.Model, error) { return New(cfg) }

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
			return m.client.Post(ctx, "chat/completions", body, res, option.WithHeader("Accept", "text/event-stream"))
		})
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		a := &answer{model: m, stream: s, yield: yield, req: req}
		a.run()
	}
}
