package server

import (
	"context"
	"errors"
	"net/url"
	"sync"

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
		s.refreshModels(ctx)
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

// tellOptions tells every session which options there are now: its list of models has changed. One that is being made is
// told when it is there.
func (s *Server) tellOptions() {
	for _, e := range s.entries() {
		e.then(func(session *agent.Session, err error) {
			if err != nil {
				return
			}
			session.Change(s.leaveStopgap(e), func(snap agent.Snapshot, changed bool) {
				if changed {
					e.out.emit(agent.Noticed{Severity: agent.SeverityInfo, Title: "There is a model now: the session goes on with " + snap.Model.Ref() + "."})
				}
				e.out.send(&acp.ConfigOptionUpdate{ConfigOptions: s.configOptions(e, &snap)})
			})
		})
	}
}

// discovery is the search for models on their servers.
type discovery struct {
	mu sync.Mutex // guards all below
	// begun says that there was a search, again that another one is to follow the one that runs.
	begun, again bool
	// running is closed at the end of the searches that are under way; nil for none.
	running chan struct{}
}

// discover looks for models in the background, one search at a time: for the first time, or again, with keys that were not
// there before. Again is nothing before the first time, which is when a session begins.
func (s *Server) discover(again bool) {
	if s.opts.Discover == nil {
		return
	}
	d := &s.discovery
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun != again {
		return
	}
	s.beginSearch(again)
}

// beginSearch begins a search, and has one follow that which is under way if again is set. discovery.mu is held.
func (s *Server) beginSearch(again bool) {
	d := &s.discovery
	d.begun = true
	if d.running != nil {
		d.again = d.again || again
		return
	}
	over := make(chan struct{})
	started := s.background(func() { // ends with the last search, which ends with the server
		for more := true; more; {
			s.search()
			d.mu.Lock()
			if more = d.again && s.closed.Err() == nil; !more {
				d.running = nil
				close(over)
			}
			d.again = false
			d.mu.Unlock()
		}
	})
	if started {
		d.running = over
	}
}

// searched looks for models, or joins the search that is under way, and returns at its end or that of ctx.
func (s *Server) searched(ctx context.Context) {
	if s.opts.Discover == nil {
		return
	}
	d := &s.discovery
	d.mu.Lock()
	s.beginSearch(false)
	over := d.running
	d.mu.Unlock()
	if over == nil {
		return // the server is closing
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// search asks for models once, and tells the sessions if there are others now.
func (s *Server) search() {
	changed, err := s.opts.Discover(s.closed)
	if s.closed.Err() != nil {
		return
	}
	if err != nil {
		s.log.Warn().Err(err).Msg("looking for models")
	}
	if changed {
		s.tellOptions()
	}
}

// preconnect has a connection to a model's server made in the background.
func (s *Server) preconnect(info providers.ModelInfo) {
	if s.opts.Preconnect != nil {
		s.background(func() { s.opts.Preconnect(s.closed, info) }) // ends with the server
	}
}
