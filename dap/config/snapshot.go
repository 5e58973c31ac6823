package config

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/workspace"
)

// snapshot is the configuration as read at one time.
type snapshot struct {
	*workspace.Config[*definition]
	catalog *Catalog
	specs   map[string]specResult
}

// specResult is a definition's spec, or why there is none.
type specResult struct {
	spec *dap.Spec
	why  string
}

// project is one root with its own configuration.
type project = workspace.Project[*definition]

func newSnapshot(c *Catalog, env []string) *snapshot {
	source := workspace.Source[*definition]{Subject: subject, Schema: schema, Rootless: true, Merge: func(files []*configfile.File) ([]*definition, []string) {
		return merge(files, c.Options.GOOS)
	}}
	return &snapshot{Config: source.Read(&c.Options, env), catalog: c, specs: make(map[string]specResult)}
}

// Concerns implements [workspace.Snapshot].
func (s *snapshot) Concerns(file string) bool {
	return slices.Contains(configfile.Names(subject), filepath.Base(file))
}

// projectFor returns the project that contains the program or the directory, otherwise the first project.
func (s *snapshot) projectFor(w dap.Wanted) *project {
	for _, path := range []string{w.Program, w.Dir} {
		if path == "" {
			continue
		}
		if ws := s.ProjectAt(s.RootOf(filepath.Clean(path))); ws != nil {
			return ws
		}
	}
	return s.Projects[0]
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
