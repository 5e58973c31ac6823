package server

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/sessions"
)

// wanted is what a request wants of the session that it makes or opens.
type wanted struct {
	agent.Workspace
	servers []acp.MCPServer
	prompt  *acp.SystemPrompt // nil for none
	asked   int64             // the request's place among those for an open session
}

// newWanted checks what a request says.
func newWanted(cwd string, additional []string, servers []acp.MCPServer, prompt *acp.SystemPrompt) (*wanted, error) {
	if !usable(cwd) {
		return nil, invalidParams("cwd must be absolute: %q", cwd)
	}
	w := &wanted{Workspace: agent.Workspace{Cwd: filepath.Clean(cwd)}, servers: servers, prompt: prompt}
	for _, dir := range additional {
		if !usable(dir) {
			return nil, invalidParams("an additional directory must be absolute: %q", dir)
		}
		w.Additional = append(w.Additional, filepath.Clean(dir))
	}
	if prompt == nil {
		return w, nil
	}
	if prompt.Mode != acp.SystemPromptModeAppend && prompt.Mode != acp.SystemPromptModeOverride {
		return nil, invalidParams("unknown system prompt mode %q; there are append and override", prompt.Mode)
	}
	if len(prompt.Content) == 0 {
		return nil, invalidParams("the system prompt has no content; leave it out instead")
	}
	for i, block := range prompt.Content {
		if _, ok := block.(*acp.TextContent); !ok {
			return nil, invalidParams("system prompt block %d is not text; nothing else is taken there", i)
		}
	}
	if strings.TrimSpace(w.promptText()) == "" {
		return nil, invalidParams("the system prompt is empty; leave it out instead")
	}
	return w, nil
}

