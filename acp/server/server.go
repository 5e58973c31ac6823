// Package server is the agent's side of ACP: it maps the session lifecycle of an editor to agent sessions, and their events
// to session updates.
//
// The methods of the protocol are handled in groups. Each group is a type that holds only what its methods need; a handler
// checks its parameters, finds its session, and calls one function below. The registry holds the sessions by ID.
package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/worktrees"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/lsp"
)

// closeGrace bounds how long sessions may take to end, and after that how long their child processes may take. Together with the
// end of the connection it stays within the two seconds that an editor can expect.
const closeGrace = 800 * time.Millisecond

// serveGrace bounds how long the whole shutdown may take.
const serveGrace = 2*closeGrace + 200*time.Millisecond

// handlers implements [acp.Agent] by the groups of methods.
type handlers struct {
	*initializeHandlers
	*authHandlers
	*openHandlers
	*storedHandlers
	*promptHandlers
	*configHandlers
	*providerHandlers
	*mcpHandlers
}

var _ acp.Agent = handlers{}

// server holds everything that [Serve] ends: the sessions of one editor, their child processes, and the background work.
type server struct {
	log        zerolog.Logger
	sessions   *registry
	tasks      *background
	children   *proc.Group
	languages  *lsp.Manager
	handlers   handlers
	extensions extensions
}

// newServer returns the server of an editor. It does no I/O.
func newServer(ctx context.Context, conn *acp.AgentConn, opts *Options) *server {
	s := &server{log: opts.Log, children: opts.Machine.Children, tasks: newBackground(ctx)}
	if s.children == nil {
		s.children = proc.NewGroup(nil)
	}
	s.languages = lsp.NewManager(lsp.ManagerOptions{Children: s.children, Env: opts.Machine.Environ, Version: opts.Version, Log: opts.Log})
	client := &client{conn: conn}
	s.sessions = newRegistry(client, opts.Models.Models)
	models := newModels(&opts.Models, opts.Sessions.settings, s.tasks, opts.Log)
	auth := &authHandlers{client: client, models: models, log: opts.Log}
	models.changed = func(keys bool) {
		s.sessions.sendOptions(models)
		if keys {
			auth.sendStatus()
		}
	}
	switches := new(switches)
	connector := &mcpConnector{
		accounts: opts.Machine.MCPAccounts, cache: opts.Machine.MCPCache,
		client: client, tasks: s.tasks, children: s.children, environ: opts.Machine.Environ,
		version: opts.Version, log: opts.Log,
	}
	builder := &builder{
		opts: opts, client: client, models: models, tasks: s.tasks, children: s.children, languages: s.languages, enabled: switches.enabled,
		panicked: s.panicked,
	}
	store := opts.Sessions.Store
	prompts := &promptHandlers{sessions: s.sessions, models: models, tasks: s.tasks, log: opts.Log}
	trees := &worktrees.Store{Maker: opts.Machine.Worktrees, Children: s.children}
	stored := &storedHandlers{client: client, sessions: s.sessions, store: store, log: opts.Log, worktrees: trees}
	stored.watches = newWatches(stored, s.tasks)
	s.extensions = newExtensions(client, prompts, stored, &branchHandlers{s.sessions, store, opts.Sessions.summarizesBranches},
		&addonHandlers{s.sessions, switches, opts.Sessions.storedCommandSources})
	s.handlers = handlers{
		&initializeHandlers{client: client, version: opts.Version, login: opts.Login, methods: s.extensions.names(), log: opts.Log},
		auth,
		&openHandlers{client: client, sessions: s.sessions, store: store, models: models, builder: builder, connector: connector, tasks: s.tasks, worktrees: trees},
		stored,
		prompts,
		&configHandlers{sessions: s.sessions, models: models},
		&providerHandlers{client: client, models: models},
		&mcpHandlers{client: client, sessions: s.sessions},
	}
	return s
}

// Serve serves an editor that writes to r and reads from w, until the editor disconnects, which is no error, or ctx ends.
// When Serve returns, every session is closed and every child process has ended. closer, which may be nil, is closed to free
// a blocked read of r.
func Serve(ctx context.Context, r io.Reader, w io.Writer, closer io.Closer, opts Options) error {
	// The connection and the background outlive ctx: while sessions close, the editor still receives the releases of their
	// terminals and the results of their turns.
	detached := context.WithoutCancel(ctx)
	var s *server
	conn := acp.NewAgentConn(detached, r, w, &acp.ConnOptions{
		Closer: closer, Trace: opts.Trace, MapError: wireError,
		Ext: func(ctx context.Context, method string, params jsonx.Raw) (func() (any, error), error) {
			return s.extensions.serve(ctx, method, params)
		},
		Dropped:  func(err error) { opts.Log.Debug().Err(err).Msg("inbound message dropped") },
		Panicked: func(where string, value any, stack []byte) { s.panicked(where, value, stack) },
	}, func(c *acp.AgentConn) acp.Agent {
		s = newServer(detached, c, &opts)
		return s.handlers
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
	case <-time.After(serveGrace - time.Since(begin)): // the editor is connected and does not read
	}
	if err := conn.Err(); err != nil && !acp.IsGone(err) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// close ends every session and every child process.
func (s *server) close() {
	s.tasks.end(errClosing)
	s.children.Hasten(proc.DefaultGrace)
	ctx, cancel := context.WithTimeoutCause(context.Background(), closeGrace, errEditorGone)
	defer cancel()
	open := s.sessions.close()
	s.tasks.close()
	var all sync.WaitGroup
	for _, session := range open {
		all.Go(func() {
			if err := session.close(ctx); err != nil {
				s.log.Warn().Str("session", string(session.id)).Err(err).Msg("closing a session")
			}
		})
	}
	all.Go(func() {
		if err := s.languages.Close(ctx); err != nil {
			s.log.Warn().Err(err).Msg("ending language servers")
		}
	})
	all.Wait()
	s.tasks.wait(ctx)
	ctx, cancel = context.WithTimeoutCause(context.Background(), closeGrace, errEditorGone)
	defer cancel()
	if err := s.children.Close(ctx); err != nil {
		s.log.Warn().Err(err).Msg("ending child processes")
	}
}

var errEditorGone = errors.New("the editor is gone")

// panicked logs a panic.
func (s *server) panicked(where string, value any, stack []byte) {
	s.log.Error().Str("in", where).Interface("panic", value).Bytes("stack", stack).Msg("panic")
}
