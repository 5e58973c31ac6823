package server

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
)

// extensions are the methods beyond the protocol, by name. docs/protocol.md describes them.
func (s *Server) extensions() map[string]extension {
	return map[string]extension{
		"_session/steering":      ordered(s.steer),
		"_gjc/session/branch":    ordered(s.branch),
		"_gjc/sessions/listAll":  served(s.listAll),
		"_gjc/projects/list":     served(s.projects),
		"_gjc/chats/byCwd":       served(s.chatsByCwd),
		"_gjc/usage":             served(s.usageReports),
		"_gjc/extensions":        served(s.listExtensions),
		"_gjc/extensions/toggle": served(s.toggleExtension),
	}
}

// extension handles one method, in two halves like every handler.
type extension func(context.Context, jsonx.Raw) (func() (any, error), error)

// extensionMethods lists their names.
func extensionMethods() []string {
	return slices.Sorted(maps.Keys((*Server)(nil).extensions()))
}

// extension serves the requests whose names begin with an underscore. Those that are not known are answered -32601,
// and as notifications ignored.
func (s *Server) extension(ctx context.Context, method string, params jsonx.Raw) (func() (any, error), error) {
	handler := s.extensions()[method]
	if handler == nil {
		return nil, &acp.Error{Code: acp.ErrorCodeMethodNotFound, Message: "method not found: " + method}
	}
	if err := s.initialized(); err != nil {
		return nil, err
	}
	return handler(ctx, params)
}

// ordered decodes params for a handler whose first half runs in the order of the wire. Absent ones are an empty object.
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

// served is for a handler whose place in the order does not matter.
func served[P any](handler func(context.Context, *P) (any, error)) extension {
	return ordered(func(ctx context.Context, p *P) (func() (any, error), error) {
		return func() (any, error) { return handler(ctx, p) }, nil
	})
}

type steerParams struct {
	SessionID acp.SessionID `json:"sessionId"`
	Prompt    []jsonx.Raw   `json:"prompt"`
	Meta      struct {
		Steering struct {
			IdleBehavior string `json:"idleBehavior"`
		} `json:"steering"`
	} `json:"_meta"`
}

type steerResult struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitzero"`
}

// steer is "_session/steering", as other agents have it: it gives the running turn more to go on. Without a running
// turn the client is told to prompt, if it has said that it can; else a turn begins that nobody waits for.
func (s *Server) steer(_ context.Context, p *steerParams) (func() (any, error), error) {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	var blocks []acp.ContentBlock
	for i, raw := range p.Prompt {
		block, err := acp.DecodeContentBlock(raw)
		if err != nil {
			return nil, invalidParams("prompt block %d: %v", i, err)
		}
		blocks = append(blocks, block)
	}
	parts, err := promptParts(blocks, 0)
	if err != nil {
		return nil, err
	}
	orPrompt := p.Meta.Steering.IdleBehavior != "promptRequired"
	type queued struct {
		wait func() (agent.Steered, error)
		err  error
	}
	taken := make(chan queued, 1)
	e.then(func(session *agent.Session, err error) {
		if err != nil {
			taken <- queued{err: err}
			return
		}
		taken <- queued{wait: session.QueueSteer(parts, orPrompt)}
	})
	return func() (any, error) {
		q := <-taken
		if q.err != nil {
			return nil, q.err
		}
		done, err := q.wait()
		switch {
		case err != nil:
			return nil, err
		case done.Injected:
			return steerResult{Outcome: "injected"}, nil
		case done.Turn == nil:
			return steerResult{Outcome: "promptRequired", Reason: "noRunningTurn"}, nil
		}
		e.out.beginTurn()
		if !s.background(func() { // ends with the turn, which ends with the session
			if r := done.Turn.Wait(context.Background()); r.Err != nil {
				e.out.emit(agent.Noticed{Severity: agent.SeverityError, Title: "The turn failed.", Detail: r.Err.Error()})
			}
			e.out.endTurn()
		}) {
			e.out.endTurn()
		}
		return steerResult{Outcome: "startedNewTurn"}, nil
	}, nil
}

// A listed session of the extension methods: that of session/list.
type listedSessions struct {
	Sessions []acp.SessionInfo `json:"sessions"`
	Total    *int              `json:"total,omitzero"`
}

// limited checks a limit; zero means usual.
func limited(limit *int, usual, most int) (int, error) {
	switch {
	case limit == nil:
		return usual, nil
	case *limit < 1 || *limit > most:
		return 0, invalidParams("limit must be 1 to %d, not %d", most, *limit)
	default:
		return *limit, nil
	}
}

