package server

import (
	"context"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// The ids of the config options.
const (
	optionMode     acp.SessionConfigID = "mode"
	optionModel    acp.SessionConfigID = "model"
	optionThinking acp.SessionConfigID = "thinking"
)

// configOptions lists every option with its current value, most important first.
func (s *Server) configOptions(snap *agent.Snapshot) []acp.SessionConfigOption {
	var modes, models, levels acp.SessionConfigUngroupedOptions
	for _, m := range agent.Modes() {
		modes = append(modes, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(m.ID), Name: m.Name, Description: m.Description})
	}
	known := false
	for _, m := range s.opts.Models.Models() {
		known = known || m.Ref() == snap.Model.Ref()
		models = append(models, modelOption(m))
	}
	if !known {
		// The session's model cannot be used any more, or was given on the command line; it is still the current one.
		models = append(models, modelOption(snap.Model))
	}
	for _, l := range agent.ThinkingLevels(snap.Model) {
		levels = append(levels, acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(l), Name: levelName(l)})
	}
	sel := func(current string, options acp.SessionConfigUngroupedOptions) *acp.SessionConfigSelect {
		return &acp.SessionConfigSelect{CurrentValue: acp.SessionConfigValueID(current), Options: options}
	}
	return []acp.SessionConfigOption{
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
}

func modelOption(m providers.ModelInfo) acp.SessionConfigSelectOption {
	return acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(m.Ref()), Name: m.DisplayName(), Description: m.Provider}
}

func levelName(l providers.ThinkingLevel) string {
	if l == "" {
		return ""
	}
	return strings.ToUpper(string(l[:1])) + string(l[1:])
}

func modeState(current agent.Mode) *acp.SessionModeState {
	state := &acp.SessionModeState{CurrentModeID: acp.SessionModeID(current)}
	for _, m := range agent.Modes() {
		state.AvailableModes = append(state.AvailableModes, acp.SessionMode{ID: acp.SessionModeID(m.ID), Name: m.Name, Description: m.Description})
	}
	return state
}

// SetSessionMode changes the mode. The client knows of its own change, so only the config option of the same meaning
// is told.
func (s *Server) SetSessionMode(_ context.Context, p *acp.SetSessionModeRequest) (acp.Reply[acp.SetSessionModeResponse], error) {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	mode, err := agent.ParseMode(string(p.ModeID))
	if err != nil {
		return nil, err
	}
	change := e.queue(func(session *agent.Session) agent.Pending { return session.SetMode(mode) })
	return func() (*acp.SetSessionModeResponse, error) {
		session, err := change()
		if err != nil {
			return nil, err
		}
		snap, err := session.Snapshot()
		if err != nil {
			return nil, err
		}
		e.out.send(&acp.ConfigOptionUpdate{ConfigOptions: s.configOptions(&snap)})
		return &acp.SetSessionModeResponse{}, nil
	}, nil
}

// SetSessionConfigOption changes one option and answers with all of them: one may change what another offers.
func (s *Server) SetSessionConfigOption(_ context.Context, p *acp.SetSessionConfigOptionRequest) (acp.Reply[acp.SetSessionConfigOptionResponse], error) {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	value, ok := p.Value.(acp.SessionConfigValueID)
	if !ok {
		return nil, invalidParams("the option %q takes one of its values, not a boolean", p.ConfigID)
	}
	set, err := s.setter(p.ConfigID, string(value))
	if err != nil {
		return nil, err
	}
	change := e.queue(set)
	return func() (*acp.SetSessionConfigOptionResponse, error) {
		session, err := change()
		if err != nil {
			return nil, err
		}
		snap, err := session.Snapshot()
		if err != nil {
			return nil, err
		}
		if p.ConfigID == optionMode {
			// The mode is shown in two places; the other one has not heard.
			e.out.send(&acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(snap.Mode)})
		}
		return &acp.SetSessionConfigOptionResponse{ConfigOptions: s.configOptions(&snap)}, nil
	}, nil
}

// setter returns the change that gives option id a value.
func (s *Server) setter(id acp.SessionConfigID, value string) (func(*agent.Session) agent.Pending, error) {
	switch id {
	case optionMode:
		mode, err := agent.ParseMode(value)
		if err != nil {
			return nil, err
		}
		return func(session *agent.Session) agent.Pending { return session.SetMode(mode) }, nil
	case optionModel:
		info, level, err := s.opts.Models.Find(value)
		if err != nil {
			return nil, invalidParams("%v", err)
		}
		return func(session *agent.Session) agent.Pending { return session.SetModel(info, level) }, nil
	case optionThinking:
		level, ok := providers.ParseThinkingLevel(value)
		if !ok {
			return nil, invalidParams("unknown thinking level %q; the option lists those of the model", value)
		}
		return func(session *agent.Session) agent.Pending { return session.SetThinking(level) }, nil
	default:
		return nil, invalidParams("unknown config option %q; there are %s, %s, %s", id, optionMode, optionModel, optionThinking)
	}
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
