package server

import (
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/sessions"
)

// handoff is /handoff: a new session that begins with what a model writes for whoever takes over. A client opens it
// itself: no agent can change the session that a client shows.
func handoff(c *commandCall) error {
	document, err := c.turn.Handoff(c, c.args)
	switch {
	case errors.Is(err, agent.ErrNothingToHandOff):
		return c.say("Nothing to hand off (no messages yet).", nil)
	case err != nil:
		return c.say("", fmt.Errorf("%w; this session is as it was", err))
	}
	log, err := c.handOver(c.turn.Restored(document))
	if err != nil {
		return c.say("", fmt.Errorf("making the new session: %w", err))
	}
	id := log.ID()
	if err := log.Close(); err != nil {
		return c.say("", err)
	}
	return c.say("Session "+id+" begins with the text below. Open it from the list of sessions; this one is as it was.\n\n"+document, nil)
}

// handOver makes the session that goes on from a document, set as this one is.
func (c *commandCall) handOver(document string) (*sessions.Log, error) {
	snap, err := c.session.Snapshot()
	if err != nil {
		return nil, err
	}
	ws := c.session.Workspace()
	log, err := c.server.opts.Store.Create(c, sessions.Header{
		Cwd: ws.Cwd, AdditionalDirectories: ws.Additional, ParentSession: c.session.ID(),
	})
	if err != nil {
		return nil, err
	}
	entries := []sessions.Entry{
		sessions.ModelChange{Model: snap.Model.Ref()},
		sessions.ThinkingChange{Level: snap.Thinking},
		sessions.ModeChange{Mode: string(snap.Mode)},
		agent.HandoffMessage(document),
	}
	for _, e := range entries {
		if _, err := log.Append(e); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	if snap.Title != "" {
		if err := log.SetTitle("Handoff: "+snap.Title, "auto"); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	return log, nil
}
