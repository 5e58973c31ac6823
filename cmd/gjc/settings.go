package main

import (
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/providers/registry"
)

// settings returns a function that reads the settings of sessions in a directory. It is called when a session begins:
// mistakes are reported there, once, and initialize does no I/O.
func (h *host) settings(agentDir string, opts *options, models *registry.Registry) func(cwd string) (*server.Settings, error) {
	noTitle := h.getenv(noTitleVariable) != ""
	return func(cwd string) (*server.Settings, error) {
		cfg := readConfig(agentDir, opts.configs, cwd)
		set := &server.Settings{Agent: cfg.context, Retry: cfg.retry.policy()}
		roles := h.rolesOf(cfg, opts, models, cwd)
		smol := ""
		if info, level, err := roles.role(registry.RoleSmol); err == nil {
			smol = withLevel(info, level)
			set.Agent.SummaryModels = []string{smol}
		}
		if info, level, err := roles.role(registry.RoleDefault); err == nil {
			set.Model = withLevel(info, level)
		} else if e, ok := errors.AsType[*registry.RoleError](err); !ok || !e.Unset {
			set.ModelErr = err
		}
		// A mistake in the profile explains why its roles have no models.
		if err := models.CheckProfile(models.Profile()); err != nil {
			set.ModelErr = err
		}
		if warnings := models.Warnings(); set.ModelErr == nil && len(warnings) > 0 {
			set.ModelErr = warnings[0]
			if more := len(warnings) - 1; more > 0 {
				set.ModelErr = fmt.Errorf("%w (and %d more: gjc models lists them)", warnings[0], more)
			}
		}
		set.HelperModel = helperModel(roles)
		if cfg.generateTitles && !noTitle {
			set.TitleModel = titleModel(models, smol)
		}
		return set, cfg.err()
	}
}

// noTitleVariable turns off title.generate.
const noTitleVariable = "GJC_NO_TITLE"

// secrets returns a function that returns what hides secrets from the models of a session in a working directory, or
// nil if the configuration does not enable it.
func (h *host) secrets(agentDir string, opts *options) func(cwd string) (agent.Secrets, error) {
	return func(cwd string) (agent.Secrets, error) {
		if !readConfig(agentDir, opts.configs, "").secrets {
			return nil, nil
		}
		return secrets.Load(secrets.Options{AgentDir: agentDir, Dir: cwd, Environ: h.env})
	}
}

func withLevel(info providers.ModelInfo, level providers.ThinkingLevel) string {
	if level == "" {
		return info.Ref()
	}
	return info.Ref() + ":" + string(level)
}

// titleModel returns a function that chooses the model that names sessions: the one of the role smol, or else the
// session's own unless it is the offline one.
func titleModel(models agent.Models, smol string) agent.TitleModel {
	return func(current providers.ModelInfo) (providers.ModelInfo, bool) {
		if smol != "" {
			if info, _, err := models.Find(smol); err == nil {
				current = info
			}
		}
		return current, current.API != offline.API
	}
}
