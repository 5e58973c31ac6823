package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/air"
	"github.com/gajae-code/gjc/acp/server/worktrees"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/sessions"
)

// storedHandlers handles the methods about sessions that need not be open, and the closing of sessions.
type storedHandlers struct {
	client    *client
	sessions  *registry
	store     *sessions.Store
	log       zerolog.Logger
	worktrees *worktrees.Store
	// watches are those of a client that has [air.SessionIndex].
	watches *air.Watches
}

// ListSessions lists the stored sessions that contain a message, most recent first.
func (h *storedHandlers) ListSessions(ctx context.Context, p *acp.ListSessionsRequest) (acp.Reply[acp.ListSessionsResponse], error) {
	if err := h.client.initialized(); err != nil {
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
		return nil, invalidParams("unknown archive filter %q; the filters are exclude, include and only", p.Archived)
	}
	if h.client.airClient().Has(air.SessionIndex) {
		return h.listIndexed(ctx, p, opts.Archived)
	}
	return func() (*acp.ListSessionsResponse, error) {
		if p.Cwd != "" {
			opts.Cwd = filepath.Clean(p.Cwd)
		}
		page, err := h.store.List(ctx, opts)
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

// listIndexed lists sessions for a client that has [air.SessionIndex].
func (h *storedHandlers) listIndexed(ctx context.Context, p *acp.ListSessionsRequest, archived sessions.ArchivedFilter) (acp.Reply[acp.ListSessionsResponse], error) {
	list, err := air.ParseList(p.Cwd, archived, p.Meta)
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	after, err := list.After(p.Cursor)
	if err != nil {
		return nil, err
	}
	return func() (*acp.ListSessionsResponse, error) {
		resp, err := h.indexPage(ctx, list, after)
		if err == nil && p.Cursor == "" {
			h.watches.Add(list, sumOf(resp))
		}
		return resp, err
	}, nil
}

// indexPage returns a page of the sessions for a client that has [air.SessionIndex].
func (h *storedHandlers) indexPage(ctx context.Context, list *air.List, after string) (*acp.ListSessionsResponse, error) {
	opts := sessions.ListOptions{Cursor: after, Limit: list.Limit, Archived: list.Archived}
	if dirs := list.Directories(); len(dirs) > 0 {
		opts.Cwd, opts.Also = dirs[0], dirs[1:]
	}
	page, err := h.store.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	resp := &acp.ListSessionsResponse{NextCursor: list.Cursor(page.Next)}
	for i := range page.Sessions {
		info := &page.Sessions[i]
		row := air.Row{Archived: info.Archived, ForkedFrom: air.ForkedFrom(info)}
		if s, err := h.sessions.lookup(acp.SessionID(info.ID)); err == nil {
			if o := s.ready(); o != nil {
				state, ended := s.out.state()
				if row.State = state; !ended.IsZero() {
					row.LastTurnEndedAt = formatTime(ended)
				}
				if snap, err := o.Snapshot(); err == nil {
					row.Model = snap.Model.Ref()
				}
			}
		}
		shown := sessionInfo(info)
		row.Put(&shown.Meta)
		resp.Sessions = append(resp.Sessions, shown)
	}
	return resp, nil
}

// sumOf returns a checksum of a page.
func sumOf(page *acp.ListSessionsResponse) string {
	data, err := jsonx.Marshal(page)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return string(sum[:])
}

// newWatches returns the watches of the lists of a client.
func newWatches(h *storedHandlers, tasks *background) *air.Watches {
	return &air.Watches{
		Start: func(fn func(context.Context)) bool { return tasks.run(func() { fn(tasks.ctx) }) },
		Read: func(ctx context.Context, l *air.List) (string, error) {
			page, err := h.indexPage(ctx, l, "")
			return sumOf(page), err
		},
		Changed: func(ctx context.Context, cwd string) {
			_ = h.client.conn.Notify(ctx, air.ListChanged, map[string]string{"cwd": cwd}) // it fails only if the client is gone
		},
	}
}

// rename handles "_session/rename" of [air.SessionIndex].
func (h *storedHandlers) rename(ctx context.Context, p *struct {
	SessionID acp.SessionID `json:"sessionId"`
	Title     string        `json:"title"`
},
) (func() (any, error), error) {
	reply, err := h.SetSessionTitle(ctx, &acp.SetSessionTitleRequest{SessionID: p.SessionID, Title: p.Title})
	if err != nil {
		return nil, err
	}
	return func() (any, error) {
		_, err := reply()
		return done(err)
	}, nil
}

// namedSession names a session.
type namedSession struct {
	SessionID acp.SessionID `json:"sessionId"`
}

// archive handles "_session/archive" of [air.SessionIndex]. Unlike session/archive it closes no session.
func (h *storedHandlers) archive(ctx context.Context, p *namedSession) (any, error) {
	if _, err := h.sessions.lookup(p.SessionID); err == nil {
		e := &acp.Error{Code: acp.ErrorCodeInvalidRequest, Message: "the session is open; close it with session/close first"}
		e.Data = jsonx.Raw(`{"reason":"session_active"}`)
		return nil, e
	}
	return done(h.store.Archive(ctx, string(p.SessionID)))
}

// unarchive handles "_session/unarchive" of [air.SessionIndex].
func (h *storedHandlers) unarchive(ctx context.Context, p *namedSession) (any, error) {
	return done(h.store.Unarchive(ctx, string(p.SessionID)))
}

// done returns the empty result of a request that has succeeded.
func done(err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return struct{}{}, nil
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

// CloseSession cancels the session's running work and frees the session. A session that is not open counts as closed.
func (h *storedHandlers) CloseSession(ctx context.Context, p *acp.CloseSessionRequest) (acp.Reply[acp.CloseSessionResponse], error) {
	s, err := h.sessions.find(p.SessionID)
	if err != nil {
		if err := h.client.initialized(); err != nil {
			return nil, err
		}
		return acp.Done[acp.CloseSessionResponse](nil), nil
	}
	h.sessions.remove(s)
	return func() (*acp.CloseSessionResponse, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionCloseTimeout)
		defer cancel()
		if err := s.close(ctx); err != nil {
			return nil, err
		}
		return &acp.CloseSessionResponse{}, nil
	}, nil
}

// retire closes a session that may be open, as session/close does, and then changes its file. It returns a function that waits
// until the change is done. Later requests do not find the session, and a request that opens it waits too.
func (h *storedHandlers) retire(id acp.SessionID, change func() error) func(context.Context) error {
	s := h.sessions.retire(id)
	if s == nil {
		return func(context.Context) error { return change() }
	}
	var result error
	last := s.ending.then(func() { result = change() })
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionCloseTimeout)
		defer cancel()
		if err := s.close(ctx); err != nil {
			h.log.Warn().Str("session", string(id)).Err(err).Msg("closing a session") // change returns an error if that matters
		}
		if !last {
			return change()
		}
		<-s.ending.done
		return result
	}
}

