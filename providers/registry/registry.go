// Package registry knows the models that gjc can use, the keys for them, and how requests reach them.
package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/providers"
)

// Options says where a [Registry] finds models and keys.
type Options struct {
	// AgentDir holds models.yml and auth.json. If empty, neither is read.
	AgentDir string
	// APIKey is the key of the command line; it wins over every other. Optional.
	APIKey string
	// APIKeyProvider is the provider that APIKey is for. If empty: anthropic for a key that begins with "sk-ant-",
	// openai for any other.
	APIKeyProvider string
	// Getenv reads the environment. If nil, the environment is empty.
	Getenv func(string) string
	// Factories open models, by API. A model whose API is missing here is not listed. Required.
	Factories map[string]providers.Factory
	// Fallback is listed last and needs no key; it is the default where nothing else is usable. Its API must be in
	// Factories. Optional.
	Fallback providers.ModelInfo
	// HTTPClient serves all models. If nil, one is made at the first [Registry.Open], as the settings say.
	HTTPClient *http.Client
	// PreconnectLoopback has [Registry.Preconnect] connect to servers on this machine too; for tests.
	PreconnectLoopback bool
	// Ambient tells, by API, which credentials the surroundings have for it (a cloud's own), for people; it returns "" for
	// none, and uses no network. Optional.
	Ambient map[string]func() string
	// Keyring is the system's store of secrets. If nil, there is none.
	Keyring Keyring
	// Now is the clock that keys rest by. If nil, [time.Now].
	Now func() time.Time
	// Settings are read with the files. Like Notice, Ambient and Getenv it must not call the registry. Optional.
	Settings func() (Settings, error)
	// Discover asks a server for its models. If nil, none are discovered.
	Discover providers.Discoverer
	// Notice gets what the user should know but need not act on. If nil, it is dropped.
	Notice func(string)
}

// A Registry knows the models and the keys. Making one does no I/O; the files are read at the first use. Only
// [Registry.Discover], [Registry.TestKey] and [Registry.Preconnect] use the network. It is safe for concurrent use.
type Registry struct {
	opts Options

	mu     sync.Mutex // guards all below
	loaded bool
	err    error
	// stamps are those of the files that were read.
	stamps [4]stamp
	// set are the settings, config is models.yml.
	set     Settings
	config  *modelsFile
	models  []providers.ModelInfo
	access  map[string]*access
	builtIn map[string]bool
	// order are the names of the providers, in the order of the catalogue and of models.yml.
	order []string
	// found is what servers have told of their models, by provider; nil before the first look.
	found    map[string]*found
	profiles []Profile
	file     *credentialFile
	// keyringKeys are the keys that the keyring has given, by provider; rings are the keys in use where there are several.
	keyringKeys map[string][]string
	rings       map[string]*keyRing
	// asking are the questions to the keyring that run, by provider; each is closed at its end. keysChanged counts how often
	// its keys were forgotten.
	asking      map[string]chan struct{}
	keysChanged int
	// ambient is what RegistryOptions.Ambient has told, by API.
	ambient map[string]string
	opened  map[string]providers.Model
	client  *http.Client
	// routes are what [Registry.SetProvider] has put in the place of the access of a provider; they outlive a reload.
	routes map[string]*route
	// disabled are the providers that [Registry.DisableProvider] has taken away.
	disabled map[string]bool
}

// New returns a registry. It does no I/O.
func New(opts Options) *Registry {
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	if opts.Notice == nil {
		opts.Notice = func(string) {}
	}
	return &Registry{opts: opts, routes: map[string]*route{}, disabled: map[string]bool{}}
}

// Load reads models.yml and auth.json, once. Its errors are of type [*ConfigError] or come from the file system;
// with one the registry still works, without the file at fault and without the providers that it gives another address. Every other method loads by itself.
func (r *Registry) Load(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loadLocked()
}

// Reload reads the files again.
func (r *Registry) Reload(ctx context.Context) error {
	r.mu.Lock()
	r.loaded = false
	r.mu.Unlock()
	return r.Load(ctx)
}

