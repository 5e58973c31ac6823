package server

import (
	"context"
	"errors"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/sessions"
)

// The methods here are about sessions that need not be open.

// retire ends a session that may be open, as session/close does, and does something to its file then. It returns how
// to wait for that. Requests that come later do not find the session; one that opens it waits until it is done.
func (s *Server) retire(id acp.SessionID, do func() error) func(context.Context) error {
	s.mu.Lock()
	e, leaving := s.sessions[id], s.leaving[id]
	s.mu.Unlock()
	if e != nil {
		s.leave(e)
	} else if e = leaving; e == nil {
		return func(context.Context) error { return do() }
	}
	var result error
	last := e.thenFinish(func() { result = do() })
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionCloseTimeout)
		defer cancel()
		if err := e.close(ctx); err != nil {
			s.log.Warn().Err(err).Msg("closing a session") // what is done to its file tells whether that matters
		}
		if !last {
			return do()
		}
		<-e.gone
		return result
	}
}

// DeleteSession deletes a session for good. One that does not exist is deleted already.
func (s *Server) DeleteSession(ctx context.Context, p *acp.DeleteSessionRequest) (acp.Reply[acp.DeleteSessionResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	deleted := s.retire(p.SessionID, func() error {
		return s.opts.Store.Delete(context.WithoutCancel(ctx), string(p.SessionID))
	})
	return func() (*acp.DeleteSessionResponse, error) {
		err := deleted(ctx)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return nil, err
		}
		return &acp.DeleteSessionResponse{}, nil
	}, nil
}

// ArchiveSession closes a session and hides it from the list.
func (s *Server) ArchiveSession(ctx context.Context, p *acp.ArchiveSessionRequest) (acp.Reply[acp.ArchiveSessionResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	archived := s.retire(p.SessionID, func() error {
		return s.opts.Store.Archive(context.WithoutCancel(ctx), string(p.SessionID))
	})
	return func() (*acp.ArchiveSessionResponse, error) {
		if err := archived(ctx); err != nil {
			return nil, err
		}
		return &acp.ArchiveSessionResponse{}, nil
	}, nil
}

// UnarchiveSession brings a session back into the list. It does not open it.
func (s *Server) UnarchiveSession(ctx context.Context, p *acp.UnarchiveSessionRequest) (acp.Reply[acp.UnarchiveSessionResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.UnarchiveSessionResponse, error) {
		if err := s.opts.Store.Unarchive(ctx, string(p.SessionID)); err != nil {
			return nil, err
		}
		return &acp.UnarchiveSessionResponse{}, nil
	}, nil
}

// SessionStatus tells whether a session is open in this process.
func (s *Server) SessionStatus(ctx context.Context, p *acp.SessionStatusRequest) (acp.Reply[acp.SessionStatusResponse], error) {
	if _, err := s.lookup(p.SessionID); err == nil {
		return acp.Done(&acp.SessionStatusResponse{Status: acp.SessionStatusOpen}), nil
	}
	if err := s.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.SessionStatusResponse, error) {
		if _, err := s.opts.Store.Info(ctx, string(p.SessionID)); err != nil {
			return nil, err
		}
		return &acp.SessionStatusResponse{Status: acp.SessionStatusSaved}, nil
	}, nil
}

// SetSessionTitle names a session, open or not. The title that it got is in the response; no automatic one replaces it.
func (s *Server) SetSessionTitle(ctx context.Context, p *acp.SetSessionTitleRequest) (acp.Reply[acp.SetSessionTitleResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	title := agent.CleanTitle(p.Title)
	if title == "" {
		return nil, invalidParams("%v", agent.ErrEmptyTitle)
	}
	resp := &acp.SetSessionTitleResponse{Title: title}
	if e, err := s.lookup(p.SessionID); err == nil {
		change := e.queue(func(session *agent.Session) agent.Pending {
			_, pending := session.SetTitle(title)
			return pending
		})
		return func() (*acp.SetSessionTitleResponse, error) {
			_, err := change()
			return resp, err
		}, nil
	}
	return func() (*acp.SetSessionTitleResponse, error) {
		return resp, s.opts.Store.SetTitle(ctx, string(p.SessionID), title)
	}, nil
}

// ForkSession begins a session with the history of another one, which may be open and goes on as if nothing had been.
// Nothing is replayed: the client has the history already.
func (s *Server) ForkSession(ctx context.Context, p *acp.ForkSessionRequest) (acp.Reply[acp.ForkSessionResponse], error) {
	if err := s.initialized(); err != nil {
		return nil, err
	}
	want, err := newWanted(p.Cwd, p.AdditionalDirectories, p.MCPServers, p.SystemPrompt)
	if err != nil {
		return nil, err
	}
	from, err := forkedFrom(p.Meta)
	if err != nil {
		return nil, err
	}
	return func() (*acp.ForkSessionResponse, error) {
		at, err := s.forkPoint(ctx, string(p.SessionID), from)
		if err != nil {
			return nil, err
		}
		e, snap, err := s.fork(ctx, string(p.SessionID), want, at)
		if err != nil {
			return nil, err
		}
		resp := &acp.ForkSessionResponse{SessionID: e.id, Modes: modeState(snap.Mode), ConfigOptions: s.configOptions(e, snap)}
		if at.prompt != nil {
			setMeta(&resp.Meta, "prompt", at.prompt)
		}
		return resp, nil
	}, nil
}

func (s *Server) fork(ctx context.Context, id string, want *wanted, at *forkPoint) (*entry, *agent.Snapshot, error) {
	log, err := s.forkLog(ctx, id, want, at)
	if err != nil {
		return nil, nil, err
	}
	opts, notices, err := s.stored(ctx, log, want.Cwd)
	if err != nil {
		_ = log.Close() // the fork stands in the list and can be opened when there is a model for it
		return nil, nil, err
	}
	e, snap, err := s.begin(ctx, log, want, opts)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range notices {
		e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: n})
	}
	return e, snap, nil
}
