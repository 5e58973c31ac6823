package slash

import (
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/sessions"
)

// handoff runs /handoff: it creates a new session that begins with a document that the model writes about this one. The client must
// open the new session itself, because an agent cannot change the session that a client shows.
func handoff(c *call) error {
	document, err := c.turn.Handoff(c, c.args)
	switch {
	case errors.Is(err, contextwindow.ErrNothingToHandOff):
		return c.say("Nothing to hand off (no messages yet).", nil)
	case err != nil:
		return c.fail(fmt.Errorf("%w; this session is unchanged", err))
	}
	log, err := c.createSession(c.turn.Restored(document))
	if err != nil {
		return c.fail(fmt.Errorf("creating the new session: %w", err))
	}
	id := log.ID()
	if err := log.Close(); err != nil {
		return c.fail(err)
	}
	return c.say("Session "+id+" begins with the text below. Open it from the session list; this one is unchanged.\n\n"+document, nil)
}

// createSession creates a session that begins with a document and has the settings of this one. The caller must close its log.
func (c *call) createSession(document string) (*sessions.Log, error) {
	snap, err := c.session.Snapshot()
	if err != nil {
		return nil, err
	}
	ws := c.session.Workspace()
	log, err := c.opts().Store.Create(c, sessions.Header{
		Cwd: ws.Cwd, AdditionalDirectories: ws.Additional, ParentSession: c.session.ID(),
	})
	if err != nil {
		return nil, err
	}
	if err := c.begin(log, &snap, document); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if snap.Title != "" {
		if err := log.SetTitle("Handoff: "+snap.Title, "auto"); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	return log, nil
}

// begin writes the first entries of a session that continues this one, and copies the local files, which they refer to.
func (c *call) begin(log *sessions.Log, snap *agent.Snapshot, document string) error {
	entries, err := agent.HandoffEntries(c.turn, document)
	if err != nil {
		return err
	}
	for _, e := range append([]sessions.Entry{
		sessions.ModelChange{Model: snap.Model.Ref()},
		sessions.ThinkingChange{Level: snap.Thinking},
		sessions.ModeChange{Mode: string(snap.Mode)},
	}, entries...) {
		if _, err := log.Append(e); err != nil {
			return err
		}
	}
	return agent.CopyLocal(c, c.session, log.Local())
}
