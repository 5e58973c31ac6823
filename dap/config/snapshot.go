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

// snapshot is everything as it was read at one time. What it lists and finds it keeps.
type snapshot struct {
	*workspace.View
	opts     *Options
	probes   *prober
	stamp    string // of the answers about trust
	read     time.Time
	projects []*project
	problems []string
	// trustError is why no answer could be read.
	trustError error
	specs      map[string]made
}

// made is a definition's adapter, or why there is none.
type made struct {
	spec *dap.Spec
	why  string
}

// project is one root with its own configuration.
type project struct {
	*workspace.Consent
	// defs are the adapters as they hold now, all those that there would be with trust.
	defs, all []*definition
}

func newSnapshot(opts *Options, env []string, probes *prober) *snapshot {
	s := &snapshot{
		View:   &workspace.View{Roots: opts.Roots, Home: opts.Home, GOOS: opts.GOOS, Env: env, LookPath: opts.LookPath},
		probes: probes, opts: opts, read: time.Now(), specs: make(map[string]made),
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
	s.tell(user)
	for _, root := range opts.Roots {
		var own []*configfile.File
		for _, p := range configfile.ProjectPlaces(root) {
			own = append(own, readPlace(p, seen)...)
		}
		s.tell(own)
		s.projects = append(s.projects, s.newProject(root, user, own))
	}
	if len(s.projects) == 0 {
		s.projects = []*project{s.newProject("", user, nil)}
	}
	return s
}

// tell takes over the problems of files.
func (s *snapshot) tell(files []*configfile.File) {
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

// projectFor returns the project that a search is about: that of the program, of the directory, or the first one.
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

// distrust tells what of the project is not used for lack of trust.
func (s *snapshot) distrust() []string {
	var all []string
	if s.trustError != nil {
		all = append(all, s.trustError.Error())
	}
	for _, ws := range s.projects {
		all = append(all, ws.Distrust()...)
	}
	return all
}

// spec returns an adapter as it can be used, or why it can not. It is the same pointer for the same adapter as long as the
// snapshot lives.
func (s *snapshot) spec(ctx context.Context, ws *project, d *definition) (spec *dap.Spec, why string) {
	key := ws.Root + "\x00" + d.Name
	if have, ok := s.specs[key]; ok {
		return have.spec, have.why
	}
	spec, why = s.newSpec(ctx, ws, d)
	if ctx.Err() == nil { // half a look is not kept
		s.specs[key] = made{spec, why}
	}
	return spec, why
}

func (s *snapshot) newSpec(ctx context.Context, ws *project, d *definition) (spec *dap.Spec, why string) {
	if d.disabled() {
		return nil, "turned off in " + d.Fields["disabled"].At
	}
	if why := d.broken(); why != "" {
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