// Refresh reads the files again if they are not those that were read: after a login in another process, or an edit of
// models.yml. It reports whether it has. The error is that of [Registry.Load].
func (r *Registry) Refresh(ctx context.Context) (changed bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loaded && r.stamps != r.stampsLocked() {
		r.loaded, changed = false, true
	}
	return changed, r.loadLocked()
}

// stamp says which state of a file was read.
type stamp struct {
	size     int64
	modified time.Time
}

// stampsLocked are those of the files in the agent directory that decide on models and keys.
func (r *Registry) stampsLocked() (all [4]stamp) {
	if r.opts.AgentDir == "" {
		return all
	}
	for i, name := range [len(all)]string{"auth.json", "models.yml", "models.json", "config.yml"} {
		if info, err := os.Stat(filepath.Join(r.opts.AgentDir, name)); err == nil {
			all[i] = stamp{info.Size(), info.ModTime()}
		}
	}
	return all
}

func (r *Registry) loadLocked() error {
	if r.loaded {
		return r.err
	}
	r.stamps = r.stampsLocked() // those of now at the oldest
	r.loaded, r.models, r.access, r.opened = true, nil, map[string]*access{}, map[string]providers.Model{}
	r.keysChanged++
	r.rings, r.keyringKeys, r.ambient = map[string]*keyRing{}, nil, map[string]string{}
	r.builtIn, r.order, r.file = map[string]bool{}, nil, nil
	built := builtIn()
	r.addBuiltIn(built)
	var errs []error
	if r.opts.Settings != nil {
		set, err := r.opts.Settings()
		if r.client != nil && !reflect.DeepEqual(set.HTTP, r.set.HTTP) {
			r.client.CloseIdleConnections()
			r.client = nil
		}
		r.set = set
		errs = append(errs, err)
	}
	file := &modelsFile{}
	if r.opts.AgentDir != "" {
		keys, note, err := readCredentials(filepath.Join(r.opts.AgentDir, "auth.json"))
		r.file = keys
		if note != "" {
			r.opts.Notice(note)
		}
		errs = append(errs, err)
		file, err = r.readModelsFile()
		errs = append(errs, err)
	}
	r.config = file
	for i := range file.providers {
		r.addFileProvider(&file.providers[i])
	}
	r.profiles = mergeProfiles(built.Profiles, file.profiles)
	listed := len(r.models)
	r.addDiscovered()
	r.canonize(file, listed)
	if f := r.opts.Fallback; f.ID != "" && r.opts.Factories[f.API] != nil {
		r.models = append(r.models, f)
		r.access[f.Provider] = &access{keyless: true}
	}
	r.err = errors.Join(errs...)
	return r.err
}

// readModelsFile reads models.yml, or models.json where there is none.
func (r *Registry) readModelsFile() (*modelsFile, error) {
	none := &modelsFile{}
	for _, name := range []string{"models.yml", "models.json"} {
		path := filepath.Join(r.opts.AgentDir, name)
		data, err := configfile.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			for _, a := range r.access {
				a.unsure = true
			}
			return none, fmt.Errorf("reading models: %w", err)
		}
		apis := slices.Sorted(maps.Keys(r.opts.Factories))
		apis = slices.DeleteFunc(apis, func(api string) bool { return api == r.opts.Fallback.API })
		file, err := parseModelsFile(path, data, apis, func(provider string) bool { return r.builtIn[provider] })
		if err != nil {
			r.doubt(data)
			none.suspects = suspects(data)
			return none, err
		}
		return file, nil
	}
	return none, nil
}

// All returns every model, usable or not, in the order of the catalogue, then of models.yml; the fallback is last.
func (r *Registry) All() []providers.ModelInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	return r.modelsLocked()
}

// modelsLocked returns the models of the providers that are not disabled, with the API that they are reached by.
func (r *Registry) modelsLocked() []providers.ModelInfo {
	models := make([]providers.ModelInfo, 0, len(r.models))
	for i := range r.models {
		if m := r.models[i]; !r.disabled[m.Provider] {
			models = append(models, r.routedLocked(m))
		}
	}
	return models
}

// Models returns the models that can be used: those whose provider has a key or needs none, in the order of
// [Registry.All].
func (r *Registry) Models() []providers.ModelInfo { return r.ModelsIn("") }

