package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
)

// fileNames returns the names of a configuration file. Earlier ones take precedence.
func fileNames() []string { return configfile.Names("dap") }

// fieldTypes are the fields of an adapter. It is never modified.
var fieldTypes = map[string]configfile.FieldType{
	"command":           configfile.AString,
	"args":              configfile.StringList,
	"alternatives":      configfile.StringList,
	"env":               configfile.Texts,
	"connectMode":       configfile.AString,
	"adapterID":         configfile.AString,
	"kind":              configfile.AString,
	"native":            configfile.ABoolean,
	"languages":         configfile.StringList,
	"fileTypes":         configfile.StringList,
	"rootMarkers":       configfile.StringList,
	"types":             configfile.StringList,
	"launchDefaults":    configfile.AnObject,
	"attachDefaults":    configfile.AnObject,
	"terminalArguments": configfile.AnObject,
	"launchForm":        configfile.AnObject,
	"coreForm":          configfile.AnObject,
	"processForm":       configfile.AnObject,
	"remoteForm":        configfile.AnObject,
	"listenForm":        configfile.AnObject,
	"remoteDial":        configfile.ABoolean,
	"stopOnEntry":       configfile.StringList,
	"startTimeoutMs":    configfile.ADuration,
	"install":           configfile.AString,
	"disabled":          configfile.ABoolean,
}

func fieldNames() []string { return slices.Sorted(maps.Keys(fieldTypes)) }

// harmless are the fields that do not change what runs.
var harmless = []string{"languages", "startTimeoutMs", "install"}

func connectModes() []string {
	return []string{string(dap.ConnectStdio), string(dap.ConnectSocket), string(dap.ConnectDial), string(dap.ConnectListen)}
}

// readPlace reads the files of a place. Later ones take precedence.
func readPlace(p configfile.Place, seen map[string]bool) []*configfile.File {
	files := configfile.ReadPlace(p, fileNames(), seen)
	for _, f := range files {
		if f.Data != nil {
			parse(f)
		}
	}
	return files
}

// The top-level members of a file.
const (
	keyAdapters = "adapters"
	keySchema   = "$schema"
)

// parse parses the file's data.
func parse(f *configfile.File) {
	top := f.Parse("adapter names")
	if top == nil {
		return
	}
	wrapped := top.Member(keyAdapters) != nil
	for _, m := range top.Members {
		switch {
		case m.Name == keySchema:
		case m.Name == keyAdapters:
			if m.Value.Kind != configfile.Object {
				f.Problem(m.Line, "adapters must be a mapping of names to settings, not %s", m.Value.Kind)
				continue
			}
			for _, a := range m.Value.Members {
				parseAdapter(f, a)
			}
		case wrapped:
			f.Problem(m.Line, "unknown field %s%s; adapters belong below \"adapters\"", configfile.Quote(m.Name), configfile.Meant(m.Name, []string{keySchema}))
		case m.Value.Kind == configfile.Object && text.Near(m.Name, []string{keyAdapters}) != "" && onlyObjects(m.Value):
			f.Problem(m.Line, "unknown field %s; did you mean \"adapters\"?", configfile.Quote(m.Name))
		default:
			parseAdapter(f, m)
		}
	}
}

func onlyObjects(n *configfile.Node) bool {
	return len(n.Members) > 0 && !slices.ContainsFunc(n.Members, func(m configfile.Member) bool { return m.Value.Kind != configfile.Object })
}

// parseAdapter parses one adapter of the file. Invalid fields are added to the problems and left out.
func parseAdapter(f *configfile.File, m configfile.Member) {
	if m.Value.Kind != configfile.Object {
		f.Problem(m.Line, "adapter %s must be a mapping, not %s; to turn an adapter off, set disabled: true in it", configfile.Quote(m.Name), m.Value.Kind)
		return
	}
	e := configfile.Entry{Name: m.Name, Line: m.Line, Fields: make(map[string]configfile.Value)}
	for _, field := range m.Value.Members {
		want, known := fieldTypes[field.Name]
		if !known {
			f.Problem(field.Line, "unknown field %s of adapter %s%s", configfile.Quote(field.Name), configfile.Quote(m.Name), configfile.Meant(field.Name, fieldNames()))
			continue
		}
		reason := want.Check(field.Value)
		if reason == "" && field.Name == "connectMode" {
			reason = oneOf(field.Value.Text, connectModes())
		}
		if reason == "" && field.Name == "kind" {
			reason = oneOf(field.Value.Text, kinds())
		}
		if reason != "" {
			f.Problem(field.Line, "%s of adapter %s must be %s; it is not used", field.Name, configfile.Quote(m.Name), reason)
			continue
		}
		e.Fields[field.Name] = configfile.Value{Node: field.Value, At: f.At(field.Line)}
		if run := runs(m.Name, field, m.Value); run != "" {
			f.Runs = append(f.Runs, run)
		}
	}
	f.Entries = append(f.Entries, e)
}

// oneOf returns "" if a text is among the known ones, and otherwise what it must be.
func oneOf(text string, known []string) string {
	if slices.Contains(known, text) {
		return ""
	}
	return "one of " + strings.Join(known, ", ") + ", not " + configfile.Quote(text) + configfile.Meant(text, known)
}

// runs describes what a field can run, for the user, or returns "" if it is harmless. Arguments of requests can run
// something because many adapters take commands in them. Fields that can change which adapter is chosen count too.
func runs(name string, field configfile.Member, all *configfile.Node) string {
	subject := "adapter " + configfile.Quote(name)
	switch {
	case field.Name == "command":
		words := []string{field.Value.Text}
		if args := all.Member("args"); args != nil && fieldTypes["args"].Check(args) == "" {
			words = append(words, args.Strings()...)
		}
		return subject + " runs: " + strings.Join(words, " ")
	case field.Name == "args":
		// An invalid command is not shown, so its arguments are not shown with it.
		if command := all.Member("command"); command != nil && fieldTypes["command"].Check(command) == "" {
			return ""
		}
		return subject + " has the arguments: " + strings.Join(field.Value.Strings(), " ")
	case field.Name == "disabled":
		if field.Value.Text == "false" {
			return subject + " is turned on"
		}
		return ""
	case slices.Contains(harmless, field.Name):
		return ""
	default:
		return subject + " has " + field.Name + ": " + string(field.Value.JSON())
	}
}
