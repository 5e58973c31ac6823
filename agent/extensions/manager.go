package extensions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/trust"
)

// commandTimeout bounds a command, and callTimeout a call of a tool.
const commandTimeout, callTimeout = 2 * time.Minute, 30 * time.Minute

// Options configures the extensions of one session. All fields are required.
type Options struct {
	// Load reads the files.
	Load func(ctx context.Context) *Set
	// Programs starts the programs.
	Programs agent.Programs
	// Session returns the session. It is not called before [Manager.Start].
	Session func() *agent.Session
	// Notice shows the user a notice at any time.
	Notice func(severity agent.Severity, title, detail string)
	// Log writes what an extension logs to gjc's log.
	Log func(extension, line string)
	// Reserved returns the names of other tools.
	Reserved func() []string
	// Changed is called after the commands and tools have changed.
	Changed func()
	// Version is gjc's.
	Version string
}

// Manager runs the extensions of one session. It is safe for concurrent use.
type Manager struct {
	opts Options
	ctx  context.Context //nolint:containedctx // ends the programs with the session
	end  context.CancelFunc
	wait sync.WaitGroup

	starting sync.Mutex // held while extensions are started, so that each starts once
	loading  sync.Mutex // held while the files are read; guards set
	set      *Set
	mu       sync.Mutex // guards the fields below
	closed   bool
	list     []*extension
	reported map[string]bool
}

// New returns the extensions of a session. It does no I/O.
func New(opts *Options) *Manager {
	ctx, end := context.WithCancel(context.Background())
	return &Manager{opts: *opts, ctx: ctx, end: end, reported: make(map[string]bool)}
}

// Questions returns the open questions about files of the workspace.
func (m *Manager) Questions(ctx context.Context) []*trust.Question {
	return m.files(ctx).questions()
}

// files returns what the files say. It reads them again only if they, or the answers about trust, have changed.
func (m *Manager) files(ctx context.Context) *Set {
	m.loading.Lock()
	defer m.loading.Unlock()
	if m.set != nil && !m.set.Stale(ctx) {
		return m.set
	}
	set := m.opts.Load(ctx)
	if ctx.Err() != nil {
		if m.set != nil {
			return m.set
		}
		return set // it may be incomplete, so it is not kept
	}
	m.set = set
	return set
}

// Start starts the extensions that may run and were not started yet, and waits until they are ready or have failed.
func (m *Manager) Start(ctx context.Context) {
	m.starting.Lock()
	set := m.files(ctx)
	m.mu.Lock()
	for _, d := range set.list {
		if m.closed || ctx.Err() != nil || slices.ContainsFunc(m.list, func(e *extension) bool { return e.def.name == d.name }) {
			continue
		}
		e := &extension{m: m, def: d, first: make(chan struct{})}
		m.list = append(m.list, e)
		m.wait.Go(func() { e.supervise(m.ctx) })
	}
	list := slices.Clone(m.list)
	m.mu.Unlock()
	m.starting.Unlock()
	for _, p := range set.Problems {
		m.once(nil, "The file of an extension has an error.", p.String())
	}
	for _, e := range list {
		select {
		case <-e.first:
		case <-ctx.Done():
		}
	}
}

// once shows a warning that was not shown yet.
func (m *Manager) once(e *extension, title, detail string) {
	key := title + "\x00" + detail
	m.mu.Lock()
	known := m.reported[key]
	m.reported[key] = true
	m.mu.Unlock()
	switch {
	case known:
	case e != nil:
		e.notice(agent.SeverityWarning, title, e.def.path+": "+detail)
	default:
		m.opts.Notice(agent.SeverityWarning, title, detail)
	}
}

// changed reports a change of what the extensions offer.
func (m *Manager) changed() {
	if !m.ending() {
		m.opts.Changed()
	}
}

func (m *Manager) all() []*extension {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

// Handlers returns the extensions as handlers of events.
func (m *Manager) Handlers() []hooks.Handler {
	var all []hooks.Handler
	for _, e := range m.all() {
		all = append(all, e)
	}
	return all
}

// Tools returns the tools of running extensions, without those whose names are taken.
func (m *Manager) Tools(others []agent.Tool) []agent.Tool {
	taken := make(map[string]bool)
	for _, t := range others {
		taken[t.Spec().Name] = true
	}
	var all []agent.Tool
	for _, e := range m.all() {
		e.mu.Lock()
		for _, t := range e.tools {
			if !taken[t.spec.Name] {
				taken[t.spec.Name] = true
				all = append(all, t)
			}
		}
		e.mu.Unlock()
	}
	return all
}

// free returns an error if a tool of e cannot have a name.
func (m *Manager) free(e *extension, name string) error {
	if strings.HasPrefix(name, "mcp__") || slices.Contains(m.opts.Reserved(), name) {
		return fmt.Errorf("the tool name %q is taken; choose another name", name)
	}
	for _, other := range m.all() {
		if other == e {
			continue
		}
		other.mu.Lock()
		taken := slices.ContainsFunc(other.tools, func(t *tool) bool { return t.spec.Name == name })
		other.mu.Unlock()
		if taken {
			return fmt.Errorf("the extension %s has a tool with the name %q too; choose another name", other.def.name, name)
		}
	}
	return nil
}

// Command is a slash command of an extension.
type Command struct{ Name, Description, Hint string }

// Commands returns the commands of running extensions.
func (m *Manager) Commands() []Command {
	var all []Command
	for _, e := range m.all() {
		e.mu.Lock()
		for _, c := range e.commands {
			all = append(all, Command(c))
		}
		e.mu.Unlock()
	}
	return all
}

// Run runs a command. It reports false if no running extension has it.
func (m *Manager) Run(ctx context.Context, name, args string) (Reply, bool, error) {
	for _, e := range m.all() {
		e.mu.Lock()
		p, has := e.process, slices.ContainsFunc(e.commands, func(c commandRegistered) bool { return c.Name == name })
		e.mu.Unlock()
		if !has || p == nil {
			continue
		}
		var reply Reply
		limited, cancel := context.WithTimeoutCause(ctx, commandTimeout, fmt.Errorf("the extension %s did not answer within %v", e.def.name, commandTimeout))
		defer cancel()
		err := p.call(limited, "command/run", commandParams{name, args}, &reply)
		if err == nil && reply.Text == "" && reply.Prompt == "" {
			err = errors.New("the extension " + e.def.name + " answered with neither text nor prompt")
		}
		return reply, true, err
	}
	return Reply{}, false, nil
}

// initialize returns the params of "initialize".
func (m *Manager) initialize(e *extension) *initializeParams {
	session := m.opts.Session()
	ws := session.Workspace()
	state, err := e.state()
	if err != nil { // the session ends, or the log has an error that the next step reports
		state = []stateEntry{}
	}
	return &initializeParams{
		ProtocolVersion: protocolVersion, GJCVersion: m.opts.Version, SessionID: session.ID(), Cwd: ws.Cwd,
		Roots: append([]string{ws.Cwd}, ws.Additional...), Capabilities: capabilities(), State: state,
	}
}

// Close ends the extensions. It is bounded by ctx. No others can be started.
func (m *Manager) Close(ctx context.Context) {
	m.mu.Lock()
	m.closed = true
	list := slices.Clone(m.list)
	m.mu.Unlock()
	var stopping sync.WaitGroup
	for _, e := range list {
		if p := e.running(); p != nil {
			stopping.Go(func() { p.stop(ctx) })
		}
	}
	stopping.Wait()
	m.end()
	m.wait.Wait()
}

// ending reports whether a program that ends now is not started again.
func (m *Manager) ending() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}
