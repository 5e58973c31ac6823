// Package server is the agent's side of ACP: it maps an editor's session lifecycle to agent sessions, and what
// happens in them to session updates.
//
// There is one file for each group of methods. A method does as little as it can: it checks, finds its session, and
// calls one function below.
package server

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Models is the models there are; [*providers.Registry] is one.
type Models interface {
	agent.Models
	// Load reads the configuration, once. It does not use the network.
	Load(ctx context.Context) error
	// Refresh reads it again if it has been changed, and reports whether it has.
	Refresh(ctx context.Context) (changed bool, err error)
	// ModelsIn lists the models that can be used by sessions in a directory; DefaultIn returns that of a new one.
	ModelsIn(dir string) []providers.ModelInfo
	DefaultIn(dir string) (providers.ModelInfo, bool)
	// DisabledIn reports whether a provider's models are not for sessions in a directory, unless they are named.
	DisabledIn(provider, dir string) bool
	// Reload reads the configuration again.
	Reload(ctx context.Context) error
	// Accounts lists the keys there are, without the keys. Logout forgets those that gjc has stored.
	Accounts() []providers.Account
	Logout() error
	// Providers tells where requests go; SetProvider and DisableProvider change that for this process.
	Providers() []providers.ProviderState
	SetProvider(id, apiType, baseURL string, headers map[string]string) error
	DisableProvider(id string) error
}

// Options configures a [Server].
type Options struct {
	// Version is the program's version. Required.
	Version string
	// Store keeps the sessions. Required.
	Store *sessions.Store
	// Models is required.
	Models Models
	// Discover asks the servers of models for theirs and reports whether Models lists others now. It runs in the background,
	// once the first session has begun, and behind each sign-in; the server's end ends its context. Optional.
	Discover func(ctx context.Context) (changed bool, err error)
	// Preconnect makes a connection to a model's server ahead of its first request. It runs in the background, when a session
	// begins or is given another model. Optional.
	Preconnect func(ctx context.Context, info providers.ModelInfo)
	// Stopgap is the provider of the model that answers for want of others. A session leaves it as soon as there is another,
	// unless Model names it. Optional.
	Stopgap string
	// Policy returns what has been said beforehand of what a session in a working directory may do. Optional.
	Policy func(cwd string) approval.Policy
	// Tools returns the tools of a session, in order. Required.
	Tools func() []agent.Tool
	// MCPServers returns the MCP servers of the user's own configuration, for every session. It may run commands that compute
	// values. The error lists its mistakes; the servers without one are returned. Optional.
	MCPServers func(ctx context.Context) ([]mcp.Server, error)
	// Languages tells of the language servers of a session with these directories, the working directory first. It does
	// little I/O and no more. Optional: without it there are none.
	Languages func(roots []string) (Languages, error)
	// Debugging tells of the debug adapters of a session with these directories, the working directory first. It does no
	// more than Languages. Optional: without it there are none.
	Debugging func(roots []string) (Debugging, error)
	// Hooks returns what reads the hooks of a session with these directories, the working directory first. Optional.
	Hooks func(roots []string) func() *hooks.Set
	// Login is the command line that asks for a key on a terminal: the program, and its arguments. Optional.
	Login []string
	// UserDir holds the user's own slash commands, skills and helper agents. If empty, there are none.
	UserDir string
	// Home is the user's home directory, for commands, skills and helper agents of other programs. If empty, there are none.
	Home string
	// Bridges connects a session to the editor and to this machine. It does no I/O. Required.
	Bridges func(BridgeOptions) Bridges
	// Environ returns the environment of language servers and MCP servers, still with provider keys. Required.
	Environ func(context.Context) []string
	// Children own all child processes; the server closes them. If nil, a group of the server's own does.
	Children *proc.Group
	// NewID makes unique ids. Required.
	NewID func() string
	// OS names the operating system. Required.
	OS string
	// Model is the model of new sessions as "provider/id[:level]". If empty, the registry's default.
	Model string
	// Log gets what happens. The zero Logger discards.
	Log zerolog.Logger
	// Trace, if set, sees every line of the protocol.
	Trace func(sent bool, line []byte)
	// MaxMessageSize caps an inbound line in bytes. If zero, 64 MiB.
	MaxMessageSize int
	// CancelGrace is how long a cancelled turn may clean up. If zero, [agent.DefaultCancelGrace].
	CancelGrace time.Duration
	// Secrets returns what keeps values from the models of a session in a working directory, nil for nothing. It is called
	// when a session begins; with an error the session asks no model. Optional: without it nothing is kept back.
	Secrets func(cwd string) (agent.Secrets, error)
	// Settings are read whenever a session in a working directory begins. The error lists the mistakes of the configuration; the
	// settings hold as far as it has none, and are [DefaultSettings] where they are nil. Optional: without it they are that, too.
	Settings func(cwd string) (*Settings, error)
}

// Settings are what the user's configuration says of sessions.
type Settings struct {
	// Agent says how sessions keep their context.
	Agent agent.Settings
	// Retry says when a failed model call is tried again.
	Retry providers.RetryPolicy
	// Model is the model of new sessions as "provider/id[:level]", where the command line names none. If empty, the
	// registry's default.
	Model string
	// ModelErr says which model of the configuration cannot be had, and why; nil for none. Sessions begin with another one
	// and tell it.
	ModelErr error
	// TitleModel chooses the models that name sessions. If nil, none does.
	TitleModel agent.TitleModel
	// HelperModel finds the models of helper agents, as [agent.Options] says. Optional.
	HelperModel func(*agent.Helper) (providers.ModelInfo, providers.ThinkingLevel, error)
}

// DefaultSettings returns the settings of sessions that nobody has configured. No model names them.
func DefaultSettings() *Settings { return &Settings{Agent: agent.DefaultSettings()} }

