package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gajae-code/gjc/providers/registry"
)

// examineModels looks at models, keys and the settings that are about them. It asks no server.
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
	set, _ := h.modelSettings(dir, opts) // its mistakes are among those of the files
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
		add("warning", "keys", "no key was found: only the offline model answers. Run gjc login; gjc models says what else there is")
	}
	roles := models.Roles()
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		if role == registry.RoleDefault && opts.model != "" {
			continue // told as the flag's
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
