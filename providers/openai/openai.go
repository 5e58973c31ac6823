// Package openai implements OpenAI's APIs, for OpenAI and for compatible servers: Chat Completions ([Open]), which Ollama, LM
// Studio, llama.cpp, vLLM, OpenRouter and others implement, and Responses ([OpenResponses]), which Azure has too ([OpenAzure]).
//
// It does not use OpenAI's SDK, which doubles the binary, takes several times as long for a chunk of the stream, and does not
// know the extensions of other servers (docs/design/providers.md).
package openai

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"strings"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// API is the name of the wire format in [providers.ModelInfo].
const API = "openai-completions"

const (
	officialHost   = "api.openai.com"
	defaultBaseURL = "https://" + officialHost + "/v1"
)

// A model is one model of the Chat Completions API.
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
	cfg.Info.API = cmp.Or(cfg.Info.API, API)
	addPath(u, "/chat/completions")
	m := &model{cfg: cfg, rules: rulesFor(&cfg, u.Hostname())}
	m.endpoint = wire.NewEndpoint(&m.cfg, u.String(), wire.Header(&cfg, ""))
	return m, nil
}

// addPath returns u with path appended to its path.
func addPath(u *url.URL, path string) {
	u.Path = strings.TrimRight(u.Path, "/") + path
	if u.RawPath != "" {
		u.RawPath = strings.TrimRight(u.RawPath, "/") + path
	}
}

// Info implements [providers.Model].
func (m *model) Info() providers.ModelInfo { return m.cfg.Info }

// Stream implements [providers.Model].
func (m *model) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	encode := func() ([]byte, error) { return m.encode(req) }
	return m.endpoint.Ask(ctx, encode, func(s *wire.Stream, yield func(providers.Event, error) bool) {
		a := &answer{Answer: dialect.Answer{Ctx: ctx, Info: &m.cfg.Info, Req: req, Yield: yield}, rules: &m.rules, stream: s}
		a.run()
	})
}
