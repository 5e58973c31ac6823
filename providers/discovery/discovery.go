// Package discovery queries servers for their models: Ollama, LM Studio and llama.cpp through their own APIs, others through
// OpenAI's list of models, including the members that some servers add. It does not trust servers: it bounds the responses and
// ignores implausible values.
package discovery

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// Discover returns the models of the server of src, in the server's order. It omits models that the server reports as unable to
// chat or call tools. It is a [providers.Discoverer]: an error is ctx's cause or a [*providers.Error], of [providers.KindNetwork]
// if no server listens. ctx must have a deadline.
func Discover(ctx context.Context, src providers.DiscoverySource) ([]providers.ModelInfo, error) {
	s, err := newServer(src)
	if err != nil {
		return nil, err
	}
	switch src.Type {
	case providers.DiscoverOllama:
		return s.ollama(ctx)
	case providers.DiscoverLMStudio:
		return s.lmStudio(ctx)
	case providers.DiscoverLlamaCPP:
		return s.llamaCPP(ctx)
	case providers.DiscoverOpenAI:
		return s.openAI(ctx)
	}
	return nil, s.errorf(providers.KindInvalid, "unknown type of discovery %q", src.Type)
}

const (
	apiAnthropic = "anthropic-messages"
	apiOllama    = "ollama-chat"
)

// A server is a server that is queried for its models.
type server struct {
	src    providers.DiscoverySource
	base   *url.URL
	client *http.Client
	header http.Header
	// cfg is used for errors: it holds the secrets to redact.
	cfg *providers.Config
}

func newServer(src providers.DiscoverySource) (*server, error) {
	s := &server{src: src, client: wire.Guard(src.Client), header: http.Header{}}
	s.cfg = &providers.Config{
		Info: providers.ModelInfo{Provider: src.Provider}, BaseURL: src.BaseURL, APIKey: src.APIKey, Headers: src.Headers, Transform: src.Transform,
	}
	if src.BaseURL == "" && strings.HasPrefix(src.API, "openai-") {
		src.BaseURL = "https://api.openai.com/v1" // as for the API itself
	}
	u, err := url.Parse(src.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, s.errorf(providers.KindInvalid, "the base URL must be a URL with http or https")
	}
	s.base = u
	s.header.Set("User-Agent", "gjc")
	if src.APIKey != "" {
		if src.API == apiAnthropic {
			s.header.Set("X-Api-Key", src.APIKey)
			s.header.Set("Anthropic-Version", "2023-06-01")
		}
		s.header.Set("Authorization", "Bearer "+src.APIKey)
	}
	for name, value := range src.Headers {
		s.header.Set(name, value)
	}
	s.header.Set("Accept", "application/json")
	wire.TransformHeader(s.cfg, s.header)
	return s, nil
}

func (s *server) errorf(kind providers.ErrorKind, format string, args ...any) *providers.Error {
	return wire.Errorf(s.cfg, kind, format, args...)
}

// own returns the address of path in the server's own API, which is not below the base URL.
func (s *server) own(path string) string {
	base := strings.TrimRight(s.base.Path, "/")
	for _, suffix := range []string{"/v1", "/api/v0", "/api"} {
		if short, ok := strings.CutSuffix(base, suffix); ok {
			base = short
			break
		}
	}
	return s.at(base + path)
}

// models returns the address of the list of models below the base URL.
func (s *server) models() string {
	base := strings.TrimRight(s.base.Path, "/")
	if s.src.API == apiAnthropic && !strings.HasSuffix(base, "/v1") {
		base += "/v1" // base URLs of that API omit it
	}
	return s.at(base + "/models")
}

func (s *server) at(path string) string {
	u := *s.base
	u.Path, u.RawPath = path, ""
	return u.String()
}

// openAI reads a list in OpenAI's format.
func (s *server) openAI(ctx context.Context) ([]providers.ModelInfo, error) {
	return s.listed(ctx, s.models())
}

func (s *server) listed(ctx context.Context, address string) ([]providers.ModelInfo, error) {
	entries, err := s.list(ctx, address)
	if err != nil {
		return nil, err
	}
	all := s.newRoll()
	for _, entry := range entries {
		if chats(entry) {
			all.add(described(entry))
		}
	}
	return all.models, nil
}

// absent reports whether an error says that the server does not have what was requested.
func absent(err error) bool {
	e, ok := errors.AsType[*providers.Error](err)
	return ok && slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, e.Status) ||
		errors.Is(err, errNoList)
}
