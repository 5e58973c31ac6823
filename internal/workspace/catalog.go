package workspace

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/trust"
)

// Options configures a [Catalog].
type Options struct {
	// Roots are the workspace's directories, absolute. Required.
	Roots []string
	// Home is the user's home directory, AgentDir the directory of gjc's own files. If empty, they are not read.
	Home, AgentDir string
	// Env returns the environment of programs, as "NAME=value". If Env is nil, the environment is empty and no program is found on
	// PATH.
	Env func(context.Context) []string
	// Trust holds the user's answers. If nil, no project is trusted.
	Trust *trust.Session
	// Children owns the processes that probe programs. If nil, they belong to no group.
	Children *proc.Group
	// GOOS is the operating system. If empty, [runtime.GOOS].
	GOOS string
	// LookPath finds a program on the PATH of an environment. If nil, [proc.LookPath].
	LookPath func(command string, env []string) (string, error)
}

const (
	// MaxAge is the age at which files and programs are read again. It is short, so that newly installed programs are found soon.
	MaxAge = 30 * time.Second
	// ListAge is the maximum age for a list, which users request to check the effect of a change.
	ListAge = 2 * time.Second
	// maxPending bounds the recorded changed paths; if there are more, all files are read again.
	maxPending = 4096
)

// snapshot holds the configuration that a [Catalog] has read at one time.
type snapshot interface {
	// Concerns reports whether the change of a file may invalidate the snapshot.
	Concerns(file string) bool
	// Environ returns the environment for programs (see [View.Environ]).
	Environ() []string
}

// Catalog caches a snapshot of a workspace's configuration. It reads the configuration on first use, and again after a relevant
// change reported to [Catalog.Changed], after an answer about trust, and after [MaxAge]. It starts no goroutine and needs no Close.
type Catalog[S snapshot] struct {
	Options Options
	read    func(env []string, all bool) S

	// lock is held while files are read. It is a channel so that a context can end the wait.
	lock chan struct{}
	// lock guards the fields below.
	current S
	has     bool
	stamp   string // see [trust.Session.Stamp]
	readAt  time.Time

	mu      sync.Mutex // guards the fields below
	pending []string   // changed paths that are not processed yet
	stale   bool       // all files are to be read again
}

// NewCatalog returns a catalog that obtains snapshots from read, which receives the environment for programs; all reports that any
// file may have changed. NewCatalog does no I/O.
func NewCatalog[S snapshot](o Options, read func(env []string, all bool) S) *Catalog[S] {
	if o.GOOS == "" {
		o.GOOS = runtime.GOOS
	}
	if o.LookPath == nil {
		o.LookPath = proc.LookPath
	}
	if o.Env == nil {
		o.Env = func(context.Context) []string { return nil }
	}
	if o.Trust == nil {
		o.Trust = trust.NewSession(nil)
	}
	roots := make([]string, len(o.Roots))
	for i, r := range o.Roots {
		roots[i] = filepath.Clean(r)
	}
	o.Roots = roots
	return &Catalog[S]{Options: o, read: read, lock: make(chan struct{}, 1)}
}

// Acquire locks the catalog and returns a snapshot that is not older than maxAge. The caller must call Release after a nil error.
func (c *Catalog[S]) Acquire(ctx context.Context, maxAge time.Duration) (s S, err error) {
	select {
	case c.lock <- struct{}{}:
	case <-ctx.Done():
		return s, context.Cause(ctx)
	}
	c.mu.Lock()
	changed, stale := c.pending, c.stale
	c.pending, c.stale = nil, false
	c.mu.Unlock()
	stamp := c.Options.Trust.Stamp()
	if !c.has || stale || c.stamp != stamp || time.Since(c.readAt) >= maxAge || slices.ContainsFunc(changed, c.current.Concerns) {
		env := c.Options.Env(ctx)
		c.readAt = time.Now()
		c.current, c.has, c.stamp = c.read(env, stale), true, stamp
	}
	return c.current, nil
}

// Release unlocks the catalog.
func (c *Catalog[S]) Release() { <-c.lock }

// Changed reports files that were created, deleted or modified, by absolute path. Without paths, any file may have changed. The files
// are read at the next use.
func (c *Catalog[S]) Changed(paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(paths) == 0 || len(c.pending)+len(paths) > maxPending {
		c.stale, c.pending = true, nil
	}
	if !c.stale {
		c.pending = append(c.pending, paths...)
	}
}

// Answer records the user's answer for a subject from Untrusted, permanently if remember is set, otherwise for this session. If it
// cannot be stored, it applies to this session, and the error says why.
func (c *Catalog[S]) Answer(ctx context.Context, sub *trust.Subject, state trust.State, remember bool) error {
	return c.Options.Trust.Answer(ctx, sub, state, remember)
}

// Environ returns the environment for programs (see [View.Environ]).
func (c *Catalog[S]) Environ(ctx context.Context) ([]string, error) {
	s, err := c.Acquire(ctx, MaxAge)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	return s.Environ(), nil
}

// Probe runs a program that prints its version or state. If ctx ends first, the program is killed and the error is ctx's cause. The
// caller inspects the process's output and exit status.
func (o *Options) Probe(ctx context.Context, options *proc.Options) (*proc.Process, error) {
	start := proc.Start
	if o.Children != nil {
		start = o.Children.Start
	}
	p, err := start(ctx, options)
	if err != nil {
		return nil, err
	}
	if _, err = p.Wait(ctx); err != nil {
		p.Kill()
		<-p.Done()
		return nil, err
	}
	return p, nil
}
