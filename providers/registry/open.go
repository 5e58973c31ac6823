package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/gajae-code/gjc/internal/telemetry"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/quota"
)

// Open returns the model that info names. If the registry does not have the model, info describes it. Without a key, Open fails
// with [providers.KindAuth]. It does not use the network, but the system's keyring may prompt the user; Open returns when ctx ends.
func (r *Router) Open(ctx context.Context, info providers.ModelInfo) (providers.Model, error) {
	for {
		m, locked, err := r.tryOpen(info)
		if !locked {
			return m, err
		}
		if err := r.keys.unlock(ctx, info.Provider); err != nil {
			return nil, &providers.Error{
				Kind: providers.KindAuth, Provider: info.Provider, Model: info.ID, Err: err,
				Message: fmt.Sprintf("cannot get the key from the system's keyring: %v; unlock the keyring and try again, or run gjc login %s", err, info.Provider),
			}
		}
	}
}

// tryOpen opens a model. It reports locked if the keyring must be asked first.
func (r *Router) tryOpen(info providers.ModelInfo) (m providers.Model, locked bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stateLocked()
	if s.disabled[info.Provider] {
		return nil, false, &providers.Error{
			Kind: providers.KindModel, Provider: info.Provider, Model: info.ID, Message: "the provider is disabled; choose another model",
		}
	}
	if source := s.source(info.Provider); source.keyring && !source.asked {
		return nil, true, nil
	}
	if i := s.index(info.Provider, info.ID); i >= 0 {
		info = s.models[i]
	}
	info = s.routed(info)
	if from := (configuration{s.listing, s.stored.version}); r.openedFrom != from {
		r.opened, r.openedFrom = map[string]providers.Model{}, from
	}
	if m := r.opened[info.Ref()]; m != nil {
		return m, false, nil
	}
	source, problem := s.availability(&info)
	if source == "" {
		return nil, false, &providers.Error{Kind: problem.kind, Provider: info.Provider, Model: info.ID, Message: problem.text}
	}
	m, err = r.openLocked(s, info)
	if err != nil {
		return nil, false, err
	}
	m = &sourced{m, source}
	r.opened[info.Ref()] = m
	return m, false, nil
}

// openLocked opens a model with the provider's keys.
func (r *Router) openLocked(s *state, info providers.ModelInfo) (providers.Model, error) {
	client, err := r.clientLocked(s)
	if err != nil {
		return nil, &providers.Error{Kind: providers.KindInvalid, Provider: info.Provider, Model: info.ID, Message: err.Error(), Err: err}
	}
	factory, cfg := r.opts.Factories[info.API], s.config(info, client)
	source := s.source(info.Provider)
	if source.keyring && len(source.keys) == 0 {
		return nil, &providers.Error{
			Kind: providers.KindAuth, Provider: info.Provider, Model: info.ID,
			Message: "the system's keyring no longer has the key; run gjc login " + info.Provider,
		}
	}
	if len(source.keys) < 2 {
		if len(source.keys) == 1 {
			cfg.APIKey = source.keys[0]
		}
		cfg.HTTPClient = r.clientFor(info.Provider, &source, client)
		r.observe(&cfg)
		return factory(cfg)
	}
	return &rotating{info: info, ring: r.keys.ring(info.Provider, source.keys), open: func(key string) (providers.Model, error) {
		cfg := cfg
		cfg.APIKey = key
		r.observe(&cfg)
		return factory(cfg)
	}}, nil
}

// observe lets the model of a configuration record the limits of its account.
func (r *Router) observe(cfg *providers.Config) {
	provider, account := cfg.Info.Provider, quota.Account(cmp.Or(cfg.APIKey, cfg.BaseURL))
	cfg.Received = func(status int, h http.Header) { r.quotas.Observe(provider, account, status, h) }
}

// config returns the configuration of a model without its key.
func (s *state) config(info providers.ModelInfo, client *http.Client) providers.Config {
	cfg := providers.Config{
		Info: info, HTTPClient: client, StallTimeout: s.settings.StallTimeout, FirstByteTimeout: s.settings.FirstByteTimeout,
	}
	to := s.redirects[info.Provider]
	if to != nil {
		cfg.BaseURL, cfg.Headers, cfg.NoAmbient = to.baseURL, maps.Clone(to.headers), !to.ownKeys
	}
	p := s.providers[info.Provider]
	if p == nil || to != nil && !to.ownKeys {
		return cfg
	}
	// A redirect to the provider's own server changes the address and the headers. The other settings of models.yml for the server
	// still apply.
	m := p.model(info.ID)
	cfg.AuthHeader, cfg.NoStrictTools = p.authHeader, p.noStrictTools
	cfg.Compat = m.compat.Over(p.compat)
	cfg.WireModel = cmp.Or(m.wireModelID, s.deployment(info))
	cfg.CacheRetention = cmp.Or(m.cacheRetention, s.retention(p))
	if to == nil {
		cfg.BaseURL = s.address(p, info.Provider)
		cfg.Headers = providers.Overlay(m.headers, maps.Clone(p.headers))
		cfg.Transform = m.transform.over(&p.transform)
	}
	return cfg
}

