package server

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// workspace checks the directories of a request.
func workspace(cwd string, additional []string) (agent.Workspace, error) {
	if !usable(cwd) {
		return agent.Workspace{}, invalidParams("cwd must be absolute: %q", cwd)
	}
	ws := agent.Workspace{Cwd: filepath.Clean(cwd)}
	for _, dir := range additional {
		if !usable(dir) {
			return agent.Workspace{}, invalidParams("an additional directory must be absolute: %q", dir)
		}
		ws.Additional = append(ws.Additional, filepath.Clean(dir))
	}
	return ws, nil
}

// usable reports whether a path is absolute and can be one: no file system takes a zero byte.
func usable(path string) bool { return filepath.IsAbs(path) && !strings.Contains(path, "\x00") }

// NewSession creates a session: its file, its actor, and the entry that the client's further calls find.
func (s *Server) NewSession(ctx context.Context, p *acp.NewSessionRequest) (acp.Reply[acp.NewSessionResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	ws, err := workspace(p.Cwd, p.AdditionalDirectories)
	if err != nil {
		return nil, err
	}
	return func() (*acp.NewSessionResponse, error) {
		info, level, err := s.firstModel(ctx)
		if err != nil {
			return nil, err
		}
		log, err := s.opts.Store.Create(ctx, sessions.Header{Cwd: ws.Cwd, AdditionalDirectories: ws.Additional})
		if err != nil {
			return nil, err
		}
		e, _, err := s.enter(acp.SessionID(log.ID()))
		if err != nil {
			_ = log.Close() // the server is closing; the file has its header and no more
			return nil, err
		}
		session := s.build(e, log, ws, agent.Options{Model: info, Thinking: level, Mode: agent.ModeDefault})
		e.settle(session, nil)
		snap, err := session.Snapshot()
		if err != nil {
			return nil, err
		}
		s.notice(ctx, e, p.MCPServers)
		acp.AfterResponse(ctx, func() { e.out.release(commandsUpdate()) })
		return &acp.NewSessionResponse{
			SessionID: e.id, Modes: modeState(snap.Mode), ConfigOptions: s.configOptions(&snap),
		}, nil
	}, nil
}

// firstModel returns the model that a new session begins with.
func (s *Server) firstModel(ctx context.Context) (providers.ModelInfo, providers.ThinkingLevel, error) {
	if err := s.opts.Models.Load(ctx); err != nil {
		// The built-in models work without the file; its fault is told in the session.
		s.log.Warn().Err(err).Msg("loading models")
	}
	if s.opts.Model != "" {
		return s.opts.Models.Find(s.opts.Model)
	}
	info, ok := s.opts.Models.Default()
	if !ok {
		return providers.ModelInfo{}, "", &acp.Error{Code: acp.ErrorCodeAuthenticationRequired, Message: "no model can be used: add a key"}
	}
	return info, providers.ThinkingOff, nil
}

// build starts the actor of a session. What opts leaves open is filled in.
func (s *Server) build(e *entry, log *sessions.Log, ws agent.Workspace, opts agent.Options) *agent.Session {
	b := bridges.New(bridges.Options{
		Client: s.conn, Capabilities: s.capabilities(), SessionID: e.id, Workspace: ws,
		Children: s.children, Local: s.opts.Local,
	})
	opts.ID, opts.Workspace, opts.Log = log.ID(), ws, log
	opts.FS, opts.Terminal, opts.Programs, opts.Approver = b.FS, b.Terminal, b.Programs, b.Approver
	opts.Models, opts.Tools = s.opts.Models, s.opts.Tools()
	opts.Artifacts = sessions.NewArtifacts(log.ArtifactDir())
	opts.Emit, opts.NewID, opts.OS = e.out.emit, s.opts.NewID, s.opts.OS
	opts.Retry, opts.CancelGrace, opts.Panicked = s.opts.Retry, s.opts.CancelGrace, s.panicked
	return agent.New(opts)
}

// notice tells what a new session's user should know at once.
func (s *Server) notice(ctx context.Context, e *entry, servers []acp.MCPServer) {
	for _, m := range servers {
		e.out.emit(agent.Noticed{
			Severity: agent.SeverityWarning,
			Title:    "The MCP server " + mcpName(m) + " was not started: this version has no MCP client yet.",
		})
	}
	if err := s.opts.Models.Load(ctx); err != nil {
		e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: "The model configuration has an error; the built-in models work.", Detail: err.Error()})
	}
}

