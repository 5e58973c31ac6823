// Package config finds the language servers of a workspace. It merges the embedded defaults with the configuration files of the
// user and the project, finds root markers and the servers' programs, and respects which projects the user trusts.
//
// All servers with a matching root marker and an available program are used unless they are disabled, with or without
// configuration files.
package config

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/internal/workspace"
	"github.com/gajae-code/gjc/lsp"
)

// Options configures a [Catalog].
type Options = workspace.Options

// Catalog implements [lsp.Catalog] with configuration files.
type Catalog struct {
	*workspace.Catalog[*snapshot]

	// The catalog's lock guards the fields below.
	mux *lspmux
	// visited are the files that [Catalog.For] was called for, one for each directory and file type.
	visited []string
	// direct records the rust-analyzers that were returned without lspmux, by program and root. One that may still be running must
	// not be started a second time when lspmux starts later.
	direct map[string]bool
}

var _ lsp.Catalog = (*Catalog)(nil)

// New returns a catalog. It does no I/O.
func New(opts Options) *Catalog {
	c := &Catalog{direct: make(map[string]bool)}
	c.Catalog = workspace.NewCatalog(opts, func(env []string, all bool) *snapshot {
		if all {
			clear(c.direct)
		}
		return newSnapshot(&c.Options, env)
	})
	c.mux = &lspmux{opts: &c.Options}
	return c
}

// maxVisited bounds the files that List uses.
const maxVisited = 256

func (c *Catalog) visit(file string) {
	key := func(f string) string { return filepath.Dir(f) + "\x00" + filepath.Ext(f) }
	for _, old := range c.visited {
		if key(old) == key(file) {
			return
		}
	}
	if len(c.visited) == maxVisited {
		c.visited = c.visited[1:]
	}
	c.visited = append(c.visited, file)
}

// For implements [lsp.Catalog]. A file outside the workspace has no servers.
func (c *Catalog) For(ctx context.Context, file string) ([]lsp.Candidate, error) {
	if !filepath.IsAbs(file) {
		return nil, fmt.Errorf("%q is not an absolute path", file)
	}
	s, err := c.Acquire(ctx, workspace.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	usable := s.forFile(file)
	c.visit(file)
	list := make([]lsp.Candidate, len(usable))
	for i, u := range usable {
		list[i] = lsp.Candidate{Spec: c.start(ctx, s, u), Root: u.root}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return list, nil
}

// start returns the spec to start a server with, which may use lspmux. It returns the same pointer for the same server until files
// are read again.
func (c *Catalog) start(ctx context.Context, s *snapshot, u usable) *lsp.Spec {
	if u.spec.Name != rustAnalyzer {
		return u.spec
	}
	key := u.spec.Path + "\x00" + u.root
	if c.direct[key] {
		return u.spec
	}
	status := c.mux.status(ctx, s.View)
	if !status.Running {
		c.direct[key] = true
		return u.spec
	}
	if wrapped, ok := s.wrapped[key]; ok {
		return wrapped
	}
	wrapped := status.wrap(u.spec)
	s.wrapped[key] = wrapped
	return wrapped
}

// List implements [lsp.Catalog]. The result is at most two seconds old. It includes servers for directories in a root after
// [Catalog.For] was called for a file there.
func (c *Catalog) List(ctx context.Context) (*lsp.Listing, error) {
	s, err := c.Acquire(ctx, workspace.ListAge)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	l := &lsp.Listing{Problems: s.AllProblems(), Idle: s.idle}
	var all []usable
	for _, ws := range s.Projects {
		all = append(all, s.forRoot(ws)...)
	}
	for _, file := range c.visited {
		for _, u := range s.forFile(file) {
			if !slices.ContainsFunc(all, func(o usable) bool { return o.def.Name == u.def.Name && o.root == u.root }) {
				all = append(all, u)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b usable) int { return linterOrder(a) - linterOrder(b) })
	for _, u := range all {
		l.Servers = append(l.Servers, lsp.Candidate{Spec: c.start(ctx, s, u), Root: u.root})
	}
	l.Unused = s.unused(all)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return l, nil
}

// Untrusted returns the next question for the user: a root with its own commands for which there is no answer yet. It returns nil if
// there is none. A workspace with several roots has a subject for each; call it again after an answer.
func (c *Catalog) Untrusted(ctx context.Context) (*trust.Subject, error) {
	s, err := c.Acquire(ctx, workspace.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	for _, ws := range s.Projects {
		if sub, err := c.question(s, ws); sub != nil || err != nil {
			return sub, err
		}
	}
	return nil, nil
}

// UntrustedFor is [Catalog.Untrusted] for one file. It also returns nil if trust would not change the servers for the file, so that
// the user is not asked about eslint for a README.
func (c *Catalog) UntrustedFor(ctx context.Context, file string) (*trust.Subject, error) {
	s, err := c.Acquire(ctx, workspace.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	ws := s.projectOf(file)
	if ws == nil || !s.matters(ws, file) {
		return nil, nil
	}
	c.visit(file)
	return c.question(s, ws)
}

// question returns the question to the user about a root, or nil.
func (c *Catalog) question(s *snapshot, ws *project) (*trust.Subject, error) {
	s.forRoot(ws)
	for _, file := range c.visited {
		if s.projectOf(file) == ws {
			s.forFile(file) // records the programs for the file's directory
		}
	}
	return ws.Question(c.Options.Trust)
}

// LspmuxStatus returns a line about lspmux for the user; "" if it is not installed or turned off.
func (c *Catalog) LspmuxStatus(ctx context.Context) string {
	m, err := c.Lspmux(ctx)
	if err != nil || m.Path == "" {
		return ""
	}
	return m.String()
}

// Lspmux returns whether rust-analyzer is shared through lspmux. It probes at most once in five minutes.
func (c *Catalog) Lspmux(ctx context.Context) (Lspmux, error) {
	s, err := c.Acquire(ctx, workspace.MaxAge)
	if err != nil {
		return Lspmux{}, err
	}
	defer c.Release()
	return c.mux.status(ctx, s.View), nil
}
