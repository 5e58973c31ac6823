// Package openai speaks OpenAI's chat completions API, to OpenAI and to every server that is compatible with it:
// Ollama, LM Studio, llama.cpp, vLLM, OpenRouter and others.
//
// It has a client of its own: OpenAI's SDK makes the binary half as large again, takes several times as long for a
// chunk of the stream, and knows nothing of what other servers add to it (docs/design/openai-client.md).
package openai

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// API is the wire format's name in [providers.ModelInfo].
const API = "openai-completions"

const (
	officialHost   = "api.openai.com"
	defaultBaseURL = "https://" + officialHost + "/v1"
)

// Model is one model behind the chat completions API.
type Model struct {
	cfg      providers.Config
	endpoint *wire.Endpoint
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
	if cfg.Info.API == "" {
		cfg.Info.API = API
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/chat/completions"
	if u.RawPath != "" {
		u.RawPath = strings.TrimRight(u.RawPath, "/") + "/chat/completions"
	}
	header := http.Header{}
	if cfg.APIKey != "" {
		header.Set("Authorization", "Bearer "+cfg.APIKey)
	}
	for name, value := range cfg.Headers {
		header.Set(name, value)
	}
	m := &Model{cfg: cfg, official: u.Hostname() == officialHost}
	m.endpoint = wire.NewEndpoint(&m.cfg, u.String(), header)
	return m, nil
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
		s, err := m.endpoint.Post(ctx, body)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		a := &answer{model: m, stream: s, yield: yield, req: req}
		a.run()
	}
}