func mcpName(m acp.MCPServer) string {
	switch m := m.(type) {
	case *acp.MCPServerStdio:
		return m.Name
	case *acp.MCPServerHTTP:
		return m.Name
	case *acp.MCPServerSSE:
		return m.Name
	default:
		return "of an unknown kind"
	}
}

// LoadSession opens a stored session and replays all of it before it answers.
func (s *Server) LoadSession(ctx context.Context, p *acp.LoadSessionRequest) (acp.Reply[acp.LoadSessionResponse], error) {
	reopen, err := s.reopen(ctx, p.SessionID, p.Cwd, p.AdditionalDirectories, p.MCPServers)
	if err != nil {
		return nil, err
	}
	return func() (_ *acp.LoadSessionResponse, err error) {
		o, err := reopen()
		if err != nil {
			return nil, err
		}
		defer func() { s.failed(o, err) }()
		if err := o.replay(ctx); err != nil {
			return nil, err
		}
		snap, err := o.session.Snapshot()
		if err != nil {
			return nil, err
		}
		return &acp.LoadSessionResponse{Modes: modeState(snap.Mode), ConfigOptions: s.configOptions(&snap)}, nil
	}, nil
}

// ResumeSession opens a stored session and replays nothing.
func (s *Server) ResumeSession(ctx context.Context, p *acp.ResumeSessionRequest) (acp.Reply[acp.ResumeSessionResponse], error) {
	reopen, err := s.reopen(ctx, p.SessionID, p.Cwd, p.AdditionalDirectories, p.MCPServers)
	if err != nil {
		return nil, err
	}
	return func() (_ *acp.ResumeSessionResponse, err error) {
		o, err := reopen()
		if err != nil {
			return nil, err
		}
		defer func() { s.failed(o, err) }()
		snap, err := o.session.Snapshot()
		if err != nil {
			return nil, err
		}
		return &acp.ResumeSessionResponse{Modes: modeState(snap.Mode), ConfigOptions: s.configOptions(&snap)}, nil
	}, nil
}

// reopened is a session that a request has opened, or has found open.
type reopened struct {
	*entry
	session *agent.Session
	// fresh says that the request opened it, err why the request failed after all: the session is closed again then.
	fresh bool
	err   error
}

// replay tells the client all of the conversation.
func (o *reopened) replay(ctx context.Context) error {
	o.replaying.Lock()
	defer o.replaying.Unlock()
	events, err := o.session.Replay()
	if err != nil {
		return err
	}
	for ev := range events {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, u := range updates(ev, false) {
			o.out.write(u)
		}
	}
	for _, u := range o.out.takeLater() {
		o.out.write(u)
	}
	return nil
}

// reopen enters a session at once, so that what the client sends behind the request finds it, and returns how to
// open it. What was sent behind the request begins behind its response. A session that is live already is taken as it
// is.
func (s *Server) reopen(
	ctx context.Context, id acp.SessionID, cwd string, additional []string, servers []acp.MCPServer,
) (func() (*reopened, error), error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	ws, err := workspace(cwd, additional)
	if err != nil {
		return nil, err
	}
	e, added, err := s.enter(id)
	if err != nil {
		return nil, err
	}
	if !added {
		return func() (*reopened, error) { return e.reuse(ctx, ws) }, nil
	}
	return func() (*reopened, error) {
		session, notices, err := s.open(ctx, e, ws)
		if err != nil {
			// Forgotten before it settles, so that the next attempt begins anew.
			s.forget(e)
			e.settle(nil, err)
			return nil, err
		}
		for _, n := range notices {
			e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: n})
		}
		s.notice(ctx, e, servers)
		o := &reopened{entry: e, session: session, fresh: true}
		acp.AfterResponse(ctx, func() { s.settleReopened(o) })
		return o, nil
	}, nil
}

// failed takes note of why a request that has reopened a session was not answered with it; nil for success. A session
// that it found open stays open.
func (s *Server) failed(o *reopened, err error) {
	if err != nil && o.fresh {
		o.err = err
		s.leave(o.entry) // before the client can try again
	}
}

// settleReopened makes a session usable, or takes it back, once the response is on its way.
func (s *Server) settleReopened(o *reopened) {
	if o.err != nil {
		o.settle(o.session, nil)
		_ = o.close(context.Background()) // no turn has begun; the client has been told why
		return
	}
	if snap, err := o.session.Snapshot(); err == nil {
		first := []acp.SessionUpdate{commandsUpdate(), infoUpdate(snap.Title, snap.UpdatedAt)}
		if used := snap.Usage.Context(); used > 0 {
			first = append(first, updates(agent.UsageChanged{Used: used, Size: snap.Model.ContextWindow, CostUSD: snap.CostUSD}, true)...)
		}
		o.out.release(first...)
	}
	o.settle(o.session, nil)
}