// settings returns the settings of sessions in a directory.
func (s *Server) settings(cwd string) (*Settings, error) {
	if s.opts.Settings == nil {
		return DefaultSettings(), nil
	}
	set, err := s.opts.Settings(cwd)
	if set == nil {
		set = DefaultSettings()
	}
	return set, err
}

// summarizesBranches reports whether a branch that is left is summarised without being asked for.
func (s *Server) summarizesBranches() bool {
	set, _ := s.settings("") // its error is reported where a session begins
	return set.Agent.BranchSummary.Enabled
}

// closeGrace is how long sessions may take to end, and again their children. Together with the connection's end it stays
// within the two seconds that an editor can expect.
const closeGrace = 800 * time.Millisecond

// errClosing ends what runs in the background.
var errClosing = errors.New("the server is closing")

// serveGrace is how long all of the end may take.
const serveGrace = 2*closeGrace + 200*time.Millisecond

// Server serves one editor. It implements [acp.Agent].
type Server struct {
	opts Options
	conn *acp.AgentConn
	log  zerolog.Logger
	// children are all child processes of all sessions.
	children *proc.Group
	// languages are the language servers of all sessions.
	languages *lsp.Manager

	mu     sync.Mutex // guards the fields below
	client *acp.InitializeRequest
	// authTold is the status that the client was told last; nil if it has never asked.
	authTold *acp.AuthStatusResponse
	// sessions are the live ones and those that are being made, leaving those that are being closed.
	sessions, leaving map[acp.SessionID]*entry
	closing           bool
	// disabled are the command files and skills that were switched off, by the names of their commands.
	disabled map[string]bool

	// tasks is the work that no request waits for; see background. closed is for those that no session ends: it ends when the
	// server begins to close.
	tasks  sync.WaitGroup
	closed context.Context
	end    context.CancelCauseFunc
	// discovery is the search for models.
	discovery discovery
}

var _ acp.Agent = (*Server)(nil)

// Serve serves an editor that speaks on r and listens on w, until it goes away (which is no error) or ctx ends. When
// it returns, every session is closed and every child process is gone. closer, which may be nil, is closed to free a
// blocked read of r.
func Serve(ctx context.Context, r io.Reader, w io.Writer, closer io.Closer, opts Options) error {
	s := &Server{
		opts: opts, log: opts.Log, children: opts.Children,
		sessions: make(map[acp.SessionID]*entry), leaving: make(map[acp.SessionID]*entry),
	}
	if s.children == nil {
		s.children = proc.NewGroup(nil)
	}
	s.closed, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	s.languages = lsp.NewManager(lsp.ManagerOptions{Children: s.children, Env: opts.Environ, Version: opts.Version, Log: opts.Log})
	// The connection outlives ctx: while sessions close, the editor is still told to release their terminals, and what
	// the turns come to.
	conn := acp.NewAgentConn(context.WithoutCancel(ctx), r, w, &acp.ConnOptions{
		Closer: closer, MaxMessageSize: opts.MaxMessageSize, Trace: opts.Trace,
		MapError: wireError, Ext: s.extension,
		Dropped:  func(err error) { s.log.Debug().Err(err).Msg("inbound message dropped") },
		Panicked: s.panicked,
	}, func(c *acp.AgentConn) acp.Agent {
		s.conn = c
		return s
	})
	select {
	case <-conn.Closing():
	case <-ctx.Done():
	}
	s.log.Info().AnErr("cause", errors.Join(conn.Err(), context.Cause(ctx))).Msg("closing")
	begin := time.Now()
	s.close()
	closed := make(chan struct{})
	go func() { // ends with the connection, which bounds its own end
		defer close(closed)
		_ = conn.Close()
	}()
	select {
	case <-closed:
	case <-time.After(serveGrace - time.Since(begin)): // an editor that is there and does not read
	}
	if err := conn.Err(); err != nil && !acp.IsGone(err) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// close ends every session and child.
func (s *Server) close() {
	s.end(errClosing)
	s.children.Hasten(proc.DefaultGrace)
	ctx, cancel := context.WithTimeoutCause(context.Background(), closeGrace, errors.New("the editor is gone"))
	defer cancel()
	s.mu.Lock()
	s.closing = true
	entries := slices.Collect(maps.Values(s.sessions))
	entries = slices.AppendSeq(entries, maps.Values(s.leaving))
	clear(s.sessions)
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, e := range entries {
		all.Go(func() {
			if err := e.close(ctx); err != nil {
				s.log.Warn().Err(err).Msg("closing a session")
			}
		})
	}
	all.Go(func() {
		if err := s.languages.Close(ctx); err != nil {
			s.log.Warn().Err(err).Msg("ending language servers")
		}
	})
	all.Wait()
	s.waitTasks(ctx)
	ctx, cancel = context.WithTimeoutCause(context.Background(), closeGrace, errors.New("the editor is gone"))
	defer cancel()
	if err := s.children.Close(ctx); err != nil {
		s.log.Warn().Err(err).Msg("ending child processes")
	}
}

// background runs fn in a goroutine that the server's end waits for, and that must end by itself. It reports false, and
// runs nothing, once the server is closing.
func (s *Server) background(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.tasks.Go(fn)
	return true
}

// waitTasks waits for the background's work.
func (s *Server) waitTasks(ctx context.Context) {
	gone := make(chan struct{})
	go func() { // ends with the tasks, each of which is bounded
		defer close(gone)
		s.tasks.Wait()
	}()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

func (s *Server) panicked(where string, value any, stack []byte) {
	s.log.Error().Str("in", where).Interface("panic", value).Bytes("stack", stack).Msg("panic")
}
