package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// CredentialSource says where the provider's key comes from, for people: "--api-key", "auth.json", "keyring", "environment
// NAME", "models.yml", "editor" for what came with [Registry.SetProvider], or "none needed". It is empty where there
// is no key.
func (r *Registry) CredentialSource(provider string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	return r.sourceLocked(provider).name
}

// keySource is a place with keys for a provider.
type keySource struct {
	// name is for people; empty for no place at all.
	name string
	// keys are those that are at hand: none for a source that needs none, and for the keyring until it was asked.
	keys    []string
	keyring bool
}

// The names of sources without a place.
const (
	sourceEditor  = "editor"
	sourceNone    = "none needed"
	sourceKeyring = "keyring"
)

// sourceLocked returns the source that counts for a provider.
func (r *Registry) sourceLocked(provider string) keySource {
	if to := r.routes[provider]; to != nil && !to.ownKeys {
		if to.authorized() {
			return keySource{name: sourceEditor}
		}
		return keySource{name: sourceNone}
	}
	for source := range r.keySourcesLocked(provider) {
		return source
	}
	if a := r.access[provider]; a != nil && a.keyless {
		return keySource{name: sourceNone}
	}
	return keySource{}
}

// keySourcesLocked yields the places with keys for a provider; the first one counts.
func (r *Registry) keySourcesLocked(provider string) iter.Seq[keySource] {
	return func(yield func(keySource) bool) {
		one := func(name, key string) bool {
			key = strings.TrimSpace(key)
			return key == "" || yield(keySource{name: name, keys: []string{key}})
		}
		if provider == r.keyProvider() && !one("--api-key", r.opts.APIKey) {
			return
		}
		if r.file != nil {
			switch c, err := r.file.decode(provider); {
			case err != nil:
			case c.Type == typeKeyring:
				if !yield(keySource{name: sourceKeyring, keys: r.keyringKeys[provider], keyring: true}) {
					return
				}
			case len(c.keys()) > 0:
				name := "auth.json"
				if n := len(c.keys()); n > 1 {
					name = fmt.Sprintf("auth.json (%d keys)", n)
				}
				if !yield(keySource{name: name, keys: c.keys()}) {
					return
				}
			}
		}
		a := r.access[provider]
		if a == nil {
			return
		}
		for _, name := range a.keyEnv {
			if !one("environment "+name, r.opts.Getenv(name)) {
				return
			}
		}
		one("models.yml", a.key)
	}
}

func (r *Registry) keyProvider() string {
	switch {
	case r.opts.APIKeyProvider != "":
		return r.opts.APIKeyProvider
	case strings.HasPrefix(r.opts.APIKey, "sk-ant-"):
		return "anthropic"
	case strings.HasPrefix(r.opts.APIKey, "AIza"):
		return "google"
	}
	return "openai"
}

func (r *Registry) variablesLocked(provider string) []string {
	if a := r.access[provider]; a != nil && len(a.keyEnv) > 0 {
		return a.keyEnv
	}
	return []string{"apiKey in models.yml"}
}

// StoreOptions say where [Registry.StoreKey] puts a key.
type StoreOptions struct {
	// Add keeps the keys that are there: requests go over to the next one when a provider refuses or limits one.
	Add bool
	// Keyring puts the key into the system's keyring instead of auth.json. A provider's keys are all in one place.
	Keyring bool
}

