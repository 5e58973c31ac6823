package server

import (
	"cmp"
	"context"
	"errors"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// refreshModels has the registry read its files again if they have been changed: by a login in a terminal, or in the user's
// text editor. Sessions are told of what is other then.
func (s *Server) refreshModels(ctx context.Context) {
	changed, err := s.opts.Models.Refresh(ctx)
	if err != nil && changed {
		// The built-in models work without the file; its fault is told in the next session.
		s.log.Warn().Err(err).Msg("loading models")
	}
	if changed {
		s.keysChanged()
		s.discover(true)
	}
}

// firstModel returns the model and the level that a new session in a directory begins with.
func (s *Server) firstModel(ctx context.Context, dir string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	s.refreshModels(ctx)
	info, level, err := s.pick(dir)
	if isNotFound(err) {
		// Its server may not have been asked yet, or was not up when it was.
		s.searched(ctx)
		info, level, err = s.pick(dir)
	}
	if info.ID == "" {
		return info, "", err
	}
	if err != nil {
		s.log.Warn().Err(err).Msg("finding the default model of the configuration")
	}
	return info, level, nil
}

// pick chooses the model of a new session. An error beside a model is about one that was to come before it.
func (s *Server) pick(dir string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	if s.opts.Model != "" {
		info, level, err := s.opts.Models.Find(s.opts.Model)
		return info, cmp.Or(level, info.DefaultThinking), err
	}
	set, _ := s.settings(dir)
	missed := set.ModelErr
	if set.Model != "" {
		info, level, err := s.opts.Models.Find(set.Model)
		switch {
		case err != nil:
			missed = err
		case !s.opts.Models.DisabledIn(info.Provider, dir):
			return info, cmp.Or(level, info.DefaultThinking), missed
		}
	}
	info, ok := s.opts.Models.DefaultIn(dir)
	if !ok {
		return info, "", &acp.Error{Code: acp.ErrorCodeAuthenticationRequired, Message: "no model can be used: add a key"}
	}
	return info, cmp.Or(info.DefaultThinking, providers.ThinkingOff), missed
}

func isNotFound(err error) bool {
	_, is := errors.AsType[*providers.NotFoundError](err)
	return is
}

// modelOf returns the model that a session in a directory goes on with: the one called had, if it is there still. The one
// that answers for want of others gives way to them.
func (s *Server) modelOf(ctx context.Context, had, dir string) (providers.ModelInfo, error) {
	s.refreshModels(ctx)
	if had != "" {
		info, known := s.opts.Models.Lookup(had)
		if !known {
			s.searched(ctx)
			info, known = s.opts.Models.Lookup(had)
		}
		if known && info.Provider != s.opts.Stopgap {
			return info, nil
		}
	}
	info, _, err := s.firstModel(ctx, dir)
	return info, err
}

// leaveStopgap is the change of a session that has the model which answers for want of others, if there is another now.
func (s *Server) leaveStopgap(e *entry) agent.Change {
	if s.opts.Stopgap == "" || s.opts.Model != "" {
		return agent.Change{}
	}
	info, level, _ := s.pick(e.cwd)
	if info.ID == "" || info.Provider == s.opts.Stopgap {
		return agent.Change{}
	}
	return agent.FromProvider(s.opts.Stopgap, agent.ToModel(info, level))
}
