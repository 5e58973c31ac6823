package server

import (
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// changed tells the client what a command has changed: it has heard of none of it.
func (c *commandCall) changed(mode bool) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	if mode {
		c.entry.out.send(&acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(snap.Mode)})
	}
	c.entry.out.send(&acp.ConfigOptionUpdate{ConfigOptions: c.server.configOptions(c.entry, &snap)})
	return nil
}

func changeModel(c *commandCall) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	if c.args == "" {
		var s strings.Builder
		fmt.Fprintf(&s, "The model is `%s`, thinking %s. There are:\n", snap.Model.Ref(), snap.Thinking)
		for _, m := range c.server.opts.Models.Models() {
			fmt.Fprintf(&s, "- `%s`: %s\n", m.Ref(), m.DisplayName())
		}
		return c.say(s.String(), nil)
	}
	info, level, err := c.server.opts.Models.Find(c.args)
	if err == nil {
		err = c.session.SetModel(info, level)()
	}
	if err == nil {
		err = c.changed(false)
	}
	if err == nil {
		snap, err = c.session.Snapshot()
	}
	return c.say(fmt.Sprintf("The model is now `%s`, thinking %s.", snap.Model.Ref(), snap.Thinking), err)
}

func changeMode(c *commandCall) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	if c.args == "" {
		return c.say(fmt.Sprintf("The mode is %s. There are:\n%s", snap.Mode, modeList()), nil)
	}
	mode, err := agent.ParseMode(c.args)
	if err == nil {
		err = c.setMode(mode)
	}
	return c.say(fmt.Sprintf("The mode is now %s.", mode), err)
}

func (c *commandCall) setMode(mode agent.Mode) error {
	if err := c.session.SetMode(mode)(); err != nil {
		return err
	}
	return c.changed(true)
}

func modeList() string {
	var s strings.Builder
	for _, m := range agent.Modes() {
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
	err = c.session.SetThinking(level)()
	if err == nil {
		err = c.changed(false)
	}
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
	if err := c.setMode(agent.ModePlan); err != nil {
		return agent.Prepared{}, c.say("", err)
	}
	if c.args == "" && len(c.rest) == 0 {
		return agent.Prepared{}, c.say("The mode is now plan: nothing is changed until you choose another mode.", nil)
	}
	return agent.Prepared{Parts: c.parts(c.args), Shown: c.typed}, nil
}
