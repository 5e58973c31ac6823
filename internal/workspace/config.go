package workspace

import (
	"slices"

	"github.com/gajae-code/gjc/internal/configfile"
)

// Config is the configuration of a workspace's servers or adapters, as read at one point in time. D is the type of their
// definitions. It is not safe for concurrent use.
type Config[D any] struct {
	*View
	Projects []*Project[D]
	// Problems are the errors in the configuration files, each with file and line.
	Problems []string
	// trustError is why the answers about trust could not be read.
	trustError error
}

// Project is one root with its own configuration.
type Project[D any] struct {
	*Consent
	// Defs are the current definitions; All are those of the project if it were trusted.
	Defs, All []D
	// Used are the files that define Defs.
	Used []*configfile.File
}

// Source describes how a configuration is read.
type Source[D any] struct {
	// Subject is the name of the files without their extension ("lsp").
	Subject string
	Schema  *configfile.Schema
	// Merge merges files into the defaults. Later files take precedence.
	Merge func(files []*configfile.File) (defs []D, problems []string)
	// Rootless adds a project with the user's files if there are no roots.
	Rootless bool
}

// Read reads the configuration files of the user and of all roots. env is the environment for programs.
func (src *Source[D]) Read(o *Options, env []string) *Config[D] {
	c := &Config[D]{View: &View{Roots: o.Roots, Home: o.Home, GOOS: o.GOOS, Env: env, LookPath: o.LookPath}}
	c.Trusts = func(root string) bool {
		p := c.ProjectAt(root)
		return p != nil && p.ProgramsTrusted
	}
	seen := make(map[string]bool)
	read := func(places []configfile.Place) (files []*configfile.File) {
		for _, p := range places {
			files = append(files, src.Schema.ReadPlace(src.Subject, p, seen)...)
		}
		for _, f := range files {
			c.Problems = append(c.Problems, f.Problems...)
		}
		return files
	}
	user := read(configfile.UserPlaces(o.Home, o.AgentDir))
	roots := o.Roots
	if len(roots) == 0 && src.Rootless {
		roots = []string{""}
	}
	for _, root := range roots {
		var own []*configfile.File
		if root != "" {
			own = read(configfile.ProjectPlaces(root))
		}
		consent, err := newConsent(root, own, o.Trust)
		if err != nil {
			c.trustError = err
		}
		p := &Project[D]{Consent: consent, Used: slices.Concat(user, consent.usable(own))}
		var problems []string
		p.All, problems = src.Merge(slices.Concat(user, own))
		p.Defs = p.All
		if !consent.FilesTrusted {
			p.Defs, problems = src.Merge(p.Used)
		}
		for _, text := range problems {
			if !slices.Contains(c.Problems, text) { // the user's files are merged for each root
				c.Problems = append(c.Problems, text)
			}
		}
		c.Projects = append(c.Projects, p)
	}
	return c
}

// ProjectAt returns the project of a root, or nil.
func (c *Config[D]) ProjectAt(root string) *Project[D] {
	for _, p := range c.Projects {
		if p.Root == root {
			return p
		}
	}
	return nil
}

// NoteProgram records a program of a project for the question about trust.
func (c *Config[D]) NoteProgram(f Found) {
	if p := c.ProjectAt(f.Of); f.Local != "" && p != nil {
		p.AddProgram(f.Local, c.GOOS)
	}
}

// AllProblems returns the problems for the user, including files and programs that are not used because a project is not trusted.
func (c *Config[D]) AllProblems() []string {
	all := slices.Clone(c.Problems)
	if c.trustError != nil {
		all = append(all, c.trustError.Error())
	}
	for _, p := range c.Projects {
		all = append(all, p.untrusted()...)
	}
	return all
}
