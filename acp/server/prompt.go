package server

import (
	"context"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// Prompt queues a turn. Prompts of a session run one after the other, in the order of the wire.
func (s *Server) Prompt(ctx context.Context, p *acp.PromptRequest) (acp.Reply[acp.PromptResponse], error) {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	s.refreshModels(ctx) // before the session's model is asked: the last one may have asked for a login
	begin, err := turnOf(e, p)
	if err != nil {
		return nil, err
	}
	type started struct {
		turn *agent.Turn
		err  error
	}
	begun := make(chan started, 1)
	e.then(func(session *agent.Session, err error) {
		if err != nil {
			begun <- started{err: err}
			return
		}
		e.out.beginTurn()
		begun <- started{turn: begin(session)}
	})
	return func() (*acp.PromptResponse, error) {
		b := <-begun
		if b.err != nil {
			return nil, b.err
		}
		r := b.turn.Wait(ctx)
		e.out.endTurn()
		if e.ready() != nil {
			acp.AfterResponse(ctx, func() { s.refresh(e) })
		}
		if r.Err != nil {
			return nil, r.Err
		}
		return &acp.PromptResponse{StopReason: acp.StopReason(r.Stop), Usage: usage(r.Usage)}, nil
	}, nil
}

// Cancel ends the turn that runs and those that wait. For a session that is not there, or idle, it does nothing.
func (s *Server) Cancel(_ context.Context, p *acp.CancelNotification) error {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		for _, e := range s.entries() { // a child's, perhaps
			e.then(func(session *agent.Session, err error) {
				if err == nil {
					session.CancelChild(string(p.SessionID))
				}
			})
		}
		return err
	}
	e.then(func(session *agent.Session, err error) {
		if err == nil {
			session.Cancel()
		}
	})
	return nil
}

// usage is what the model calls of one turn came to; nil for none.
func usage(u providers.Usage) *acp.Usage {
	if u == (providers.Usage{}) {
		return nil
	}
	out := &acp.Usage{
		InputTokens: int64(u.Input), OutputTokens: int64(u.Output),
		TotalTokens: int64(u.Input + u.Output + u.CacheRead + u.CacheWrite),
	}
	for _, part := range []struct {
		n  int
		to **int64
	}{{u.Thinking, &out.ThoughtTokens}, {u.CacheRead, &out.CachedReadTokens}, {u.CacheWrite, &out.CachedWriteTokens}} {
		if part.n > 0 {
			*part.to = new(int64(part.n))
		}
	}
	return out
}

// promptParts converts the blocks of a prompt for the model. Its error is a -32602 that numbers the blocks from first.
func promptParts(blocks []acp.ContentBlock, first int) ([]providers.Part, error) {
	parts, err := content.PromptParts(blocks, first)
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	return parts, nil
}
