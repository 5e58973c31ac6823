package userfiles

import (
	"context"

	"github.com/gajae-code/gjc/internal/trust"
)

// Plugin is a directory with files that the user has installed together.
type Plugin struct {
	// Name is the prefix of the names of its commands and skills.
	Name string
	// Dir is absolute. Symbolic links must not lead out of it.
	Dir string
	// Paths are slash-separated paths of files and directories below Dir.
	Paths map[Kind][]string
	// Hooks and Servers are files, or parts of the manifest.
	Hooks, Servers []PluginFile
}

// PluginFile is a file with hooks or MCP servers.
type PluginFile struct {
	// Name is the slash-separated path below the plugin's directory.
	Name string
	Data []byte
}

// Notice is a message for the user.
type Notice struct {
	Problem       bool
	Title, Detail string
}

// Plugins are the plugins of one session. Implementations are safe for concurrent use.
type Plugins interface {
	// Active returns the plugins whose files may be used. Their programs may run.
	Active(ctx context.Context) []Plugin
	// Questions returns the open questions about plugins. It installs those to which the user has agreed, which can take long.
	Questions(ctx context.Context) []*trust.Question
	// Notices returns all that the user should hear of, among it which plugins cannot be used, and why.
	Notices(ctx context.Context) []Notice
	// Stamp returns a value that changes when Active may return others.
	Stamp(ctx context.Context) string
}

// ActiveOf returns the plugins that may be used; p may be nil.
func ActiveOf(ctx context.Context, p Plugins) []Plugin {
	if p == nil {
		return nil
	}
	return p.Active(ctx)
}

// StampOf returns the stamp of plugins; p may be nil.
func StampOf(ctx context.Context, p Plugins) string {
	if p == nil {
		return ""
	}
	return p.Stamp(ctx)
}

// pluginPlaces returns the places of a kind in the plugins. The form of the files is Claude Code's.
func (w *Where) pluginPlaces(kind Kind) []Place {
	var list []Place
	for _, p := range w.Plugins {
		for _, path := range p.Paths[kind] {
			s := Source{Origin: "plugin " + p.Name, Plugin: p.Name, Kind: kind, Path: path, Endings: []string{".md"}, Format: Markdown}
			switch kind {
			case Commands:
				s.Deep = true
			case Skills:
				s.Format = SkillDir
			case Tools:
				s.Endings, s.Format = []string{".yml", ".yaml"}, YAML
			default:
			}
			list = append(list, Place{Source: s, Root: p.Dir, Dir: path})
		}
	}
	return list
}
