package server

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/followed"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/acp/server/sides"
	"github.com/gajae-code/gjc/acp/server/worktrees"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
)

// sessionParams are the parameters of a request that opens a session.
type sessionParams struct {
	// Workspace has the directories of the session: those that the client has named, or their copies in the session's worktree.
	agent.Workspace
	named    agent.Workspace
	worktree *worktrees.Session // nil for none
	side     sides.Choice
	can      acp.ClientCapabilities // what of the client the session uses
	notices  []agent.Noticed        // about the side
	servers  []acp.MCPServer
	prompt   *acp.SystemPrompt // nil for none
	// order is the position, in wire order, of the request among those for an open session.
	order int64
	// follows reports whether the client can watch a session that another process has open.
	follows bool
	// nowhere is why no session can work in the directories here; nil if one can.
	nowhere error
}

// missing returns why a session with the directory cwd cannot be opened for these parameters; empty if it can.
func (p *sessionParams) missing(cwd string) string {
	switch {
	case p.nowhere != nil:
		return p.nowhere.Error()
	case p.side.Disk != "": // the client has the files
		return followed.Renamed(cwd, p.named.Cwd)
	default:
		return followed.Missing(cwd, p.named.Cwd)
	}
}

// newSessionParams checks the parameters.
func newSessionParams(cwd string, additional []string, servers []acp.MCPServer, prompt *acp.SystemPrompt) (*sessionParams, error) {
	if !isUsable(cwd) {
		return nil, invalidParams("cwd must be absolute: %q", cwd)
	}
	p := &sessionParams{Workspace: agent.Workspace{Cwd: filepath.Clean(cwd)}, servers: servers, prompt: prompt}
	for _, dir := range additional {
		if !isUsable(dir) {
			return nil, invalidParams("an additional directory must be absolute: %q", dir)
		}
		p.Additional = append(p.Additional, filepath.Clean(dir))
	}
	p.named = agent.Workspace{Cwd: p.Cwd, Additional: p.Additional}
	if prompt == nil {
		return p, nil
	}
	if prompt.Mode != acp.SystemPromptModeAppend && prompt.Mode != acp.SystemPromptModeOverride {
		return nil, invalidParams("unknown system prompt mode %q; the modes are append and override", prompt.Mode)
	}
	if len(prompt.Content) == 0 {
		return nil, invalidParams("the system prompt has no content; omit it instead")
	}
	for i, block := range prompt.Content {
		if _, ok := block.(*acp.TextContent); !ok {
			return nil, invalidParams("system prompt block %d is not text; a system prompt can contain only text", i)
		}
	}
	if strings.TrimSpace(p.promptText()) == "" {
		return nil, invalidParams("the system prompt is empty; omit it instead")
	}
	return p, nil
}

