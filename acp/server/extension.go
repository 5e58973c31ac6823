package server

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/air"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// extensions serves the extension methods. docs/protocol.md describes them.
type extensions struct {
	client  *client
	methods map[string]extension
}

// extension handles one method in two halves, like every handler.
type extension func(context.Context, jsonx.Raw) (func() (any, error), error)

func newExtensions(client *client, prompts *promptHandlers, stored *storedHandlers, branches *branchHandlers, addons *addonHandlers) extensions {
	return extensions{client, map[string]extension{
		"_session/steering":      ordered(prompts.steer),
		air.StopTask:             concurrent(prompts.stopTask),
		air.ControlGoal:          ordered(prompts.changeGoal),
		air.RenameSession:        ordered(stored.rename),
		air.ArchiveSession:       concurrent(stored.archive),
		air.UnarchiveSession:     concurrent(stored.unarchive),
		"_gjc/session/branch":    ordered(branches.branch),
		"_gjc/sessions/listAll":  concurrent(stored.listAll),
		"_gjc/projects/list":     concurrent(stored.projects),
		"_gjc/chats/byCwd":       concurrent(stored.chatsByCwd),
		"_gjc/usage":             concurrent(addons.sessions.usageReports),
		relay.MethodStored:       concurrent(addons.sessions.awaitUpdates),
		"_gjc/extensions":        concurrent(addons.list),
		"_gjc/extensions/toggle": concurrent(addons.toggle),
	}}
}

// names lists the extension methods that are for every client.
func (x extensions) names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(x.methods)), func(name string) bool { return air.Needs(name) != "" || name == relay.MethodStored })
}

// serve handles a method whose name begins with an underscore. For an unknown one it returns -32601.
func (x extensions) serve(ctx context.Context, method string, params jsonx.Raw) (func() (any, error), error) {
	handler := x.methods[method]
	if handler == nil {
		return nil, methodNotFound(method)
	}
	if err := x.client.initialized(); err != nil {
		return nil, err
	}
	if needed := air.Needs(method); needed != "" && !x.client.airClient().Has(needed) {
		return nil, methodNotFound(method)
	}
	return handler(ctx, params)
}

// ordered returns an extension that decodes the parameters for a handler whose first half runs in wire order. Absent parameters are
// an empty object.
func ordered[P any](handler func(context.Context, *P) (func() (any, error), error)) extension {
	return func(ctx context.Context, raw jsonx.Raw) (func() (any, error), error) {
		p := new(P)
		if len(raw) > 0 && !jsonx.IsNull(raw) {
			if err := jsonx.Unmarshal(raw, p); err != nil {
				return nil, invalidParams("%v", err)
			}
		}
		return handler(ctx, p)
	}
}

// concurrent is ordered for a handler without a first half.
func concurrent[P any](handler func(context.Context, *P) (any, error)) extension {
	return ordered(func(ctx context.Context, p *P) (func() (any, error), error) {
		return func() (any, error) { return handler(ctx, p) }, nil
	})
}

// usageReport is the usage of one open session.
type usageReport struct {
	SessionID acp.SessionID `json:"sessionId"`
	Model     string        `json:"model"`
	Used      int           `json:"used"`
	Size      int           `json:"size"`
	CostUSD   float64       `json:"costUsd"`
}

// usageReports handles "_gjc/usage": it reports the usage of the open sessions. It asks no provider for a quota.
func (r *registry) usageReports(context.Context, *struct{}) (any, error) {
	result := struct {
		Reports []usageReport `json:"reports"`
	}{Reports: []usageReport{}}
	for _, s := range r.all() {
		o := s.ready()
		if o == nil {
			continue
		}
		if snap, err := o.Snapshot(); err == nil {
			result.Reports = append(result.Reports, usageReport{s.id, snap.Model.Ref(), snap.Usage.Context(), snap.Model.ContextWindow, snap.CostUSD})
		}
	}
	return result, nil
}

type storedParams struct {
	SessionID acp.SessionID `json:"sessionId"`
}

// awaitUpdates handles [relay.MethodStored].
func (r *registry) awaitUpdates(_ context.Context, p *storedParams) (any, error) {
	s, err := r.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	if o := s.ready(); o != nil {
		_, err = o.Snapshot() // the session sends an update before it does anything else
	}
	return struct{}{}, err
}

// switches records the command files and skills that are switched off, by the names of their commands. In the zero value all are
// switched on.
type switches struct {
	mu  sync.Mutex // guards off
	off map[string]bool
}

func (s *switches) enabled(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.off[name]
}

func (s *switches) set(name string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off == nil {
		s.off = make(map[string]bool)
	}
	s.off[name] = !on
}

// addonHandlers handles the extension methods about command files and skills.
type addonHandlers struct {
	sessions *registry
	switches *switches
	sources  func(roots []string) commands.Options
}

// addon is a command file or a skill.
type addon struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
}

// list handles "_gjc/extensions": it lists the command files and skills for a directory, or only the user's own.
func (h *addonHandlers) list(ctx context.Context, p *struct {
	Cwd string `json:"cwd"`
},
) (any, error) {
	var roots []string
	if p.Cwd != "" {
		if !isUsable(p.Cwd) {
			return nil, invalidParams("cwd must be absolute: %q", p.Cwd)
		}
		roots = []string{filepath.Clean(p.Cwd)}
	}
	result := struct {
		Extensions []addon `json:"extensions"`
	}{Extensions: []addon{}}
	set, _ := commands.Load(ctx, h.sources(roots)) // each session reports the problems itself
	for _, c := range set.Commands() {
		kind := "command"
		if strings.HasPrefix(c.Name, commands.SkillPrefix) {
			kind = "skill"
		}
		result.Extensions = append(result.Extensions, addon{c.Name, kind, c.Name, c.Description, h.switches.enabled(c.Name)})
	}
	return result, nil
}

// toggle handles "_gjc/extensions/toggle": it switches a command file or a skill off or on for the lifetime of the process.
func (h *addonHandlers) toggle(_ context.Context, p *struct {
	ProviderID string `json:"providerId"`
	Enabled    *bool  `json:"enabled"`
},
) (any, error) {
	if p.ProviderID == "" || p.Enabled == nil {
		return nil, invalidParams("providerId and enabled are required")
	}
	h.switches.set(p.ProviderID, *p.Enabled)
	for _, s := range h.sessions.all() {
		if o := s.ready(); o != nil {
			s.advertise(o)
		}
	}
	return struct {
		Enabled bool `json:"enabled"`
	}{*p.Enabled}, nil
}
