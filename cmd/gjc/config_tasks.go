package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// taskSettings is the section task.
func (c *config) taskSettings() map[string]setting {
	tasks := &c.context.Tasks
	return map[string]setting{
		"enableLsp":         boolean(&c.lsp.subagents),
		"maxConcurrency":    number(&tasks.MaxConcurrency, 1, 32),
		"maxRecursionDepth": number(&tasks.MaxDepth, 1, 5),
		"maxTokens":         number(&tasks.MaxTokens, 0, mostTokens),
		"disabledAgents":    words(&tasks.Disabled),
	}
}

// helperModel finds the models of helper agents: what models.yml binds to the agent, then the role of its name, then what the
// agent itself would like. A role without a model is passed over; for a model that cannot be used there is an error, beside the
// next one that can.
func helperModel(models *providers.Registry) func(*agent.Helper) (providers.ModelInfo, providers.ThinkingLevel, error) {
	return func(h *agent.Helper) (providers.ModelInfo, providers.ThinkingLevel, error) {
		wanted := append([]string{models.AgentModel(h.Name), "gjc/" + h.Name}, h.Models...)
		var missed error
		for _, ref := range wanted {
			if ref == "" || ref == "inherit" {
				continue
			}
			info, level, err := usableModel(models, ref)
			if err == nil {
				return info, level, missed
			}
			if e, ok := errors.AsType[*providers.RoleError](err); !ok || !e.Unset {
				missed = errors.Join(missed, err)
			}
		}
		return providers.ModelInfo{}, "", missed
	}
}

// usableModel finds a model that there is access to.
func usableModel(models *providers.Registry, ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	if role, ok := strings.CutPrefix(ref, "gjc/"); ok && !strings.Contains(role, ":") {
		return models.Role(role)
	}
	info, level, err := models.Find(ref)
	if err != nil {
		return info, "", err
	}
	if source, why := models.Availability(info); source == "" {
		return info, "", fmt.Errorf("the model %s cannot be used: %s", info.Ref(), why)
	}
	return info, level, nil
}
