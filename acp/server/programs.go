package server

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/gajae-code/gjc/agent"
	agentext "github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/tools/custom"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp"
)

// sessionPrograms finds a session's helper programs. It uses programs in the workspace only if the user trusts them.
type sessionPrograms struct {
	agent.Programs
	workspace agent.Workspace
	// languages is nil for none. Its catalog records which programs the user trusts.
	languages *lsp.Workspace
}

// programFinder is a catalog that finds trusted programs.
type programFinder interface {
	Program(ctx context.Context, name string) (string, error)
}

// copiedCatalog is the catalog of a copy of the user's directories: the user is not asked to trust its files, because the answer would be for
// directories that go.
type copiedCatalog struct{ lsp.Catalog }

// Program implements [programFinder].
func (c copiedCatalog) Program(ctx context.Context, name string) (string, error) {
	if finder, ok := c.Catalog.(programFinder); ok {
		return finder.Program(ctx, name)
	}
	return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

var _ agent.ProgramStarter = sessionPrograms{}

// StartProgram implements [agent.ProgramStarter].
func (p sessionPrograms) StartProgram(ctx context.Context, prog agent.LongProgram) (agent.RunningProgram, error) {
	if s, ok := p.Programs.(agent.ProgramStarter); ok {
		return s.StartProgram(ctx, prog)
	}
	return nil, agent.ErrNotStarted
}

// LookPath implements [agent.Programs].
func (p sessionPrograms) LookPath(name string) (string, error) {
	path, err := p.Programs.LookPath(name)
	if err == nil && !p.workspace.Contains(path) || p.languages == nil {
		return path, err
	}
	if finder, ok := p.languages.Catalog().(programFinder); ok {
		return finder.Program(context.Background(), name)
	}
	return path, err
}

// customTools holds the tools of one session that files of the user and the workspace describe. It is safe for concurrent use.
type customTools struct {
	load func(ctx context.Context) *custom.Set
	out  *outlet

	mu       sync.Mutex // guards the fields below; held while files are read, so that they are read once
	set      *custom.Set
	reported map[string]bool // the problems that were reported to the user
}

// newCustomTools returns the tools of a session; nil for none. It reads nothing.
func newCustomTools(o *SessionOptions, roots []string, own []agent.Tool, plugins userfiles.Plugins, out *outlet) *customTools {
	if o.CustomTools == nil {
		return nil
	}
	var reserved []string
	for _, t := range own {
		reserved = append(reserved, t.Spec().Name)
	}
	return &customTools{load: o.CustomTools(roots, reserved, plugins), out: out}
}

// refresh reads the files again if they have changed.
func (c *customTools) refresh(ctx context.Context) *custom.Set {
	if c == nil {
		return new(custom.Set)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set != nil && !c.set.Stale(ctx) {
		return c.set
	}
	set := c.load(ctx)
	if ctx.Err() != nil && c.set != nil {
		return c.set // the new set may be incomplete
	}
	c.set = set
	for _, p := range set.Problems {
		if text := p.String(); !c.reported[text] {
			if c.reported == nil {
				c.reported = make(map[string]bool)
			}
			c.reported[text] = true
			c.out.notice(agent.SeverityWarning, "The file of a tool has an error.", text)
		}
	}
	return set
}

// tools returns the tools as they were last read.
func (c *customTools) tools() []agent.Tool {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set == nil {
		return nil
	}
	return c.set.Tools
}

// questions returns the open questions about files of the workspace.
func (c *customTools) questions(ctx context.Context) []*trust.Question {
	return c.refresh(ctx).Questions()
}

// plugins returns the plugins of a session; nil for none.
func (o *SessionOptions) plugins(roots []string) userfiles.Plugins {
	if o.Plugins == nil {
		return nil
	}
	return o.Plugins(roots)
}

// joinPlugins adds the questions about plugins, the first of all, and reports what else there is about plugins, each once.
func joinPlugins(p userfiles.Plugins, opts *agent.Options, out *outlet) {
	if p == nil {
		return
	}
	questions := opts.TrustQuestions
	var reported sync.Map
	opts.TrustQuestions = func(ctx context.Context) []*trust.Question {
		all := p.Questions(ctx)
		for _, n := range p.Notices(ctx) {
			if _, known := reported.LoadOrStore(n, true); known {
				continue
			}
			severity := agent.SeverityInfo
			if n.Problem {
				severity = agent.SeverityWarning
			}
			out.notice(severity, n.Title, n.Detail)
		}
		if questions != nil {
			all = append(all, questions(ctx)...)
		}
		return all
	}
}

// extensions returns the extensions of a session; nil for none. It starts nothing.
func (b *builder) extensions(s *session, o *opened, params *sessionParams, programs agent.Programs) *agentext.Manager {
	if b.opts.Sessions.Extensions == nil {
		return nil
	}
	return agentext.New(&agentext.Options{
		Load: b.opts.Sessions.Extensions(params.roots()), Programs: programs, Session: func() *agent.Session { return o.Session },
		Log: func(extension, line string) {
			b.opts.Log.Info().Str("extension", extension).Str("session", string(s.id)).Msg(line)
		},
		Notice: s.out.notice, Changed: func() { s.advertise(o) }, Version: b.opts.Version,
		Reserved: func() []string {
			var names []string
			for _, t := range append(o.tools.own[:len(o.tools.own):len(o.tools.own)], o.tools.custom.tools()...) {
				names = append(names, t.Spec().Name)
			}
			return names
		},
	})
}

// joinExtensions lets extensions take part in a session.
func joinExtensions(m *agentext.Manager, opts *agent.Options) {
	if m == nil {
		return
	}
	others, questions := opts.Hooks, opts.TrustQuestions
	opts.StartExtensions = m.Start
	opts.Hooks = func() *hooks.Set {
		set := new(hooks.Set)
		if others != nil {
			set = others()
		}
		set.Extensions = m.Handlers()
		return set
	}
	opts.TrustQuestions = func(ctx context.Context) []*trust.Question {
		all := m.Questions(ctx)
		if questions != nil {
			all = append(questions(ctx), all...)
		}
		return all
	}
}
