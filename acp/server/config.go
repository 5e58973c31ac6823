package server

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
)

// The ids of the config options.
const (
	optionMode     acp.SessionConfigID = "mode"
	optionModel    acp.SessionConfigID = "model"
	optionThinking acp.SessionConfigID = "thinking"
	optionTier     acp.SessionConfigID = "service_tier"
	optionThoughts acp.SessionConfigID = "show_thinking"
)

// tierDefault is the value of the service tier for the provider's own choice.
const tierDefault = "default"

// configOptions lists every option with its current value, most important first. A switch is listed for clients only
// that know switches.
func (s *Server) configOptions(e *entry, snap *agent.Snapshot) []acp.SessionConfigOption {
	var modes, models, levels acp.SessionConfigUngroupedOptions
	for _, m := range approval.Modes() {
		modes = append(modes, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(m.ID), Name: m.Name, Description: m.Description})
	}
	known := false
	for _, m := range s.opts.Models.ModelsIn(e.cwd) {
		known = known || m.Ref() == snap.Model.Ref()
		models = append(models, modelOption(m))
	}
	if !known {
		// The session's model cannot be used any more, or was given on the command line; it is still the current one.
		models = append(models, modelOption(snap.Model))
	}
	for _, l := range agent.ThinkingLevels(snap.Model) {
		levels = append(levels, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(l), Name: capitalised(string(l))})
	}
	sel := func(current string, options acp.SessionConfigUngroupedOptions) *acp.SessionConfigSelect {
		return &acp.SessionConfigSelect{CurrentValue: acp.SessionConfigValueID(current), Options: options}
	}
	options := []acp.SessionConfigOption{
		{
			ID: optionMode, Name: "Mode", Description: "What may be done without asking",
			Category: acp.SessionConfigOptionCategoryMode, Kind: sel(string(snap.Mode), modes),
		},
		{
			ID: optionModel, Name: "Model", Category: acp.SessionConfigOptionCategoryModel,
			Kind: sel(snap.Model.Ref(), models),
		},
		{
			ID: optionThinking, Name: "Thinking", Description: "How much the model reasons before it answers",
			Category: acp.SessionConfigOptionCategoryThoughtLevel, Kind: sel(string(snap.Thinking), levels),
		},
	}
	if tiers := snap.Model.ServiceTiers; len(tiers) > 0 {
		values := acp.SessionConfigUngroupedOptions{{Value: tierDefault, Name: "Default", Description: "The provider chooses"}}
		for _, t := range tiers {
			if t != tierDefault {
				values = append(values, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(t), Name: capitalised(t)})
			}
		}
		options = append(options, acp.SessionConfigOption{
			ID: optionTier, Name: "Service tier", Description: "How fast the provider answers, and at what price",
			Category: acp.SessionConfigOptionCategoryModelConfig, Kind: sel(cmp.Or(snap.ServiceTier, tierDefault), values),
		})
	}
	if e.out.booleans {
		options = append(options, acp.SessionConfigOption{
			ID: optionThoughts, Name: "Show thinking", Description: "Whether the model's reasoning is shown while it comes",
			Kind: &acp.SessionConfigBoolean{CurrentValue: !e.out.hidesThoughts()},
		})
	}
	return options
}

func modelOption(m providers.ModelInfo) acp.SessionConfigSelectOption {
	return acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(m.Ref()), Name: m.DisplayName(), Description: m.Provider}
}

func capitalised(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

func modeState(current approval.Mode) *acp.SessionModeState {
	state := &acp.SessionModeState{CurrentModeID: acp.SessionModeID(current)}
	for _, m := range approval.Modes() {
		state.AvailableModes = append(state.AvailableModes, acp.SessionMode{ID: acp.SessionModeID(m.ID), Name: m.Name, Description: m.Description})
	}
	return state
}

// SetSessionMode changes the mode. The client knows of its own change, so only the config option of the same meaning
// is told.
func (s *Server) SetSessionMode(ctx context.Context, p *acp.SetSessionModeRequest) (acp.Reply[acp.SetSessionModeResponse], error) {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	mode, err := approval.ParseMode(string(p.ModeID))
	if err != nil {
		return nil, err
	}
	done := e.change(agent.ToMode(mode), func(snap *agent.Snapshot, changed bool) {
		if changed {
			e.out.send(&acp.ConfigOptionUpdate{ConfigOptions: s.configOptions(e, snap)})
		}
	})
	return func() (*acp.SetSessionModeResponse, error) {
		if _, err := done(ctx); err != nil {
			return nil, err
		}
		return &acp.SetSessionModeResponse{}, nil
	}, nil
}

// SetSessionConfigOption changes one option and answers with all of them: one may change what another offers.
func (s *Server) SetSessionConfigOption(ctx context.Context, p *acp.SetSessionConfigOptionRequest) (acp.Reply[acp.SetSessionConfigOptionResponse], error) {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	set, err := s.setter(e, p.ConfigID, p.Value)
	if err != nil {
		return nil, err
	}
	done := e.change(set.change, func(snap *agent.Snapshot, changed bool) {
		if set.then != nil {
			set.then()
		}
		if p.ConfigID == optionModel && changed {
			s.preconnect(snap.Model)
		}
		if p.ConfigID == optionMode && changed {
			// The mode is shown in two places; the other one has not heard.
			e.out.send(&acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(snap.Mode)})
		}
	})
	return func() (*acp.SetSessionConfigOptionResponse, error) {
		snap, err := done(ctx)
		if err != nil {
			return nil, err
		}
		return &acp.SetSessionConfigOptionResponse{ConfigOptions: s.configOptions(e, snap)}, nil
	}, nil
}

