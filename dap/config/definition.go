package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/configfile"
)

// definition is an adapter after all files were put over one another.
type definition struct{ *configfile.Definition }

// merge puts files over the defaults, those that count less first.
func merge(files []*configfile.File, goos string) (defs []*definition, problems []string) {
	for _, merged := range configfile.Merge(defaults().Entries, files) {
		d := &definition{merged}
		if len(d.Lacking("command")) > 0 {
			if !d.disabled() {
				problems = append(problems, fmt.Sprintf("%s: adapter %s is none of the known ones, so it needs command%s", d.At, configfile.Quote(d.Name), configfile.Meant(d.Name, kinds())))
			}
			continue
		}
		if why := d.broken(); why != "" && !d.disabled() {
			problems = append(problems, fmt.Sprintf("%s: adapter %s: %s", d.At, configfile.Quote(d.Name), why))
		}
		defs = append(defs, d)
	}
	// The user's own adapters come first: who writes one wants it.
	slices.SortStableFunc(defs, func(a, b *definition) int {
		switch {
		case a.Custom == b.Custom:
			return behind(a, goos) - behind(b, goos)
		case a.Custom:
			return -1
		default:
			return 1
		}
	})
	return defs, problems
}

// behind puts gdb after the other native debuggers where it can not debug without being signed.
func behind(d *definition, goos string) int {
	if goos == "darwin" && d.kind() == kindGDB {
		return 1
	}
	return 0
}

// broken says what is wrong with an adapter's connection, or "".
func (d *definition) broken() string {
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

// native reports whether the adapter debugs what compilers make.
func (d *definition) native() bool { return d.True("native") }

// takes reports whether the adapter is for files of that name.
func (d *definition) takes(base string) bool {
	return slices.ContainsFunc(d.Strings("fileTypes"), func(t string) bool {
		if strings.HasPrefix(t, ".") {
			return len(base) > len(t) && strings.EqualFold(base[len(base)-len(t):], t)
		}
		return base == t
	})
}

// speaks reports whether the adapter is for a language.
func (d *definition) speaks(language string) bool {
	return slices.Contains(d.Strings("languages"), language)
}

// markers are the root markers that say something: every project has a .git.
func (d *definition) markers() []string {
	return slices.DeleteFunc(d.Strings("rootMarkers"), func(m string) bool { return m == ".git" })
}

func (d *definition) object(field string) map[string]any {
	if v, ok := d.Fields[field]; ok {
		return v.Any().(map[string]any)
	}
	return nil
}

// spec returns the adapter as package dap wants it, with the program at path.
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
		for i, arg := range s.Args { // Ruby has no Unix sockets there
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
