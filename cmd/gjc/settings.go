package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/internal/configfile"
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
		set := &server.Settings{Agent: cfg.context, Retry: cfg.retry.policy()}
		smol := ""
		if info, level, err := models.Role(providers.RoleSmol); err == nil {
			smol = withLevel(info, level)
			set.Agent.SummaryModels = []string{smol}
		}
		if info, level, err := models.Role(providers.RoleDefault); err == nil {
			set.Model = withLevel(info, level)
		} else if e, ok := errors.AsType[*providers.RoleError](err); !ok || !e.Unset {
			set.ModelErr = err
		}
		// What is wrong with the profile is why its roles have no models.
		if err := models.CheckProfile(models.Profile()); err != nil {
			set.ModelErr = err
		}
		if warnings := models.Warnings(); set.ModelErr == nil && len(warnings) > 0 {
			set.ModelErr = warnings[0]
			if more := len(warnings) - 1; more > 0 {
				set.ModelErr = fmt.Errorf("%w (and %d more: gjc models lists them)", warnings[0], more)
			}
		}
		set.HelperModel = helperModel(models)
		if cfg.generateTitles && !noTitle {
			set.TitleModel = titleModel(models, smol)
		}
		return set, nil
	}
}

// secrets returns what keeps values from the models of a session in a working directory: nil where the configuration does
// not say so. A configuration that cannot be read and may say so is an error.
func (h *host) secrets(agentDir string, opts *options) func(cwd string) (agent.Secrets, error) {
	return func(cwd string) (agent.Secrets, error) {
		cfg, err := readConfig(agentDir, opts.configs)
		switch {
		case err != nil && mentions(err, agentDir, opts.configs, "secrets"):
			return nil, err
		case err != nil || !cfg.secrets:
			return nil, nil
		}
		return secrets.Load(secrets.Options{AgentDir: agentDir, Dir: cwd, Environ: h.env})
	}
}

// mentions reports whether a configuration with a mistake has one of the words in it, or may have: a file is there and cannot
// be read, is no UTF-8 text, or writes characters with escapes, or the mistake is that one of the words is misspelled.
func mentions(mistake error, agentDir string, overlays []string, words ...string) bool {
	if e, ok := errors.AsType[*unknownSettingError](mistake); ok && slices.Contains(words, e.meant) {
		return true
	}
	return slices.ContainsFunc(append([]string{filepath.Join(agentDir, configName)}, overlays...), func(path string) bool {
		data, err := configfile.ReadFile(path)
		if err != nil {
			return !errors.Is(err, fs.ErrNotExist)
		}
		if !configfile.IsText(data) {
			return true
		}
		words := append([]string{`\x`, `\u`, `\U`}, words...)
		return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(data, []byte(word)) })
	})
}

func withLevel(info providers.ModelInfo, level providers.ThinkingLevel) string {
	if level == "" {
		return info.Ref()
	}
	return info.Ref() + ":" + string(level)
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