// StoreKey keeps an API key, in auth.json or in the system's keyring. It does not overwrite a file that it can not read.
func (r *Registry) StoreKey(provider, key string, opts StoreOptions) error {
	key = strings.TrimSpace(key)
	switch {
	case provider == "" || key == "":
		return errors.New("a provider and a key are needed")
	case strings.ContainsFunc(key, control):
		return errors.New("the key holds a line break or a control character; nothing was stored")
	}
	return r.changeCredentials(func(f *credentialFile) error {
		before, err := f.decode(provider)
		if err != nil {
			return err
		}
		var keys []string
		if opts.Add {
			keys = before.keys()
			if before.Type == typeKeyring {
				if keys, err = r.readKeyring(context.Background(), provider); err != nil {
					return err
				}
			}
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		entry := newCredential(keys)
		if opts.Keyring {
			entry = credential{Type: typeKeyring}
			err = r.writeKeyring(provider, keys)
		} else if before.Type == typeKeyring {
			f.saved = func() error { // a file that cannot be written must not cost the keys
				if err := r.writeKeyring(provider, nil); err != nil {
					return fmt.Errorf("the key is in auth.json now, but the keyring still has those before it: %w", err)
				}
				return nil
			}
		}
		if err != nil {
			return err
		}
		f.entries[provider], err = jsonx.Marshal(entry)
		return err
	})
}

// RemoveCredential forgets the stored keys of a provider. One that has none is no error.
func (r *Registry) RemoveCredential(provider string) error {
	if !r.keepsCredentials() {
		return nil
	}
	return r.changeCredentials(func(f *credentialFile) error {
		return r.removeEntry(f, provider)
	})
}

func (r *Registry) removeEntry(f *credentialFile, provider string) error {
	if c, err := f.decode(provider); err == nil && c.Type == typeKeyring {
		if err := r.writeKeyring(provider, nil); err != nil {
			return err
		}
	}
	delete(f.entries, provider)
	return nil
}

// keepsCredentials reports whether there is an auth.json to take something out of.
func (r *Registry) keepsCredentials() bool {
	if r.opts.AgentDir == "" {
		return false
	}
	_, err := os.Lstat(filepath.Join(r.opts.AgentDir, "auth.json"))
	return !errors.Is(err, fs.ErrNotExist)
}

// changeCredentials changes auth.json, and no other process does at the same time. The lock of r is not held while another
// process or the keyring is waited for, so that models still open.
func (r *Registry) changeCredentials(change func(*credentialFile) error) error {
	if r.opts.AgentDir == "" {
		return errors.New("there is no agent directory to keep keys in")
	}
	path := filepath.Join(r.opts.AgentDir, "auth.json")
	unlock, err := lockCredentials(path)
	if err != nil {
		return err
	}
	defer unlock()
	// Another process may have changed the file since it was read.
	file, _, err := readCredentials(path)
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
	if file.saved != nil {
		err = file.saved()
		file.saved = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	r.file, r.keyringKeys = file, nil
	r.keysChanged++
	clear(r.opened) // the models hold the old key
	clear(r.rings)
	return err
}

// askKeyringLocked gets the keys of a provider from the keyring, if they are there and it has not given them yet. It may wait
// for the user, and lets go of the lock meanwhile; of several that want the same keys one asks. A keyring that did not give
// them is asked again the next time: the user may have unlocked it.
func (r *Registry) askKeyringLocked(ctx context.Context, provider string) error {
	for {
		_ = r.loadLocked()
		if _, given := r.keyringKeys[provider]; given || !r.sourceLocked(provider).keyring {
			return nil
		}
		if asked := r.asking[provider]; asked != nil {
			r.mu.Unlock()
			select {
			case <-asked:
			case <-ctx.Done():
			}
			r.mu.Lock()
			if err := context.Cause(ctx); err != nil {
				return err
			}
			continue
		}
		asked, stand := make(chan struct{}), r.keysChanged
		if r.asking == nil {
			r.asking = map[string]chan struct{}{}
		}
		r.asking[provider] = asked
		r.mu.Unlock()
		keys, err := r.readKeyring(ctx, provider)
		r.mu.Lock()
		delete(r.asking, provider)
		close(asked)
		if err != nil && !errors.Is(err, ErrNoSecret) {
			return err
		}
		if stand == r.keysChanged { // else they may be the old ones
			if r.keyringKeys == nil {
				r.keyringKeys = map[string][]string{}
			}
			r.keyringKeys[provider] = keys
		}
	}
}

// openLocked opens a model with the keys that there are for it.
func (r *Registry) openLocked(info providers.ModelInfo) (providers.Model, error) {
	if _, err := r.clientLocked(); err != nil {
		return nil, &providers.Error{Kind: providers.KindInvalid, Provider: info.Provider, Model: info.ID, Message: err.Error(), Err: err}
	}
	factory, cfg := r.opts.Factories[info.API], r.configLocked(info)
	source := r.sourceLocked(info.Provider)
	if source.keyring && len(source.keys) == 0 {
		return nil, &providers.Error{
			Kind: providers.KindAuth, Provider: info.Provider, Model: info.ID,
			Message: "the key is in the system's keyring, which has none any more; run gjc login " + info.Provider,
		}
	}
	if len(source.keys) < 2 {
		if len(source.keys) == 1 {
			cfg.APIKey = source.keys[0]
		}
		return factory(cfg)
	}
	ring := r.rings[info.Provider]
	if ring == nil || !slices.Equal(ring.keys, source.keys) {
		ring = newKeyRing(source.keys, r.opts.Now)
		r.rings[info.Provider] = ring
	}
	return &rotating{info: info, ring: ring, open: func(key string) (providers.Model, error) {
		cfg := cfg
		cfg.APIKey = key
		return factory(cfg)
	}}, nil
}

// The bounds of the request that tests a key.
const (
	testTimeout = 30 * time.Second
	testTokens  = 64
)

// Probe is the result of one request to a provider.
type Probe struct {
	Provider string
	// Model was asked; empty where no question was asked.
	Model string
	// Source is where the key comes from, as [Registry.CredentialSource] says; empty where there is none.
	Source string
	// Address is that of the server, without user, password and query.
	Address string
	// Err is nil if the provider has answered.
	Err error
}

// Configured returns the providers that the user has set up, in the order of the models: those with a key, those that need none
// and whose models are known, and those of models.yml. The fallback is none of them.
func (r *Registry) Configured() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.loadLocked()
	var ids []string
	for _, m := range r.modelsLocked() {
		if slices.Contains(ids, m.Provider) || m.Provider == r.opts.Fallback.Provider || r.disabled[m.Provider] || r.set.disables(m.Provider) {
			continue
		}
		if source, _ := r.availabilityLocked(&m); source != "" || !r.implicitLocked(m.Provider) {
			ids = append(ids, m.Provider)
		}
	}
	for _, p := range r.config.providers { // those without a model
		if !slices.Contains(ids, p.name) && !r.builtIn[p.name] {
			ids = append(ids, p.name)
		}
	}
	return ids
}

// Probe asks the cheapest model of a provider for one word, with the key that requests use.
func (r *Registry) Probe(ctx context.Context, provider string) Probe {
	ctx, cancel := context.WithTimeoutCause(ctx, testTimeout, fmt.Errorf("%s did not answer in %v", provider, testTimeout))
	defer cancel()
	p := Probe{Provider: provider}
	r.mu.Lock()
	_ = r.loadLocked()
	cheapest := r.cheapestLocked(provider)
	if cheapest != nil {
		source, problem := r.availabilityLocked(cheapest)
		p.Model, p.Source = cheapest.ID, source
		p.Address = shownURL(r.baseURLLocked(provider, typeOfAPI(cheapest.API)))
		if source == "" {
			p.Model, p.Err = "", &providers.Error{Kind: problem.kind, Provider: provider, Message: problem.text}
		}
	} else {
		p.Err = &providers.Error{Kind: providers.KindModel, Provider: provider, Message: "it has no model; name some in models.yml, or see whether its server runs"}
	}
	r.mu.Unlock()
	if p.Err != nil {
		return p
	}
	model, err := r.Open(ctx, *cheapest)
	if err != nil {
		p.Err = err
		return p
	}
	p.Err = askOneWord(ctx, model)
	return p
}

func askOneWord(ctx context.Context, model providers.Model) error {
	req := &providers.Request{Messages: []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "Say OK."}}}}, MaxTokens: testTokens}
	for _, err := range model.Stream(ctx, req) {
		if err != nil {
			return err
		}
	}
	return nil
}

