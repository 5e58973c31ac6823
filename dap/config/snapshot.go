package config

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/workspace"
)

// snapshot is the configuration as read at one time. It caches directories and programs.
type snapshot struct {
	*workspace.View
	opts     *Options
	probes   *prober
	stamp    string // see [trust.Session.Stamp]
	read     time.Time
	projects []*project
	problems []string
	// trustError is why the answers about trust could not be read.
	trustError error
	specs      map[string]specResult
}

// specResult is a definition's spec, or why there is none.
type specResult struct {
	spec *dap.Spec
	why  string
}

// project is one root with its own configuration.
type project struct {
	*workspace.Consent
	// defs are the present adapters, all those that a trusted project would have.
	defs, all []*definition
}

func newSnapshot(opts *Options, env []string, probes *prober) *snapshot {
	s := &snapshot{
		View:   &workspace.View{Roots: opts.Roots, Home: opts.Home, GOOS: opts.GOOS, Env: env, LookPath: opts.LookPath},
		probes: probes, opts: opts, read: time.Now(), specs: make(map[string]specResult),
	}
	s.Trusts = func(root string) bool {
		ws := s.projectAt(root)
		return ws != nil && ws.ProgramsTrusted
	}
	seen := make(map[string]bool)
	var user []*configfile.File
	for _, p := range configfile.UserPlaces(opts.Home, opts.AgentDir) {
		user = append(user, readPlace(p, seen)...)
	}
	s.addProblems(user)
	for _, root := range opts.Roots {
		var own []*configfile.File
		for _, p := range configfile.ProjectPlaces(root) {
			own = append(own, readPlace(p, seen)...)
		}
		s.addProblems(own)
		s.projects = append(s.projects, s.newProject(root, user, own))
	}
	if len(s.projects) == 0 {
		s.projects = []*project{s.newProject("", user, nil)}
	}
	return s
}

// addProblems adds the problems of files.
func (s *snapshot) addProblems(files []*configfile.File) {
	for _, f := range files {
		s.problems = append(s.problems, f.Problems...)
	}
}

func (s *snapshot) newProject(root string, user, own []*configfile.File) *project {
	consent, err := workspace.NewConsent(root, own, s.opts.Trust)
	if err != nil {
		s.trustError = err
	}
	ws := &project{Consent: consent}
	var problems []string
	ws.all, problems = merge(slices.Concat(user, own), s.GOOS)
	ws.defs = ws.all
	if !consent.FilesTrusted {
		ws.defs, problems = merge(slices.Concat(user, consent.Usable(own)), s.GOOS)
	}
	for _, p := range problems {
		if !slices.Contains(s.problems, p) { // the user's files are merged for each root
			s.problems = append(s.problems, p)
		}
	}
	return ws
}

// projectAt returns the project of a root, or nil.
func (s *snapshot) projectAt(root string) *project {
	for _, ws := range s.projects {
		if ws.Root == root {
			return ws
		}
	}
	return nil
}

// projectFor returns the project of the program, of the directory, or the first one.
func (s *snapshot) projectFor(w dap.Wanted) *project {
	for _, path := range []string{w.Program, w.Dir} {
		if path == "" {
			continue
		}
		if ws := s.projectAt(s.RootOf(filepath.Clean(path))); ws != nil {
			return ws
		}
	}
	return s.projects[0]
}

// untrusted returns texts for the user: what is not used because a project is not trusted.
func (s *snapshot) untrusted() []string {
	var all []string
	if s.trustError != nil {
		all = append(all, s.trustError.Error())
	}
	for _, ws := range s.projects {
		all = append(all, ws.Untrusted()...)
	}
	return all
}

// spec returns the spec of an adapter, or why it cannot be used. A snapshot always returns the same pointer for an adapter.
func (s *snapshot) spec(ctx context.Context, ws *project, d *definition) (spec *dap.Spec, why string) {
	key := ws.Root + "\x00" + d.Name
	if r, ok := s.specs[key]; ok {
		return r.spec, r.why
	}
	spec, why = s.newSpec(ctx, ws, d)
	if ctx.Err() == nil { // do not cache an incomplete search
		s.specs[key] = specResult{spec, why}
	}
	return spec, why
}

func (s *snapshot) newSpec(ctx context.Context, ws *project, d *definition) (spec *dap.Spec, why string) {
	if d.disabled() {
		return nil, "turned off in " + d.Fields["disabled"].At
	}
	if why := d.connectError(); why != "" {
		return nil, why
	}
	at := s.locate(ctx, ws, d)
	if at.path == "" {
		why = at.why
		if how := d.Text("install"); how != "" {
			why += "; to get it: " + how
		}
		return nil, why
	}
	spec = d.spec(at.path, s.GOOS)
	spec.Notes = at.notes
	if at.launch != nil {
		spec.LaunchDefaults = cloneMap(spec.LaunchDefaults)
		maps.Copy(spec.LaunchDefaults, at.launch)
	}
	return spec, ""
}
