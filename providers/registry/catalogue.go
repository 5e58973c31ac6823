package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/providers"
)

// A Catalogue lists providers, models and profiles: the built-in ones, those of models.yml, and the models that servers have
// listed. It reads its files when a method first needs them. It is safe for concurrent use.
type Catalogue struct {
	opts *Options

	mu     sync.Mutex // guards the fields below
	loaded bool
	// stamps holds the stamps of the files that current was read from.
	stamps  [3]configfile.Stamp
	current *listing
	err     error
	// found holds the models that servers have listed, by provider; nil until the kept lists have been read.
	found map[string]*found
}

// stampOf returns the stamp of a file in dir; the zero stamp stands for no directory.
func stampOf(dir, name string) configfile.Stamp {
	if dir == "" {
		return configfile.Stamp{}
	}
	return configfile.StampOf(filepath.Join(dir, name))
}

// fileStamps returns the stamps of the files that the catalogue depends on.
func (c *Catalogue) fileStamps() [3]configfile.Stamp {
	dir := c.opts.AgentDir
	return [...]configfile.Stamp{stampOf(dir, "models.yml"), stampOf(dir, "models.json"), stampOf(dir, "config.yml")}
}

// load reads the files unless they have been read, and returns the errors of reading them.
func (c *Catalogue) load() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loadLocked()
	return c.err
}

// stale reports whether the files have changed since they were read.
func (c *Catalogue) stale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded && c.stamps != c.fileStamps()
}

// expire makes the next call read the files again.
func (c *Catalogue) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded = false
}

// listing returns the current listing. It reads the files if necessary.
func (c *Catalogue) listing() *listing {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loadLocked()
	return c.current
}

func (c *Catalogue) loadLocked() {
	if c.loaded {
		return
	}
	c.stamps = c.fileStamps() // before reading, so that a concurrent change is noticed later
	c.loaded = true
	if c.found == nil {
		c.found = readFound(c.opts.AgentDir)
	}
	l := &listing{opts: c.opts, providers: map[string]*provider{}, builtIn: map[string]bool{}, file: &modelsFile{}}
	built := builtIn()
	l.addBuiltIn(built)
	var errs []error
	if c.opts.Settings != nil {
		set, err := c.opts.Settings()
		l.settings = set
		errs = append(errs, err)
	}
	if c.opts.AgentDir != "" {
		errs = append(errs, l.readFile())
	}
	for i := range l.file.providers {
		l.addFileProvider(&l.file.providers[i])
	}
	l.profiles = mergeProfiles(built.Profiles, l.file.profiles)
	official := l.officialIDs()
	l.addFound(c.found)
	l.canonize(official)
	if f := c.opts.Fallback; f.ID != "" && c.opts.Factories[f.API] != nil {
		l.models = append(l.models, f)
		l.providers[f.Provider] = &provider{keyless: true}
	}
	c.current, c.err = l, errors.Join(errs...)
}

// readFile reads models.yml, or models.json if there is no models.yml. After an error it marks the providers that the file may
// redirect as unsafe to use.
func (l *listing) readFile() error {
	for _, name := range []string{"models.yml", "models.json"} {
		path := filepath.Join(l.opts.AgentDir, name)
		data, err := configfile.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			for _, p := range l.providers {
				p.addressUnknown = true
			}
			return fmt.Errorf("reading models: %w", err)
		}
		apis := slices.Sorted(maps.Keys(l.opts.Factories))
		apis = slices.DeleteFunc(apis, func(api string) bool { return api == l.opts.Fallback.API })
		file, err := parseModelsFile(path, data, apis, func(provider string) bool { return l.builtIn[provider] })
		if err != nil {
			l.markAddressed(data)
			l.file.suspects = suspects(data)
			return err
		}
		l.file = file
		return nil
	}
	return nil
}

// Profile returns the name of the profile in use; empty for none.
func (c *Catalogue) Profile() string { return c.listing().settings.Profile }

// DisabledIn reports whether the settings disable a provider for sessions in dir. Its models can still be found by name.
func (c *Catalogue) DisabledIn(provider, dir string) bool {
	return c.listing().settings.disablesIn(provider, dir)
}

// AgentModel returns the model that models.yml binds to a helper agent, as "provider/id" with an optional ":level"; empty for
// none.
func (c *Catalogue) AgentModel(agent string) string { return c.listing().file.agentModels[agent] }

