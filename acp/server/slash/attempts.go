package slash

import (
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/attempts"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// attemptsUsage explains /attempts.
const attemptsUsage = "Use /attempts N [models…] -- task to let N helpers try the same task and merge the best change, /attempts to list them, and /attempts merge K to merge another one."

// maxAttemptTitle bounds the description of a task, in characters.
const maxAttemptTitle = 60

// attempt runs /attempts.
func attempt(c *call) error {
	set, _ := agent.LookupValue[*attempts.Set](c.session.Values())
	fields := strings.Fields(c.args)
	switch {
	case len(fields) == 0:
		if set == nil || len(set.All()) == 0 {
			return c.say("There are no attempts in this session. "+attemptsUsage, nil)
		}
		return c.say(attempts.Table(set.All())+"\n"+attemptsUsage, nil)
	case fields[0] == "merge" && len(fields) == 2:
		if set == nil {
			set = new(attempts.Set)
		}
		a, err := set.Find(fields[1])
		if err != nil {
			return c.fail(err)
		}
		return c.tool(agent.MergeTool, map[string]string{"name": a.Helper})
	}
	args, err := attempts.ParseArguments(c.args)
	if err != nil {
		return c.fail(fmt.Errorf("%w. For example: /attempts 3 -- make the parser accept comments", err))
	}
	type object = map[string]any
	return c.tool(agent.TaskTool, object{
		"tasks":    []object{{"description": text.Truncate(text.VisibleLine(args.Task), maxAttemptTitle), "assignment": args.Task}},
		"attempts": object{"count": args.Count, "models": args.Models},
	})
}

// tool runs a tool of the model's for the user, and shows its result.
func (c *call) tool(name string, input any) error {
	raw, err := jsonx.Marshal(input)
	if err != nil {
		return err
	}
	done, err := c.turn.RunTool(name, raw)
	if err != nil {
		return c.fail(err)
	}
	return c.say(done, nil)
}
