package providers

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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// RegistryOptions says where a [Registry] finds models and keys.
type RegistryOptions struct {
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
	Factories map[string]Factory
	// Fallback is listed last and needs no key; it is the default where nothing else is usable. Its API must be in
	// Factories. Optional.
	Fallback ModelInfo
	// HTTPClient serves all models. If nil, one is made with [NewHTTPClient] at the first [Registry.Open].
	HTTPClient *http.Client
	// StallTimeout is that of [Config].
	StallTimeout time.Duration
	// Notice gets what the user should know but need not act on. If nil, it is dropped.
	Notice func(string)
}

// A Registry knows the models and the keys. Making one does no I/O; the files are read at the first use, and no
// method uses the network. It is safe for concurrent use.
type Registry struct {
	opts RegistryOptions

	mu     sync.Mutex // guards all below
	loaded bool
	err    error
	models []ModelInfo
	access map[string]*access
	file   *credentialFile
	opened map[string]Model
	client *http.Client
	// routes are what [Registry.SetProvider] has put in the place of the access of a provider; they outlive a reload.
	routes map[string]*route
	// disabled are the providers that [Registry.DisableProvider] has taken away.
	disabled map[string]bool
}

// access is how one provider is reached.
type access struct {
	baseURL string
	headers map[string]string
	// modelHeaders are those of single models, by id.
	modelHeaders map[string]map[string]string
	// keyEnv names the variables that may hold the key, in order.
	keyEnv []string
	// key is the literal of models.yml.
	key     string
	keyless bool
}

// NewRegistry returns a registry. It does no I/O.
func NewRegistry(opts RegistryOptions) *Registry {
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	if opts.Notice == nil {
		opts.Notice = func(string) {}
	}
	return &Registry{opts: opts, routes: map[string]*route{}, disabled: map[string]bool{}}
}

// Load reads models.yml and auth.json, once. Its errors are of type [*ConfigError] or come from the file system;
// with one the registry still works, without the file at fault. Every other method loads by itself.
func (r *Registry) Load(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loadLocked()
}

// Reload reads the files again: after a login in another process, or an edit of models.yml.
func (r *Registry) Reload(ctx context.Context) error {
	r.mu.Lock()
	r.loaded = false
	r.mu.Unlock()
	return r.Load(ctx)
}

func (r *Registry) loadLocked() error {
	if r.loaded {
		return r.err
	}
	r.loaded, r.models, r.access, r.opened = true, nil, map[string]*access{}, map[string]Model{}
	r.addBuiltIn(builtIn())
	var errs []error
	if r.opts.AgentDir != "" {
		file, note, err := readCredentials(filepath.Join(r.opts.AgentDir, "auth.json"))
		r.file = file
		if note != "" {
			r.opts.Notice(note)
		}
		errs = append(errs, err, r.readModelsFile(filepath.Join(r.opts.AgentDir, "models.yml")))
	}
	if f := r.opts.Fallback; f.ID != "" && r.opts.Factories[f.API] != nil {
		r.models = append(r.models, f)
		r.access[f.Provider] = &access{keyless: true}
	}
	r.err = errors.Join(errs...)
	return r.err
}

func (r *Registry) addBuiltIn(c *catalogue) {
	for i := range c.Providers {
		p := &c.Providers[i]
		a := &access{baseURL: r.opts.Getenv(p.BaseURLEnv)}
		if p.KeyEnv != "" {
			a.keyEnv = []string{p.KeyEnv}
		}
		r.access[p.Name] = a
		if r.opts.Factories[p.API] == nil {
			continue
		}
		for j := range p.Models {
			r.models = append(r.models, p.Models[j].info(p))
		}
	}
}

func (r *Registry) readModelsFile(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading models: %w", err)
	}
	apis := slices.Sorted(maps.Keys(r.opts.Factories))
	apis = slices.DeleteFunc(apis, func(api string) bool { return api == r.opts.Fallback.API })
	list, err := parseModelsFile(path, data, apis)
	if err != nil {
		return err
	}
	for i := range list {
		r.addFileProvider(&list[i])
	}
	return nil
}

