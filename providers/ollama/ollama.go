// Package ollama implements Ollama's own chat API. Unlike Ollama's OpenAI-compatible API, it can set the length of the context: by
// default Ollama uses a short context and silently drops the beginning of long conversations.
package ollama

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// API is the name of the wire format in [providers.ModelInfo].
const API = "ollama-chat"

// defaultBaseURL is Ollama's default address.
const defaultBaseURL = "http://127.0.0.1:11434"

// A model is one model of an Ollama server.
type model struct {
	cfg      providers.Config
	endpoint *wire.Endpoint
}

var _ providers.Model = (*model)(nil)

// Open is the package's [providers.Factory]. The base URL may end with "/v1" or "/api". Open does no I/O and reads no environment.
func Open(cfg providers.Config) (providers.Model, error) {
	u, err := wire.BaseURL(&cfg, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	cfg.Info.API = cmp.Or(cfg.Info.API, API)
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/v1"), "/api")
	u.Path, u.RawPath = path+"/api/chat", ""
	m := &model{cfg: cfg}
	m.endpoint = wire.NewEndpoint(&m.cfg, u.String(), wire.Header(&cfg, ""))
	return m, nil
}

// Info implements [providers.Model].
func (m *model) Info() providers.ModelInfo { return m.cfg.Info }

// Stream implements [providers.Model]. It cannot force a tool.
func (m *model) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	encode := func() ([]byte, error) { return m.encode(req) }
	return m.endpoint.Ask(ctx, encode, func(s *wire.Stream, yield func(providers.Event, error) bool) {
		a := &answer{Answer: dialect.Answer{Ctx: ctx, Info: &m.cfg.Info, Req: req, Yield: yield}, stream: s}
		s.Each(s.NextValue, yield, a.line, nil)
	})
}
