// Package config knows which language servers there are for a workspace: the embedded defaults, the user's and the
// project's configuration files over them, root markers, programs, and what the user has trusted.
//
// By the documents of the original the presence of any configuration file turns auto-detection off, and "all servers with
// matching root markers, an available program and not disabled" are loaded instead. That is what auto-detection does too,
// so there is one rule here.
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

// Options says what a [Catalog] looks at.
type Options struct {
	// Roots are the workspace's directories, absolute. Required.
	Roots []string
	// Home is the user's home directory, AgentDir that of gjc's own files. If empty, nothing is read there.
	Home, AgentDir string
	// Env returns the environment of the servers, as "NAME=value". If nil, it is empty, and no program is on PATH.
	Env func(context.Context) []string
	// Trust knows the user's answers, and takes them. If nil, no project is trusted.
	Trust *trust.Session
	// Children owns the probe of lspmux. If nil, the probe is started alone.
	Children *proc.Group
	// GOOS names the operating system. If empty, this one.
	GOOS string
	// LookPath finds a program on the PATH of an environment. If nil, [proc.LookPath].
	LookPath func(command string, env []string) (string, error)
	// MaxAge bounds how long what was read is taken for granted. If zero, [DefaultMaxAge].
	MaxAge time.Duration
}

// DefaultMaxAge is short enough for a server that the user has just installed.
const DefaultMaxAge = 30 * time.Second

// listAge is how old a list may be: the user asks for it to see whether something has helped, and tools ask for it too.
const listAge = 2 * time.Second

// Catalog is the [lsp.Catalog] of configuration files. It reads at the first use, and again when [Catalog.Changed] tells
// of a file that matters, when an answer about trust changes, and when what it knows is old. It starts no goroutine and
// needs no Close.
type Catalog struct {
	opts Options
	mux  *lspmux

	// turn is held by the one who reads files; a lock that a context can end the wait for.
	turn chan struct{}
	// What is below belongs to the holder of turn.
	current *snapshot
	// visited are files that were asked for, one for each directory and type.
	visited []string
	// direct are the rust-analyzers that were handed out as they are, by program and root: one that may run is not
	// doubled when lspmux comes up later.
	direct map[string]bool

	mu      sync.Mutex // guards what is below
	pending []string   // paths that Changed told of and nobody has looked at yet
	stale   bool       // everything is to be read anew
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
	c := &Catalog{opts: opts, turn: make(chan struct{}, 1), direct: make(map[string]bool)}
	c.mux = &lspmux{opts: &c.opts}
	return c
}

// enter waits for the turn. leave must be called after a nil error.
func (c *Catalog) enter(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Catalog) leave() { <-c.turn }

// mostPending bounds the paths that Changed keeps; with more everything is read anew.
const mostPending = 4096

// Changed implements [lsp.Catalog]. It only takes note. No paths at all mean that anything may have changed.
func (c *Catalog) Changed(paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(paths) == 0 || len(c.pending)+len(paths) > mostPending {
		c.stale, c.pending = true, nil
	}
	if !c.stale {
		c.pending = append(c.pending, paths...)
	}
}

// snapshot returns what is known of the files, which is no older than maxAge. The caller has the turn.
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

// mostVisited bounds the files that List remembers.
const mostVisited = 256

func (c *Catalog) visit(file string) {
	key := func(f string) string { return filepath.Dir(f) + "\x00" + filepath.Ext(f) }
	for _, old := range c.visited {
		if key(old) == key(file) {
			return
		}
	}
	if len(c.visited) == mostVisited {
		c.visited = c.visited[1:]
	}
	c.visited = append(c.visited, file)
}

// For implements [lsp.Catalog]. A file outside of the workspace has no servers.
func (c *Catalog) For(ctx context.Context, file string) ([]lsp.Candidate, error) {
	if !filepath.IsAbs(file) {
		return nil, fmt.Errorf("%q is not an absolute path", file)
	}
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
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

// start returns the server as it is to be started, which may be by way of lspmux. Every call returns the same for the
// same server, until something is read anew.
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

// List implements [lsp.Catalog]. What it tells is no older than two seconds. Servers for directories below a root are among it once a file
// there was asked for.
func (c *Catalog) List(ctx context.Context) (*lsp.Listing, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
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
	l.Problems = append(l.Problems, s.distrust()...)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return l, nil
}

// Untrusted returns what the user should be asked about: a workspace with commands of its own for which there is no answer
// yet. It is nil where there is none. A workspace of several roots has a subject for each; ask again after an answer.
func (c *Catalog) Untrusted(ctx context.Context) (*trust.Subject, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	s := c.snapshot(ctx, c.opts.MaxAge)
	for _, ws := range s.projects {
		if sub, err := c.question(s, ws); sub != nil || err != nil {
			return sub, err
		}
	}
	return nil, nil
}

// UntrustedFor is [Catalog.Untrusted] for the work with one file: it is nil too where trust would change nothing for that
// file, so that nobody is asked about eslint for a README.
func (c *Catalog) UntrustedFor(ctx context.Context, file string) (*trust.Subject, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	s := c.snapshot(ctx, c.opts.MaxAge)
	ws := s.projectOf(file)
	if ws == nil || !s.matters(ws, file) {
		return nil, nil
	}
	c.visit(file)
	return c.question(s, ws)
}

// question returns a workspace as the user is to be asked about it, or nil.
func (c *Catalog) question(s *snapshot, ws *project) (*trust.Subject, error) {
	s.forRoot(ws)
	for _, file := range c.visited {
		if s.projectOf(file) == ws {
			s.forFile(file) // finds the programs of the file's directory
		}
	}
	return ws.Question(c.opts.Trust)
}

// Answer takes the user's answer for a subject from [Catalog.Untrusted]: for good, or for this session. Where keeping it
// fails it holds for this session, and the error says why.
func (c *Catalog) Answer(ctx context.Context, sub *trust.Subject, state trust.State, remember bool) error {
	return c.opts.Trust.Answer(ctx, sub, state, remember)
}

// LspmuxStatus is a line for people about lspmux; empty where it is not installed, or turned off.
func (c *Catalog) LspmuxStatus(ctx context.Context) string {
	m, err := c.Lspmux(ctx)
	if err != nil || m.Path == "" {
		return ""
	}
	return m.String()
}

// Lspmux tells whether rust-analyzer is shared by way of lspmux. It looks at most once in five minutes.
func (c *Catalog) Lspmux(ctx context.Context) (Lspmux, error) {
	if err := c.enter(ctx); err != nil {
		return Lspmux{}, err
	}
	defer c.leave()
	return c.mux.status(ctx, c.opts.view(c.opts.Env(ctx))), nil
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

// Environ returns the environment for programs that run beside the servers: without the places on PATH that are relative
// or lie in a root that is not trusted, so that a script finds no interpreter there.
func (c *Catalog) Environ(ctx context.Context) ([]string, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	return c.snapshot(ctx, c.opts.MaxAge).Environ(), nil
}