// DeleteSession deletes a session permanently. A session that does not exist counts as deleted.
func (h *storedHandlers) DeleteSession(ctx context.Context, p *acp.DeleteSessionRequest) (acp.Reply[acp.DeleteSessionResponse], error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	deleted := h.retire(p.SessionID, func() error {
		ctx := context.WithoutCancel(ctx)
		if err := h.store.Delete(ctx, string(p.SessionID)); err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return err
		}
		_, err := h.worktrees.End(ctx, string(p.SessionID))
		return err
	})
	return func() (*acp.DeleteSessionResponse, error) {
		if err := deleted(ctx); err != nil {
			return nil, err
		}
		return &acp.DeleteSessionResponse{}, nil
	}, nil
}

// ArchiveSession closes a session and hides it from the list.
func (h *storedHandlers) ArchiveSession(ctx context.Context, p *acp.ArchiveSessionRequest) (acp.Reply[acp.ArchiveSessionResponse], error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	archived := h.retire(p.SessionID, func() error {
		return h.store.Archive(context.WithoutCancel(ctx), string(p.SessionID))
	})
	return func() (*acp.ArchiveSessionResponse, error) {
		if err := archived(ctx); err != nil {
			return nil, err
		}
		return &acp.ArchiveSessionResponse{}, nil
	}, nil
}

// UnarchiveSession makes a session visible in the list again. It does not open it.
func (h *storedHandlers) UnarchiveSession(ctx context.Context, p *acp.UnarchiveSessionRequest) (acp.Reply[acp.UnarchiveSessionResponse], error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.UnarchiveSessionResponse, error) {
		if err := h.store.Unarchive(ctx, string(p.SessionID)); err != nil {
			return nil, err
		}
		return &acp.UnarchiveSessionResponse{}, nil
	}, nil
}

