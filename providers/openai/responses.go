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

// The names of the wire formats in [providers.ModelInfo].
const (
	APIResponses = "openai-responses"
	APIAzure     = "azure-openai-responses"
)

// A responsesModel is one model of the Responses API at OpenAI or Azure. The server stores nothing: every request contains the
// whole conversation with the encrypted reasoning.
type responsesModel struct {
	cfg      providers.Config
	endpoint *wire.Endpoint
	rules    rules
	strict   strictTools
	// search is the addition of tools where the model has found them.
	search wire.Feature
}

var _ providers.Model = (*responsesModel)(nil)

// OpenResponses is the [providers.Factory] of OpenAI's Responses API.
func OpenResponses(cfg providers.Config) (providers.Model, error) {
	u, err := wire.BaseURL(&cfg, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	addPath(u, "/responses")
	return newResponses(cfg, APIResponses, u, ""), nil
}

// azureAddress turns a base URL into the address of the Responses API.
func azureAddress(u *url.URL) {
	query := u.Query()
	version := query.Get("api-version")
	if version == "v1" {
		query.Del("api-version") // the path implies it
		u.RawQuery = query.Encode()
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/responses")
	// A version before v1 has another path.
	dated := len(version) > 0 && version[0] >= '0' && version[0] <= '9'
	switch path := strings.TrimPrefix(u.Path, "/"); {
	case path == "" && dated:
		u.Path = "/openai"
	case path == "", path == "openai" && !dated:
		u.Path = "/openai/v1"
	}
	u.RawPath = ""
	addPath(u, "/responses")
}

func newResponses(cfg providers.Config, api string, u *url.URL, keyName string) *responsesModel {
	cfg.Info.API = cmp.Or(cfg.Info.API, api)
	m := &responsesModel{cfg: cfg, rules: rulesFor(&cfg, u.Hostname())}
	m.endpoint = wire.NewEndpoint(&m.cfg, u.String(), wire.Header(&cfg, keyName))
	return m
}

// OpenAzure is the [providers.Factory] of Azure's Responses API. The base URL is that of the resource, with or without
// "/openai" or "/openai/v1", and may contain an api-version. The model's name in requests is that of a deployment.
func OpenAzure(cfg providers.Config) (providers.Model, error) {
	if cfg.BaseURL == "" {
		return nil, wire.Errorf(&cfg, providers.KindInvalid, "Azure needs a base URL, such as https://my-resource.openai.azure.com")
	}
	u, err := wire.BaseURL(&cfg, "")
	if err != nil {
		return nil, err
	}
	azureAddress(u)
	m := newResponses(cfg, APIAzure, u, "api-key")
	m.rules.cacheKey = true
	return m, nil
}

// Info implements [providers.Model].
func (m *responsesModel) Info() providers.ModelInfo { return m.cfg.Info }

// Stream implements [providers.Model].
func (m *responsesModel) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	post, found := m.endpoint.Post, (*dialect.Found)(nil)
	if m.cfg.Info.ToolSearch && !m.search.Lacking() {
		found = dialect.NewFound(req)
	}
	if found != nil {
		post = m.search.Or(post, func() ([]byte, error) { return m.encode(req, nil) })
	}
	encode := func() ([]byte, error) { return m.encode(req, found) }
	return wire.Ask(ctx, &m.cfg, encode, post, func(s *wire.Stream, yield func(providers.Event, error) bool) {
		r := &response{Answer: dialect.Answer{Ctx: ctx, Info: &m.cfg.Info, Req: req, Yield: yield}, stream: s}
		s.Each(s.Next, yield, r.event, nil)
	})
}
