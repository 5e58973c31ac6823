package server

import (
	"context"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
)

// LoadSession opens a stored session and replays all of it before it answers.
func (s *Server) LoadSession(ctx context.Context, p *acp.LoadSessionRequest) (acp.Reply[acp.LoadSessionResponse], error) {
	want, err := newWanted(p.Cwd, p.AdditionalDirectories, p.MCPServers, p.SystemPrompt)
	if err != nil {
		return nil, err
	}
	reopen, err := s.reopen(ctx, p.SessionID, want)
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
		return &acp.LoadSessionResponse{Modes: modeState(snap.Mode), ConfigOptions: s.configOptions(o.entry, &snap)}, nil
	}, nil
}

// ResumeSession opens a stored session and replays nothing.
func (s *Server) ResumeSession(ctx context.Context, p *acp.ResumeSessionRequest) (acp.Reply[acp.ResumeSessionResponse], error) {
	want, err := newWanted(p.Cwd, p.AdditionalDirectories, p.MCPServers, p.SystemPrompt)
	if err != nil {
		return nil, err
	}
	reopen, err := s.reopen(ctx, p.SessionID, want)
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
		return &acp.ResumeSessionResponse{Modes: modeState(snap.Mode), ConfigOptions: s.configOptions(o.entry, &snap)}, nil
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
	m := newMapper(o.out.features)
	for ev, err := range events {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, u := range m.updates(ev) {
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
func (s *Server) reopen(ctx context.Context, id acp.SessionID, want *wanted) (func() (*reopened, error), error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	e, added, err := s.enter(id)
	if err != nil {
		return nil, err
	}
	want.asked = e.asked.Add(1)
	if !added {
		return func() (*reopened, error) { return s.reuse(ctx, e, want) }, nil
	}
	return func() (*reopened, error) {
		session, notices, err := s.open(ctx, e, want)
		if err != nil {
			// Forgotten before it settles, so that the next attempt begins anew.
			s.forget(e)
			e.settle(nil, err)
			return nil, err
		}
		for _, n := range notices {
			e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: n})
		}
		s.notice(ctx, e)
		o := &reopened{entry: e, session: session, fresh: true}
		connect := s.connectMCP(e, want)
		acp.AfterResponse(ctx, func() { s.settleReopened(o, connect) })
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
func (s *Server) settleReopened(o *reopened, connect func(*agent.Session)) {
	if o.err != nil {
		o.settle(o.session, nil)
		_ = o.close(context.Background()) // no turn has begun; the client has been told why
		return
	}
	if snap, err := o.session.Snapshot(); err == nil {
		o.out.release(s.first(o.entry, &snap)...)
	}
	connect(o.session)
	o.settle(o.session, nil)
	s.refresh(o.entry)
	o.session.RemoveLeftovers()
}

// first is what a client is told of a session right behind the response that gave it to the client.
func (s *Server) first(e *entry, snap *agent.Snapshot) []acp.SessionUpdate {
	all := []acp.SessionUpdate{s.commandsUpdate(e)}
	if snap.Messages == 0 && snap.Title == "" {
		return all
	}
	all = append(all, infoUpdate(snap.Title, snap.UpdatedAt))
	return append(all, e.usage(snap)...)
}

// usage is what a client is told of how full the model's window is, and of the cost.
func (e *entry) usage(snap *agent.Snapshot) []acp.SessionUpdate {
	used := snap.Usage.Context()
	if used == 0 && snap.CostUSD == 0 {
		return nil
	}
	ev := agent.UsageChanged{Used: used, Size: snap.Model.ContextWindow, CostUSD: snap.CostUSD}
	return newMapper(e.out.features).updates(ev)
}

// reuse takes a session that is live, or will be soon.
func (s *Server) reuse(ctx context.Context, e *entry, want *wanted) (*reopened, error) {
	select {
	case <-e.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if e.err != nil {
		return nil, e.err
	}
	if live := e.session.Workspace(); live.Cwd != want.Cwd || !slices.Equal(live.Additional, want.Additional) {
		return nil, invalidParams("session %s is open in %s with the additional directories %q; close it first to open it elsewhere", e.id, live.Cwd, live.Additional)
	}
	if want.prompt != nil {
		return nil, invalidParams("session %s is open; close it first to give it another system prompt", e.id)
	}
	connect := s.connectMCP(e, want)
	acp.AfterResponse(ctx, func() {
		e.out.send(s.commandsUpdate(e))
		if snap, err := e.session.Snapshot(); err == nil {
			for _, u := range e.usage(&snap) {
				e.out.send(u)
			}
		}
		connect(e.session)
	})
	return &reopened{entry: e, session: e.session}, nil
}

// open builds a session from its file.
func (s *Server) open(ctx context.Context, e *entry, want *wanted) (*agent.Session, []string, error) {
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
	opts, notices, err := s.stored(ctx, log, want.Cwd)
	if err != nil {
		_ = log.Close() // nothing was written
		return nil, nil, err
	}
	session, err := s.build(e, log, want, opts)
	if err != nil {
		_ = log.Close() // its first error is the one to tell
		return nil, nil, err
	}
	return session, notices, nil
}

// stored is how a session goes on that has a history, and what its user should know.
func (s *Server) stored(ctx context.Context, log *sessions.Log, cwd string) (agent.Options, []string, error) {
	state := log.State()
	history, err := log.Messages()
	if err != nil {
		return agent.Options{}, nil, err
	}
	plan, ok := agent.PlanIn(history, log.Compacted())
	if !ok {
		branch, err := log.Branch() // which takes long
		if err != nil {
			return agent.Options{}, nil, err
		}
		plan = agent.PlanOf(branch)
	}
	opts := agent.Options{
		History: history, Title: state.Title, Mode: approval.ModeDefault, Thinking: state.Thinking,
		Plan: plan,
	}
	notices := log.Notices()
	if mode, err := approval.ParseMode(state.Mode); err == nil {
		opts.Mode = mode
	}
	opts.Model, err = s.modelOf(ctx, state.Model, cwd)
	if err == nil && state.Model != "" && opts.Model.Ref() != state.Model && !strings.HasPrefix(state.Model, s.opts.Stopgap+"/") {
		notices = append(notices, "The session's model "+state.Model+" is not there any more; it goes on with "+opts.Model.Ref()+".")
	}
	if len(state.ServiceTier) > 0 {
		var tier string
		if jsonx.Unmarshal(state.ServiceTier, &tier) == nil && slices.Contains(opts.Model.ServiceTiers, tier) {
			opts.ServiceTier = tier
		}
	}
	return opts, notices, err
}
