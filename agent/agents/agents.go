// Package agents has the helper agents that the task tool can start: the built-in ones, and those that users write as files.
//
// A file is Markdown with front matter: <root>/.gjc/agents/NAME.md for one workspace, <agent dir>/agents/NAME.md for all. The
// front matter is YAML and says who the agent is and what it may use; the text below is put behind its system prompt. The first
// of a name counts: that of the workspace, then that of the user, then those of other programs (below .claude, .agents, .codex and
// .gemini, in the workspace and in the home directory), then the built-in one. The directories above a root of the workspace count
// after it, up to the top of its repository.
//
// Nothing in a file is ever run. Files of a workspace come from whoever wrote the workspace, so a symbolic link there that
// leads out of its root is not followed: its target would go to a model.
package agents

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/configfile"
)

//go:embed builtin/*.md
var builtin embed.FS

// Options says where to look. Every field is optional.
type Options struct {
	// UserDir is the agent directory.
	UserDir string
	// ProjectDirs are the workspace's roots, the working directory first.
	ProjectDirs []string
	// Home is the user's home directory; without it the user's files of other programs are not looked for.
	Home string
	// Tell is told what is wrong with a file, each thing once. It must not call the Loader.
	Tell func(Problem)
}

// A Problem is a file that was left out, or a part of one that was not understood.
type Problem struct {
	Path string
	// Line is 1-based; zero for the file as a whole.
	Line   int
	Reason string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Reason
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Reason)
}

// Loader has the helper agents of a session. It is safe for concurrent use.
type Loader struct {
	opts Options

	mu      sync.Mutex // guards what follows; held while files are read, so that they are read once
	loaded  bool
	helpers []agent.Helper
	stamps  []configfile.Stamp
	told    map[Problem]bool
}

// New returns a Loader. It reads nothing yet.
func New(opts Options) *Loader { return &Loader{opts: opts, told: make(map[Problem]bool)} }

// Helpers returns the helper agents as the files say by now: those of files by their places, then the built-in ones. The files
// are read again only where one of them has changed.
func (l *Loader) Helpers(ctx context.Context) []agent.Helper {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loaded && !configfile.Stale(ctx, l.stamps) {
		return slices.Clone(l.helpers)
	}
	r := reader{ctx: ctx, seen: make(map[string]bool)}
	for _, p := range l.opts.places() {
		r.place(p)
	}
	r.builtin()
	if ctx.Err() != nil && l.loaded {
		return slices.Clone(l.helpers) // what was read is not all
	}
	l.helpers, l.stamps, l.loaded = r.helpers, r.stamps, ctx.Err() == nil
	for _, p := range r.problems {
		if !l.told[p] && l.opts.Tell != nil {
			l.told[p] = true
			l.opts.Tell(p)
		}
	}
	return slices.Clone(l.helpers)
}
