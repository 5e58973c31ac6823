package server

import (
	"context"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/sessions"
)

// branchHandlers handles the extension method that moves a session to another entry of its tree.
type branchHandlers struct {
	sessions *registry
	store    *sessions.Store
	// summarizes reports whether to summarize the branch that the session leaves, unless the client specifies it.
	summarizes func() bool
}

type branchParams struct {
	SessionID acp.SessionID `json:"sessionId"`
	// Exactly one of EntryID and MessageID is set.
	EntryID   string        `json:"entryId"`
	MessageID acp.MessageID `json:"messageId"`
	// Summarize is absent to follow the settings.
	Summarize    *bool  `json:"summarize"`
	Instructions string `json:"instructions"`
}

type branchResult struct {
	Moved  bool               `json:"moved"`
	LeafID *string            `json:"leafId"`
	Left   int                `json:"left"`
	Prompt []acp.ContentBlock `json:"prompt,omitzero"`
	// Summary is absent if the branch was not summarized.
	Summary string `json:"summary,omitzero"`
}

// branch handles "_gjc/session/branch": it continues the conversation from an entry. The call is queued with the prompts.
func (h *branchHandlers) branch(ctx context.Context, p *branchParams) (func() (any, error), error) {
	s, err := h.sessions.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	if (p.EntryID == "") == (p.MessageID == "") {
		return nil, invalidParams("set either entryId or messageId")
	}
	var done agent.Navigation
	begun := after(&s.opening, func(o *opened) *agent.Turn {
		s.out.beginTurn()
		return o.Prompt(agent.Prompt{Answer: func(ctx context.Context, t *agent.RunningTurn) (err error) {
			done, err = h.navigate(ctx, t, o.ID(), p)
			return err
		}})
	})
	return func() (any, error) {
		turn, err := begun()
		if err != nil {
			return nil, err
		}
		r := turn.Wait(ctx)
		s.out.endTurn()
		switch {
		case r.Err != nil:
			return nil, r.Err
		case r.Stop == agent.StopCancelled:
			return nil, context.Canceled
		}
		result := branchResult{Moved: done.Moved, Left: done.Left, Prompt: content.PromptBlocks(done.Words), Summary: done.Summary}
		if done.Leaf != "" {
			result.LeafID = &done.Leaf
		}
		return result, nil
	}, nil
}

func (h *branchHandlers) navigate(ctx context.Context, t *agent.RunningTurn, session string, p *branchParams) (agent.Navigation, error) {
	id := p.EntryID
	if id == "" {
		entries, err := entriesFrom(ctx, h.store, session, string(p.MessageID))
		if err != nil {
			return agent.Navigation{}, err
		}
		id = entries[0].Ref().ID
	}
	summarize := h.summarizes()
	if p.Summarize != nil {
		summarize = *p.Summarize
	}
	return t.Navigate(ctx, id, agent.NavigateOptions{Summarize: summarize, Instructions: p.Instructions})
}
