package mcpfiles

import (
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/trust"
)

// pluginRoot is the variable with the directory of a plugin in the files of the plugin.
const pluginRoot = "CLAUDE_PLUGIN_ROOT"

// pluginFiles reads the files of a plugin, which are in Claude Code's form.
func pluginFiles(p *userfiles.Plugin) (all []*configFile) {
	for _, file := range p.Servers {
		f := &configFile{Path: filepath.Join(p.Dir, filepath.FromSlash(file.Name)), Dialect: claude(), plugin: p.Dir, data: file.Data}
		r := &reader{configFile: f}
		r.read()
		f.Servers, f.Mistakes = r.servers, r.mistakes
		all = append(all, f)
	}
	return all
}

// getenv returns the variables for the values of a file.
func (f *configFile) getenv(outer func(string) string) func(string) string {
	if f.plugin == "" {
		return outer
	}
	return func(name string) string {
		if name == pluginRoot {
			return f.plugin
		}
		return outer(name)
	}
}

// PluginPrograms describes what the servers of a plugin run and reach, and what is wrong in its files.
func PluginPrograms(p *userfiles.Plugin) (programs, notes []string) {
	for _, f := range pluginFiles(p) {
		for _, m := range f.Mistakes {
			notes = append(notes, m.Error())
		}
		for _, s := range f.Servers {
			if len(s.Mistakes) > 0 {
				notes = append(notes, s.Mistakes[0].Error())
				continue
			}
			for _, line := range s.describe() {
				programs = append(programs, "MCP server "+trust.Printable(line))
			}
		}
		notes = slices.Concat(notes, f.Notes)
	}
	return programs, notes
}