// setting is what a config option is set to: a change of the session, or something else.
type setting struct {
	change agent.Change
	then   func()
}

// setter returns the change that gives option id a value.
func (s *Server) setter(e *entry, id acp.SessionConfigID, v acp.SessionConfigOptionValue) (*setting, error) {
	if id == optionThoughts && e.out.booleans {
		on, ok := v.(acp.SessionConfigBoolValue)
		if !ok {
			return nil, invalidParams("the option %q is a switch: it takes true or false, with type boolean", id)
		}
		return &setting{then: func() { e.out.hideThoughts(!bool(on)) }}, nil
	}
	if !isOption(id) {
		return nil, invalidParams("unknown config option %q; there are %s, %s, %s and, for models that have it, %s", id, optionMode, optionModel, optionThinking, optionTier)
	}
	selected, ok := v.(acp.SessionConfigValueID)
	if !ok {
		return nil, invalidParams("the option %q takes one of its values, not a boolean", id)
	}
	switch value := string(selected); id {
	case optionMode:
		mode, err := approval.ParseMode(value)
		if err != nil {
			return nil, err
		}
		return &setting{change: agent.ToMode(mode)}, nil
	case optionModel:
		info, level, err := s.opts.Models.Find(value)
		if err != nil {
			return nil, invalidParams("%v; the option lists %s", err, s.modelRefs(e.cwd))
		}
		return &setting{change: agent.ToModel(info, level)}, nil
	case optionTier:
		if value == tierDefault {
			value = ""
		}
		return &setting{change: agent.ToServiceTier(value)}, nil
	default:
		level, ok := providers.ParseThinkingLevel(value)
		if !ok {
			// The session's model knows which there are.
			level = providers.ThinkingLevel(value)
		}
		return &setting{change: agent.ToThinking(level)}, nil
	}
}

func isOption(id acp.SessionConfigID) bool {
	switch id {
	case optionMode, optionModel, optionThinking, optionTier:
		return true
	default:
		return false
	}
}

// maxNamedModels bounds how many models an error lists.
const maxNamedModels = 20

func (s *Server) modelRefs(dir string) string {
	var all []string
	for _, m := range s.opts.Models.ModelsIn(dir) {
		all = append(all, m.Ref())
	}
	if len(all) > maxNamedModels {
		all = append(all[:maxNamedModels], "…")
	}
	return strings.Join(all, ", ")
}

// change hands a change to the session, in the order of the calls, and returns how to wait for it. then runs in the same
// step of the session as the change, so that what it tells is never older than what was told before. The answers to
// changes go out in the order of the changes too: the last one that a client gets is the one that holds.
func (e *entry) change(c agent.Change, then func(snap *agent.Snapshot, changed bool)) func(context.Context) (*agent.Snapshot, error) {
	var snap agent.Snapshot
	wait := e.queue(func(session *agent.Session) agent.Pending {
		return session.Change(c, func(now agent.Snapshot, changed bool) {
			snap = now
			then(&now, changed)
		})
	})
	turn, done := e.answers.join()
	return func(ctx context.Context) (*agent.Snapshot, error) {
		_, err := wait()
		select {
		case <-turn:
		case <-ctx.Done():
		}
		acp.AfterResponse(ctx, done)
		return &snap, err
	}
}

// line lets those who have joined it go one behind the other.
type line struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last one has gone; nil for nobody
}

// join returns a channel that is closed when those before have gone, and what to call to go. It must be called.
func (l *line) join() (turn <-chan struct{}, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, mine := l.last, make(chan struct{})
	if before == nil {
		before = make(chan struct{})
		close(before)
	}
	l.last = mine
	return before, sync.OnceFunc(func() { close(mine) })
}

// queue hands a change to the session, in the order of the calls, and returns how to wait for it.
func (e *entry) queue(change func(*agent.Session) agent.Pending) func() (*agent.Session, error) {
	type queued struct {
		session *agent.Session
		pending agent.Pending
		err     error
	}
	result := make(chan queued, 1)
	e.then(func(session *agent.Session, err error) {
		if err != nil {
			result <- queued{err: err}
			return
		}
		result <- queued{session: session, pending: change(session)}
	})
	return func() (*agent.Session, error) {
		q := <-result
		if q.err != nil {
			return nil, q.err
		}
		return q.session, q.pending()
	}
}
