package custom

import (
	"context"
	"fmt"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/discovery"
	"github.com/gajae-code/gjc/agent/toolkit/effects"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// tool is an [agent.Tool] that runs the program of a file.
type tool struct {
	def  *definition
	spec agent.ToolSpec
}

// source is the name for models of where the tools come from.
const source = "tools of the user and the workspace"

func newTool(d *definition) *tool {
	return &tool{def: d, spec: agent.ToolSpec{
		Name: d.name, Description: d.description, Kind: d.effects.Kind(), Schema: d.schema, Exclusive: !d.parallel,
		Origin: discovery.Origin{Server: source},
	}}
}

// Spec implements [agent.Tool].
func (t *tool) Spec() *agent.ToolSpec { return &t.spec }

// Plan implements [agent.Tool]. The program is judged as a command, whose line is the same for every input: an "always" is for the tool.
// What the file declares is judged too, and bounds the program inside the boundary.
func (t *tool) Plan(_ context.Context, call *agent.Call) (*agent.CallPlan, error) {
	plan := &agent.CallPlan{Title: t.title(call.Input)}
	input, err := t.decode(call.Input)
	if err != nil {
		return plan, err
	}
	job, err := t.job(&call.Workspace, input)
	if err != nil {
		return plan, err
	}
	plan.Content = []agent.Content{agent.TextContent{Text: "```sh\n" + t.def.line() + "\n```\n\n```json\n" + text.TruncateBytes(string(call.Input), 4<<10) + "\n```"}}
	plan.Effects = []approval.Effect{{Action: approval.ActionCommand, Command: "exec " + t.def.line(), Dir: job.dir, Title: t.spec.Name + ": " + t.def.line()}}
	plan.Effects = append(plan.Effects, job.declared.Judged(t.spec.Name)...)
	return plan, nil
}

// title returns the name with the first values of the input.
func (t *tool) title(input jsonx.Raw) string {
	return t.spec.Name + " " + text.Truncate(text.OneLine(string(input)), 80)
}

// decode checks the input against the schema. Its error contains the schema, so that the model can repeat the call.
func (t *tool) decode(raw jsonx.Raw) (map[string]any, error) {
	if len(raw) == 0 {
		raw = jsonx.Raw("{}")
	}
	var input map[string]any
	err := jsonx.Unmarshal(raw, &input)
	if err == nil {
		err = t.def.input.Validate(input)
	}
	if err != nil {
		return nil, fmt.Errorf("%w for %s: %s; its schema is %s", agent.ErrBadInput, t.spec.Name, text.OneLine(err.Error()), text.TruncateBytes(string(t.spec.Schema), 2000))
	}
	return input, nil
}

// job holds what one call does.
type job struct {
	dir      string
	declared *effects.Effects
}

// job returns what a call with an input does.
func (t *tool) job(ws *agent.Workspace, input map[string]any) (*job, error) {
	j := &job{dir: ws.Cwd}
	if t.def.cwd != "" {
		j.dir = effects.Absolute(ws.Cwd, t.def.cwd)
	}
	var err error
	j.declared, err = t.def.effects.Of(t.spec.Name, j.dir, input)
	return j, err
}