// variableName tells the name of an environment variable from a key.
func variableName(s string) bool {
	for i, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

func (r *Registry) addFileProvider(p *fileProvider) {
	a := r.access[p.name]
	if a == nil {
		a = &access{}
		r.access[p.name] = a
	}
	if p.BaseURL != "" {
		a.baseURL = p.BaseURL
	}
	a.headers = p.Headers
	a.keyless = p.keyless() && (p.Auth == "none" || len(a.keyEnv) == 0)
	if p.APIKeyEnv != "" {
		a.keyEnv = append([]string{p.APIKeyEnv}, a.keyEnv...)
	}
	switch {
	case p.APIKey == "":
	case variableName(p.APIKey):
		a.keyEnv = append([]string{p.APIKey}, a.keyEnv...)
	default:
		a.key = p.APIKey
	}
	for i := range p.Models {
		m := &p.Models[i]
		if m.Headers != nil {
			if a.modelHeaders == nil {
				a.modelHeaders = map[string]map[string]string{}
			}
			a.modelHeaders[m.ID] = m.Headers
		}
		at := slices.IndexFunc(r.models, func(k ModelInfo) bool { return k.Provider == p.name && k.ID == m.ID })
		if at >= 0 {
			r.models[at] = m.merge(r.models[at])
			continue
		}
		r.models = append(r.models, m.merge(r.guess(p, m)))
	}
}

// guess is what can be known of a model that is not in the catalogue.
func (r *Registry) guess(p *fileProvider, m *fileModel) ModelInfo {
	info := ModelInfo{Provider: p.name, ID: m.ID, API: p.API}
	for i := range r.models {
		switch k := &r.models[i]; {
		case info.API == "" && k.Provider == p.name:
			info.API = k.API
		case k.ID == m.ID && (k.API == p.API || k.API == m.API) && k.Provider != p.name:
			// The same model behind a gateway is told its thinking the same way.
			info.ThinkingMode = k.ThinkingMode
			if m.Reasoning != nil && *m.Reasoning {
				info.Thinking = k.Thinking
			}
		}
	}
	return info
}

// All returns every model, usable or not, in the order of the catalogue, then of models.yml; the fallback is last.
func (r *Registry) All() []ModelInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked() // Load reports it
	return r.modelsLocked()
}

// modelsLocked returns the models of the providers that are not disabled, with the API that they are reached by.
func (r *Registry) modelsLocked() []ModelInfo {
	models := make([]ModelInfo, 0, len(r.models))
	for i := range r.models {
		if m := r.models[i]; !r.disabled[m.Provider] {
			models = append(models, r.routedLocked(m))
		}
	}
	return models
}

// Models returns the models that can be used: those whose provider has a key or needs none, in the order of
// [Registry.All].
func (r *Registry) Models() []ModelInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	return slices.DeleteFunc(r.modelsLocked(), func(m ModelInfo) bool {
		_, source := r.keyLocked(m.Provider)
		return source == ""
	})
}

// Default returns the model of a session that names none: the first of [Registry.Models]. That is Anthropic's
// default if it has a key, else OpenAI's, else the first of models.yml that can be used, else the fallback. It
// reports false if there is none at all.
func (r *Registry) Default() (ModelInfo, bool) {
	usable := r.Models()
	if len(usable) == 0 {
		return ModelInfo{}, false
	}
	return usable[0], true
}

// Open returns the model that info describes. Without a key it fails with [KindAuth]. It uses no network.
func (r *Registry) Open(info ModelInfo) (Model, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	if r.disabled[info.Provider] {
		return nil, &Error{
			Kind: KindModel, Provider: info.Provider, Model: info.ID, Message: "the provider is disabled; choose another model",
		}
	}
	info = r.routedLocked(info)
	if m := r.opened[info.Ref()]; m != nil {
		return m, nil
	}
	factory := r.opts.Factories[info.API]
	if factory == nil {
		return nil, &Error{
			Kind: KindModel, Provider: info.Provider, Model: info.ID,
			Message: fmt.Sprintf("this build does not speak the API %q", info.API),
		}
	}
	key, source := r.keyLocked(info.Provider)
	if source == "" {
		return nil, &Error{
			Kind: KindAuth, Provider: info.Provider, Model: info.ID,
			Message: "no API key; run gjc login, or set " + strings.Join(r.variablesLocked(info.Provider), " or "),
		}
	}
	if r.client == nil {
		if r.client = r.opts.HTTPClient; r.client == nil {
			r.client = NewHTTPClient()
		}
	}
	cfg := Config{Info: info, APIKey: key, HTTPClient: r.client, StallTimeout: r.opts.StallTimeout}
	if to := r.routes[info.Provider]; to != nil {
		cfg.BaseURL, cfg.Headers = to.baseURL, maps.Clone(to.headers)
	} else if a := r.access[info.Provider]; a != nil {
		cfg.BaseURL = a.baseURL
		cfg.Headers = maps.Clone(a.headers)
		for name, value := range a.modelHeaders[info.ID] {
			if cfg.Headers == nil {
				cfg.Headers = map[string]string{}
			}
			cfg.Headers[name] = value
		}
	}
	m, err := factory(cfg)
	if err != nil {
		return nil, err
	}
	r.opened[info.Ref()] = m
	return m, nil
}