// ModelsIn is [Registry.Models] for a session in dir, for which the settings may list other models.
func (r *Registry) ModelsIn(dir string) []providers.ModelInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	// It is the provider and its API that decide, and a provider's models follow one another.
	var provider, api, source string
	usable := slices.DeleteFunc(r.modelsLocked(), func(m providers.ModelInfo) bool {
		if m.Provider != provider || m.API != api {
			provider, api = m.Provider, m.API
			source, _ = r.availabilityLocked(&m)
		}
		return source == ""
	})
	return r.set.listed(usable, dir, r.opts.Fallback.Provider)
}

// Default is [Registry.DefaultIn] for a session anywhere.
func (r *Registry) Default() (providers.ModelInfo, bool) { return r.DefaultIn("") }

// DefaultIn returns the model of a session in dir that names none: that of the role default if it can be used there, else the
// first of [Registry.ModelsIn]: the first provider of the catalogue with a key, the first of models.yml, or the fallback. It
// reports false if there is none at all.
func (r *Registry) DefaultIn(dir string) (providers.ModelInfo, bool) {
	if info, _, err := r.Role(RoleDefault); err == nil && !r.DisabledIn(info.Provider, dir) {
		return info, true
	}
	usable := r.ModelsIn(dir)
	for _, m := range usable {
		// A server that may be off is no default; nor is one model of many that nobody has chosen, but better than none.
		if r.dependable(m.Provider) {
			return m, true
		}
	}
	if len(usable) == 0 {
		return providers.ModelInfo{}, false
	}
	return usable[0], true
}

// Open returns the model that info names, as the registry knows it now; info itself describes one that it does not know. Without
// a key it fails with [KindAuth]. It uses no network, but may ask the system's keyring, which may ask the user: it returns when
// ctx ends.
func (r *Registry) Open(ctx context.Context, info providers.ModelInfo) (providers.Model, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	if r.disabled[info.Provider] {
		return nil, &providers.Error{
			Kind: providers.KindModel, Provider: info.Provider, Model: info.ID, Message: "the provider is disabled; choose another model",
		}
	}
	if err := r.askKeyringLocked(ctx, info.Provider); err != nil {
		return nil, &providers.Error{
			Kind: providers.KindAuth, Provider: info.Provider, Model: info.ID, Err: err,
			Message: fmt.Sprintf("the key is in the system's keyring, which did not give it: %v; unlock the keyring and try again, or run gjc login %s", err, info.Provider),
		}
	}
	if i := slices.IndexFunc(r.models, func(m providers.ModelInfo) bool { return m.Provider == info.Provider && m.ID == info.ID }); i >= 0 {
		info = r.models[i]
	}
	info = r.routedLocked(info)
	if m := r.opened[info.Ref()]; m != nil {
		return m, nil
	}
	source, problem := r.availabilityLocked(&info)
	if source == "" {
		return nil, &providers.Error{Kind: problem.kind, Provider: info.Provider, Model: info.ID, Message: problem.text}
	}
	m, err := r.openLocked(info)
	if err != nil {
		return nil, err
	}
	m = &sourced{m, source}
	r.opened[info.Ref()] = m
	return m, nil
}

// sourced is a model whose errors say where a refused key came from.
type sourced struct {
	providers.Model
	source string
}

// Stream implements [Model].
func (m *sourced) Stream(ctx context.Context, req *providers.Request) iter.Seq2[providers.Event, error] {
	return func(yield func(providers.Event, error) bool) {
		for ev, err := range m.Model.Stream(ctx, req) {
			if e, ok := errors.AsType[*providers.Error](err); ok && e.Kind == providers.KindAuth {
				e.KeySource = m.source
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// dependable reports whether a provider answers as far as is known: one that is found by asking around may not.
func (r *Registry) dependable(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.found[id]
	return f == nil || f.live || !r.implicitLocked(id)
}

// clientLocked returns the client of all models.
func (r *Registry) clientLocked() (*http.Client, error) {
	if r.client != nil {
		return r.client, nil
	}
	if r.opts.HTTPClient != nil {
		r.client = r.opts.HTTPClient
		return r.client, nil
	}
	client, err := r.set.HTTP.Client()
	r.client = client
	return client, err
}

// Close lets go of idle connections. The registry can be used again.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		r.client.CloseIdleConnections()
	}
}
