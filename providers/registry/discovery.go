package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2/maybe"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

func discoveryTypes() []providers.DiscoveryType {
	return []providers.DiscoveryType{providers.DiscoverOllama, providers.DiscoverLlamaCPP, providers.DiscoverLMStudio, providers.DiscoverOpenAI}
}

// discoveryTimeout bounds how long one server may take to tell its models.
const discoveryTimeout = 5 * time.Second

// Discover asks the servers that can tell their models, all at once, and reports whether there are other models now. What
// they say is kept in the agent directory for the next process. The error names the servers of models.yml that did not
// answer, and those that want another key; one that nobody has configured may well be off.
func (r *Registry) Discover(ctx context.Context) (changed bool, err error) {
	r.mu.Lock()
	_ = r.loadLocked()
	sources := r.sourcesLocked()
	r.mu.Unlock()
	type answer struct {
		models []providers.ModelInfo
		err    error
	}
	answers := make([]answer, len(sources))
	var wg sync.WaitGroup
	for i := range sources {
		wg.Go(func() {
			ctx, cancel := context.WithTimeoutCause(ctx, discoveryTimeout, errors.New("the server did not tell its models in time"))
			defer cancel()
			answers[i].models, answers[i].err = r.opts.Discover(ctx, sources[i])
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for i, a := range answers {
		id := sources[i].Provider
		if a.err != nil {
			if e, ok := errors.AsType[*providers.Error](a.err); !r.implicitLocked(id) || ok && e.Kind == providers.KindAuth {
				errs = append(errs, fmt.Errorf("asking %s for its models: %w", id, a.err))
			}
			continue
		}
		now := found{Address: digest(sources[i].BaseURL), live: true}
		for _, m := range a.models {
			now.Models = append(now.Models, newFoundModel(&m))
		}
		before := r.found[id]
		if before == nil || before.Address != now.Address || !reflect.DeepEqual(before.Models, now.Models) || !before.live {
			changed = true
		}
		r.found[id] = &now
	}
	for _, id := range r.order {
		a := r.access[id]
		if a.discovery == "" || r.disabled[id] || r.set.disables(id) || r.opts.Factories[a.api] == nil || r.addressLocked(a, id) == a.baseURL {
			continue
		}
		if problem := r.addressProblem(id, a.api); problem != "" {
			errs = append(errs, fmt.Errorf("asking %s for its models: %s", id, problem))
		}
	}
	if changed {
		errs = append(errs, r.keepFound())
		// The user is not asked for the keyring again, and keys that rest go on resting: only the models are others.
		keys, rings := r.keyringKeys, r.rings
		r.loaded = false
		_ = r.loadLocked()
		r.keyringKeys, r.rings = keys, rings
	}
	return changed, errors.Join(errs...)
}

// implicitLocked reports whether a provider is there without models.yml.
func (r *Registry) implicitLocked(id string) bool {
	return r.builtIn[id] && !slices.ContainsFunc(r.config.providers, func(p fileProvider) bool { return p.name == id })
}

// sourcesLocked are the servers to ask: those that discovery is configured for, and the built-in ones that run on the
// user's machine or that there is a key for.
func (r *Registry) sourcesLocked() []providers.DiscoverySource {
	client, err := r.clientLocked()
	if err != nil || r.opts.Discover == nil {
		return nil // a model says what is wrong with the client
	}
	var all []providers.DiscoverySource
	for _, id := range r.order {
		a := r.access[id]
		if a.discovery == "" || r.disabled[id] || r.set.disables(id) || r.opts.Factories[a.api] == nil || r.addressProblem(id, a.api) != "" {
			continue
		}
		source, key := r.sourceLocked(id), ""
		if source.name == "" {
			continue
		}
		if source.keyring && len(source.keys) == 0 || r.routes[id] != nil {
			continue // a question to the user for a list, or an address that the editor has put in its place
		}
		if len(source.keys) > 0 {
			key = source.keys[0]
		}
		all = append(all, providers.DiscoverySource{
			Provider: id, Type: a.discovery, BaseURL: r.addressLocked(a, id), API: a.api, APIKey: key,
			Headers: a.headers, Transform: (&fileTransform{}).over(&a.transform), Client: client,
		})
	}
	return all
}

// found is what a server has told.
type found struct {
	// Address is a digest of the server's: the address itself may hold a password.
	Address string       `json:"address"`
	Models  []foundModel `json:"models"`
	// live says that this process has asked.
	live bool
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

type foundModel struct {
	ID       string                    `json:"id"`
	Name     string                    `json:"name,omitzero"`
	Window   int                       `json:"contextWindow,omitzero"`
	Output   int                       `json:"maxTokens,omitzero"`
	Images   bool                      `json:"images,omitzero"`
	Thinking []providers.ThinkingLevel `json:"thinking,omitzero"`
	Mode     providers.ThinkingMode    `json:"thinkingMode,omitzero"`
	Cost     providers.Cost            `json:"cost,omitzero"`
}

func newFoundModel(m *providers.ModelInfo) foundModel {
	return foundModel{m.ID, m.Name, m.ContextWindow, m.MaxOutput, m.Images, m.Thinking, m.ThinkingMode, m.Cost}
}

// foundFile is where what servers have told is kept. Losing it costs nothing but time.
func (r *Registry) foundFile() string { return filepath.Join(r.opts.AgentDir, "cache", "models.json") }

// readFound reads what servers have told another process.
func (r *Registry) readFound() {
	r.found = map[string]*found{}
	data, err := os.ReadFile(r.foundFile())
	if err != nil || jsonx.Unmarshal(data, &r.found) != nil || r.found == nil {
		r.found = map[string]*found{}
	}
}

func (r *Registry) keepFound() error {
	if r.opts.AgentDir == "" {
		return nil
	}
	data, err := jsonx.Marshal(r.found)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(r.foundFile()), 0o700)
	}
	if err == nil {
		err = maybe.WriteFile(r.foundFile(), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keeping the models that were found: %w", err)
	}
	return nil
}

// addDiscovered adds the models that servers have told of, if they are still where they were. What models.yml says of them
// is put over them.
func (r *Registry) addDiscovered() {
	if r.found == nil {
		r.readFound()
	}
	for _, id := range r.order {
		a, f := r.access[id], r.found[id]
		if a == nil || f == nil || a.discovery == "" || r.opts.Factories[a.api] == nil || digest(r.addressLocked(a, id)) != f.Address {
			continue
		}
		for _, m := range f.Models {
			if m.ID == "" || r.indexLocked(id, m.ID) >= 0 {
				continue
			}
			r.models = append(r.models, providers.ModelInfo{
				Provider: id, ID: m.ID, Name: m.Name, API: a.api, ContextWindow: m.Window, MaxOutput: m.Output,
				Images: m.Images, Thinking: m.Thinking, ThinkingMode: m.Mode, Cost: m.Cost,
			})
		}
		for j := range a.overrides {
			if a.models[a.overrides[j].id] == nil {
				r.override(id, &a.overrides[j])
			}
		}
	}
}
