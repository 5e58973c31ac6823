// Package openai speaks OpenAI's APIs, to OpenAI and to every server that is compatible with it: chat completions
// ([Model]), which Ollama, LM Studio, llama.cpp, vLLM, OpenRouter and others know, and responses ([ResponsesModel]), which
// Azure has too.
//
// It has a client of its own: OpenAI's SDK makes the binary half as large again, takes several times as long for a
// chunk of the stream, and knows nothing of what other servers add to it (docs/design/providers.md).
package openai

import (
	"context"
	"iter"
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

// A model is one model behind the chat completions API.
type model struct {
	cfg      providers.Config
	endpoint *wire.Endpoint
	rules    rules
	strict   strictTools
}

var _ providers.Model = (*model)(nil)

// Open is the package's [providers.Factory]. It does no I/O and reads no environment.
func Open(cfg providers.Config) (providers.Model, error) {
	u, err := wire.BaseURL(&cfg, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	if cfg.Info.API == "" {
		cfg.Info.API = API
	}
	addPath(u, "/chat/completions")
	m := &model{cfg: cfg, rules: rulesFor(&cfg, u.Hostname())}
	m.endpoint = wire.NewEndpoint(&m.cfg, u.String(), wire.Header(&cfg, ""))
	return m, nil
}

// addPath puts path behind that of u.
func addPath(u *url.URL, path string) {
	u.Path = strings.TrimRight(u.Path, "/") + path
	if u.RawPath != "" {
		u.RawPath = strings.TrimRight(u.RawPath, "/") + path
	}
}

// Info describes the model.
func (m *model) Info() providers.ModelInfo { return m.cfg.Info }

// Stream sends req and yields the answer.
func (m *model) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	encode := func() ([]byte, error) { return m.encode(req) }
	return m.endpoint.Ask(ctx, encode, func(s *wire.Stream, yield func(providers.Event, error) bool) {
		a := &answer{ctx: ctx, model: m, stream: s, yield: yield, req: req}
		a.run()
	})
}
