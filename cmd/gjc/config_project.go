package main

import (
	"slices"

	"github.com/gajae-code/gjc/internal/configfile"
)

// projectSettings lists the settings that a project's config.yml may have. None lets the project's author do more than
// the user allows. The empty name stands for all settings of a section.
var projectSettings = map[string][]string{
	"modelRoles":   {""},
	"title":        {"generate"},
	"instructions": {""},
	"permissions":  {"ask", "deny"},
}

// allowed reports whether the file may have a section's setting. An empty name stands for the section itself, or for a
// setting outside of sections.
func (r *configReader) allowed(section, name string) bool {
	if r.source.kind != fromProject {
		return true
	}
	names, ok := projectSettings[section]
	return ok && (name == "" || slices.Contains(names, name) || slices.Contains(names, ""))
}

// refused records a setting that only the user may set.
func (r *configReader) refused(line int, field string) {
	r.mistake(line, field, "can be set only in the user's config.yml; a project may set modelRoles, title.generate, instructions, permissions.ask and permissions.deny", nil)
}

// takeProject sets a setting of a project's file. The project can turn off what costs the user money, and cannot turn
// it on.
func (r *configReader) takeProject(m *configfile.Member, field string, s setting) {
	if field == "title.generate" && m.Value.True() && !r.generateTitles {
		r.mistake(m.Line, field, "a project cannot turn on what the user has turned off", nil)
		return
	}
	r.take(m, field, s)
}