// KeyProviders returns the providers that accept an API key: the built-in ones and those in models.yml.
func (c *Catalogue) KeyProviders() []string {
	l := c.listing()
	var ids []string
	for _, id := range l.order {
		if p := l.providers[id]; (!p.keyless || len(p.keyEnv) > 0) && (l.opts.Factories[p.api] != nil || !l.builtIn[id]) {
			ids = append(ids, id)
		}
	}
	return ids
}

// KeyVariables returns the environment variables that may hold keys and must be hidden from child processes: those that
// models.yml names, everything that looks like such a name if the file is malformed, and the variables of addresses that hold a
// password.
func (c *Catalogue) KeyVariables() []string {
	l := c.listing()
	names := slices.Clone(l.file.suspects)
	for i := range l.file.providers {
		p := &l.file.providers[i]
		if p.apiKeyEnv != "" {
			names = append(names, p.apiKeyEnv)
		}
		if isVariableName(p.apiKey) {
			names = append(names, p.apiKey)
		}
	}
	for _, id := range l.order {
		for _, name := range append(slices.Clone(l.providers[id].builtIn.BaseURLEnv), variableOf(id, "_BASE_URL")) {
			if u, err := url.Parse(l.opts.Getenv(name)); err != nil || u.User != nil {
				names = append(names, name)
			}
		}
	}
	return names
}

// A listing is the content of the catalogue at one moment. It is immutable once loaded.
type listing struct {
	opts     *Options
	settings Settings
	// file is the content of models.yml; it is empty if there is no file or the file is malformed.
	file      *modelsFile
	models    []providers.ModelInfo
	providers map[string]*provider
	// builtIn has the providers of the built-in catalogue.
	builtIn map[string]bool
	// order lists the providers: the built-in ones, then those of models.yml.
	order    []string
	profiles []Profile
	// answered holds the providers whose servers have listed models to this process, and discovered those whose servers have listed
	// models to this or an earlier process.
	answered, discovered map[string]bool
}

// A provider describes how to reach one provider.
type provider struct {
	// builtIn is the entry of the built-in catalogue; the zero value for a provider of models.yml.
	builtIn builtInProvider
	// fileURL is the address of models.yml. It takes precedence over the variables of the built-in entry, which take precedence
	// over its address.
	fileURL string
	headers map[string]string
	// keyEnv lists the variables that may hold the key, in order.
	keyEnv []string
	// key is the literal key of models.yml.
	key     string
	keyless bool
	// addressUnknown reports that models.yml is malformed and may have an address for the provider.
	addressUnknown bool
	authHeader     bool
	noStrictTools  bool
	structured     *bool // nil for the default, as for toolSearch
	toolSearch     *bool
	cacheRetention providers.CacheRetention
	compat         providers.Compat
	transform      fileTransform
	// api is the API of the provider's models.
	api       string
	discovery providers.DiscoveryType
	// models holds, by id, the fields in models.yml that say how to reach a model rather than describe it.
	models map[string]*fileModel
	// overrides also apply to models that are discovered later.
	overrides []fileModel
}

// model returns what models.yml says of a model.
func (p *provider) model(id string) *fileModel {
	if m := p.models[id]; m != nil {
		return m
	}
	return new(fileModel)
}

// index returns the index of a model, or -1.
func (l *listing) index(provider, id string) int {
	return slices.IndexFunc(l.models, func(m providers.ModelInfo) bool { return m.Provider == provider && m.ID == id })
}

// modelProviders returns the providers that have models, in the order of the models.
func (l *listing) modelProviders() []string {
	var ids []string
	for i := range l.models {
		if id := l.models[i].Provider; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// implicit reports whether a provider is built in and models.yml does not configure it.
func (l *listing) implicit(id string) bool {
	return l.builtIn[id] && !slices.ContainsFunc(l.file.providers, func(p fileProvider) bool { return p.name == id })
}

// dependable reports whether a provider is expected to answer. A server that is listed only because it listed models to an earlier
// process may be off.
func (l *listing) dependable(id string) bool {
	return !l.discovered[id] || l.answered[id] || !l.implicit(id)
}

// label returns a provider's display name, or id if it has none.
func (l *listing) label(id string) string {
	if p := l.providers[id]; p != nil && p.builtIn.Label != "" {
		return p.builtIn.Label
	}
	return id
}

// keyVariables returns where the user can set a key for a provider: the environment variables, or else models.yml.
func (l *listing) keyVariables(id string) []string {
	if p := l.providers[id]; p != nil && len(p.keyEnv) > 0 {
		return p.keyEnv
	}
	return []string{"apiKey in models.yml"}
}
