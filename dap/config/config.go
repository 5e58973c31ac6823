// Package config finds the debug adapters of a workspace. It merges the embedded defaults with the configuration files of the
// user and the project, finds the adapters' programs, and respects which projects the user trusts. It also reads
// .vscode/launch.json, and translates a program to debug into each adapter's launch arguments.
package config

import (
	"context"
	"slices"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/internal/workspace"
)

// Options configures a [Catalog].
type Options = workspace.Options

// Catalog implements [dap.Catalog] with configuration files.
type Catalog struct {
	*workspace.Catalog[*snapshot]
	// executable returns the program of a process. The default works on Linux only.
	executable func(pid int) (string, error)
	// top is the root directory of well-known program directories (/usr/lib/llvm-19/bin).
	top string
	// probes is guarded by the catalog's lock.
	probes prober
}

var _ dap.Catalog = (*Catalog)(nil)

// New returns a catalog. It does no I/O.
func New(opts Options) *Catalog {
	c := &Catalog{executable: executable, top: "/"}
	c.Catalog = workspace.NewCatalog(opts, func(env []string, _ bool) *snapshot { return newSnapshot(c, env) })
	c.probes = prober{opts: &c.Options, known: make(map[string]answer)}
	return c
}

// Find implements [dap.Catalog]. If no adapter matches or can be used, the error is a [*NotFoundError].
func (c *Catalog) Find(ctx context.Context, w dap.Wanted) (*dap.Spec, error) {
	s, err := c.Acquire(ctx, workspace.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	spec, err := s.choose(ctx, w)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the search was incomplete
	}
	return spec, err
}

// List implements [dap.Catalog]. The result is at most two seconds old.
func (c *Catalog) List(ctx context.Context) (*dap.Listing, error) {
	s, err := c.Acquire(ctx, workspace.ListAge)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	l := new(dap.Listing)
	unused := make(map[string]int) // the index in l.Unused by name; -1 for an adapter that can be used in a root
	for _, ws := range s.Projects {
		for _, d := range ws.Defs {
			at, known := unused[d.Name]
			if known && at < 0 {
				continue
			}
			spec, why := s.spec(ctx, ws, d)
			switch {
			case spec != nil:
				l.Adapters = append(l.Adapters, spec)
				unused[d.Name] = -1
				if known {
					l.Unused[at].Name = ""
				}
			case !known:
				unused[d.Name] = len(l.Unused)
				l.Unused = append(l.Unused, dap.Unused{
					Name: d.Name, Why: why, FileTypes: d.Strings("fileTypes"), Elsewhere: len(d.Files) == 0 && !s.MarkedRoot(ws.Root, d.markers()),
				})
			}
		}
	}
	l.Unused = slices.DeleteFunc(l.Unused, func(u dap.Unused) bool { return u.Name == "" })
	l.Problems = s.AllProblems()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return l, nil
}

// Untrusted returns the next question for the user: a root that configures its own debug adapters or programs and that the user has
// not yet decided on. It returns nil if there is none. Each root of a workspace has its own question; call Untrusted again after an
// answer.
func (c *Catalog) Untrusted(ctx context.Context) (*trust.Subject, error) {
	s, err := c.Acquire(ctx, workspace.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	for _, ws := range s.Projects {
		for _, d := range ws.All {
			if !d.disabled() {
				s.noteProgram(ws, d)
			}
		}
		if sub, err := ws.Question(c.Options.Trust); sub != nil || err != nil {
			return sub, err
		}
	}
	return nil, nil
}

// UntrustedFor is like [Catalog.Untrusted], for one search. It also returns nil if trust would not change which adapter is found.
func (c *Catalog) UntrustedFor(ctx context.Context, w dap.Wanted) (*trust.Subject, error) {
	s, err := c.Acquire(ctx, workspace.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	ws := s.projectFor(w)
	matters := false
	for _, d := range s.candidates(w, ws, ws.All) {
		if d.disabled() {
			continue
		}
		before := len(ws.Programs)
		s.noteProgram(ws, d)
		matters = matters || len(ws.Programs) > before || slices.ContainsFunc(ws.Ignored, d.From) || !ws.ProgramsTrusted && len(s.ownPrograms(ws, d)) > 0
	}
	if !matters {
		return nil, nil
	}
	return ws.Question(c.Options.Trust)
}
