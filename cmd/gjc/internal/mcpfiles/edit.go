package mcpfiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lockedfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// projectSwitches turn servers on and off in one workspace: those of its files, and those of the user. They are in the user's own file.
type projectSwitches struct {
	dir               string
	enabled, disabled []string
}

// switches reads the switches of the user's file.
func (o *Options) switches(files []*configFile) (all []projectSwitches, mistakes []*config.Error) {
	i := slices.IndexFunc(files, func(f *configFile) bool { return f.Path == o.userFile() && o.AgentDir != "" })
	if i < 0 || files[i].Problem != nil {
		return nil, nil
	}
	top, err := files[i].parse()
	if err != nil {
		return nil, nil // the reader reports it
	}
	bad := func(line int, field, reason string) {
		mistakes = append(mistakes, &config.Error{Path: files[i].Path, Line: line, Field: field, Reason: reason})
	}
	projects := top.Member(topProjects)
	if projects == nil {
		return nil, nil
	}
	if projects.Kind != configfile.Object {
		bad(projects.Line, topProjects, "must be an object with enabled and disabled for each directory")
		return nil, mistakes
	}
	for _, m := range projects.Members {
		p := projectSwitches{dir: m.Name}
		for _, list := range m.Value.Members {
			to := &p.enabled
			switch {
			case list.Name == "disabled":
				to = &p.disabled
			case list.Name != "enabled":
				bad(list.Line, topProjects+"."+m.Name+"."+list.Name, "unknown field; the fields are enabled and disabled")
				continue
			}
			if reason := configfile.StringList.Check(list.Value); reason != "" {
				bad(list.Line, topProjects+"."+m.Name+"."+list.Name, "must be "+reason)
				continue
			}
			*to = list.Value.Strings()
		}
		all = append(all, p)
	}
	return all, mistakes
}

// apply turns servers of a file on and off: of a file of the workspace, or of the user in a session with these roots.
func (p *projectSwitches) apply(f *configFile, roots []string) {
	dirs := []string{f.Dir}
	if f.Dir == "" {
		dirs = configfile.Upwards(roots...)
	}
	if !slices.ContainsFunc(dirs, func(dir string) bool { return trust.Canonical(dir) == trust.Canonical(p.dir) }) {
		return
	}
	for _, s := range f.Servers {
		s.Off = (s.Off || slices.Contains(p.disabled, s.Name)) && !slices.Contains(p.enabled, s.Name)
	}
}

// errExists is wrapped by the error for a server that there is already.
var errExists = errors.New("there is a server of this name already")

// errUnknown is wrapped by the error for a server that there is not.
var errUnknown = errors.New("unknown MCP server")

// Add adds a server to one of gjc's own files. The definition is a JSON object; it is checked first. It replaces a server of the same
// name only with force.
func Add(ctx context.Context, path, name string, definition []byte, force bool) error {
	n, err := checked(name, definition)
	if err != nil {
		return err
	}
	return change(ctx, path, func(data []byte) ([]byte, error) {
		top, err := configfile.ParseJSONC(data)
		if err != nil {
			return nil, err
		}
		if top.Member(topServers).Member(name) != nil && !force {
			return nil, fmt.Errorf("%w: %s in %s; --force replaces it", errExists, trust.Printable(name), path)
		}
		if top == nil {
			return fresh(name, n)
		}
		return configfile.SetJSONC(data, []string{topServers, name}, n)
	})
}

// fresh returns a file with one server.
func fresh(name string, n *configfile.Node) ([]byte, error) {
	raw := jsonx.Raw(`{"$schema":"` + config.SchemaURL("mcp") + `","` + topServers + `":{` + string(jsonx.AppendString(nil, name)) + ":" + string(n.JSON()) + "}}")
	if err := raw.Indent(); err != nil {
		return nil, err
	}
	return append(raw, '\n'), nil
}

// checked returns the value of a definition. The error says what is wrong with it.
func checked(name string, definition []byte) (*configfile.Node, error) {
	n, err := configfile.ParseJSONC(definition)
	if err != nil {
		return nil, fmt.Errorf("the definition is not JSON: %w", err)
	}
	switch {
	case n == nil || n.Kind != configfile.Object:
		return nil, errors.New(`the definition must be a JSON object like {"command": "…"}`)
	case strings.TrimSpace(name) == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(name) > 100:
		return nil, errors.New("the name of a server must be a short text without control characters")
	}
	r := &reader{configFile: &configFile{Path: "the definition", Dialect: own()}}
	s := r.server(&configfile.Member{Name: name, Line: 1, Value: n})
	if len(s.Mistakes) > 0 {
		m := *s.Mistakes[0]
		m.Path, m.Line, m.Until = "the definition", 0, ""
		return nil, &m
	}
	return n, nil
}