// SessionStatus reports whether a session is open in this process.
func (h *storedHandlers) SessionStatus(ctx context.Context, p *acp.SessionStatusRequest) (acp.Reply[acp.SessionStatusResponse], error) {
	if _, err := h.sessions.lookup(p.SessionID); err == nil {
		return acp.Done(&acp.SessionStatusResponse{Status: acp.SessionStatusOpen}), nil
	}
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	return func() (*acp.SessionStatusResponse, error) {
		if _, err := h.store.Info(ctx, string(p.SessionID)); err != nil {
			return nil, err
		}
		return &acp.SessionStatusResponse{Status: acp.SessionStatusSaved}, nil
	}, nil
}

// SetSessionTitle sets the title of a session, open or not. The response contains the normalized title. An automatic title never
// replaces it.
func (h *storedHandlers) SetSessionTitle(ctx context.Context, p *acp.SetSessionTitleRequest) (acp.Reply[acp.SetSessionTitleResponse], error) {
	if err := h.client.initialized(); err != nil {
		return nil, err
	}
	title := agent.CleanTitle(p.Title)
	if title == "" {
		return nil, invalidParams("%v", agent.ErrEmptyTitle)
	}
	resp := &acp.SetSessionTitleResponse{Title: title}
	if s, err := h.sessions.lookup(p.SessionID); err == nil {
		set := s.queue(func(o *opened) agent.Pending {
			_, pending := o.SetTitle(title)
			return pending
		})
		return func() (*acp.SetSessionTitleResponse, error) { return resp, set() }, nil
	}
	return func() (*acp.SetSessionTitleResponse, error) {
		return resp, h.store.SetTitle(ctx, string(p.SessionID), title)
	}, nil
}

// listedSessions is the result of the extension methods that list sessions.
type listedSessions struct {
	Sessions []acp.SessionInfo `json:"sessions"`
	Total    *int              `json:"total,omitzero"`
}

// checkLimit validates the maximum length of a list and returns it; it returns usual if limit is nil.
func checkLimit(limit *int, usual, most int) (int, error) {
	switch {
	case limit == nil:
		return usual, nil
	case *limit < 1 || *limit > most:
		return 0, invalidParams("limit must be 1 to %d, not %d", most, *limit)
	default:
		return *limit, nil
	}
}

// listAll handles "_gjc/sessions/listAll": it lists the sessions of all directories.
func (h *storedHandlers) listAll(ctx context.Context, p *struct {
	Limit *int `json:"limit"`
},
) (any, error) {
	limit, err := checkLimit(p.Limit, 1000, 5000)
	if err != nil {
		return nil, err
	}
	list, total, err := h.store.ListAll(ctx, limit)
	if err != nil {
		return nil, err
	}
	result := listedSessions{Sessions: []acp.SessionInfo{}, Total: &total}
	for i := range list {
		result.Sessions = append(result.Sessions, sessionInfo(&list[i]))
	}
	return result, nil
}

// chatsByCwd handles "_gjc/chats/byCwd": it lists the sessions of one directory.
func (h *storedHandlers) chatsByCwd(ctx context.Context, p *struct {
	Cwd   string `json:"cwd"`
	Limit *int   `json:"limit"`
},
) (any, error) {
	limit, err := checkLimit(p.Limit, 100, 500)
	if err != nil {
		return nil, err
	}
	if !isUsable(p.Cwd) {
		return nil, invalidParams("cwd must be absolute: %q", p.Cwd)
	}
	page, err := h.store.List(ctx, sessions.ListOptions{Cwd: filepath.Clean(p.Cwd), Limit: limit})
	if err != nil {
		return nil, err
	}
	result := listedSessions{Sessions: []acp.SessionInfo{}}
	for i := range page.Sessions {
		result.Sessions = append(result.Sessions, sessionInfo(&page.Sessions[i]))
	}
	return result, nil
}

type project struct {
	Cwd          string `json:"cwd"`
	SessionCount int    `json:"sessionCount"`
	// LastActivityAt is in milliseconds since 1970.
	LastActivityAt int64  `json:"lastActivityAt"`
	LastTitle      string `json:"lastTitle"`
}

// projects handles "_gjc/projects/list": it lists the directories that have sessions.
func (h *storedHandlers) projects(ctx context.Context, _ *struct{}) (any, error) {
	list, err := h.store.Projects(ctx)
	if err != nil {
		return nil, err
	}
	result := struct {
		Projects      []project `json:"projects"`
		TotalSessions int       `json:"totalSessions"`
	}{Projects: []project{}}
	for _, p := range list {
		result.Projects = append(result.Projects, project{p.Cwd, p.Sessions, p.LastActivity.UnixNano() / int64(time.Millisecond), p.LastTitle})
		result.TotalSessions += p.Sessions
	}
	return result, nil
}