// Close lets go of idle connections. The registry can be used again.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		r.client.CloseIdleConnections()
	}
}

// HasCredentials reports whether the provider has a key or needs none.
func (r *Registry) HasCredentials(provider string) bool { return r.CredentialSource(provider) != "" }

// CredentialSource says where the provider's key comes from, for people: "--api-key", "auth.json", "environment
// NAME", "models.yml", "editor" for what came with [Registry.SetProvider], or "none needed". It is empty where there
// is no key.
func (r *Registry) CredentialSource(provider string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	_, source := r.keyLocked(provider)
	return source
}

func (r *Registry) keyLocked(provider string) (key, source string) {
	if to := r.routes[provider]; to != nil && !to.ownKeys {
		if to.authorized() {
			return "", sourceEditor
		}
		return "", sourceNone
	}
	for key, source := range r.keysLocked(provider) {
		return key, source
	}
	if a := r.access[provider]; a != nil && a.keyless {
		return "", sourceNone
	}
	return "", ""
}

const (
	sourceEditor = "editor"
	sourceNone   = "none needed"
)

// keysLocked yields the keys of a provider, and where each comes from; the first one counts.
func (r *Registry) keysLocked(provider string) iter.Seq2[string, string] {
	return func(yield func(key, source string) bool) {
		if r.opts.APIKey != "" && provider == r.keyProvider() && !yield(r.opts.APIKey, "--api-key") {
			return
		}
		if r.file != nil {
			if key := r.file.key(provider); key != "" && !yield(key, "auth.json") {
				return
			}
		}
		a := r.access[provider]
		if a == nil {
			return
		}
		for _, name := range a.keyEnv {
			if key := r.opts.Getenv(name); key != "" && !yield(key, "environment "+name) {
				return
			}
		}
		if a.key != "" {
			yield(a.key, "models.yml")
		}
	}
}

func (r *Registry) keyProvider() string {
	switch {
	case r.opts.APIKeyProvider != "":
		return r.opts.APIKeyProvider
	case strings.HasPrefix(r.opts.APIKey, "sk-ant-"):
		return "anthropic"
	}
	return "openai"
}

func (r *Registry) variablesLocked(provider string) []string {
	if a := r.access[provider]; a != nil && len(a.keyEnv) > 0 {
		return a.keyEnv
	}
	return []string{"apiKey in models.yml"}
}

// SetCredential keeps an API key in auth.json. It does not overwrite a file that it can not read.
func (r *Registry) SetCredential(provider, key string) error {
	key = strings.TrimSpace(key)
	if provider == "" || key == "" {
		return errors.New("a provider and a key are needed")
	}
	return r.changeCredentials(func(f *credentialFile) error {
		raw, err := marshalCredential(key)
		f.entries[provider] = raw
		return err
	})
}

// RemoveCredential takes a provider out of auth.json. One that is not there is no error.
func (r *Registry) RemoveCredential(provider string) error {
	return r.changeCredentials(func(f *credentialFile) error {
		delete(f.entries, provider)
		return nil
	})
}

func (r *Registry) changeCredentials(change func(*credentialFile) error) error {
	if r.opts.AgentDir == "" {
		return errors.New("there is no agent directory to keep keys in")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	// Another process may have changed the file since it was read.
	file, _, err := readCredentials(filepath.Join(r.opts.AgentDir, "auth.json"))
	if err != nil {
		return err
	}
	before := maps.Clone(file.entries)
	if err := change(file); err != nil {
		return err
	}
	if !maps.EqualFunc(before, file.entries, func(a, b jsonx.Raw) bool { return string(a) == string(b) }) {
		if err := file.save(); err != nil {
			return err
		}
	}
	r.file = file
	clear(r.opened) // the models hold the old key
	return nil
}
