package server

import (
	"context"
	"errors"
	"net/url"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// ListProviders tells where the models' requests go.
func (s *Server) ListProviders(ctx context.Context, _ *acp.ListProvidersRequest) (acp.Reply[acp.ListProvidersResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.ListProvidersResponse, error) {
		if err := s.opts.Models.Load(ctx); err != nil {
			s.log.Warn().Err(err).Msg("loading models") // told in each session; the built-in models work
		}
		resp := &acp.ListProvidersResponse{Providers: []acp.ProviderInfo{}}
		for _, p := range s.opts.Models.Providers() {
			info := acp.ProviderInfo{ProviderID: acp.ProviderID(p.ID), Required: p.Required, Supported: []acp.LLMProtocol{}}
			for _, api := range p.Supported {
				info.Supported = append(info.Supported, acp.LLMProtocol(api))
			}
			if c := p.Current; c != nil {
				info.Current = &acp.ProviderCurrentConfig{ApiType: acp.LLMProtocol(c.APIType), BaseURL: c.BaseURL}
			}
			resp.Providers = append(resp.Providers, info)
		}
		return resp, nil
	}, nil
}

// SetProvider sends a provider's requests to another place, as long as the process lives. Open sessions follow.
func (s *Server) SetProvider(_ context.Context, p *acp.SetProviderRequest) (acp.Reply[acp.SetProviderResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	if u, err := url.Parse(p.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, invalidParams("the base URL of provider %q must be an absolute http or https URL", p.ProviderID)
	}
	return func() (*acp.SetProviderResponse, error) {
		if err := s.opts.Models.SetProvider(string(p.ProviderID), string(p.ApiType), p.BaseURL, p.Headers); err != nil {
			return nil, providerError(err)
		}
		s.tellOptions()
		return &acp.SetProviderResponse{}, nil
	}, nil
}

// DisableProvider takes a provider's models away.
func (s *Server) DisableProvider(_ context.Context, p *acp.DisableProviderRequest) (acp.Reply[acp.DisableProviderResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.DisableProviderResponse, error) {
		if err := s.opts.Models.DisableProvider(string(p.ProviderID)); err != nil {
			return nil, providerError(err)
		}
		s.tellOptions()
		return &acp.DisableProviderResponse{}, nil
	}, nil
}

// providerError words what was wrong with a request.
func providerError(err error) error {
	for _, is := range []error{providers.ErrUnknownProvider, providers.ErrUnsupportedAPI, providers.ErrInvalidProvider, providers.ErrRequiredProvider} {
		if errors.Is(err, is) {
			return invalidParams("%v", err)
		}
	}
	return err
}

// tellOptions tells every open session which options there are now: its list of models has changed.
func (s *Server) tellOptions() {
	for _, e := range s.entries() {
		session := e.ready()
		if session == nil {
			continue
		}
		session.Change(agent.Change{}, func(snap agent.Snapshot, _ bool) {
			e.out.send(&acp.ConfigOptionUpdate{ConfigOptions: s.configOptions(e, &snap)})
		})
	}
}
