// Package effects reads what a tool of the user, of the workspace or of an extension declares to do: which files it reads and changes,
// and where it connects to. The gate judges the declared effects of each call beyond the program that runs.
package effects

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/configfile"
)

// Effects holds what a tool declares to do. Paths may contain names of parameters in braces. A nil pointer is a tool that declares
// nothing, and may do anything.
type Effects struct {
	Read, Write, Hosts []string
	Network            bool // any host
}

// fieldNames are the fields of effects.
var fieldNames = [...]string{"read", "write", "network"}

// Parse reads effects. It returns a reason why they are invalid, empty for none.
func Parse(n *configfile.Node) (e *Effects, reason string) {
	if n == nil || n.Kind != configfile.Object {
		return nil, "must be a mapping with read, write and network"
	}
	e = new(Effects)
	for _, m := range n.Members {
		list := m.Value.Strings()
		if m.Value.Kind == configfile.Text {
			list = []string{m.Value.Text}
		}
		switch m.Name {
		case "read", "write":
			if m.Value.Kind != configfile.Text && configfile.StringList.Check(m.Value) != "" || slices.Contains(list, "") {
				return nil, m.Name + " must be a list of paths"
			}
			for _, path := range list {
				if reason := checkPath(path); reason != "" {
					return nil, reason
				}
			}
			if m.Name == "read" {
				e.Read = list
			} else {
				e.Write = list
			}
		case "network":
			switch {
			case m.Value.Kind == configfile.Boolean:
				e.Network = m.Value.True()
			case len(list) > 0 && !slices.Contains(list, ""):
				e.Hosts = list
			default:
				return nil, "network must be true, false or a list of hosts"
			}
		default:
			return nil, "unknown field " + configfile.Quote(m.Name) + configfile.Suggestion(m.Name, fieldNames[:])
		}
	}
	return e, ""
}

// checkPath returns a reason why a declared path is invalid.
func checkPath(path string) string {
	for rest := path; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return ""
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed || name == "" {
			return strconv.Quote(path) + " has a brace without the name of a parameter"
		}
		rest = tail
	}
}

// Kind returns the kind of the tool's calls.
func (e *Effects) Kind() agent.ToolKind {
	if e != nil && len(e.Write) == 0 {
		return agent.KindRead
	}
	return agent.KindExecute
}

// Lines describes the effects for a question.
func (e *Effects) Lines() []string {
	if e == nil {
		return nil
	}
	var lines []string
	for _, part := range []struct {
		verb  string
		names []string
	}{{"reads", e.Read}, {"changes", e.Write}, {"connects to", e.Hosts}} {
		if len(part.names) > 0 {
			lines = append(lines, part.verb+" "+strings.Join(part.names, ", "))
		}
	}
	if e.Network {
		lines = append(lines, "connects to any host")
	}
	return lines
}

// Of returns the effects of a call with an input. Its paths are absolute.
func (e *Effects) Of(tool, dir string, input map[string]any) (*Effects, error) {
	if e == nil {
		return nil, nil
	}
	call := &Effects{Hosts: e.Hosts, Network: e.Network}
	var err error
	if call.Read, err = paths(tool, dir, e.Read, input); err != nil {
		return nil, err
	}
	if call.Write, err = paths(tool, dir, e.Write, input); err != nil {
		return nil, err
	}
	return call, nil
}

// Judged returns the effects of a call, as returned by [Effects.Of], for the gate.
func (e *Effects) Judged(tool string) []approval.Effect {
	if e == nil {
		return nil
	}
	var all []approval.Effect
	add := func(action approval.Action, paths []string, verb string) {
		if len(paths) > 0 {
			all = append(all, approval.Effect{Action: action, Paths: paths, Title: tool + " " + verb + " " + strings.Join(paths, ", ")})
		}
	}
	add(approval.ActionRead, e.Read, "reads")
	add(approval.ActionEdit, e.Write, "changes")
	for _, host := range e.Hosts {
		all = append(all, approval.Effect{Action: approval.ActionNetwork, Host: host, Title: tool + " connects to " + host})
	}
	if e.Network {
		all = append(all, approval.Effect{Action: approval.ActionNetwork, Title: tool + " connects to any host"})
	}
	return all
}

// Absolute returns a path that is relative to dir, with the separators of this system.
func Absolute(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// maxPaths bounds the paths of one call.
const maxPaths = 10_000

// paths fills in the parameters of declared paths. A parameter that is a list stands for several paths, one that is absent for none.
func paths(tool, dir string, patterns []string, input map[string]any) ([]string, error) {
	var all []string
	for _, pattern := range patterns {
		filled := []string{""}
		for rest := pattern; rest != ""; {
			before, after, found := strings.Cut(rest, "{")
			name, tail, _ := strings.Cut(after, "}")
			parts := []string{""}
			if found {
				var err error
				if parts, err = values(tool, name, input[name]); err != nil {
					return nil, err
				}
			}
			if len(filled)*len(parts)+len(all) > maxPaths {
				return nil, fmt.Errorf("%w for %s: the call names more than %d files", agent.ErrBadInput, tool, maxPaths)
			}
			var next []string
			for _, start := range filled {
				for _, value := range parts {
					next = append(next, start+before+value)
				}
			}
			filled, rest = next, tail
		}
		for _, path := range filled {
			if path != "" {
				all = append(all, Absolute(dir, path))
			}
		}
	}
	return all, nil
}

// values returns the values of a parameter in a path.
func values(tool, name string, value any) ([]string, error) {
	switch value := value.(type) {
	case nil:
		return nil, nil
	case string:
		if strings.ContainsRune(value, 0) {
			break
		}
		return []string{value}, nil
	case []any:
		var all []string
		for _, v := range value {
			some, err := values(tool, name, v)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%w for %s: %s names files, so it must be a string or a list of strings", agent.ErrBadInput, tool, name)
}

// Schema returns the schema of effects.
func Schema() configfile.JSONSchema {
	list := func() configfile.JSONSchema {
		return configfile.AnyOf(configfile.OfKind(configfile.Text), configfile.ListOf(configfile.OfKind(configfile.Text)))
	}
	return configfile.Fields(map[string]configfile.JSONSchema{
		"read":    list().About("paths that a call reads, relative to its directory; {name} stands for a parameter"),
		"write":   list().About("paths that a call changes"),
		"network": configfile.AnyOf(configfile.OfKind(configfile.Boolean), list()).About("true for any host, or hosts"),
	})
}
