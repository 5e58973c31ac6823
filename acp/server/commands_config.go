package server

import (
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
)

// change makes a change and tells the client of it, which has heard of none of it. It returns what holds then.
func (c *commandCall) change(change agent.Change) (*agent.Snapshot, error) {
	var snap agent.Snapshot
	before, err := c.session.Snapshot()
	if err != nil {
		return nil, err
	}
	err = c.session.Change(change, func(now agent.Snapshot, changed bool) {
		snap = now
		if !changed {
			return
		}
		if now.Mode != before.Mode {
			c.entry.out.send(&acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(now.Mode)})
		}
		if now.Model.Ref() != before.Model.Ref() {
			c.server.preconnect(now.Model)
		}
		c.entry.out.send(&acp.ConfigOptionUpdate{ConfigOptions: c.server.configOptions(c.entry, &now)})
	})()
	return &snap, err
}

func changeModel(c *commandCall) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	if c.args == "" {
		var s strings.Builder
		fmt.Fprintf(&s, "The model is `%s`, thinking %s. There are:\n", snap.Model.Ref(), snap.Thinking)
		for _, m := range c.server.opts.Models.ModelsIn(c.entry.cwd) {
			fmt.Fprintf(&s, "- `%s`: %s\n", m.Ref(), m.DisplayName())
		}
		return c.say(s.String(), nil)
	}
	info, level, err := c.server.opts.Models.Find(c.args)
	if err != nil {
		return c.say("", err)
	}
	now, err := c.change(agent.ToModel(info, level))
	if err != nil {
		return c.say("", err)
	}
	return c.say(fmt.Sprintf("The model is now `%s`, thinking %s.", now.Model.Ref(), now.Thinking), nil)
}

func changeMode(c *commandCall) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	if c.args == "" {
		return c.say(fmt.Sprintf("The mode is %s. There are:\n%s", snap.Mode, modeList()), nil)
	}
	mode, err := approval.ParseMode(c.args)
	if err == nil {
		_, err = c.change(agent.ToMode(mode))
	}
	return c.say(fmt.Sprintf("The mode is now %s.", mode), err)
}

func modeList() string {
	var s strings.Builder
	for _, m := range approval.Modes() {
		fmt.Fprintf(&s, "- %s: %s\n", m.ID, m.Description)
	}
	return s.String()
}

func changeThinking(c *commandCall) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	if c.args == "" {
		return c.say(fmt.Sprintf("Thinking is %s. `%s` has: %s.", snap.Thinking, snap.Model.Ref(), levelList(snap.Model)), nil)
	}
	level, ok := providers.ParseThinkingLevel(c.args)
	if !ok {
		return c.say("", fmt.Errorf("%w %q; %s has %s", agent.ErrThinkingLevel, c.args, snap.Model.Ref(), levelList(snap.Model)))
	}
	_, err = c.change(agent.ToThinking(level))
	return c.say(fmt.Sprintf("Thinking is now %s.", level), err)
}

func levelList(m providers.ModelInfo) string {
	var all []string
	for _, l := range agent.ThinkingLevels(m) {
		all = append(all, string(l))
	}
	return strings.Join(all, ", ")
}

// planPrompt goes into plan mode and, with a text, prompts in it.
func planPrompt(c *commandCall) (agent.Prepared, error) {
	if _, err := c.change(agent.ToMode(approval.ModePlan)); err != nil {
		return agent.Prepared{}, c.say("", err)
	}
	if c.args == "" && len(c.rest) == 0 {
		return agent.Prepared{}, c.say("The mode is now plan: nothing is changed until you choose another mode.", nil)
	}
	return agent.Prepared{Parts: c.parts(c.args), Shown: c.typed}, nil
}
