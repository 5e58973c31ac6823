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
	"sync"
	"time"

	"github.com/google/renameio/v2/maybe"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

func discoveryTypes() []providers.DiscoveryType {
	return []providers.DiscoveryType{providers.DiscoverOllama, providers.DiscoverLlamaCPP, providers.DiscoverLMStudio, providers.DiscoverOpenAI}
}

// discoveryTimeout bounds how long one server may take to list its models.
const discoveryTimeout = 5 * time.Second

// discover asks the servers for their models, concurrently, keeps the lists, and reports whether the catalogue has changed.
// problems are added to the error.
func (c *Catalogue) discover(ctx context.Context, sources []providers.DiscoverySource, problems []error) (changed bool, err error) {
	lists := make([][]providers.ModelInfo, len(sources))
	failures := make([]error, len(sources))
	var wg sync.WaitGroup
	for i := range sources {
		wg.Go(func() {
			ctx, cancel := context.WithTimeoutCause(ctx, discoveryTimeout, errors.New("the server did not list its models in time"))
			defer cancel()
			lists[i], failures[i] = c.opts.Discover(ctx, sources[i])
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loadLocked()
	var errs []error
	for i := range sources {
		id := sources[i].Provider
		if err := failures[i]; err != nil {
			if e, ok := errors.AsType[*providers.Error](err); !c.current.implicit(id) || ok && e.Kind == providers.KindAuth {
				errs = append(errs, fmt.Errorf("asking %s for its models: %w", id, err))
			}
			continue
		}
		now := found{Address: digest(sources[i].BaseURL), answered: true}
		for j := range lists[i] {
			now.Models = append(now.Models, newFoundModel(&lists[i][j]))
		}
		before := c.found[id]
		if before == nil || before.Address != now.Address || !reflect.DeepEqual(before.Models, now.Models) || !before.answered {
			changed = true
		}
		c.found[id] = &now
	}
	errs = append(errs, problems...)
	if changed {
		errs = append(errs, keepFound(c.opts.AgentDir, c.found))
		c.loaded = false
		c.loadLocked()
	}
	return changed, errors.Join(errs...)
}

// discoverySources returns the servers to ask for their models: those that models.yml configures, and the built-in ones that run on
// the user's machine or have a key. problems lists the servers with an invalid address.
func (r *Router) discoverySources() (sources []providers.DiscoverySource, problems []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stateLocked()
	client, err := r.clientLocked(s)
	askable := err == nil && r.opts.Discover != nil // err is reported when a model is opened
	for _, id := range s.order {
		p := s.providers[id]
		if p.discovery == "" || s.disabled[id] || s.settings.disables(id) || r.opts.Factories[p.api] == nil {
			continue
		}
		address := s.address(p, id)
		if problem := s.addressProblem(id, p.api); problem != "" {
			if address != p.builtIn.BaseURL {
				problems = append(problems, fmt.Errorf("asking %s for its models: %s", id, problem))
			}
			continue
		}
		source := s.source(id)
		if !askable || source.name == "" || source.keyring && len(source.keys) == 0 || s.redirects[id] != nil {
			continue // a list is not worth asking the keyring, and a redirected provider has another address
		}
		key := ""
		if len(source.keys) > 0 {
			key = source.keys[0]
		}
		sources = append(sources, providers.DiscoverySource{
			Provider: id, Type: p.discovery, BaseURL: address, API: p.api, APIKey: key,
			Headers: p.headers, Transform: (&fileTransform{}).over(&p.transform), Client: r.clientFor(id, &source, client),
		})
	}
	return sources, problems
}

// found is the list of models that a server has returned.
type found struct {
	// Address is a digest of the server's address, which may contain a password.
	Address string       `json:"address"`
	Models  []foundModel `json:"models"`
	// answered reports that the server has returned the list to this process.
	answered bool
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

// foundFile returns the path of the kept lists. The file is a cache: without it the servers are asked again.
func foundFile(dir string) string { return filepath.Join(dir, "cache", "models.json") }

// readFound reads the lists that an earlier process has kept. An unreadable file counts as empty.
func readFound(dir string) map[string]*found {
	all := map[string]*found{}
	data, err := os.ReadFile(foundFile(dir))
	if err != nil || jsonx.Unmarshal(data, &all) != nil || all == nil {
		return map[string]*found{}
	}
	return all
}

// keepFound writes the lists for the next process.
func keepFound(dir string, all map[string]*found) error {
	if dir == "" {
		return nil
	}
	data, err := jsonx.Marshal(all)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(foundFile(dir)), 0o700)
	}
	if err == nil {
		err = maybe.WriteFile(foundFile(dir), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("storing the discovered models: %w", err)
	}
	return nil
}

// addFound adds the models that servers have listed, unless a server's address has changed since, and applies the overrides of
// models.yml to them.
func (l *listing) addFound(all map[string]*found) {
	l.discovered, l.answered = map[string]bool{}, map[string]bool{}
	for id, f := range all {
		l.discovered[id], l.answered[id] = f != nil, f != nil && f.answered
	}
	for _, id := range l.order {
		p, f := l.providers[id], all[id]
		if f == nil || p.discovery == "" || l.opts.Factories[p.api] == nil || digest(l.address(p, id)) != f.Address {
			continue
		}
		for _, m := range f.Models {
			if m.ID == "" || l.index(id, m.ID) >= 0 {
				continue
			}
			l.models = append(l.models, providers.ModelInfo{
				Provider: id, ID: m.ID, Name: m.Name, API: p.api, ContextWindow: m.Window, MaxOutput: m.Output,
				Images: m.Images, Thinking: m.Thinking, ThinkingMode: m.Mode, Cost: m.Cost,
			})
		}
		for i := range p.overrides {
			if p.models[p.overrides[i].id] == nil {
				l.override(id, &p.overrides[i])
			}
		}
	}
}

// mayGrow reports whether a provider may get models that are not known yet.
func (s *state) mayGrow(id string) bool {
	p := s.providers[id]
	return p != nil && (p.discovery != "" || s.opts.Factories[p.api] == nil) || s.disabled[id]
}
