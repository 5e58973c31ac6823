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

// metaMessageID is the member of session/fork's _meta that names the message to fork at.
const metaMessageID = "messageId"

// forkedFrom returns the id of the message that a fork is to end at; empty for none.
func forkedFrom(meta acp.Meta) (string, error) {
	var id string
	ok, err := meta.Get(metaMessageID, &id)
	if ok && (err != nil || id == "") {
		return "", invalidParams("_meta.%s must be the id of a message", metaMessageID)
	}
	return id, nil
}

// forkPoint is where a fork ends.
type forkPoint struct {
	// leaf is the last entry of the fork; empty for all of the session, unless none is set.
	leaf string
	// none says that the fork begins before the first message.
	none bool
	// prompt is what the user said there, to be changed and sent again; nil for a fork behind an answer.
	prompt []acp.ContentBlock
}

// forkPoint looks for the message that a fork is to end at: behind an answer with the results of its calls, before a
// prompt. Without a message it is the whole session.
func (s *Server) forkPoint(ctx context.Context, session, message string) (*forkPoint, error) {
	if message == "" {
		return new(forkPoint), nil
	}
	log, err := s.opts.Store.View(ctx, session)
	if err != nil {
		return nil, err
	}
	entries, err := log.Entries()
	if err != nil {
		return nil, err
	}
	for i, e := range slices.Backward(entries) {
		if agent.MessageID(e) != message {
			continue
		}
		leaf, words := sessions.ToNavigate(e)
		if words != nil {
			blocks := content.PromptBlocks(words)
			if blocks == nil {
				blocks = []acp.ContentBlock{}
			}
			return &forkPoint{leaf: leaf, none: leaf == "", prompt: blocks}, nil
		}
		return &forkPoint{leaf: withResults(entries[i:])}, nil
	}
	return nil, unknownMessage(session, message)
}

func unknownMessage(session, message string) error {
	return &acp.Error{Code: acp.ErrorCodeResourceNotFound, Message: fmt.Sprintf("session %s has no message %.80q", session, message)}
}

// withResults returns the last of the results of the calls in the message that entries begin with: a conversation must
// not end in calls without them. Where there are none it is the message itself.
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
			at = e.Ref().ID // a note between results
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

// forkLog makes the file of a fork.
func (s *Server) forkLog(ctx context.Context, id string, want *wanted, at *forkPoint) (*sessions.Log, error) {
	if !at.none {
		log, err := s.opts.Store.Fork(ctx, id, sessions.ForkOptions{Cwd: want.Cwd, AdditionalDirectories: want.Additional, Leaf: at.leaf})
		if at.prompt == nil || !errors.Is(err, sessions.ErrNothingToFork) {
			return log, err
		}
		// Before the first prompt stand only choices, such as the mode.
	}
	info, err := s.opts.Store.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.opts.Store.Create(ctx, sessions.Header{
		Cwd: want.Cwd, AdditionalDirectories: want.Additional, ParentSession: info.ID,
	})
}
