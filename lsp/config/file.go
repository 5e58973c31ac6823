package config

import (
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
)

// fileNames returns the names of a configuration file. Earlier ones take precedence.
func fileNames() []string { return configfile.Names("lsp") }

// file is a configuration file of language servers.
type file struct {
	*configfile.File
	idle *time.Duration
}

// readPlace reads the files of a place. Later ones take precedence.
func readPlace(p configfile.Place, seen map[string]bool) []*file {
	var all []*file
	for _, f := range configfile.ReadPlace(p, fileNames(), seen) {
		read := &file{File: f}
		if f.Data != nil {
			read.parse()
		}
		all = append(all, read)
	}
	return all
}

// parse parses the file's data.
func (f *file) parse() {
	if top := f.Parse("server names"); top != nil {
		f.top(top)
	}
}

// configFiles returns the embedded [configfile.File] of each file.
func configFiles(files []*file) []*configfile.File {
	all := make([]*configfile.File, len(files))
	for i, f := range files {
		all[i] = f.File
	}
	return all
}

// The top-level members of a file.
const (
	keyServers = "servers"
	keyIdle    = "idleTimeoutMs"
	keySchema  = "$schema"
)

// minIdle is the minimum time after which an unused server is ended: starting a server for each step is slower than having none.
const minIdle = 10 * time.Second

func (f *file) top(top *configfile.Node) {
	wrapped := top.Member(keyServers) != nil
	for _, m := range top.Members {
		switch {
		case m.Name == keySchema:
		case m.Name == keyIdle:
			idle, ok := configfile.Milliseconds(m.Value)
			switch {
			case !ok || idle < 0 || idle > 0 && idle < minIdle:
				f.Problem(m.Line, "%s must be a number of milliseconds, at least %d, or 0 for never; it is not used", keyIdle, minIdle.Milliseconds())
			default:
				f.idle = &idle
				how := "never"
				if idle > 0 {
					how = "after " + idle.String()
				}
				f.Runs = append(f.Runs, "unused servers are ended "+how)
			}
		case m.Name == keyServers:
			if m.Value.Kind != configfile.Object {
				f.Problem(m.Line, "servers must be a mapping of names to settings, not %s", m.Value.Kind)
				continue
			}
			for _, s := range m.Value.Members {
				f.server(s)
			}
		case wrapped:
			f.Problem(m.Line, "unknown field %s%s; servers belong below \"servers\"", configfile.Quote(m.Name), configfile.Meant(m.Name, []string{keyIdle, keySchema}))
		case m.Value.Kind == configfile.Object && text.Near(m.Name, []string{keyServers}) != "" && onlyObjects(m.Value):
			f.Problem(m.Line, "unknown field %s; did you mean \"servers\"?", configfile.Quote(m.Name))
		case m.Value.Kind != configfile.Object && text.Near(m.Name, []string{keyIdle}) != "":
			f.Problem(m.Line, "unknown field %s; did you mean %q?", configfile.Quote(m.Name), keyIdle)
		default:
			f.server(m)
		}
	}
}

func onlyObjects(n *configfile.Node) bool {
	return len(n.Members) > 0 && !slices.ContainsFunc(n.Members, func(m configfile.Member) bool { return m.Value.Kind != configfile.Object })
}

// server parses one server of the file. Invalid fields are added to the problems and left out.
func (f *file) server(m configfile.Member) {
	if m.Value.Kind != configfile.Object {
		f.Problem(m.Line, "server %s must be a mapping, not %s; to turn a server off, set disabled: true in it", configfile.Quote(m.Name), m.Value.Kind)
		return
	}
	s := configfile.Entry{Name: m.Name, Line: m.Line, Fields: make(map[string]configfile.Value)}
	for _, field := range m.Value.Members {
		want, known := fieldTypes[field.Name]
		switch {
		case field.Name == "resolvedCommand":
			f.Problem(field.Line, "%s.resolvedCommand is determined at run time; remove it", configfile.Quote(m.Name))
		case field.Name == keyIdle:
			f.Problem(field.Line, "%s applies to all servers; move it to the top of the file", keyIdle)
		case field.Name == "capabilities":
			f.Problem(field.Line, "capabilities of server %s: gjc uses no features beyond the protocol; remove it", configfile.Quote(m.Name))
		case !known:
			f.Problem(field.Line, "unknown field %s of server %s%s", configfile.Quote(field.Name), configfile.Quote(m.Name), configfile.Meant(field.Name, fieldNames()))
		default:
			if reason := want.Check(field.Value); reason != "" {
				f.Problem(field.Line, "%s of server %s must be %s; it is not used", field.Name, configfile.Quote(m.Name), reason)
				continue
			}
			s.Fields[field.Name] = configfile.Value{Node: field.Value, At: f.At(field.Line)}
			if run := f.run(m.Name, field, m.Value); run != "" {
				f.Runs = append(f.Runs, run)
			}
		}
	}
	f.Entries = append(f.Entries, s)
}

// run describes what a field can run, for the user, or returns "" if it is harmless. Settings can run something because many servers
// take commands in them. Fields that can start another server count too.
func (f *file) run(name string, field configfile.Member, all *configfile.Node) string {
	subject := "server " + configfile.Quote(name)
	switch field.Name {
	case "command":
		words := []string{field.Value.Text}
		if args := all.Member("args"); args != nil && fieldTypes["args"].Check(args) == "" {
			words = append(words, args.Strings()...)
		}
		return subject + " runs: " + strings.Join(words, " ")
	case "args":
		// An invalid command is not shown, so its arguments are not shown with it.
		if command := all.Member("command"); command != nil && fieldTypes["command"].Check(command) == "" {
			return ""
		}
		return subject + " has the arguments: " + strings.Join(field.Value.Strings(), " ")
	case "settings", "initOptions":
		return subject + " has " + field.Name + ": " + string(field.Value.JSON())
	case "fileTypes", "rootMarkers":
		return subject + " has " + field.Name + ": " + strings.Join(field.Value.Strings(), " ")
	case "disabled":
		if field.Value.Text == "false" {
			return subject + " is turned on"
		}
	}
	return ""
}
