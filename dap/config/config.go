// Package config finds the debug adapters of a workspace. It merges the embedded defaults with the configuration files of the
// user and the project, finds the adapters' programs, and respects which projects the user trusts. It also reads
// .vscode/launch.json, and translates a program to debug into each adapter's launch arguments.
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

// Options configures a [Catalog].
type Options struct {
	// Roots are the workspace's directories, absolute. Required.
	Roots []string
	// Home is the user's home directory, AgentDir the directory of gjc's own files. If empty, they are not read.
	Home, AgentDir string
	// Env returns the environment of the adapters, as "NAME=value". If nil, it is empty, and PATH has no programs.
	Env func(context.Context) []string
	// Trust holds the user's answers. If nil, no project is trusted.
	Trust *trust.Session
	// Children owns the processes that probe programs (gdb's version, whether a Python has debugpy). If nil, they belong to no
	// group.
	Children *proc.Group
	// GOOS is the operating system. If empty, [runtime.GOOS].
	GOOS string
	// LookPath finds a program on the PATH of an environment. If nil, [proc.LookPath].
	LookPath func(command string, env []string) (string, error)
	// Executable returns the program of a process. If nil, a default that works on Linux only.
	Executable func(pid int) (string, error)
	// Top is the root of well-known places of programs (/usr/lib/llvm-19/bin). If empty, "/".
	Top string
	// MaxAge is the age at which files and programs are read again. If zero, [defaultMaxAge].
	MaxAge time.Duration
}

// defaultMaxAge is short, so that an adapter that the user has just installed is found.
const defaultMaxAge = 30 * time.Second

// listAge is the maximum age for [Catalog.List], which users call to check the effect of a change.
const listAge = 2 * time.Second

// Catalog implements [dap.Catalog] with configuration files. It reads them at the first use, and again after
// [Catalog.Changed] reports a relevant file, after an answer about trust, and after [Options.MaxAge]. It starts no goroutine
// and needs no Close.
type Catalog struct {
	opts Options

	// lock is held while files are read and programs probed. It is a channel so that a context can end the wait.
	lock chan struct{}
	// lock guards the fields below.
	current *snapshot
	probes  prober

	mu    sync.Mutex // guards stale
	stale bool       // all files are to be read again
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
		opts.MaxAge = defaultMaxAge
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
	return &Catalog{opts: opts, lock: make(chan struct{}, 1), probes: prober{children: opts.Children, known: make(map[string]answer)}}
}

// acquire locks the catalog and returns a snapshot that is not older than maxAge. The caller must call release after a nil
// error.
func (c *Catalog) acquire(ctx context.Context, maxAge time.Duration) (*snapshot, error) {
	select {
	case c.lock <- struct{}{}:
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

func (c *Catalog) release() { <-c.lock }

// Changed reports files that were created, deleted or modified, by absolute path. Without paths, any file may have changed.
// The files are read again at the next use.
func (c *Catalog) Changed(paths []string) {
	matters := len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool {
		return slices.Contains(fileNames(), filepath.Base(p))
	})
	if !matters {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
}

// Find implements [dap.Catalog]. If no adapter matches or can be used, the error is a [*NotFoundError].
func (c *Catalog) Find(ctx context.Context, w dap.Wanted) (*dap.Spec, error) {
	s, err := c.acquire(ctx, c.opts.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.release()
	spec, err := s.choose(ctx, w)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the search was incomplete
	}
	return spec, err
}

// List implements [dap.Catalog]. The result is at most two seconds old.
func (c *Catalog) List(ctx context.Context) (*dap.Listing, error) {
	s, err := c.acquire(ctx, min(listAge, c.opts.MaxAge))
	if err != nil {
		return nil, err
	}
	defer c.release()
	l := &dap.Listing{Problems: slices.Clone(s.problems)}
	unused := make(map[string]int) // the index in l.Unused by name; -1 for an adapter that can be used in a root
	for _, ws := range s.projects {
		for _, d := range ws.defs {
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
	l.Problems = append(l.Problems, s.untrusted()...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return l, nil
}

// Untrusted returns the next question for the user: a root with its own debug adapters or programs for which there is no
// answer yet. It returns nil if there is none. A workspace with several roots has a subject for each; call it again after an
// answer.
func (c *Catalog) Untrusted(ctx context.Context) (*trust.Subject, error) {
	s, err := c.acquire(ctx, c.opts.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.release()
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

// UntrustedFor is [Catalog.Untrusted] for one search. It also returns nil if trust would not change the adapter that is
// found.
func (c *Catalog) UntrustedFor(ctx context.Context, w dap.Wanted) (*trust.Subject, error) {
	s, err := c.acquire(ctx, c.opts.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.release()
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

// Answer records the user's answer for a subject from [Catalog.Untrusted]: for good if remember is set, otherwise for this
// session. If it cannot be stored, it holds for this session, and the error says why.
func (c *Catalog) Answer(ctx context.Context, sub *trust.Subject, state trust.State, remember bool) error {
	return c.opts.Trust.Answer(ctx, sub, state, remember)
}

// Environ returns the environment for adapters. Its PATH has no relative directories and none in a root that is not trusted,
// so that no script runs an interpreter from there.
func (c *Catalog) Environ(ctx context.Context) ([]string, error) {
	s, err := c.acquire(ctx, c.opts.MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.release()
	return s.Environ(), nil
}