// promptText is the system prompt as one text.
func (w *wanted) promptText() string {
	var texts []string
	for _, block := range w.prompt.Content {
		if t, ok := block.(*acp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// usable reports whether a path is absolute and can be one: no file system takes a zero byte.
func usable(path string) bool { return filepath.IsAbs(path) && !strings.Contains(path, "\x00") }

// NewSession creates a session: its file, its actor, and the entry that the client's further calls find.
func (s *Server) NewSession(ctx context.Context, p *acp.NewSessionRequest) (acp.Reply[acp.NewSessionResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	want, err := newWanted(p.Cwd, p.AdditionalDirectories, p.MCPServers, p.SystemPrompt)
	if err != nil {
		return nil, err
	}
	return func() (*acp.NewSessionResponse, error) {
		info, level, err := s.firstModel(ctx, want.Cwd)
		if err != nil {
			return nil, err
		}
		log, err := s.opts.Store.Create(ctx, sessions.Header{Cwd: want.Cwd, AdditionalDirectories: want.Additional})
		if err != nil {
			return nil, err
		}
		e, snap, err := s.begin(ctx, log, want, agent.Options{Model: info, Thinking: level, Mode: approval.ModeDefault})
		if err != nil {
			return nil, err
		}
		return &acp.NewSessionResponse{
			SessionID: e.id, Modes: modeState(snap.Mode), ConfigOptions: s.configOptions(e, snap),
		}, nil
	}, nil
}

// begin enters a session that the client has not heard of before, and makes it usable. What the client has to be told
// of it follows the response.
func (s *Server) begin(ctx context.Context, log *sessions.Log, want *wanted, opts agent.Options) (*entry, *agent.Snapshot, error) {
	e, _, err := s.enter(acp.SessionID(log.ID()))
	if err != nil {
		_ = log.Close() // the server is closing; the file has what it has
		return nil, nil, err
	}
	session, err := s.build(e, log, want, opts)
	if err != nil {
		s.forget(e)
		e.settle(nil, err)
		_ = log.Close() // nothing that anybody has seen is lost
		return nil, nil, err
	}
	snap, err := session.Snapshot()
	if err != nil {
		bug.Reportf("a session that has just begun is over: %v", err) // nobody else knows of it
	}
	s.notice(ctx, e)
	connect := s.connectMCP(e, want)
	acp.AfterResponse(ctx, func() {
		// What the client asks of the session next begins behind what it is told first.
		e.out.release(s.first(e, &snap)...)
		connect(session)
		e.settle(session, nil)
		s.refresh(e)
	})
	return e, &snap, nil
}

// build starts the actor of a session. What opts leaves open is filled in. On an error the log is the caller's still.
func (s *Server) build(e *entry, log *sessions.Log, want *wanted, opts agent.Options) (*agent.Session, error) {
	if want.prompt != nil {
		if err := log.SetSystemPrompt(string(want.prompt.Mode), want.promptText()); err != nil {
			return nil, err
		}
	}
	if err := log.SetDirectories(want.Additional); err != nil {
		return nil, err
	}
	state := log.State()
	if p := state.SystemPrompt; p.Text != "" {
		opts.SystemPrompt = agent.SystemPrompt{Text: p.Text, Override: p.Mode == string(acp.SystemPromptModeOverride)}
	}
	b := s.bridges(e.id, want.Workspace, e.mark)
	e.cwd = want.Cwd
	e.box = &toolbox{own: s.opts.Tools()}
	e.box.Select(state.MCPTools)
	e.files, e.languages = b.FS, s.openLanguages(e, want.Workspace, b.FS)
	opts.Languages = e.languages
	b.Programs = sessionPrograms{b.Programs, want.Workspace, e.languages}
	e.debugger = s.openDebugger(e, want.Workspace, b.Terminal)
	opts.Debugger = e.debugger
	e.commands = s.newCommands(e, want.Workspace)
	opts.ID, opts.Workspace, opts.Log, opts.Uses = log.ID(), want.Workspace, log, log.Uses()
	opts.FS, opts.Terminal, opts.Programs, opts.Approver, opts.Elicitor = b.FS, b.Terminal, b.Programs, b.Approver, b.Elicitor
	opts.Models, opts.Tools = s.opts.Models, e.box
	opts.Artifacts = log.Artifacts()
	opts.Subagent = func(about agent.Subagent) agent.Surroundings {
		return s.surroundings(e, want.Workspace, above{id: e.id, set: b}, about)
	}
	opts.Helpers = s.helpers(e, want.Workspace)
	opts.Guidance = s.guide(e, want.Workspace)
	if s.opts.Hooks != nil {
		opts.Hooks = s.opts.Hooks(append([]string{want.Cwd}, want.Additional...))
	}
	opts.Secrets, e.secretsErr = s.secrets(want.Cwd)
	set, err := s.settings(want.Cwd)
	e.settingsErr, e.modelErr = err, set.ModelErr
	opts.Settings, opts.Retry, opts.TitleModel, opts.HelperModel = &set.Agent, set.Retry, set.TitleModel, set.HelperModel
	if s.opts.Policy != nil {
		opts.Policy = s.opts.Policy(want.Cwd)
		e.policyErr = opts.Policy.Broken
	}
	opts.Emit, opts.NewID, opts.OS = s.emitter(e), s.opts.NewID, s.opts.OS
	opts.CancelGrace, opts.Panicked = s.opts.CancelGrace, s.panicked
	e.then(func(_ *agent.Session, err error) {
		if err == nil {
			s.preconnect(opts.Model)
			s.discover(false)
		}
	})
	return agent.New(opts), nil
}

// emitter tells the client of a session's events.
func (s *Server) emitter(e *entry) func(agent.Event) {
	return func(ev agent.Event) {
		if changed, ok := ev.(agent.ConfigChanged); ok {
			e.out.send(&acp.ConfigOptionUpdate{ConfigOptions: s.configOptions(e, &changed.Now)})
			return
		}
		e.out.emit(ev)
	}
}

// notice tells what a new session's user should know at once.
func (s *Server) notice(ctx context.Context, e *entry) {
	if err := s.opts.Models.Load(ctx); err != nil {
		e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: "The model configuration has an error; the built-in models work.", Detail: err.Error()})
	}
	if err := e.settingsErr; err != nil {
		e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: "The configuration has mistakes; each costs the setting that it is in.", Detail: err.Error()})
	}
	if err := e.modelErr; err != nil {
		e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: "A model of the configuration cannot be used: " + err.Error()})
	}
	if err := e.secretsErr; err != nil {
		e.out.emit(agent.Noticed{Severity: agent.SeverityError, Title: "The secrets to keep back are not known, so no model is asked. Open the session again when that is right.", Detail: err.Error()})
	}
	if err := e.policyErr; err != nil && e.settingsErr == nil { // else it is among those
		e.out.emit(agent.Noticed{Severity: agent.SeverityError, Title: "The permissions of the configuration cannot be read, so every step asks. Open the session again when that is right.", Detail: err.Error()})
	}
	if err := e.languagesErr; err != nil {
		e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: "The configuration of language servers has an error.", Detail: err.Error()})
	}
	if err := e.debuggerErr; err != nil {
		e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: "The configuration of debug adapters has an error.", Detail: err.Error()})
	}
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
	opts := sessions.ListOptions{Cursor: p.Cursor}
	switch p.Archived {
	case "", acp.SessionArchiveFilterExclude:
	case acp.SessionArchiveFilterInclude:
		opts.Archived = sessions.ArchivedInclude
	case acp.SessionArchiveFilterOnly:
		opts.Archived = sessions.ArchivedOnly
	default:
		return nil, invalidParams("unknown archive filter %q; there are exclude, include and only", p.Archived)
	}
	return func() (*acp.ListSessionsResponse, error) {
		if p.Cwd != "" {
			opts.Cwd = filepath.Clean(p.Cwd)
		}
		page, err := s.opts.Store.List(ctx, opts)
		if err != nil {
			return nil, err
		}
		resp := &acp.ListSessionsResponse{NextCursor: page.Next}
		for i := range page.Sessions {
			resp.Sessions = append(resp.Sessions, sessionInfo(&page.Sessions[i]))
		}
		return resp, nil
	}, nil
}

func sessionInfo(i *sessions.Info) acp.SessionInfo {
	info := acp.SessionInfo{
		SessionID: acp.SessionID(i.ID), Cwd: i.Cwd, AdditionalDirectories: i.AdditionalDirectories,
		Title: i.Title, UpdatedAt: formatTime(i.UpdatedAt), Archived: new(i.Archived),
	}
	setMeta(&info.Meta, "messageCount", i.Messages)
	setMeta(&info.Meta, "size", i.Size)
	return info
}