// reuse takes a session that is live, or will be soon.
func (e *entry) reuse(ctx context.Context, ws agent.Workspace) (*reopened, error) {
	select {
	case <-e.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if e.err != nil {
		return nil, e.err
	}
	if live := e.session.Workspace(); live.Cwd != ws.Cwd || !slices.Equal(live.Additional, ws.Additional) {
		return nil, invalidParams("session %s is open in %s with the additional directories %q; close it first to open it elsewhere", e.id, live.Cwd, live.Additional)
	}
	acp.AfterResponse(ctx, func() { e.out.send(commandsUpdate()) })
	return &reopened{entry: e, session: e.session}, nil
}

// open builds a session from its file.
func (s *Server) open(ctx context.Context, e *entry, ws agent.Workspace) (*agent.Session, []string, error) {
	if e.before != nil {
		select {
		case <-e.before:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
	log, err := s.opts.Store.Open(ctx, string(e.id))
	if err != nil {
		return nil, nil, err
	}
	state := log.State()
	opts := agent.Options{
		History: log.Messages(), Title: state.Title, Mode: agent.ModeDefault, Thinking: state.Thinking,
	}
	for i := len(opts.History) - 1; i >= 0 && opts.Plan == nil; i-- {
		for _, c := range opts.History[i].ToolCalls() {
			if plan, ok := agent.PlanFromInput(c.Input); ok && c.Name == "todo_write" {
				opts.Plan = plan
			}
		}
	}
	notices := log.Notices()
	if mode, err := agent.ParseMode(state.Mode); err == nil {
		opts.Mode = mode
	}
	opts.Model, _, err = s.firstModel(ctx)
	if state.Model != "" && s.opts.Model == "" {
		info, _, ferr := s.opts.Models.Find(state.Model)
		switch {
		case ferr == nil:
			opts.Model, err = info, nil
		case err == nil:
			notices = append(notices, "The session's model "+state.Model+" cannot be used now; it goes on with "+opts.Model.Ref()+".")
		}
	}
	if err != nil {
		_ = log.Close() // nothing was written
		return nil, nil, err
	}
	return s.build(e, log, ws, opts), notices, nil
}

// CloseSession cancels what runs and frees the session. An unknown one is closed already.
func (s *Server) CloseSession(ctx context.Context, p *acp.CloseSessionRequest) (acp.Reply[acp.CloseSessionResponse], error) {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		if err := s.initialized(); err != nil {
			return nil, err
		}
		return acp.Done[acp.CloseSessionResponse](nil), nil
	}
	s.leave(e)
	return func() (*acp.CloseSessionResponse, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionCloseTimeout)
		defer cancel()
		if err := e.close(ctx); err != nil {
			return nil, err
		}
		return &acp.CloseSessionResponse{}, nil
	}, nil
}

// sessionCloseTimeout bounds how long a turn may clean up when its session is closed.
const sessionCloseTimeout = 5 * time.Second

// ListSessions lists the stored sessions that hold a message, the latest first.
func (s *Server) ListSessions(ctx context.Context, p *acp.ListSessionsRequest) (acp.Reply[acp.ListSessionsResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	if p.Cwd != "" && !filepath.IsAbs(p.Cwd) {
		return nil, invalidParams("cwd must be absolute: %q", p.Cwd)
	}
	return func() (*acp.ListSessionsResponse, error) {
		opts := sessions.ListOptions{Cursor: p.Cursor}
		if p.Cwd != "" {
			opts.Cwd = filepath.Clean(p.Cwd)
		}
		page, err := s.opts.Store.List(ctx, opts)
		if err != nil {
			return nil, err
		}
		resp := &acp.ListSessionsResponse{NextCursor: page.Next}
		for _, i := range page.Sessions {
			info := acp.SessionInfo{
				SessionID: acp.SessionID(i.ID), Cwd: i.Cwd, AdditionalDirectories: i.AdditionalDirectories,
				Title: i.Title, UpdatedAt: formatTime(i.UpdatedAt),
			}
			resp.Sessions = append(resp.Sessions, info)
		}
		return resp, nil
	}, nil
}
