// Package google implements Google's API for Gemini models: the Gemini API with a key, and Vertex AI with a key or with the
// credentials of a Google Cloud project.
//
// It does not use Google's SDK, which makes the binary more than twice as large (docs/design/providers.md).
package google

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// The names of the wire formats in [providers.ModelInfo].
const (
	// API is the Gemini API.
	API = "google-generative-ai"
	// APIVertex is Vertex AI: the same format at another address.
	APIVertex = "google-vertex"
)

// method is the method that requests call.
const method = "streamGenerateContent"

const defaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

// A model is one Gemini model.
type model struct {
	cfg      providers.Config
	endpoint *wire.Endpoint
	// signs reports that the model signs its calls and rejects its own calls without a signature: Gemini 3 and newer.
	signs   bool
	schemas dialect.GeminiSchemas
}

var _ providers.Model = (*model)(nil)

// Open is the package's [providers.Factory]. It does no I/O and reads no environment.
func Open(cfg providers.Config) (providers.Model, error) {
	u, err := wire.BaseURL(&cfg, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	u = u.JoinPath("/")
	if !version().MatchString(path.Base(u.Path)) {
		u = u.JoinPath("v1beta")
	}
	cfg.Info.API = cmp.Or(cfg.Info.API, API)
	return open(cfg, u.JoinPath("models", escape(strings.TrimPrefix(cfg.Model(), "models/"))+":"+method), nil), nil
}

// version matches the last element of a base URL with a version.
var version = lazyregexp.New(`^v[0-9]+((alpha|beta)[0-9]*)?$`)

// escape escapes a model's name as one element of a path.
func escape(name string) string { return strings.ReplaceAll(url.PathEscape(name), ":", "%3A") }

// open returns the model at the address u. Sign may be nil.
func open(cfg providers.Config, u *url.URL, sign func(*http.Request, []byte) error) *model {
	query := u.Query()
	query.Set("alt", "sse")
	u.RawQuery = query.Encode()

	m := &model{cfg: cfg, signs: signs(&cfg)}
	m.endpoint = wire.NewEndpoint(&m.cfg, u.String(), wire.Header(&m.cfg, "X-Goog-Api-Key"))
	if sign != nil {
		m.endpoint = m.endpoint.Sign(sign)
	}
	return m
}

// signs reports whether a model is of Gemini 3 or newer. Older models take a budget for their thinking.
func signs(cfg *providers.Config) bool {
	if cfg.Info.ThinkingMode == providers.ThinkingBudget {
		return false
	}
	for _, old := range []string{"gemini-1", "gemini-2", "gemma"} {
		if strings.Contains(cfg.Info.ID, old) || strings.Contains(cfg.WireModel, old) {
			return false
		}
	}
	return true
}

// Info implements [providers.Model].
func (m *model) Info() providers.ModelInfo { return m.cfg.Info }

// Stream implements [providers.Model].
func (m *model) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	encode := func() ([]byte, error) { return m.encode(req) }
	return m.endpoint.Ask(ctx, encode, func(s *wire.Stream, yield func(providers.Event, error) bool) {
		a := &answer{Answer: dialect.Answer{Ctx: ctx, Info: &m.cfg.Info, Req: req, Yield: yield}, cfg: &m.cfg, stream: s}
		a.run()
	})
}
