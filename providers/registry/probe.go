package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// The bounds of a request that tests a provider.
const (
	testTimeout = 30 * time.Second
	testTokens  = 64
)

// A Probe is the result of a test request to a provider.
type Probe struct {
	Provider string
	// Model is the id of the model that was asked; empty if no request was sent.
	Model string
	// Source is the source of the key, as [Router.CredentialSource] returns it; empty if there is none.
	Source string
	// Address is the server's address without user, password and query.
	Address string
	// Err is nil if the provider has answered.
	Err error
}

// Configured returns the providers that the user has set up, in the order of the models: those that can be used, and those of
// models.yml. It does not include the fallback.
func (r *Router) Configured() []string {
	s := r.state()
	var ids []string
	for _, m := range s.enabledModels() {
		if slices.Contains(ids, m.Provider) || m.Provider == r.opts.Fallback.Provider || s.settings.disables(m.Provider) {
			continue
		}
		if source, _ := s.availability(&m); source != "" || !s.implicit(m.Provider) {
			ids = append(ids, m.Provider)
		}
	}
	for _, p := range s.file.providers { // those without a model
		if !slices.Contains(ids, p.name) && !s.builtIn[p.name] {
			ids = append(ids, p.name)
		}
	}
	return ids
}

// Probe asks the cheapest model of a provider for one word, with the key that requests use.
func (r *Router) Probe(ctx context.Context, provider string) Probe {
	ctx, cancel := context.WithTimeoutCause(ctx, testTimeout, fmt.Errorf("%s did not answer within %v", provider, testTimeout))
	defer cancel()
	p := Probe{Provider: provider}
	s := r.state()
	cheapest := s.cheapest(provider)
	if cheapest == nil {
		p.Err = &providers.Error{Kind: providers.KindModel, Provider: provider, Message: "the provider has no models; list some in models.yml, or check that its server is running"}
		return p
	}
	source, problem := s.availability(cheapest)
	p.Source = source
	p.Address = withoutSecrets(s.baseURL(provider, typeOfAPI(cheapest.API)))
	if source == "" {
		p.Err = &providers.Error{Kind: problem.kind, Provider: provider, Message: problem.text}
		return p
	}
	p.Model = cheapest.ID
	model, err := r.Open(ctx, *cheapest)
	if err != nil {
		p.Err = err
		return p
	}
	p.Err = askOneWord(ctx, model)
	return p
}

// TestKey asks the provider's cheapest model for one word with a key that need not be stored. It returns nil if the key works.
func (r *Router) TestKey(ctx context.Context, provider, key string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, testTimeout, fmt.Errorf("%s did not answer within %v", provider, testTimeout))
	defer cancel()
	model, err := r.openWithKey(provider, strings.TrimSpace(key))
	if err != nil {
		return err
	}
	return askOneWord(ctx, model)
}

// openWithKey opens the cheapest model of a provider with a key.
func (r *Router) openWithKey(provider, key string) (providers.Model, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stateLocked()
	cheapest := s.cheapest(provider)
	if cheapest == nil {
		return nil, fmt.Errorf("%w %q; it has no model to test the key with", providers.ErrUnknownProvider, provider)
	}
	client, err := r.clientLocked(s)
	if err != nil {
		return nil, err
	}
	if problem := s.addressProblem(provider, cheapest.API); problem != "" {
		return nil, &providers.Error{Kind: providers.KindInvalid, Provider: provider, Message: problem}
	}
	cfg := s.config(*cheapest, client)
	cfg.APIKey = key
	return r.opts.Factories[cheapest.API](cfg)
}

func askOneWord(ctx context.Context, model providers.Model) error {
	req := &providers.Request{
		Messages:  []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "Say OK."}}}},
		MaxTokens: testTokens,
	}
	for _, err := range model.Stream(ctx, req) {
		if err != nil {
			return err
		}
	}
	return nil
}

// cheapest returns the provider's cheapest model that has a factory, or nil. Models with a known price take precedence.
func (s *state) cheapest(provider string) *providers.ModelInfo {
	var cheapest *providers.ModelInfo
	for _, m := range s.enabledModels() {
		if m.Provider == provider && s.opts.Factories[m.API] != nil &&
			(cheapest == nil || m.Cost.Output > 0 && (cheapest.Cost.Output == 0 || m.Cost.Output < cheapest.Cost.Output)) {
			cheapest = &m
		}
	}
	return cheapest
}
