package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// metaMessageID is the member of _meta in session/fork that names the message to fork at.
const metaMessageID = "messageId"

// ForkSession opens a new session with the history of another one, which may be open and is not changed. It replays nothing,
// because the client already has the history.
func (h *openHandlers) ForkSession(ctx context.Context, p *acp.ForkSessionRequest) (acp.Reply[acp.ForkSessionResponse], error) {
	params, err := h.params(p.Cwd, p.AdditionalDirectories, p.MCPServers, p.SystemPrompt)
	if err != nil {
		return nil, err
	}
	message, err := forkMessage(p.Meta)
	if err != nil {
		return nil, err
	}
	wanted, err := wantsWorktree(p.Meta)
	if err != nil {
		return nil, err
	}
	return func() (*acp.ForkSessionResponse, error) {
		at, err := findForkPoint(ctx, h.store, string(p.SessionID), message)
		if err != nil {
			return nil, err
		}
		var s *session
		var snap *agent.Snapshot
		if err := h.forking(ctx, p.SessionID, func() (string, error) {
			s, snap, err = h.fork(ctx, string(p.SessionID), params, at, wanted)
			if err != nil {
				return "", err
			}
			return string(s.id), nil
		}); err != nil {
			return nil, err
		}
		resp := &acp.ForkSessionResponse{SessionID: s.id, Modes: modeState(snap.Mode), ConfigOptions: s.config.options(snap), Meta: sessionMeta(params)}
		if at.prompt != nil {
			setMeta(&resp.Meta, "prompt", at.prompt)
		}
		return resp, nil
	}, nil
}

// forking calls fork, which makes a copy of a session and returns its ID. If the session is open, its hooks and extensions hear of it,
// and can cancel it.
func (h *openHandlers) forking(ctx context.Context, id acp.SessionID, fork func() (string, error)) error {
	if open, err := h.sessions.lookup(id); err == nil {
		if o, err := after(&open.opening, func(o *opened) *opened { return o })(); err == nil {
			return agent.Fork(ctx, o.Session, fork)
		}
	}
	_, err := fork()
	return err
}

func (h *openHandlers) fork(ctx context.Context, id string, params *sessionParams, at *forkPoint, wanted *bool) (*session, *agent.Snapshot, error) {
	prepare, done, err := h.filesAt(ctx, id, at, params, wanted)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	log, err := at.createLog(ctx, h.store, id, params)
	if err != nil {
		return nil, nil, err
	}
	opts, warnings, err := h.restored(ctx, log, params.configured())
	if err != nil {
		_ = log.Close() // the fork is stored, and can be opened once a model is available for it
		return nil, nil, err
	}
	opts.ForkOf = id
	more, err := h.giveWorktree(ctx, log, params, wanted, prepare)
	if err != nil {
		return nil, nil, err
	}
	warnings = append(warnings, more...)
	s, snap, err := h.begin(ctx, log, params, opts)
	if err != nil {
		return nil, nil, err
	}
	s.out.warn(warnings)
	return s, snap, nil
}

// forkMessage returns the ID of the message to fork at, or "" for none.
func forkMessage(meta acp.Meta) (string, error) {
	var id string
	ok, err := meta.Get(metaMessageID, &id)
	if ok && (err != nil || id == "") {
		return "", invalidParams("_meta.%s must be a message ID", metaMessageID)
	}
	return id, nil
}

// forkPoint is the position in a session where a fork ends.
type forkPoint struct {
	// leaf is the last entry of the fork. If it is empty, the fork is the whole session, or empty if none is set.
	leaf string
	none bool
	// prompt is the user's prompt at that position, to be edited and sent again; nil for a fork after an answer.
	prompt []acp.ContentBlock
	// before is the entry of the prompt that followed that position in time; empty for none.
	before string
}

// findForkPoint returns the position of a fork at a message: before a prompt, or after an answer and the results of its tool calls.
// Without a message the fork is the whole session.
func findForkPoint(ctx context.Context, store *sessions.Store, session, message string) (*forkPoint, error) {
	if message == "" {
		return new(forkPoint), nil
	}
	entries, err := entriesFrom(ctx, store, session, message)
	if err != nil {
		return nil, err
	}
	leaf, prompt := sessions.ToNavigate(entries[0])
	if prompt == nil {
		return &forkPoint{leaf: withResults(entries), before: nextPrompt(entries[1:])}, nil
	}
	blocks := content.PromptBlocks(prompt)
	if blocks == nil {
		blocks = []acp.ContentBlock{}
	}
	return &forkPoint{leaf: leaf, none: leaf == "", prompt: blocks, before: entries[0].Ref().ID}, nil
}

// nextPrompt returns the ID of the first prompt of the user.
func nextPrompt(entries []sessions.Entry) string {
	for _, e := range entries {
		if m, ok := e.(sessions.MessageEntry); ok && m.Message.Role == providers.RoleUser {
			if _, prompt := sessions.ToNavigate(e); prompt != nil {
				return e.Ref().ID
			}
		}
	}
	return ""
}

// entriesFrom returns the entries of a session starting with the one that holds a message.
func entriesFrom(ctx context.Context, store *sessions.Store, session, message string) ([]sessions.Entry, error) {
	log, err := store.View(ctx, session)
	if err != nil {
		return nil, err
	}
	entries, err := log.Entries()
	if err != nil {
		return nil, err
	}
	for i, e := range slices.Backward(entries) {
		if agent.MessageID(e) == message {
			return entries[i:], nil
		}
	}
	return nil, &acp.Error{Code: acp.ErrorCodeResourceNotFound, Message: fmt.Sprintf("session %s has no message %.80q", session, message)}
}

// withResults returns the last result of the tool calls in the first entry, or that entry if there are no results: a
// conversation must not end in calls without results.
func withResults(entries []sessions.Entry) string {
	at := entries[0].Ref().ID
	leaf := at
	open := make(map[string]bool)
	if m, ok := entries[0].(sessions.MessageEntry); ok {
		for _, c := range m.Message.ToolCalls() {
			open[c.ID] = true
		}
	}
	for _, e := range entries[1:] {
		if len(open) == 0 {
			break
		}
		if e.Ref().ParentID != at {
			continue
		}
		m, ok := e.(sessions.MessageEntry)
		switch {
		case !ok:
			at = e.Ref().ID // an entry other than a message, between results
		case m.Message.Role == providers.RoleTool && open[m.Message.ToolCallID]:
			delete(open, m.Message.ToolCallID)
			at = e.Ref().ID
			leaf = at
		default:
			return leaf
		}
	}
	return leaf
}

// createLog creates the file of a fork. The caller closes the log.
func (p *forkPoint) createLog(ctx context.Context, store *sessions.Store, id string, params *sessionParams) (*sessions.Log, error) {
	if !p.none {
		log, err := store.Fork(ctx, id, sessions.ForkOptions{Cwd: params.Cwd, AdditionalDirectories: params.Additional, Leaf: p.leaf})
		if p.prompt == nil || !errors.Is(err, sessions.ErrNothingToFork) {
			return log, err
		}
		// Only settings such as the mode precede the first prompt.
	}
	info, err := store.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	return store.Create(ctx, sessions.Header{
		Cwd: params.Cwd, AdditionalDirectories: params.Additional, ParentSession: info.ID,
	})
}