// Remove removes a server from one of gjc's own files.
func Remove(ctx context.Context, path, name string) error {
	return change(ctx, path, func(data []byte) ([]byte, error) {
		edited, was, err := configfile.RemoveJSONC(data, []string{topServers, name})
		if err == nil && !was {
			err = fmt.Errorf("%w: %s in %s", errUnknown, trust.Printable(name), path)
		}
		return edited, err
	})
}

// Switch turns a server on or off. The servers of the user's file are changed there; those of a workspace's file are listed in the user's
// file, because the workspace belongs to others, too. It returns the file that it changed.
func (o *Options) Switch(ctx context.Context, name string, on bool) (string, error) {
	path := o.userFile()
	d := o.take().find(name)
	if d == nil {
		return path, fmt.Errorf("%w: %s", errUnknown, trust.Printable(name))
	}
	value := &configfile.Node{Kind: configfile.Boolean, Text: fmt.Sprint(on)}
	return path, change(ctx, path, func(data []byte) ([]byte, error) {
		if d.file.Dir == "" {
			if _, was, err := configfile.RemoveJSONC(data, []string{topServers, name}); err != nil || !was {
				return nil, cmp.Or(err, fmt.Errorf("%s is defined in %s; change it there", trust.Printable(name), d.file.Path))
			}
			if edited, was, err := configfile.RemoveJSONC(data, []string{topServers, name, "disabled"}); err == nil && was {
				data = edited
			}
			data, err := configfile.SetJSONC(data, []string{topServers, name, "enabled"}, value)
			if err != nil {
				return nil, err
			}
			return switchListed(data, configfile.Upwards(o.Roots...), name, on)
		}
		return switchProject(data, trust.Canonical(d.file.Dir), name, on)
	})
}

// switchListed changes the switches of the user's own server in directories, where there are some.
func switchListed(data []byte, dirs []string, name string, on bool) ([]byte, error) {
	top, err := configfile.ParseJSONC(data)
	if err != nil {
		return nil, err
	}
	if top.Member(topProjects) == nil {
		return data, nil
	}
	for _, m := range top.Member(topProjects).Members {
		here := slices.ContainsFunc(dirs, func(dir string) bool { return trust.Canonical(dir) == trust.Canonical(m.Name) })
		listed := slices.Contains(m.Value.Member("enabled").Strings(), name) || slices.Contains(m.Value.Member("disabled").Strings(), name)
		if !here || !listed {
			continue
		}
		if data, err = switchProject(data, m.Name, name, on); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// switchProject lists a server as enabled or disabled in a directory.
func switchProject(data []byte, dir, name string, on bool) ([]byte, error) {
	top, err := configfile.ParseJSONC(data)
	if err != nil {
		return nil, err
	}
	project := top.Member(topProjects).Member(dir)
	value := &configfile.Node{Kind: configfile.Object}
	for _, list := range []struct {
		name string
		in   bool
	}{{"enabled", on}, {"disabled", !on}} {
		names := slices.DeleteFunc(project.Member(list.name).Strings(), func(other string) bool { return other == name })
		if list.in {
			names = append(names, name)
		}
		if len(names) == 0 {
			continue
		}
		n := &configfile.Node{Kind: configfile.List}
		for _, one := range names {
			n.List = append(n.List, &configfile.Node{Kind: configfile.Text, Text: one})
		}
		value.Members = append(value.Members, configfile.Member{Name: list.name, Value: n})
	}
	return configfile.SetJSONC(data, []string{topProjects, dir}, value)
}

// find returns the definition of a name that counts, or else the first one.
func (s *snapshot) find(name string) *definition {
	var found *definition
	for _, d := range s.all {
		if d.Name == name && (found == nil || found.state == stateShadowed || d.state == stateUsed) {
			found = d
		}
	}
	return found
}

// change replaces a file by what fn makes of it, at once and under a lock. It keeps a link.
func change(ctx context.Context, path string, fn func([]byte) ([]byte, error)) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link into a directory of dotfiles stays one
	}
	return lockedfile.New(path).Change(ctx, func([]byte) ([]byte, error) {
		// Unlike the data of Change, this is no pipe, and is bounded.
		data, err := configfile.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		edited, err := fn(data)
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			return nil, fmt.Errorf("%s:%d: the file is not JSON; correct it first", path, e.Line)
		}
		return edited, err
	})
}