// promptText returns the system prompt as one text.
func (p *sessionParams) promptText() string {
	var texts []string
	for _, block := range p.prompt.Content {
		if t, ok := block.(*acp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// roots returns the directories on this machine, the working directory first. For a session with the client's files, that is an empty one.
func (p *sessionParams) roots() []string {
	if p.side.Disk != "" {
		return []string{p.side.Disk}
	}
	return append([]string{p.Cwd}, p.Additional...)
}

// configured returns the directory whose configuration the session has.
func (p *sessionParams) configured() string {
	if p.side.Disk != "" {
		return p.side.Disk
	}
	return p.named.Cwd
}

// params returns the checked parameters of a request that opens a session.
func (h *openHandlers) params(cwd string, additional []string, servers []acp.MCPServer, prompt *acp.SystemPrompt) (*sessionParams, error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	p, err := newSessionParams(cwd, additional, servers, prompt)
	if err != nil {
		return nil, err
	}
	can := h.client.capabilities()
	p.side, err = h.builder.opts.Machine.Sides.Choose(append([]string{p.Cwd}, p.Additional...), &can)
	if err != nil {
		return nil, err
	}
	p.can = p.side.Capabilities(can)
	var left []string
	p.servers, left = p.side.Servers(p.servers)
	p.notices = p.side.Notices(p.Cwd, &can, left)
	return p, nil
}

// stored returns the checked parameters of a request that opens a stored session, which a client with the extension can also only watch.
func (h *openHandlers) stored(cwd string, additional []string, servers []acp.MCPServer, prompt *acp.SystemPrompt, meta acp.Meta) (*sessionParams, error) {
	follows := followed.Declared(h.client.capabilities().Meta, meta)
	p, err := h.params(cwd, additional, servers, prompt)
	if nowhere := err; follows && errors.Is(err, sides.ErrNowhere) {
		if p, err = newSessionParams(cwd, additional, servers, prompt); err == nil {
			p.nowhere = nowhere
		}
	}
	if err != nil {
		return nil, err
	}
	p.follows = follows
	return p, nil
}

// isUsable reports whether a path is absolute and free of zero bytes, which no file system allows.
func isUsable(path string) bool { return filepath.IsAbs(path) && !strings.Contains(path, "\x00") }

// openHandlers handles the methods that open sessions.
type openHandlers struct {
	client    *client
	sessions  *registry
	store     *sessions.Store
	models    *models
	builder   *builder
	connector *mcpConnector
	tasks     *background
	worktrees *worktrees.Store
}

// NewSession creates a session.
func (h *openHandlers) NewSession(ctx context.Context, p *acp.NewSessionRequest) (acp.Reply[acp.NewSessionResponse], error) {
	params, err := h.params(p.Cwd, p.AdditionalDirectories, p.MCPServers, p.SystemPrompt)
	if err != nil {
		return nil, err
	}
	wanted, err := wantsWorktree(p.Meta)
	if err != nil {
		return nil, err
	}
	return func() (*acp.NewSessionResponse, error) {
		info, level, err := h.models.first(ctx, params.configured())
		if err != nil {
			return nil, err
		}
		log, err := h.store.Create(ctx, sessions.Header{Cwd: params.Cwd, AdditionalDirectories: params.Additional})
		if err != nil {
			return nil, err
		}
		warning, err := h.giveWorktree(ctx, log, params, wanted, nil)
		if err != nil {
			return nil, err
		}
		s, snap, err := h.begin(ctx, log, params, agent.Options{ModelOptions: agent.ModelOptions{Model: info, Thinking: level}, Mode: approval.ModeDefault})
		if err != nil {
			return nil, err
		}
		s.out.warn(warning)
		return &acp.NewSessionResponse{SessionID: s.id, Modes: modeState(snap.Mode), ConfigOptions: s.config.options(snap), Meta: sessionMeta(params)}, nil
	}, nil
}

// begin opens a session that is new to the client. Updates that the client needs follow the response.
func (h *openHandlers) begin(ctx context.Context, log *sessions.Log, params *sessionParams, opts agent.Options) (*session, *agent.Snapshot, error) {
	s, _, err := h.sessions.enter(acp.SessionID(log.ID()), params.named.Cwd)
	if err != nil {
		_ = log.Close() // the server is closing; nothing more is written
		params.leave(ctx)
		return nil, nil, err
	}
	o, notices, err := h.builder.build(s, log, params, opts)
	if err != nil {
		params.leave(ctx)
		h.sessions.forget(s)
		s.finish(nil, err)
		_ = log.Close() // the client does not know the session yet
		return nil, nil, err
	}
	snap, err := o.Snapshot()
	if err != nil {
		bug.Reportf("a new session has ended: %v", err) // no client knows its ID yet
	}
	h.announce(ctx, s, notices)
	connect := h.connector.connect(s, o, params)
	acp.AfterResponse(ctx, func() { h.begun(s, o, connect) })
	return s, &snap, nil
}

// announce shows the notices about a newly built session.
func (h *openHandlers) announce(ctx context.Context, s *session, notices []agent.Noticed) {
	if err := h.models.Load(ctx); err != nil {
		s.out.notice(agent.SeverityWarning, "The model configuration has an error; the built-in models still work.", err.Error())
	}
	for _, n := range notices {
		s.out.emit(n)
	}
}

// begun makes a session usable after the response that announced it to the client. The client receives the first updates before the
// results of its next requests for the session.
func (h *openHandlers) begun(s *session, o *opened, connect func()) {
	if snap, err := o.Snapshot(); err == nil {
		s.out.release(s.firstUpdates(o, &snap)...)
	}
	connect()
	s.finish(o, nil)
	s.refreshCommands(o, h.tasks)
	if o.lost != nil {
		h.tasks.run(func() { h.guard(s, o) }) // ends with the session
	}
	s.relay.Open()
}

// LoadSession opens a stored session and replays its whole conversation before it responds.
func (h *openHandlers) LoadSession(ctx context.Context, p *acp.LoadSessionRequest) (acp.Reply[acp.LoadSessionResponse], error) {
	params, err := h.stored(p.Cwd, p.AdditionalDirectories, p.MCPServers, p.SystemPrompt, p.Meta)
	if err != nil {
		return nil, err
	}
	return h.reopen(ctx, p.SessionID, params, true)
}

// ResumeSession opens a stored session without a replay.
func (h *openHandlers) ResumeSession(ctx context.Context, p *acp.ResumeSessionRequest) (acp.Reply[acp.ResumeSessionResponse], error) {
	params, err := h.stored(p.Cwd, p.AdditionalDirectories, p.MCPServers, p.SystemPrompt, p.Meta)
	if err != nil {
		return nil, err
	}
	reopen, err := h.reopen(ctx, p.SessionID, params, false)
	if err != nil {
		return nil, err
	}
	return func() (*acp.ResumeSessionResponse, error) {
		resp, err := reopen()
		return (*acp.ResumeSessionResponse)(resp), err
	}, nil
}

// reopen adds a session to the registry, so that later requests find it. It returns a function that opens the session and, if
// requested, replays its conversation. Later requests run after the response. A session that is already open is used as it is.
func (h *openHandlers) reopen(ctx context.Context, id acp.SessionID, params *sessionParams, replay bool) (acp.Reply[acp.LoadSessionResponse], error) {
	s, added, err := h.sessions.enter(id, params.Cwd)
	if err != nil {
		return nil, err
	}
	params.order = s.requests.Add(1)
	return func() (*acp.LoadSessionResponse, error) {
		if !added {
			if f := s.followed.Load(); f != nil {
				if resp, ok, err := h.watch(ctx, f, replay); ok {
					return resp, err
				}
			}
			o, err := h.reuse(ctx, s, params)
			if err != nil {
				return nil, err
			}
			return s.show(ctx, o, params, replay)
		}
		o, connect, err := h.open(ctx, s, params)
		if params.follows && (errors.Is(err, sessions.ErrLocked) || errors.Is(err, errMissing)) {
			var resp *acp.LoadSessionResponse
			if resp, err = h.follow(ctx, s, params, replay); err == nil {
				return resp, nil
			}
		}
		if err != nil {
			// Remove the session before it finishes opening, so that the next attempt opens it again.
			h.sessions.forget(s)
			s.finish(nil, err)
			return nil, err
		}
		resp, err := s.show(ctx, o, params, replay)
		if err != nil {
			h.sessions.remove(s) // before the client can try again
			acp.AfterResponse(ctx, func() {
				s.finish(o, nil)
				_ = s.close(context.Background()) // no turn has begun; the client has received the error
			})
			return nil, err
		}
		acp.AfterResponse(ctx, func() {
			h.begun(s, o, connect)
			o.RemoveLeftovers()
		})
		return resp, nil
	}, nil
}

// show replays the conversation if that is wanted, and returns the response with the state of the session.
func (s *session) show(ctx context.Context, o *opened, params *sessionParams, replay bool) (*acp.LoadSessionResponse, error) {
	if replay {
		if err := s.replay(ctx, o); err != nil {
			return nil, err
		}
	}
	snap, err := o.Snapshot()
	if err != nil {
		return nil, err
	}
	resp := &acp.LoadSessionResponse{Modes: modeState(snap.Mode), ConfigOptions: s.config.options(&snap)}
	if _, ok := agent.LookupValue[*worktrees.Session](o.Values()); ok {
		setMeta(&resp.Meta, metaWorktree, o.Workspace().Cwd)
	}
	if params.side.Side != "" {
		setMeta(&resp.Meta, metaFiles, params.side.Side)
	}
	return resp, nil
}

// replay sends the whole conversation to the client.
func (s *session) replay(ctx context.Context, o *opened) error {
	s.replaying.Lock()
	defer s.replaying.Unlock()
	events, err := o.Replay()
	if err != nil {
		return err
	}
	show := s.replayed()
	for ev, err := range events {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		show(ev)
	}
	for _, u := range s.out.takeLater() {
		s.out.write(u)
	}
	return nil
}

// replayed returns a function that sends the events of a conversation from its start on.
func (s *session) replayed() func(agent.Event) {
	m := newMapper(s.out.features)
	return func(ev agent.Event) {
		for _, u := range m.updates(ev) {
			s.out.write(u)
		}
	}
}

// open builds a session from its file. The caller must call connect after the response.
func (h *openHandlers) open(ctx context.Context, s *session, params *sessionParams) (o *opened, connect func(), err error) {
	if s.former != nil {
		select {
		case <-s.former:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
	if params.nowhere != nil {
		return nil, nil, errMissing
	}
	log, err := h.store.Open(ctx, string(s.id))
	if err != nil {
		return nil, nil, err
	}
	if cwd := log.Header().Cwd; params.follows && cwd == params.Cwd && params.missing(cwd) != "" {
		_ = log.Close() // nothing was written
		return nil, nil, errMissing
	}
	return h.openLog(ctx, s, params, log)
}

// errMissing reports that the directory of a session is not on this machine.
var errMissing = errors.New("the directory of the session is not on this machine")

// openLog builds a session from its open file, which it closes on an error. The caller must call connect after the response.
func (h *openHandlers) openLog(ctx context.Context, s *session, params *sessionParams, log *sessions.Log) (o *opened, connect func(), err error) {
	opts, warnings, err := h.restored(ctx, log, params.configured())
	if err != nil {
		_ = log.Close() // nothing was written
		return nil, nil, err
	}
	warnings = append(warnings, h.enterWorktree(ctx, string(s.id), params)...)
	o, notices, err := h.builder.build(s, log, params, opts)
	if err != nil {
		params.leave(ctx)
		_ = log.Close() // report the first error
		return nil, nil, err
	}
	s.out.warn(append(warnings, shell.LostJobs(o.Values(), opts.History)...))
	h.announce(ctx, s, notices)
	return o, h.connector.connect(s, o, params), nil
}

// reuse waits for a session that another request has opened or is opening, and replaces its MCP servers with those of this request.
func (h *openHandlers) reuse(ctx context.Context, s *session, params *sessionParams) (*opened, error) {
	o, err := s.wait(ctx)
	if err != nil {
		return nil, err
	}
	if live := o.named; live.Cwd != params.Cwd || !slices.Equal(live.Additional, params.Additional) {
		return nil, invalidParams("session %s is open in %s with the additional directories %q; close it first to open it elsewhere", s.id, live.Cwd, live.Additional)
	}
	if params.prompt != nil {
		return nil, invalidParams("session %s is open; close it first to give it another system prompt", s.id)
	}
	connect := h.connector.connect(s, o, params)
	acp.AfterResponse(ctx, func() {
		s.out.send(s.commandsUpdate(o))
		if snap, err := o.Snapshot(); err == nil {
			for _, u := range s.usageUpdates(&snap) {
				s.out.send(u)
			}
		}
		connect()
	})
	return o, nil
}

// follow lets the client watch a session that cannot be opened here now.
func (h *openHandlers) follow(ctx context.Context, s *session, params *sessionParams, replay bool) (*acp.LoadSessionResponse, error) {
	f := followed.New(followed.Options{
		Store: h.store, ID: string(s.id), Missing: params.missing, Tools: h.builder.opts.Sessions.Tools(),
		Sink:    s.replayed,
		About:   func(a followed.About) { s.out.about(&a, h.models) },
		Changed: func(state followed.State) { s.out.write(state.Update()) },
		Reach:   h.reach(s),
		Open:    func(ctx context.Context, rest func() error) error { return h.takeOver(ctx, s, params, rest) },
		Ended:   func(err error) { h.unfollowed(s, err) },
	})
	s.followed.Store(f)
	resp, _, err := h.watch(ctx, f, replay)
	if err != nil {
		s.followed.Store(nil)
		return nil, err
	}
	s.refuse(elsewhere(s.id, f))
	return resp, nil
}

// reach returns a function that connects the client with the process that has a session open; nil for a client that cannot take part there.
func (h *openHandlers) reach(s *session) func(*sessions.LockedError) (*relay.Caller, error) {
	if !relay.Declared(h.client.capabilities().Meta) {
		return nil
	}
	return func(holder *sessions.LockedError) (*relay.Caller, error) {
		return relay.Call(h.store, string(s.id), holder, h.client.conn)
	}
}

// watch shows a session that is followed, and returns the response. ok is false if it is not followed any more.
func (h *openHandlers) watch(ctx context.Context, f *followed.Session, replay bool) (resp *acp.LoadSessionResponse, ok bool, err error) {
	shown, ok, err := f.Show(ctx, replay)
	if err != nil || !ok {
		return nil, ok, err
	}
	acp.AfterResponse(ctx, func() {
		shown()
		h.tasks.run(f.Run) // ends with the session
	})
	resp = new(acp.LoadSessionResponse)
	setMeta(&resp.Meta, followed.Meta, f.State())
	return resp, true, nil
}

// takeOver opens a session that was followed.
func (h *openHandlers) takeOver(ctx context.Context, s *session, params *sessionParams, rest func() error) error {
	log, err := h.store.Open(ctx, string(s.id))
	if err != nil {
		return err
	}
	if err := rest(); err != nil {
		_ = log.Close() // nothing was written
		return err
	}
	o, connect, err := h.openLog(ctx, s, params, log)
	if err != nil {
		return err
	}
	s.accept()
	s.followed.Store(nil)
	s.out.write(followed.State{Role: followed.RoleController}.Update())
	if snap, err := o.Snapshot(); err == nil {
		s.out.send(&acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(snap.Mode)})
		s.config.send(&snap)
	}
	h.begun(s, o, connect)
	o.RemoveLeftovers()
	return nil
}

// unfollowed ends a session that is not followed any more.
func (h *openHandlers) unfollowed(s *session, err error) {
	if err == nil {
		return // it is open
	}
	h.sessions.forget(s)
	if !errors.Is(err, followed.ErrStopped) {
		s.out.write(followed.State{State: followed.Detached, Reason: err.Error()}.Update())
	}
	s.finish(nil, agent.ErrSessionClosed)
	s.out.close()
}

// guard closes a session when another process has taken it over.
func (h *openHandlers) guard(s *session, o *opened) {
	select {
	case <-o.lost:
	case <-s.ending.done:
		return
	}
	reason := followed.HolderOf(context.Background(), h.store, string(s.id)) + " has taken the session over; load it again to watch"
	if !followed.Declared(h.client.capabilities().Meta, nil) {
		s.out.notice(agent.SeverityError, "This session is closed here: "+reason+".", "")
	}
	s.out.write(followed.State{State: followed.Detached, Reason: reason}.Update())
	h.sessions.remove(s)
	ctx, cancel := context.WithTimeoutCause(context.Background(), sessionCloseTimeout, sessions.ErrTakenOver)
	defer cancel()
	if err := s.close(ctx); err != nil {
		h.builder.opts.Log.Warn().Err(err).Msg("closing a session that was taken over")
	}
}

// restored returns the options of a session that continues a stored conversation, and the warnings for its user.
func (h *openHandlers) restored(ctx context.Context, log *sessions.Log, cwd string) (agent.Options, []string, error) {
	state := log.State()
	history, err := log.Messages()
	if err != nil {
		return agent.Options{}, nil, err
	}
	plan, ok := agent.PlanIn(history, log.Compacted())
	if !ok {
		branch, err := log.Branch() // slow: it reads the whole file
		if err != nil {
			return agent.Options{}, nil, err
		}
		plan = agent.PlanOf(branch)
	}
	opts := agent.Options{
		Conversation: agent.Conversation{History: history, Title: state.Title, Plan: plan, Goal: goal.Load(state.Goal, state.GoalUse)},
		Mode:         approval.ModeDefault,
		ModelOptions: agent.ModelOptions{Thinking: state.Thinking},
	}
	warnings := log.Notices()
	if mode, err := approval.ParseMode(state.Mode); err == nil {
		opts.Mode = mode
	}
	opts.Model, err = h.models.next(ctx, state.Model, cwd)
	if err == nil && state.Model != "" && opts.Model.Ref() != state.Model && !strings.HasPrefix(state.Model, h.models.opts.Stopgap+"/") {
		warnings = append(warnings, "The session's model "+state.Model+" no longer exists; the session continues with "+opts.Model.Ref()+".")
	}
	if len(state.ServiceTier) > 0 {
		var tier string
		if jsonx.Unmarshal(state.ServiceTier, &tier) == nil && slices.Contains(opts.Model.ServiceTiers, tier) {
			opts.ServiceTier = tier
		}
	}
	return opts, warnings, err
}