// sourced is a model whose errors name the source of a refused key.
type sourced struct {
	providers.Model

	source string
}

// Stream implements [providers.Model].
func (m *sourced) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	return func(yield func(providers.Event, error) bool) {
		ctx, call := beginCall(ctx, m.Info(), req)
		defer call.end()
		for ev, err := range m.Model.Stream(ctx, req) {
			if e, ok := errors.AsType[*providers.Error](err); ok && e.Kind == providers.KindAuth {
				e.KeySource = m.source
			}
			call.note(ctx, ev, err)
			if !yield(ev, err) {
				return
			}
		}
	}
}

// preconnectTimeout bounds [Router.Preconnect].
const preconnectTimeout = 10 * time.Second

// Preconnect connects to the server of a model, so that the first request need not wait for the connection. It sends no key and
// ignores errors, which the first request reports. It returns when the connection is open or has failed.
func (r *Router) Preconnect(ctx context.Context, info providers.ModelInfo) {
	address, client := r.origin(info)
	if address == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, preconnectTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, http.NoBody)
	if err != nil {
		return
	}
	req.Header.Set("User-Agent", "gjc")
	once := *client // only the connection is wanted, no redirects
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if res, err := once.Do(req); err == nil {
		_, _ = io.CopyN(io.Discard, res.Body, 1<<10)
		_ = res.Body.Close()
	}
}

// origin returns the address of a model's server without a path, and the client that reaches it. The address is empty for a model
// that cannot be used, that needs no network, or that is reached without leaving this machine.
func (r *Router) origin(info providers.ModelInfo) (string, *http.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stateLocked()
	info = s.routed(info)
	if source, _ := s.availability(&info); source == "" || source == sourceGateway {
		return "", nil
	}
	u, err := url.Parse(s.baseURL(info.Provider, typeOfAPI(info.API)))
	if err != nil || u.Scheme != "https" || isLoopback(u.String()) && !r.opts.PreconnectLoopback {
		return "", nil
	}
	client, err := r.clientLocked(s)
	if err != nil {
		return "", nil
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String(), client
}

// modelCall records a request to a model; nil without a tracer.
type modelCall struct{ span *telemetry.Span }

// beginCall begins the span of a request.
func beginCall(ctx context.Context, info providers.ModelInfo, req *providers.Request) (context.Context, *modelCall) {
	if telemetry.FromContext(ctx) == nil {
		return ctx, nil
	}
	ctx, span := telemetry.Start(ctx, telemetry.Client, telemetry.Chat, info.ID)
	span.Set("gen_ai.provider.name", conventionalName(info.Provider))
	span.Set("gen_ai.request.model", info.ID)
	span.Set("gen_ai.conversation.id", req.SessionID)
	if req.MaxTokens > 0 {
		span.Set("gen_ai.request.max_tokens", int64(req.MaxTokens))
	}
	return ctx, &modelCall{span}
}

// note records what the answer says of itself.
func (c *modelCall) note(ctx context.Context, ev providers.Event, err error) {
	if c == nil {
		return
	}
	if done, ok := ev.(providers.Done); ok {
		m := &done.Message
		c.span.Set("gen_ai.response.model", m.Model)
		if m.StopReason != "" {
			c.span.Set("gen_ai.response.finish_reasons", []string{string(m.StopReason)})
		}
		c.span.Usage(m.Usage.Input+m.Usage.CacheRead+m.Usage.CacheWrite, m.Usage.Output)
		if m.Usage.CacheRead > 0 {
			c.span.Set("gen_ai.usage.cache_read.input_tokens", int64(m.Usage.CacheRead))
		}
		if m.Usage.CacheWrite > 0 {
			c.span.Set("gen_ai.usage.cache_creation.input_tokens", int64(m.Usage.CacheWrite))
		}
	}
	if err == nil {
		return
	}
	kind := "_OTHER"
	if e, ok := errors.AsType[*providers.Error](err); ok {
		kind = string(e.Kind)
		if e.Status > 0 {
			c.span.Set("http.response.status_code", int64(e.Status))
		}
	} else if ctx.Err() != nil {
		kind = "cancelled"
	}
	c.span.Fail(kind)
}

func (c *modelCall) end() {
	if c != nil {
		c.span.End()
	}
}

// conventionalName returns the name of a provider in the conventions of OpenTelemetry, or its own.
func conventionalName(provider string) string {
	switch provider {
	case "google":
		return "gcp.gemini"
	case "google-vertex", "vertex-anthropic":
		return "gcp.vertex_ai"
	case "amazon-bedrock":
		return "aws.bedrock"
	case "azure-openai":
		return "azure.ai.openai"
	case "mistral":
		return "mistral_ai"
	case "xai":
		return "x_ai"
	}
	return provider
}
