package slash

import (
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers"
)

func (c *call) change(change agent.Change) (*agent.Snapshot, error) {
	return c.opts().Session.Change(c.session, change)
}

// changeModel runs /model.
func changeModel(c *call) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	models := c.opts().Models
	if c.args == "" {
		var s strings.Builder
		fmt.Fprintf(&s, "The model is `%s`, thinking %s. The models are:\n", snap.Model.Ref(), snap.Thinking)
		for _, m := range models.ModelsIn(c.opts().Workspace.Cwd) {
			fmt.Fprintf(&s, "- `%s`: %s\n", m.Ref(), m.DisplayName())
		}
		return c.say(s.String(), nil)
	}
	info, level, err := models.Find(c.args)
	if err != nil {
		return c.fail(err)
	}
	now, err := c.change(agent.ToModel(info, level))
	if err != nil {
		return c.fail(err)
	}
	return c.say(fmt.Sprintf("The model is now `%s`, thinking %s.", now.Model.Ref(), now.Thinking), nil)
}

// changeMode runs /mode.
func changeMode(c *call) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	if c.args == "" {
		return c.say(fmt.Sprintf("The mode is %s. The modes are:\n%s", snap.Mode, modeList()), nil)
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

// changeThinking runs /thinking.
func changeThinking(c *call) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	if c.args == "" {
		return c.say(fmt.Sprintf("Thinking is %s. The levels of `%s` are: %s.", snap.Thinking, snap.Model.Ref(), levelList(snap.Model)), nil)
	}
	level, ok := providers.ParseThinkingLevel(c.args)
	if !ok {
		return c.fail(fmt.Errorf("%w %q; %s has %s", agent.ErrThinkingLevel, c.args, snap.Model.Ref(), levelList(snap.Model)))
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

// planPrompt runs /plan: it switches to plan mode and sends the arguments, if there are any, as a prompt.
func planPrompt(c *call) (agent.Prepared, error) {
	if _, err := c.change(agent.ToMode(approval.ModePlan)); err != nil {
		return agent.Prepared{}, c.fail(err)
	}
	if c.args == "" && len(c.rest) == 0 {
		return agent.Prepared{}, c.say("The mode is now plan: nothing is changed until you choose another mode.", nil)
	}
	return agent.Prepared{Parts: c.parts(c.args), Shown: c.text}, nil
}
