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
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp"
)

// Options configures a [Catalog].
type Options struct {
	// Roots are the workspace's directories, absolute. Required.
	Roots []string
	// Home is the user's home directory, AgentDir the directory of gjc's own files. If empty, they are not read.
	Home, AgentDir string
	// Env returns the environment of the servers, as "NAME=value". If nil, it is empty, and PATH has no programs.
	Env func(context.Context) []string
	// Trust holds the user's answers. If nil, no project is trusted.
	Trust *trust.Session
	// Children owns the process that probes lspmux. If nil, it belongs to no group.
	Children *proc.Group
	// GOOS is the operating system. If empty, [runtime.GOOS].
	GOOS string
	// LookPath finds a program on the PATH of an environment. If nil, [proc.LookPath].
	LookPath func(command string, env []string) (string, error)
	// MaxAge is the age at which files and programs are read again. If zero, [DefaultMaxAge].
	MaxAge time.Duration
}

// DefaultMaxAge is short, so that a server that the user has just installed is found.
const DefaultMaxAge = 30 * time.Second

// listAge is the maximum age for [Catalog.List], which users call to check the effect of a change.
const listAge = 2 * time.Second

// Catalog implements [lsp.Catalog] with configuration files. It reads them at the first use, and again after
// [Catalog.Changed] reports a relevant file, after an answer about trust, and after [Options.MaxAge]. It starts no goroutine
// and needs no Close.
type Catalog struct {
	opts Options
	mux  *lspmux

	// lock is held while files are read. It is a channel so that a context can end the wait.
	lock chan struct{}
	// lock guards the fields below.
	current *snapshot
	// visited are the files that [Catalog.For] was called for, one for each directory and type.
	visited []string
	// direct are the rust-analyzers that were returned without lspmux, by program and root: one that may run must not be started
	// again when lspmux starts later.
	direct map[string]bool

	mu      sync.Mutex // guards the fields below
	pending []string   // changed paths that are not processed yet
	stale   bool       // all files are to be read again
}

var _ lsp.Catalog = (*Catalog)(nil)

// New returns a catalog. It does no I/O.
func New(opts Options) *Catalog {
	if opts.GOOS == "" {
		opts.GOOS = runtime.GOOS
	}
	if opts.LookPath == nil {
		opts.LookPath = proc.LookPath
	}
	if opts.MaxAge == 0 {
		opts.MaxAge = DefaultMaxAge
	}
	if opts.Env == nil {
		opts.Env = func(context.Context) []string { return nil }
	}
	if opts.Trust == nil {
		opts.Trust = trust.NewSession(nil)
	}
	roots := make([]string, len(opts.Roots))
	for i, r := range opts.Roots {
		roots[i] = filepath.Clean(r)
	}
	opts.Roots = roots
	c := &Catalog{opts: opts, lock: make(chan struct{}, 1), direct: make(map[string]bool)}
	c.mux = &lspmux{opts: &c.opts}
	return c
}

// acquire locks the catalog. The caller must call release after a nil error.
func (c *Catalog) acquire(ctx context.Context) error {
	select {
	case c.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Catalog) release() { <-c.lock }

// maxPending bounds the changed paths that are kept; with more, all files are read again.
const maxPending = 4096

// Changed implements [lsp.Catalog]. Without paths, any file may have changed. The files are read at the next use.
func (c *Catalog) Changed(paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(paths) == 0 || len(c.pending)+len(paths) > maxPending {
		c.stale, c.pending = true, nil
	}
	if !c.stale {
		c.pending = append(c.pending, paths...)
	}
}

// snapshot returns a snapshot that is not older than maxAge. The caller holds the lock.
func (c *Catalog) snapshot(ctx context.Context, maxAge time.Duration) *snapshot {
	c.mu.Lock()
	changed, stale := c.pending, c.stale
	c.pending, c.stale = nil, false
	c.mu.Unlock()
	stamp := c.opts.Trust.Stamp()
	s := c.current
	if stale {
		clear(c.direct)
	}
	if s == nil || stale || s.stamp != stamp || time.Since(s.read) >= maxAge || slices.ContainsFunc(changed, s.concerns) {
		s = newSnapshot(&c.opts, c.opts.Env(ctx))
		s.stamp = stamp
		c.current = s
	}
	return s
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
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	s := c.snapshot(ctx, c.opts.MaxAge)
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
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	s := c.snapshot(ctx, min(listAge, c.opts.MaxAge))
	l := &lsp.Listing{Problems: slices.Clone(s.problems), Idle: s.idle}
	var all []usable
	for _, ws := range s.projects {
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
	l.Problems = append(l.Problems, s.untrusted()...)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return l, nil
}

// Untrusted returns the next question for the user: a root with its own commands for which there is no answer yet. It returns nil if
// there is none. A workspace with several roots has a subject for each; call it again after an answer.
func (c *Catalog) Untrusted(ctx context.Context) (*trust.Subject, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	s := c.snapshot(ctx, c.opts.MaxAge)
	for _, ws := range s.projects {
		if sub, err := c.question(s, ws); sub != nil || err != nil {
			return sub, err
		}
	}
	return nil, nil
}

// UntrustedFor is [Catalog.Untrusted] for one file. It also returns nil if trust would not change the servers for the file, so that
// the user is not asked about eslint for a README.
func (c *Catalog) UntrustedFor(ctx context.Context, file string) (*trust.Subject, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	s := c.snapshot(ctx, c.opts.MaxAge)
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
	return ws.Question(c.opts.Trust)
}

// Answer records the user's answer for a subject from [Catalog.Untrusted]: for good if remember is set, otherwise for this
// session. If it cannot be stored, it holds for this session, and the error says why.
func (c *Catalog) Answer(ctx context.Context, sub *trust.Subject, state trust.State, remember bool) error {
	return c.opts.Trust.Answer(ctx, sub, state, remember)
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
	if err := c.acquire(ctx); err != nil {
		return Lspmux{}, err
	}
	defer c.release()
	return c.mux.status(ctx, c.opts.view(c.opts.Env(ctx))), nil
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

// Environ returns the environment for the servers and other programs. Its PATH has no relative directories and none in a root that
// is not trusted, so that no script runs an interpreter from there.
func (c *Catalog) Environ(ctx context.Context) ([]string, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	return c.snapshot(ctx, c.opts.MaxAge).Environ(), nil
}
