package server

import (
	"context"
	"errors"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/sides"
	"github.com/gajae-code/gjc/acp/server/worktrees"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/rewind"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/worktree"
	"github.com/gajae-code/gjc/sessions"
)

// metaWorktree is the member of _meta that asks for a worktree in session/new and session/fork. In the responses, and in those of
// session/load and session/resume, it is the directory in which the session works.
const metaWorktree = "gjc/worktree"

// wantsWorktree returns whether the client wants a worktree; nil if the user's settings decide.
func wantsWorktree(meta acp.Meta) (*bool, error) {
	var wanted bool
	switch ok, err := meta.Get(metaWorktree, &wanted); {
	case !ok:
		return nil, nil //nolint:nilnil // the client does not say
	case err != nil:
		return nil, invalidParams("_meta.%s must be true or false", metaWorktree)
	}
	return &wanted, nil
}

// metaFiles is the member of _meta in a response that opens a session which says whose files it uses, if client and agent may be on different
// machines.
const metaFiles = "gjc/files"

// sessionMeta returns the _meta of a response that opens a session.
func sessionMeta(params *sessionParams) (m acp.Meta) {
	if params.worktree != nil {
		setMeta(&m, metaWorktree, params.Cwd)
	}
	if params.side.Side != "" {
		setMeta(&m, metaFiles, params.side.Side)
	}
	return m
}

// giveWorktree gives a new session a worktree, if the client or the user's settings want that. prepare changes its files first; nil for
// those that are there. After an error the session is gone. If only the settings want a worktree, the session begins without one, and the
// warnings say why.
func (h *openHandlers) giveWorktree(ctx context.Context, log *sessions.Log, params *sessionParams, wanted *bool, prepare func(context.Context, *worktree.Worktree) error) (warnings []string, err error) {
	if !h.givesWorktree(wanted) {
		return nil, nil
	}
	if params.side.Side == sides.Client {
		err = errors.New("its files are those of the client")
	} else {
		params.worktree, err = h.worktrees.Make(ctx, log.ID(), &params.Workspace, prepare)
	}
	switch {
	case err == nil:
		return nil, nil
	case wanted == nil:
		return []string{"This session works in your files: it has no worktree, because " + err.Error()}, nil
	}
	_ = log.Close() // nothing but its beginning was written
	if deleteErr := h.store.Delete(context.WithoutCancel(ctx), log.ID()); deleteErr != nil {
		err = errors.Join(err, deleteErr)
	}
	return nil, &acp.Error{Code: acp.ErrorCodeInvalidParams, Message: "no worktree can be made: " + err.Error()}
}

func (h *openHandlers) givesWorktree(wanted *bool) bool {
	if wanted != nil {
		return *wanted
	}
	return h.worktrees.Always()
}

// enterWorktree opens the worktree of a stored session. If it cannot be used, the session works in the directories that the client has
// named, and the warnings say so.
func (h *openHandlers) enterWorktree(ctx context.Context, id string, params *sessionParams) (warnings []string) {
	var err error
	if params.side.Side == sides.Client {
		return nil
	}
	if params.worktree, err = h.worktrees.Enter(ctx, id, &params.Workspace); err != nil {
		return []string{"This session works in " + params.Cwd + ", and not in its worktree: " + err.Error()}
	}
	return nil
}

// leave lets the worktree stay, because its session cannot be opened.
func (p *sessionParams) leave(ctx context.Context) {
	if p.worktree != nil {
		p.worktree.Close(ctx)
	}
}

// filesAt returns a function for [worktrees.Store.Make] that makes the files what they were at the position of a fork; nil if they are what
// they were, or if the fork gets no worktree. It moves the directories of the fork into the worktree of the original, if that has one. The
// caller calls done when the worktree is made.
func (h *openHandlers) filesAt(ctx context.Context, id string, at *forkPoint, params *sessionParams, wanted *bool) (prepare func(context.Context, *worktree.Worktree) error, done func(), err error) {
	done = func() {}
	if !h.givesWorktree(wanted) || params.side.Side == sides.Client {
		return nil, done, nil
	}
	ws, recorder, done, err := h.past(ctx, id)
	if err != nil {
		return nil, done, err
	}
	if err := ws(&params.Workspace); err != nil {
		done()
		return nil, nil, err
	}
	if at.before == "" {
		return nil, done, nil
	}
	if recorder == nil {
		return failing(errors.New("checkpoints are off, so the files of that time are not known; fork without a message, or set checkpoints.enabled")), done, nil
	}
	plan, err := recorder.Plan(ctx, &rewind.Step{Kind: checkpoint.Prompt, Entry: at.before})
	if err != nil {
		return failing(err), done, nil //nolint:nilerr // whether that matters depends on who wants the worktree
	}
	return func(ctx context.Context, w *worktree.Worktree) error { return plan.RestoreIn(ctx, w.Dir) }, done, nil
}

// failing returns a function for [worktrees.Store.Make] that fails.
func failing(err error) func(context.Context, *worktree.Worktree) error {
	return func(context.Context, *worktree.Worktree) error { return err }
}

// past returns a function that moves directories into the worktree of a session, if it has one, and the recorded states of the session's
// directories; nil if they are not recorded. The caller calls done.
func (h *openHandlers) past(ctx context.Context, id string) (move func(*agent.Workspace) error, recorder *rewind.Recorder, done func(), err error) {
	stays := func(*agent.Workspace) error { return nil }
	if s, err := h.sessions.lookup(acp.SessionID(id)); err == nil {
		o, err := s.wait(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		recorder, _ := agent.LookupValue[*rewind.Recorder](o.Values())
		if tree, ok := agent.LookupValue[*worktrees.Session](o.Values()); ok {
			return tree.Move, recorder, func() {}, nil
		}
		return stays, recorder, func() {}, nil
	}
	info, err := h.store.Info(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	ws := agent.Workspace{Cwd: info.Cwd, Additional: info.AdditionalDirectories}
	tree, err := h.worktrees.Enter(ctx, id, &ws)
	if err != nil {
		return nil, nil, nil, err
	}
	closers := []func(){}
	move = stays
	if tree != nil {
		move = tree.Move
		closers = append(closers, func() { tree.Close(ctx) })
	}
	if recorder = h.builder.recorder(&ws, id); recorder != nil {
		closers = append(closers, func() { recorder.Close(ctx) })
	}
	return move, recorder, func() {
		for _, end := range closers {
			end()
		}
	}, nil
}
