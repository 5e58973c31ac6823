package custom

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/discovery"
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
	kind := agent.KindExecute
	if d.effects != nil && len(d.effects.write) == 0 {
		kind = agent.KindRead
	}
	return &tool{def: d, spec: agent.ToolSpec{
		Name: d.name, Description: d.description, Kind: kind, Schema: d.schema, Exclusive: !d.parallel,
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
	add := func(action approval.Action, paths []string, verb string) {
		if len(paths) > 0 {
			plan.Effects = append(plan.Effects, approval.Effect{Action: action, Paths: paths, Title: t.spec.Name + " " + verb + " " + strings.Join(paths, ", ")})
		}
	}
	add(approval.ActionRead, job.read, "reads")
	add(approval.ActionEdit, job.write, "changes")
	for _, host := range job.hosts {
		plan.Effects = append(plan.Effects, approval.Effect{Action: approval.ActionNetwork, Host: host, Title: t.spec.Name + " connects to " + host})
	}
	if t.def.effects != nil && t.def.effects.network {
		plan.Effects = append(plan.Effects, approval.Effect{Action: approval.ActionNetwork, Title: t.spec.Name + " connects to any host"})
	}
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
	dir                string
	read, write, hosts []string
}

// job returns what a call with an input does. Its paths are absolute.
func (t *tool) job(ws *agent.Workspace, input map[string]any) (*job, error) {
	j := &job{dir: ws.Cwd}
	if t.def.cwd != "" {
		j.dir = absolute(ws.Cwd, t.def.cwd)
	}
	if t.def.effects == nil {
		return j, nil
	}
	var err error
	if j.read, err = t.paths(j.dir, t.def.effects.read, input); err != nil {
		return nil, err
	}
	if j.write, err = t.paths(j.dir, t.def.effects.write, input); err != nil {
		return nil, err
	}
	j.hosts = t.def.effects.hosts
	return j, nil
}

func absolute(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// paths fills in the parameters of declared paths. A parameter that is a list stands for several paths, one that is absent for none.
func (t *tool) paths(dir string, patterns []string, input map[string]any) ([]string, error) {
	var all []string
	for _, pattern := range patterns {
		filled := []string{""}
		for rest := pattern; rest != ""; {
			before, after, found := strings.Cut(rest, "{")
			name, tail, _ := strings.Cut(after, "}")
			values := []string{""}
			if found {
				var err error
				if values, err = t.values(name, input[name]); err != nil {
					return nil, err
				}
			}
			var next []string
			for _, start := range filled {
				for _, value := range values {
					next = append(next, start+before+value)
				}
			}
			filled, rest = next, tail
		}
		for _, path := range filled {
			if path != "" {
				all = append(all, absolute(dir, path))
			}
		}
	}
	return all, nil
}

// values returns the values of a parameter in a path.
func (t *tool) values(name string, value any) ([]string, error) {
	switch value := value.(type) {
	case nil:
		return nil, nil
	case string:
		if strings.ContainsRune(value, 0) {
			break
		}
		return []string{value}, nil
	case []any:
		var all []string
		for _, v := range value {
			some, err := t.values(name, v)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%w for %s: %s names files, so it must be a string or a list of strings", agent.ErrBadInput, t.spec.Name, name)
}
