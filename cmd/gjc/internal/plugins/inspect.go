package plugins

import (
	"context"
	"slices"

	"github.com/gajae-code/gjc/agent/agents"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/tools/custom"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// About describes what a plugin holds.
type About struct {
	Name, Version, Description string
	// Commands, Skills, Agents and Tools are names; Hooks and Servers describe what they run.
	Commands, Skills, Agents, Tools []string
	Hooks, Servers                  []string
	// Programs are the lines of the question about the plugin. Without any, nothing is asked.
	Programs []string
	// Notes say what is wrong or not used.
	Notes []string
	Files userfiles.Plugin
}

// empty reports whether gjc has a use for nothing in the plugin.
func (a *About) empty() bool {
	return len(a.Commands)+len(a.Skills)+len(a.Agents)+len(a.Tools)+len(a.Hooks)+len(a.Servers) == 0
}

// inspect reads a plugin's files with the readers that sessions use, so that it lists what would be used. It runs nothing.
func inspect(ctx context.Context, dir string, e *Entry) (*About, error) {
	var entry *configfile.Node
	if len(e.Listed) > 0 {
		n, err := configfile.ParseJSON(e.Listed)
		if err != nil {
			return nil, err
		}
		entry = n
	}
	m, err := readManifest(dir, entry, e.Name)
	if err != nil {
		return nil, err
	}
	a := &About{Name: m.name, Version: m.version, Description: m.description, Notes: m.notes}
	a.Files = userfiles.Plugin{Name: m.name, Dir: dir, Paths: m.paths, Hooks: m.hooks, Servers: m.servers}
	only := fixed{a.Files}
	problem := func(p userfiles.Problem) { a.Notes = append(a.Notes, trust.Printable(p.String())) }
	set, problems := commands.Load(ctx, commands.Options{Foreign: true, Plugins: only})
	for _, p := range problems {
		problem(p)
	}
	for _, f := range set.Found() {
		if f.State == userfiles.Used && f.Kind == userfiles.Skills {
			a.Skills = append(a.Skills, f.Name)
		} else if f.State == userfiles.Used {
			a.Commands = append(a.Commands, f.Name)
		}
	}
	a.Programs = append(a.Programs, set.PluginPrograms()...)
	for _, f := range agents.New(agents.Options{Plugins: only, Report: problem}).Found(ctx) {
		if f.State == userfiles.Used {
			a.Agents = append(a.Agents, f.Name)
		}
	}
	tools := custom.Load(ctx, custom.Options{Plugins: only})
	for _, p := range tools.Problems {
		problem(p)
	}
	for _, f := range tools.Files {
		if f.State == "ok" {
			a.Tools = append(a.Tools, f.Name)
		}
	}
	a.Programs = append(a.Programs, tools.PluginPrograms()...)
	own := hooks.Load(hooks.Options{Plugins: only})
	a.Hooks = own.PluginPrograms()
	a.Notes = append(a.Notes, own.Problems...)
	a.Programs = append(a.Programs, a.Hooks...)
	servers, notes := mcpfiles.PluginPrograms(&a.Files)
	a.Servers, a.Notes = servers, append(a.Notes, notes...)
	a.Programs = slices.Compact(append(a.Programs, servers...))
	return a, nil
}

// fixed is a set of plugins that does not change.
type fixed []userfiles.Plugin

func (f fixed) Active(context.Context) []userfiles.Plugin   { return f }
func (f fixed) Questions(context.Context) []*trust.Question { return nil }
func (f fixed) Stamp(context.Context) string                { return "" }
func (f fixed) Notices(context.Context) []userfiles.Notice  { return nil }
