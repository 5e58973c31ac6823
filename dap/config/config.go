// Package config knows which debug adapters there are for a workspace: the embedded defaults, the user's and the project's
// configuration files over them, programs, and what the user has trusted. It reads .vscode/launch.json, and it knows how
// each adapter wants to be told what to debug.
package config

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/trust"
)

// Options says what a [Catalog] looks at.
type Options struct {
	// Roots are the workspace's directories, absolute. Required.
	Roots []string
	// Home is the user's home directory, AgentDir that of gjc's own files. If empty, nothing is read there.
	Home, AgentDir string
	// Env returns the environment of the adapters, as "NAME=value". If nil, it is empty, and no program is on PATH.
	Env func(context.Context) []string
	// Trust knows the user's answers, and takes them. If nil, no project is trusted.
	Trust *trust.Session
	// Children owns the probes of programs (gdb's version, whether a Python has debugpy). If nil, they are started alone.
	Children *proc.Group
	// GOOS names the operating system. If empty, this one.
	GOOS string
	// LookPath finds a program on the PATH of an environment. If nil, [proc.LookPath].
	LookPath func(command string, env []string) (string, error)
	// Executable returns the program of a process. If nil, it is known on Linux only.
	Executable func(pid int) (string, error)
	// Top is the directory that well-known places of programs (/usr/lib/llvm-19/bin) begin at. If empty, that of the system.
	Top string
	// MaxAge bounds how long what was read is taken for granted. If zero, [DefaultMaxAge].
	MaxAge time.Duration
}

// DefaultMaxAge is short enough for an adapter that the user has just installed.
const DefaultMaxAge = 30 * time.Second

// listAge is how old a list may be: the user asks for it to see whether something has helped.
const listAge = 2 * time.Second

// Catalog is the [dap.Catalog] of configuration files. It reads at the first use, and again when [Catalog.Changed] tells of
// a file that matters, when an answer about trust changes, and when what it knows is old. It starts no goroutine and needs
// no Close.
type Catalog struct {
	opts Options

	// turn is held by the one who reads files or probes programs; a lock that a context can end the wait for.
	turn chan struct{}
	// What is below belongs to the holder of turn.
	current *snapshot
	probes  prober

	mu    sync.Mutex // guards what is below
	stale bool       // everything is to be read anew
}

var _ dap.Catalog = (*Catalog)(nil)

