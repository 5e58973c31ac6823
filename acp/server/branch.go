package server

import (
	"context"
	"slices"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
)

type branchParams struct {
	SessionID acp.SessionID `json:"sessionId"`
	// One of the two names the entry.
	EntryID   string        `json:"entryId"`
	MessageID acp.MessageID `json:"messageId"`
	// Summarize is absent for what the settings say.
	Summarize    *bool  `json:"summarize"`
	Instructions string `json:"instructions"`
}

type branchResult struct {
	Moved  bool               `json:"moved"`
	LeafID *string            `json:"leafId"`
	Left   int                `json:"left"`
	Prompt []acp.ContentBlock `json:"prompt,omitzero"`
	// Summary is absent for none.
	Summary string `json:"summary,omitzero"`
}

// branch is "_gjc/session/branch": it makes the conversation go on from an entry, in its place among the prompts.
func (s *Server) branch(ctx context.Context, p *branchParams) (func() (any, error), error) {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	if (p.EntryID == "") == (p.MessageID == "") {
		return nil, invalidParams("one of entryId and messageId must be there")
	}
	var done agent.Navigation
	begun := make(chan *agent.Turn, 1)
	var failed error
	e.then(func(session *agent.Session, err error) {
		if err != nil {
			failed = err
			begun <- nil
			return
		}
		e.out.beginTurn()
		begun <- session.Answer(func(ctx context.Context, t *agent.Turn) error {
			id := p.EntryID
			if id == "" {
				if id, err = s.entryOf(ctx, session.ID(), string(p.MessageID)); err != nil {
					return err
				}
			}
			summarize := s.summarizesBranches()
			if p.Summarize != nil {
				summarize = *p.Summarize
			}
			done, err = t.Navigate(ctx, id, agent.NavigateOptions{Summarize: summarize, Instructions: p.Instructions})
			return err
		})
	})
	return func() (any, error) {
		turn := <-begun
		if turn == nil {
			return nil, failed
		}
		r := turn.Wait(ctx)
		e.out.endTurn()
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

// entryOf returns the id of the entry that holds a message.
func (s *Server) entryOf(ctx context.Context, session, message string) (string, error) {
	log, err := s.opts.Store.View(ctx, session)
	if err != nil {
		return "", err
	}
	entries, err := log.Entries()
	if err != nil {
		return "", err
	}
	for _, e := range slices.Backward(entries) {
		if agent.MessageID(e) == message {
			return e.Ref().ID, nil
		}
	}
	return "", unknownMessage(session, message)
}
