// Package agents loads the sub-agents that the task tool can start: the built-in ones, and those that users define in
// files.
//
// A file is Markdown with front matter: <root>/.gjc/agents/NAME.md for one workspace, <agent dir>/agents/NAME.md for
// all. The YAML front matter describes the agent and what it may use; the text is appended to its system prompt. The
// first definition of a name wins: the workspace's, the user's, those of other programs ([userfiles.Sources] lists them),
// the built-in one. The directories above a workspace root follow it, up to the top of its repository.
//
// Nothing in a file is run. Files of a workspace are untrusted, so a symbolic link there that leads out of its root is
// not followed: its target would be sent to a model.
package agents

import (
	"context"
	"embed"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
)

//go:embed builtin/*.md
var builtin embed.FS

// Options adjusts loading. Every field is optional.
type Options struct {
	// UserDir is the agent directory.
	UserDir string
	// ProjectDirs are the workspace's roots, starting with the working directory.
	ProjectDirs []string
	// Home is the user's home directory. If empty, the user's files of other programs are not loaded.
	Home string
	// CodexHome is like that of [userfiles.Where].
	CodexHome string
	// Plugins are the session's plugins; nil for none.
	Plugins userfiles.Plugins
	// Report is called once for each problem of a file. It must not call the Loader.
	Report func(userfiles.Problem)
}

// Loader loads the sub-agents of a session. It is safe for concurrent use.
type Loader struct {
	opts Options

	mu       sync.Mutex // guards the fields below; held while files are read, so that they are read once
	loaded   bool
	helpers  []agent.Helper
	stamps   []configfile.Stamp
	found    []userfiles.File
	reported map[userfiles.Problem]bool
	plugins  string // their stamp
}

// New returns a Loader. It does not read any files.
func New(opts Options) *Loader {
	return &Loader{opts: opts, reported: make(map[userfiles.Problem]bool)}
}

// Found lists the files of helper agents for a listing.
func (l *Loader) Found(ctx context.Context) []userfiles.File {
	l.Helpers(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found
}

// Helpers returns the current sub-agents: those from files in the order of their locations, then the built-in ones. It reads the
// files again only if one of them has changed.
func (l *Loader) Helpers(ctx context.Context) []agent.Helper {
	l.mu.Lock()
	defer l.mu.Unlock()
	stamp := userfiles.StampOf(ctx, l.opts.Plugins)
	if l.loaded && l.plugins == stamp && !configfile.Stale(ctx, l.stamps) {
		return slices.Clone(l.helpers)
	}
	r := reader{seen: make(map[string]string)}
	where := userfiles.Where{Roots: l.opts.ProjectDirs, UserDir: l.opts.UserDir, Home: l.opts.Home, CodexHome: l.opts.CodexHome, Plugins: userfiles.ActiveOf(ctx, l.opts.Plugins)}
	places := where.Places(userfiles.Agents)
	for i := range places {
		r.In(&places[i], func() { r.place(ctx, &places[i]) })
	}
	r.builtin()
	if ctx.Err() != nil && l.loaded {
		return slices.Clone(l.helpers) // not all files were read
	}
	l.helpers, l.stamps, l.found, l.plugins, l.loaded = r.helpers, r.Stamps, r.Found, stamp, ctx.Err() == nil
	for _, p := range r.Problems {
		if !l.reported[p] && l.opts.Report != nil {
			l.reported[p] = true
			l.opts.Report(p)
		}
	}
	return slices.Clone(l.helpers)
}
