package server

import (
	"context"
	"errors"
	"net/url"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers"
)

// providerHandlers handles the methods about providers.
type providerHandlers struct {
	client *client
	models *models
}

// ListProviders lists the providers and the addresses of their requests.
func (h *providerHandlers) ListProviders(ctx context.Context, _ *acp.ListProvidersRequest) (acp.Reply[acp.ListProvidersResponse], error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.ListProvidersResponse, error) {
		h.models.refresh(ctx)
		resp := &acp.ListProvidersResponse{Providers: []acp.ProviderInfo{}}
		for _, p := range h.models.Providers() {
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

// SetProvider redirects a provider's requests for the lifetime of the process. The change applies to open sessions too.
func (h *providerHandlers) SetProvider(_ context.Context, p *acp.SetProviderRequest) (acp.Reply[acp.SetProviderResponse], error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	if u, err := url.Parse(p.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, invalidParams("the base URL of provider %q must be an absolute http or https URL", p.ProviderID)
	}
	return func() (*acp.SetProviderResponse, error) {
		if err := h.models.SetProvider(string(p.ProviderID), string(p.ApiType), p.BaseURL, p.Headers); err != nil {
			return nil, providerError(err)
		}
		h.models.changed(false)
		return &acp.SetProviderResponse{}, nil
	}, nil
}

// DisableProvider removes a provider's models for the lifetime of the process.
func (h *providerHandlers) DisableProvider(_ context.Context, p *acp.DisableProviderRequest) (acp.Reply[acp.DisableProviderResponse], error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.DisableProviderResponse, error) {
		if err := h.models.DisableProvider(string(p.ProviderID)); err != nil {
			return nil, providerError(err)
		}
		h.models.changed(false)
		return &acp.DisableProviderResponse{}, nil
	}, nil
}

// providerError maps the errors of a bad request to -32602, and returns others unchanged.
func providerError(err error) error {
	for _, is := range []error{providers.ErrUnknownProvider, providers.ErrUnsupportedAPI, providers.ErrInvalidProvider, providers.ErrRequiredProvider} {
		if errors.Is(err, is) {
			return invalidParams("%v", err)
		}
	}
	return err
}
