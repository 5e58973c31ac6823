// Package ollama speaks Ollama's own chat API. Beside the one that is compatible with OpenAI's it tells how long a context
// to load the model with: without that, Ollama takes a short one and forgets the beginning of every long conversation
// without a word.
package ollama

import (
	"context"
	"iter"
	"strings"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// API is the wire format's name in [providers.ModelInfo].
const API = "ollama-chat"

// defaultBaseURL is where Ollama listens unless it is told otherwise.
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
	if cfg.Info.API == "" {
		cfg.Info.API = API
	}
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/v1"), "/api")
	u.Path, u.RawPath = path+"/api/chat", ""
	m := &model{cfg: cfg}
	m.endpoint = wire.NewEndpoint(&m.cfg, u.String(), wire.Header(&cfg, ""))
	return m, nil
}

// Info describes the model.
func (m *model) Info() providers.ModelInfo { return m.cfg.Info }

// Stream sends req and yields the answer. It cannot force a tool.
func (m *model) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	encode := func() ([]byte, error) { return m.encode(req) }
	return m.endpoint.Ask(ctx, encode, func(s *wire.Stream, yield func(providers.Event, error) bool) {
		a := &answer{ctx: ctx, model: m, stream: s, yield: yield, req: req}
		a.run()
	})
}
