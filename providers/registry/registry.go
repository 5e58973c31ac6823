// Package registry knows which models there are, holds the keys for their providers, and opens them.
//
// A [Catalogue] lists models, [Keys] holds credentials, and a [Router] finds a model by name or role and opens it. A [Registry]
// joins the three.
package registry

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/quota"
)

// Options configures a [Registry]. Settings, Notice, Ambient and Getenv are called while locks are held and must not call the
// registry.
type Options struct {
	// AgentDir is the directory of models.yml and auth.json. If empty, neither is read.
	AgentDir string
	// APIKey is a key from the command line; it takes precedence over every other key. Optional.
	APIKey string
	// APIKeyProvider is the provider of APIKey. If empty, it follows from the beginning of the key: anthropic for "sk-ant-",
	// google for "AIza", openai for the rest.
	APIKeyProvider string
	// Getenv reads an environment variable. If nil, the environment is empty.
	Getenv func(string) string
	// Factories opens models, by API. A built-in model whose API is missing is not listed. Required.
	Factories map[string]providers.Factory
	// Fallback is listed last and needs no key; it is the default if no other model can be used. Its API must be in Factories.
	// Optional.
	Fallback providers.ModelInfo
	// HTTPClient serves all models. If nil, the registry makes one from the settings when it first needs one.
	HTTPClient *http.Client
	// PreconnectLoopback makes [Router.Preconnect] connect to servers on this machine too; for tests.
	PreconnectLoopback bool
	// Ambient returns, by API, a description of the credentials that the environment provides for the API (those of a cloud),
	// or "" for none. It does not use the network. Optional.
	Ambient map[string]func() string
	// Keyring is the operating system's store of secrets. Optional.
	Keyring Keyring
	// Now is the clock of key rotation. If nil, [time.Now].
	Now func() time.Time
	// Settings returns the user's settings. It is called whenever the files are read. Optional.
	Settings func() (Settings, error)
	// Discover asks a server for its models. If nil, no models are discovered.
	Discover providers.Discoverer
	// Gateway has keys for the providers that the user has none for. Optional.
	Gateway *Gateway
	// Notice receives messages for the user that need no action. Optional.
	Notice func(string)
}

// A Registry joins a catalogue, keys and a router that share [Options]. Only Discover, TestKey, Probe, Preconnect and RefreshQuotas
// use the network. It is safe for concurrent use.
type Registry struct {
	*Catalogue
	*Keys
	*Router

	// reloading serializes reloads, so that one of several concurrent calls of Refresh reports a change.
	reloading sync.Mutex
}

// New returns a registry. It does no I/O: the files are read when a method first needs them.
func New(opts Options) *Registry {
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	if opts.Notice == nil {
		opts.Notice = func(string) {}
	}
	catalogue := &Catalogue{opts: &opts}
	keys := &Keys{opts: &opts}
	return &Registry{Catalogue: catalogue, Keys: keys, Router: &Router{opts: &opts, catalogue: catalogue, keys: keys, quotas: quota.New(opts.Now)}}
}

// Load reads models.yml and auth.json unless they have been read. Its errors are of type [*ConfigError] or come from the file
// system. After an error the registry works without the faulty file, and without the providers whose address the file may change.
func (r *Registry) Load(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(r.Keys.load(), r.Catalogue.load())
}

// Reload reads the files again.
func (r *Registry) Reload(ctx context.Context) error {
	r.reloading.Lock()
	defer r.reloading.Unlock()
	r.expire()
	return r.Load(ctx)
}

// Refresh reads the files again if they have changed since they were read, and reports whether they have. Its error is that of
// Load.
func (r *Registry) Refresh(ctx context.Context) (changed bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	r.reloading.Lock()
	defer r.reloading.Unlock()
	if r.Keys.stale() || r.Catalogue.stale() {
		changed = true
		r.expire()
	}
	return changed, r.Load(ctx)
}

func (r *Registry) expire() {
	r.Keys.expire()
	r.Catalogue.expire()
}

// Discover asks all servers that list their models concurrently, and reports whether the catalogue has changed. It stores the lists
// in the agent directory for the next process. The error names the servers in models.yml that did not respond, and all servers that
// refused the key. It does not name other servers that did not respond: a server that the user has not configured may be off.
func (r *Registry) Discover(ctx context.Context) (changed bool, err error) {
	sources, problems := r.discoverySources()
	return r.discover(ctx, sources, problems)
}
