package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/configfile"
)

// definition is the configuration of an adapter after merging all files.
type definition struct{ *configfile.Definition }

// merge merges files into the defaults. Later files take precedence.
func merge(files []*configfile.File, goos string) (defs []*definition, problems []string) {
	for _, merged := range configfile.Merge(defaults().Entries, files) {
		d := &definition{merged}
		if len(d.Lacking("command")) > 0 {
			if !d.disabled() {
				problems = append(problems, fmt.Sprintf("%s: unknown adapter %s needs a command%s", d.At, configfile.Quote(d.Name), configfile.Suggestion(d.Name, kinds())))
			}
			continue
		}
		if why := d.connectError(); why != "" && !d.disabled() {
			problems = append(problems, fmt.Sprintf("%s: adapter %s: %s", d.At, configfile.Quote(d.Name), why))
		}
		defs = append(defs, d)
	}
	// Adapters that files define come first: a user who defines an adapter wants to use it.
	slices.SortStableFunc(defs, func(a, b *definition) int {
		switch {
		case a.Custom == b.Custom:
			return order(a, goos) - order(b, goos)
		case a.Custom:
			return -1
		default:
			return 1
		}
	})
	return defs, problems
}

// order puts gdb after the other native debuggers on macOS, where it cannot debug unless it is signed.
func order(d *definition, goos string) int {
	if goos == "darwin" && d.kind() == kindGDB {
		return 1
	}
	return 0
}

// connectError returns what is wrong with the settings for the connection, or "".
func (d *definition) connectError() string {
	args := strings.Join(d.Strings("args"), " ")
	port, socket := strings.Contains(args, "${port}"), strings.Contains(args, "${socket}")
	switch d.connect() {
	case dap.ConnectDial:
		if !port && !socket {
			return "connectMode is dial, so its args need ${port} or ${socket}"
		}
	case dap.ConnectListen:
		if !port && !socket {
			return "connectMode is listen, so its args need ${port}"
		}
	default:
		if port || socket {
			return "its args have ${port} or ${socket}, so its connectMode must be dial or listen"
		}
	}
	return ""
}

func (d *definition) disabled() bool { return d.True("disabled") }

func (d *definition) command() string { return d.Text("command") }

func (d *definition) kind() string { return d.Text("kind") }

func (d *definition) connect() dap.Connect {
	if c := d.Text("connectMode"); c != "" {
		return dap.Connect(c)
	}
	return dap.ConnectStdio
}

// native reports whether the adapter debugs compiled programs of any language.
func (d *definition) native() bool { return d.True("native") }

// forFile reports whether the adapter is for files with that name.
func (d *definition) forFile(base string) bool {
	return slices.ContainsFunc(d.Strings("fileTypes"), func(t string) bool {
		if strings.HasPrefix(t, ".") {
			return len(base) > len(t) && strings.EqualFold(base[len(base)-len(t):], t)
		}
		return base == t
	})
}

// forLanguage reports whether the adapter is for a language.
func (d *definition) forLanguage(language string) bool {
	return slices.Contains(d.Strings("languages"), language)
}

// markers returns the root markers without .git, which every project has.
func (d *definition) markers() []string {
	return slices.DeleteFunc(d.Strings("rootMarkers"), func(m string) bool { return m == ".git" })
}

func (d *definition) object(field string) map[string]any {
	if v, ok := d.Fields[field]; ok {
		return v.Any().(map[string]any)
	}
	return nil
}

// spec returns the [dap.Spec] of the adapter, with the program at path.
func (d *definition) spec(path string, goos string) *dap.Spec {
	s := &dap.Spec{
		Name: d.Name, AdapterID: d.Text("adapterID"), Kind: d.kind(), Path: path, Args: d.Strings("args"), Connect: d.connect(),
		Languages: d.Strings("languages"), FileTypes: d.Strings("fileTypes"), RootMarkers: d.Strings("rootMarkers"), Native: d.native(),
		LaunchDefaults: d.object("launchDefaults"), AttachDefaults: d.object("attachDefaults"), TerminalArguments: d.object("terminalArguments"),
		Types: d.Strings("types"), Install: d.Text("install"),
		Forms: dap.Forms{
			Launch: d.object("launchForm"), Core: d.object("coreForm"), Process: d.object("processForm"), Remote: d.object("remoteForm"),
			DialRemote: d.True("remoteDial"), Listen: d.object("listenForm"), StopOnEntry: d.Strings("stopOnEntry"),
		},
	}
	if goos == "windows" {
		for i, arg := range s.Args { // Ruby has no Unix sockets on Windows
			s.Args[i] = strings.Replace(arg, "--sock-path=${socket}", "--port=${port}", 1)
		}
	}
	if v, ok := d.Fields["env"]; ok {
		for _, m := range v.Members {
			s.Env = append(s.Env, m.Name+"="+m.Value.Text)
		}
	}
	if v, ok := d.Fields["startTimeoutMs"]; ok {
		s.Slow, _ = configfile.Milliseconds(v.Node)
		s.Slow = max(s.Slow, 1)
	}
	return s
}