// cheapestLocked returns the provider's cheapest model that this build can ask, or nil.
func (r *Registry) cheapestLocked(provider string) *providers.ModelInfo {
	var cheapest *providers.ModelInfo
	for _, m := range r.modelsLocked() {
		m = r.routedLocked(m)
		if m.Provider == provider && r.opts.Factories[m.API] != nil && (cheapest == nil || m.Cost.Output > 0 && (cheapest.Cost.Output == 0 || m.Cost.Output < cheapest.Cost.Output)) {
			cheapest = &m
		}
	}
	return cheapest
}

// TestKey asks the provider's cheapest model for one word with a key that need not be stored. A nil error says that the
// key works.
func (r *Registry) TestKey(ctx context.Context, provider, key string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, testTimeout, fmt.Errorf("%s did not answer in %v", provider, testTimeout))
	defer cancel()
	r.mu.Lock()
	_ = r.loadLocked()
	cheapest := r.cheapestLocked(provider)
	if cheapest == nil {
		r.mu.Unlock()
		return fmt.Errorf("%w %q; it has no model to test the key with", providers.ErrUnknownProvider, provider)
	}
	_, err := r.clientLocked()
	factory, cfg := r.opts.Factories[cheapest.API], r.configLocked(*cheapest)
	problem := r.addressProblem(provider, cheapest.API)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if problem != "" {
		return &providers.Error{Kind: providers.KindInvalid, Provider: provider, Message: problem}
	}
	cfg.APIKey = strings.TrimSpace(key)
	model, err := factory(cfg)
	if err != nil {
		return err
	}
	return askOneWord(ctx, model)
}
