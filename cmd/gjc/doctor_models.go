package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gajae-code/gjc/providers/registry"
)

// examineModels checks models, keys and their settings. It sends no request.
func (h *host) examineModels(ctx context.Context, dir string, opts *options) []finding {
	var all []finding
	add := func(state, what, format string, args ...any) {
		all = append(all, finding{state, what, fmt.Sprintf(format, args...)})
	}
	models := h.registry(dir, opts, func(note string) { add("warning", "keys", "%s", note) })
	defer models.Close()
	if err := models.Load(ctx); err != nil {
		add("problem", "models", "%v", err)
	}
	set, _ := h.modelSettings(dir, opts) // examineFiles reports its mistakes
	if _, err := set.HTTP.Client(); err != nil {
		add("problem", "network", "%v", err)
	}
	usable := models.Models()
	if preferred, ok := models.Default(); ok {
		add("ok", "models", "%d can be used; new sessions begin with %s", len(usable), preferred.Ref())
	}
	for _, a := range models.Accounts() {
		if a.Active {
			add("ok", "keys", "%s, from %s", a.Label, a.Source)
		}
	}
	if len(usable) <= 1 {
		add("warning", "keys", "no key was found, so only the offline model answers; run gjc login, and gjc models for the alternatives")
	}
	roles := models.Roles()
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		if role == registry.RoleDefault && opts.model != "" {
			continue // reported for the flag
		}
		if _, _, err := models.Role(role); err != nil {
			add("warning", "roles", "%v", err)
		}
	}
	if err := models.CheckProfile(models.Profile()); err != nil {
		add("problem", "profile", "%v", err)
	}
	for _, err := range models.Warnings() {
		add("warning", "models.yml", "%v", err)
	}
	if opts.model != "" {
		if _, _, err := models.Find(opts.model); err != nil {
			add("problem", "--model", "%v", err)
		}
	}
	return all
}
