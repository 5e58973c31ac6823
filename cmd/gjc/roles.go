package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// roles finds the models of roles for sessions in one directory: those of the project's config.yml, or else the
// registry's.
type roles struct {
	models *registry.Registry
	cwd    string
	// project has the models of the project's file, by role.
	project map[string]string
}

// rolesOf returns the roles of a configuration that was read for sessions in cwd. The environment and the command line
// override the project's file.
func (h *host) rolesOf(cfg *config.Config, opts *options, models *registry.Registry, cwd string) roles {
	r := roles{models: models, cwd: cwd, project: make(map[string]string)}
	overrides := h.roleOverrides(opts)
	for name, ref := range cfg.Models.Roles {
		if cfg.Origins["modelRoles."+name].Kind == config.FromProject && ref != "" && overrides[name] == "" && opts.profile == "" {
			r.project[name] = ref
		}
	}
	return r
}

// role returns the model of a role. A project's file can choose only among the models that the user's settings list for
// the directory.
func (r *roles) role(name string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	ref, ok := r.project[name]
	if !ok {
		return r.models.Role(name)
	}
	info, level, err := r.models.Find(ref)
	if err != nil {
		return info, "", &registry.RoleError{Role: name, Reason: "has an unknown model in the project's config.yml", Err: err}
	}
	if !slices.ContainsFunc(r.models.ModelsIn(r.cwd), func(m providers.ModelInfo) bool { return m.Ref() == info.Ref() }) {
		return providers.ModelInfo{}, "", &registry.RoleError{
			Role: name, Reason: fmt.Sprintf("has the model %s in the project's config.yml, which has no key or is not enabled for this directory", info.Ref()),
		}
	}
	return info, level, nil
}

// helperModel finds the models of helper agents: the one that models.yml binds to the agent, then the role with its
// name, then those that the agent prefers. It skips a role without a model. For a model that cannot be used it returns
// an error, together with the next usable one.
func helperModel(r roles) func(*agent.Helper) (providers.ModelInfo, providers.ThinkingLevel, error) {
	return func(h *agent.Helper) (providers.ModelInfo, providers.ThinkingLevel, error) {
		wanted := append([]string{r.models.AgentModel(h.Name), "gjc/" + h.Name}, h.Models...)
		var missed error
		for _, ref := range wanted {
			if ref == "" || ref == "inherit" {
				continue
			}
			info, level, err := r.usable(ref)
			if err == nil {
				return info, level, missed
			}
			if e, ok := errors.AsType[*registry.RoleError](err); !ok || !e.Unset {
				missed = errors.Join(missed, err)
			}
		}
		return providers.ModelInfo{}, "", missed
	}
}

// usable returns a model that the user has access to.
func (r *roles) usable(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	if role, ok := strings.CutPrefix(ref, "gjc/"); ok && !strings.Contains(role, ":") {
		return r.role(role)
	}
	info, level, err := r.models.Find(ref)
	if err != nil {
		return info, "", err
	}
	if source, why := r.models.Availability(info); source == "" {
		return info, "", fmt.Errorf("the model %s cannot be used: %s", info.Ref(), why)
	}
	return info, level, nil
}
