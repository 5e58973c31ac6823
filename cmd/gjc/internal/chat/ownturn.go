package chat

import (
	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
)

// ownTurn begins or ends a turn that the agent runs without a prompt. The line that the user edits waits meanwhile.
func (c *chat) ownTurn(u acp.SessionUpdate) {
	info, ok := u.(*acp.SessionInfoUpdate)
	if !ok {
		return
	}
	var now struct {
		State      string         `json:"state"`
		StopReason acp.StopReason `json:"stopReason"`
	}
	if ok, err := info.Meta.Get(content.StateMeta, &now); !ok || err != nil {
		return
	}
	switch {
	case now.State == "running" && c.work == nil:
		if c.view.editor != nil {
			c.draft = c.editor.Text()
			c.view.edit(nil, "")
		}
		c.view.finish()
		c.work = &work{turn: true, own: true, cancel: func() {}, done: make(chan func(), 1)}
		c.view.busy = working
		c.view.doing(working)
	case now.State != "running" && c.work != nil && c.work.own:
		stop := now.StopReason
		if stop == "error" { // a notice says why
			stop = acp.StopReasonEndTurn
		}
		c.work.done <- func() { c.answered(&acp.PromptResponse{StopReason: stop}, nil) }
	}
}
