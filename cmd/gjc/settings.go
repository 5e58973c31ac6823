package main

import (
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
)

// settings returns what reads the settings of sessions. They are read when a session begins: an error is told there, and
// initialize does no I/O.
func (h *host) settings(agentDir string, opts *options, models *providers.Registry) func() (*server.Settings, error) {
	noTitle := h.getenv("GJC_NO_TITLE") != ""
	return func() (*server.Settings, error) {
		cfg, err := readConfig(agentDir, opts.configs)
		if err != nil {
			return nil, err
		}
		set := &server.Settings{Agent: cfg.context, Retry: cfg.retry.policy(), Model: cfg.roles[roleDefault]}
		if smol := cfg.roles[roleSmol]; smol != "" {
			set.Agent.SummaryModels = []string{smol}
		}
		if cfg.generateTitles && !noTitle {
			set.TitleModel = titleModel(models, cfg.roles[roleSmol])
		}
		return set, nil
	}
}

// titleModel chooses the model that names sessions: the one of the role smol, else the session's own, but for the
// offline one, which has nothing to say.
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