func (s *Server) listAll(ctx context.Context, p *struct {
	Limit *int `json:"limit"`
},
) (any, error) {
	limit, err := limited(p.Limit, 1000, 5000)
	if err != nil {
		return nil, err
	}
	list, total, err := s.opts.Store.ListAll(ctx, limit)
	if err != nil {
		return nil, err
	}
	result := listedSessions{Sessions: []acp.SessionInfo{}, Total: &total}
	for i := range list {
		result.Sessions = append(result.Sessions, sessionInfo(&list[i]))
	}
	return result, nil
}

func (s *Server) chatsByCwd(ctx context.Context, p *struct {
	Cwd   string `json:"cwd"`
	Limit *int   `json:"limit"`
},
) (any, error) {
	limit, err := limited(p.Limit, 100, 500)
	if err != nil {
		return nil, err
	}
	if !usable(p.Cwd) {
		return nil, invalidParams("cwd must be absolute: %q", p.Cwd)
	}
	page, err := s.opts.Store.List(ctx, sessions.ListOptions{Cwd: filepath.Clean(p.Cwd), Limit: limit})
	if err != nil {
		return nil, err
	}
	result := listedSessions{Sessions: []acp.SessionInfo{}}
	for i := range page.Sessions {
		result.Sessions = append(result.Sessions, sessionInfo(&page.Sessions[i]))
	}
	return result, nil
}

type project struct {
	Cwd          string `json:"cwd"`
	SessionCount int    `json:"sessionCount"`
	// LastActivityAt is in milliseconds since 1970.
	LastActivityAt int64  `json:"lastActivityAt"`
	LastTitle      string `json:"lastTitle"`
}

func (s *Server) projects(ctx context.Context, _ *struct{}) (any, error) {
	list, err := s.opts.Store.Projects(ctx)
	if err != nil {
		return nil, err
	}
	result := struct {
		Projects      []project `json:"projects"`
		TotalSessions int       `json:"totalSessions"`
	}{Projects: []project{}}
	for _, p := range list {
		result.Projects = append(result.Projects, project{p.Cwd, p.Sessions, p.LastActivity.UnixNano() / int64(time.Millisecond), p.LastTitle})
		result.TotalSessions += p.Sessions
	}
	return result, nil
}

// usageReport is what one open session has used.
type usageReport struct {
	SessionID acp.SessionID `json:"sessionId"`
	Model     string        `json:"model"`
	Used      int           `json:"used"`
	Size      int           `json:"size"`
	CostUSD   float64       `json:"costUsd"`
}

// usageReports tells what the open sessions have used. No provider is asked for its quota.
func (s *Server) usageReports(context.Context, *struct{}) (any, error) {
	result := struct {
		Reports []usageReport `json:"reports"`
	}{Reports: []usageReport{}}
	for _, e := range s.entries() {
		session := e.ready()
		if session == nil {
			continue
		}
		if snap, err := session.Snapshot(); err == nil {
			result.Reports = append(result.Reports, usageReport{e.id, snap.Model.Ref(), snap.Usage.Context(), snap.Model.ContextWindow, snap.CostUSD})
		}
	}
	return result, nil
}

// extensionInfo is something that users have added: a command file or a skill.
type extensionInfo struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
}

// listExtensions lists the command files and skills for a directory, or the user's own.
func (s *Server) listExtensions(ctx context.Context, p *struct {
	Cwd string `json:"cwd"`
},
) (any, error) {
	var roots []string
	if p.Cwd != "" {
		if !usable(p.Cwd) {
			return nil, invalidParams("cwd must be absolute: %q", p.Cwd)
		}
		roots = []string{filepath.Clean(p.Cwd)}
	}
	result := struct {
		Extensions []extensionInfo `json:"extensions"`
	}{Extensions: []extensionInfo{}}
	for _, c := range s.loadFiles(ctx, roots).Commands() {
		kind := "command"
		if strings.HasPrefix(c.Name, "skill:") {
			kind = "skill"
		}
		result.Extensions = append(result.Extensions, extensionInfo{c.Name, kind, c.Name, c.Description, s.enabled(c.Name)})
	}
	return result, nil
}

// toggleExtension switches a command file or a skill off or on, by its command's name, as long as the process lives.
func (s *Server) toggleExtension(_ context.Context, p *struct {
	ProviderID string `json:"providerId"`
	Enabled    *bool  `json:"enabled"`
},
) (any, error) {
	if p.ProviderID == "" || p.Enabled == nil {
		return nil, invalidParams("providerId and enabled must be there")
	}
	s.mu.Lock()
	if s.disabled == nil {
		s.disabled = make(map[string]bool)
	}
	s.disabled[p.ProviderID] = !*p.Enabled
	s.mu.Unlock()
	for _, e := range s.entries() {
		if e.ready() != nil {
			s.advertise(e)
		}
	}
	return struct {
		Enabled bool `json:"enabled"`
	}{*p.Enabled}, nil
}

// enabled reports whether a command file or skill has not been switched off.
func (s *Server) enabled(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.disabled[name]
}
