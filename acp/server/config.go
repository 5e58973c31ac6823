package server

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/air"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
)

// The IDs of the config options.
const (
	optionMode     acp.SessionConfigID = "mode"
	optionModel    acp.SessionConfigID = "model"
	optionThinking acp.SessionConfigID = "thinking"
	optionTier     acp.SessionConfigID = "service_tier"
	optionThoughts acp.SessionConfigID = "show_thinking"
)

// tierDefault is the value of the service tier that leaves the choice to the provider.
const tierDefault = "default"

// sessionConfig shows the config options of a session to the client.
type sessionConfig struct {
	models Models
	cwd    string
	out    *outlet
}

// send sends all options with their values in snap.
func (c *sessionConfig) send(snap *agent.Snapshot) {
	c.out.send(&acp.ConfigOptionUpdate{ConfigOptions: c.options(snap)})
}

// options lists all options with their values in snap, most important first. Boolean options are only for clients that
// support them.
func (c *sessionConfig) options(snap *agent.Snapshot) []acp.SessionConfigOption {
	var modes, models, levels acp.SessionConfigUngroupedOptions
	for _, m := range approval.Modes() {
		modes = append(modes, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(m.ID), Name: m.Name, Description: m.Description})
	}
	known := false
	for _, m := range c.models.ModelsIn(c.cwd) {
		known = known || m.Ref() == snap.Model.Ref()
		models = append(models, modelOption(m))
	}
	if !known {
		// The session's model is no longer available, or was given on the command line. It is still the current one.
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
			ID: optionMode, Name: "Mode", Description: "What the agent may do without asking",
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
	c.recommend(options, snap)
	if c.out.booleans {
		options = append(options, acp.SessionConfigOption{
			ID: optionThoughts, Name: "Show thinking", Description: "Whether to show the model's reasoning as it streams",
			Kind: &acp.SessionConfigBoolean{CurrentValue: !c.out.hidesThoughts()},
		})
	}
	return options
}

// recommend adds the values that a new session would have to the options for the model and its thinking, for a client that shows
// them.
func (c *sessionConfig) recommend(options []acp.SessionConfigOption, snap *agent.Snapshot) {
	if !c.out.air.Has(air.RecommendedValue) {
		return
	}
	for i := range options {
		o := &options[i]
		var value acp.SessionConfigValueID
		switch o.ID {
		case optionModel:
			info, _ := c.models.DefaultIn(c.cwd)
			value = acp.SessionConfigValueID(info.Ref())
		case optionThinking:
			value = acp.SessionConfigValueID(cmp.Or(snap.Model.DefaultThinking, providers.ThinkingOff))
		default:
			continue
		}
		if kind, ok := o.Kind.(*acp.SessionConfigSelect); ok && offers(kind, value) {
			air.Set(&o.Meta, string(air.RecommendedValue), value)
		}
	}
}

// offers reports whether a value is one of an option's.
func offers(s *acp.SessionConfigSelect, value acp.SessionConfigValueID) bool {
	all, _ := s.Options.(acp.SessionConfigUngroupedOptions)
	return slices.ContainsFunc(all, func(o acp.SessionConfigSelectOption) bool { return o.Value == value })
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

// setting is a new value of a config option. Exactly one field is set: change is a change of the session, and apply sets the value
// directly.
type setting struct {
	change agent.Change
	apply  func()
}

// set returns the setting that assigns a value to an option.
func (c *sessionConfig) set(id acp.SessionConfigID, v acp.SessionConfigOptionValue) (*setting, error) {
	if id == optionThoughts && c.out.booleans {
		on, ok := v.(acp.SessionConfigBoolValue)
		if !ok {
			return nil, invalidParams("the option %q is boolean; set it to true or false, with type boolean", id)
		}
		return &setting{apply: func() { c.out.hideThoughts(!bool(on)) }}, nil
	}
	if !isOption(id) {
		return nil, invalidParams("unknown config option %q; the options are %s, %s, %s and, for models that support it, %s", id, optionMode, optionModel, optionThinking, optionTier)
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
		info, level, err := c.models.Find(value)
		if err != nil {
			return nil, invalidParams("%v; the values are %s", err, c.modelRefs())
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
			// The change fails if the session's model does not have the level.
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

// maxNamedModels is the maximum number of models that an error lists.
const maxNamedModels = 20

func (c *sessionConfig) modelRefs() string {
	var all []string
	for _, m := range c.models.ModelsIn(c.cwd) {
		all = append(all, m.Ref())
	}
	if len(all) > maxNamedModels {
		all = append(all[:maxNamedModels], "…")
	}
	return strings.Join(all, ", ")
}

// configHandlers handles the methods that change a session's settings.
type configHandlers struct {
	sessions *registry
	models   *models
}

// SetSessionMode changes the mode. It sends only the config option with the same meaning: the client knows its own change.
func (h *configHandlers) SetSessionMode(ctx context.Context, p *acp.SetSessionModeRequest) (acp.Reply[acp.SetSessionModeResponse], error) {
	s, err := h.sessions.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	mode, err := approval.ParseMode(string(p.ModeID))
	if err != nil {
		return nil, err
	}
	done := s.change(agent.ToMode(mode), func(snap *agent.Snapshot, changed bool) {
		if changed {
			s.config.send(snap)
		}
	})
	return func() (*acp.SetSessionModeResponse, error) {
		if _, err := done(ctx); err != nil {
			return nil, err
		}
		return &acp.SetSessionModeResponse{}, nil
	}, nil
}

// SetSessionConfigOption changes one option and returns all of them, because one may change what another offers.
func (h *configHandlers) SetSessionConfigOption(ctx context.Context, p *acp.SetSessionConfigOptionRequest) (acp.Reply[acp.SetSessionConfigOptionResponse], error) {
	s, err := h.sessions.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	set, err := s.config.set(p.ConfigID, p.Value)
	if err != nil {
		return nil, err
	}
	done := s.change(set.change, func(snap *agent.Snapshot, changed bool) {
		if set.apply != nil {
			set.apply()
		}
		if p.ConfigID == optionModel && changed {
			h.models.preconnect(snap.Model)
		}
		if p.ConfigID == optionMode && changed {
			// The client shows the mode in two controls and has changed only one of them.
			s.out.send(&acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(snap.Mode)})
		}
	})
	return func() (*acp.SetSessionConfigOptionResponse, error) {
		snap, err := done(ctx)
		if err != nil {
			return nil, err
		}
		return &acp.SetSessionConfigOptionResponse{ConfigOptions: s.config.options(snap)}, nil
	}, nil
}

// change passes a change to the session, in call order, and returns a function that waits for its result. then runs in the same
// step of the session as the change, so that its updates are never older than those sent before. Responses to changes keep the
// order of the changes, so that the last one that a client receives is current.
func (s *session) change(c agent.Change, then func(snap *agent.Snapshot, changed bool)) func(context.Context) (*agent.Snapshot, error) {
	var snap agent.Snapshot
	wait := s.queue(func(o *opened) agent.Pending {
		return o.Change(c, func(now agent.Snapshot, changed bool) {
			snap = now
			then(&now, changed)
		})
	})
	turn, done := s.answers.join()
	return func(ctx context.Context) (*agent.Snapshot, error) {
		err := wait()
		select {
		case <-turn:
		case <-ctx.Done():
		}
		acp.AfterResponse(ctx, done)
		return &snap, err
	}
}

// line is a queue whose members take turns.
type line struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last member is done; nil for an empty line
}

// join returns a channel that is closed when all earlier members are done, and a function that ends the caller's turn. The caller
// must call that function.
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