// New returns a catalog. It does no I/O.
func New(opts Options) *Catalog {
	if opts.GOOS == "" {
		opts.GOOS = runtime.GOOS
	}
	if opts.LookPath == nil {
		opts.LookPath = proc.LookPath
	}
	if opts.Top == "" {
		opts.Top = "/"
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
	if opts.Executable == nil {
		opts.Executable = executable
	}
	roots := make([]string, len(opts.Roots))
	for i, r := range opts.Roots {
		roots[i] = filepath.Clean(r)
	}
	opts.Roots = roots
	return &Catalog{opts: opts, turn: make(chan struct{}, 1), probes: prober{children: opts.Children, known: make(map[string]answer)}}
}

// enter waits for the turn and returns what is known of the files, which is no older than maxAge. leave must be called after
// a nil error.
func (c *Catalog) enter(ctx context.Context, maxAge time.Duration) (*snapshot, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	stale := c.stale
	c.stale = false
	c.mu.Unlock()
	stamp := c.opts.Trust.Stamp()
	s := c.current
	if s == nil || stale || s.stamp != stamp || time.Since(s.read) >= maxAge {
		s = newSnapshot(&c.opts, c.opts.Env(ctx), &c.probes)
		s.stamp = stamp
		c.current = s
	}
	return s, nil
}

func (c *Catalog) leave() { <-c.turn }

// Changed tells of files that came, went or have other contents, by absolute path. It only takes note. No paths at all mean
// that anything may have changed.
func (c *Catalog) Changed(paths []string) {
	matters := len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool {
		return slices.Contains(FileNames(), filepath.Base(p))
	})
	if !matters {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
}

// Find implements [dap.Catalog]. Where no adapter fits or can be used the error is a [*NotFoundError].
func (c *Catalog) Find(ctx context.Context, w dap.Wanted) (*dap.Spec, error) {
	s, err := c.enter(ctx, c.opts.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	spec, err := s.choose(ctx, w)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // half a look is none
	}
	return spec, err
}

// List implements [dap.Catalog]. What it tells is no older than two seconds.
func (c *Catalog) List(ctx context.Context) (*dap.Listing, error) {
	s, err := c.enter(ctx, min(listAge, c.opts.MaxAge))
	if err != nil {
		return nil, err
	}
	defer c.leave()
	l := &dap.Listing{Problems: slices.Clone(s.problems)}
	told := make(map[string]int) // the places of those that can not be used in the roots that were looked at
	for _, ws := range s.projects {
		for _, d := range ws.defs {
			at, known := told[d.Name]
			if known && at < 0 {
				continue
			}
			spec, why := s.spec(ctx, ws, d)
			switch {
			case spec != nil:
				l.Adapters = append(l.Adapters, spec)
				told[d.Name] = -1
				if known {
					l.Unused[at].Name = ""
				}
			case !known:
				told[d.Name] = len(l.Unused)
				l.Unused = append(l.Unused, dap.Unused{
					Name: d.Name, Why: why, FileTypes: d.Strings("fileTypes"), Elsewhere: len(d.Files) == 0 && !s.MarkedRoot(ws.Root, d.markers()),
				})
			}
		}
	}
	l.Unused = slices.DeleteFunc(l.Unused, func(u dap.Unused) bool { return u.Name == "" })
	l.Problems = append(l.Problems, s.distrust()...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return l, nil
}

// Untrusted returns what the user should be asked about: a workspace with debug adapters or programs of its own for which
// there is no answer yet. It is nil where there is none. A workspace of several roots has a subject for each; ask again
// after an answer.
func (c *Catalog) Untrusted(ctx context.Context) (*trust.Subject, error) {
	s, err := c.enter(ctx, c.opts.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	for _, ws := range s.projects {
		for _, d := range ws.all {
			if !d.disabled() {
				s.noteProgram(ws, d)
			}
		}
		if sub, err := ws.Question(c.opts.Trust); sub != nil || err != nil {
			return sub, err
		}
	}
	return nil, nil
}

// UntrustedFor is [Catalog.Untrusted] for one search: it is nil too where trust would change nothing about which adapter is
// found.
func (c *Catalog) UntrustedFor(ctx context.Context, w dap.Wanted) (*trust.Subject, error) {
	s, err := c.enter(ctx, c.opts.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	ws := s.projectFor(w)
	matters := false
	for _, d := range s.candidates(w, ws, ws.all) {
		if d.disabled() {
			continue
		}
		before := len(ws.Programs)
		s.noteProgram(ws, d)
		matters = matters || len(ws.Programs) > before || slices.ContainsFunc(ws.Ignored, d.From) || s.local(ws, d) && !ws.ProgramsTrusted
	}
	if !matters {
		return nil, nil
	}
	return ws.Question(c.opts.Trust)
}

// Answer takes the user's answer for a subject from [Catalog.Untrusted]: for good, or for this session. Where keeping it
// fails it holds for this session, and the error says why.
func (c *Catalog) Answer(ctx context.Context, sub *trust.Subject, state trust.State, remember bool) error {
	return c.opts.Trust.Answer(ctx, sub, state, remember)
}

// Environ returns the environment for adapters: without the places on PATH that are relative or lie in a root that is not
// trusted, so that a script finds no interpreter there.
func (c *Catalog) Environ(ctx context.Context) ([]string, error) {
	s, err := c.enter(ctx, c.opts.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	return s.Environ(), nil
}
