package extensions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/discovery"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/effects"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// maxDescription bounds what each request contains, and maxSchema the schema of the input, in bytes.
	maxDescription, maxSchema = 8 << 10, 32 << 10
)

// tool is an [agent.Tool] of an extension.
type tool struct {
	of      *extension
	spec    agent.ToolSpec
	input   *jsonschema.Resolved
	effects *effects.Effects
}

// newTool returns the tool that an extension has registered, or why it cannot be used.
func newTool(e *extension, reg *toolRegistration) (*tool, error) {
	name := text.Truncate(reg.Name, maxName)
	if !validName(reg.Name) {
		return nil, fmt.Errorf("the tool name %q must have 1 to %d letters, digits, - and _, the first a letter", name, maxName)
	}
	description := strings.TrimSpace(reg.Description)
	if description == "" || len(description) > maxDescription {
		return nil, fmt.Errorf("the tool %s needs a description of at most %d bytes, which the model chooses it by", name, maxDescription)
	}
	raw := reg.InputSchema
	if len(raw) == 0 || jsonx.IsNull(raw) {
		raw = jsonx.Raw(`{"type":"object","properties":{}}`)
	}
	schema := new(jsonschema.Schema)
	err := jsonx.Unmarshal(raw, schema)
	switch {
	case err == nil && schema.Type != "object":
		err = errors.New(`it needs "type": "object"`)
	case err == nil && len(raw) > maxSchema:
		err = fmt.Errorf("it is larger than %s", toolkit.Size(maxSchema))
	}
	var resolved *jsonschema.Resolved
	if err == nil {
		resolved, err = schema.Resolve(nil) // a reference to another document is an error
	}
	if err != nil {
		return nil, fmt.Errorf("the inputSchema of the tool %s cannot be used: %s", name, text.OneLine(err.Error()))
	}
	declared, err := reg.effects()
	if err != nil {
		return nil, fmt.Errorf("the effects of the tool %s cannot be used: %w", name, err)
	}
	return &tool{of: e, input: resolved, effects: declared, spec: agent.ToolSpec{
		Name: reg.Name, Description: description, Kind: declared.Kind(), Schema: raw, Exclusive: !reg.Parallel,
		Origin: discovery.Origin{Server: "extension " + e.def.name},
	}}, nil
}

// effects returns what the tool declares to do; nil if it declares nothing.
func (reg *toolRegistration) effects() (*effects.Effects, error) {
	if len(reg.Effects) == 0 || jsonx.IsNull(reg.Effects) {
		return nil, nil
	}
	n, err := configfile.ParseJSON(reg.Effects)
	if err != nil {
		return nil, err
	}
	declared, reason := effects.Parse(n)
	if reason != "" {
		return nil, errors.New(reason)
	}
	return declared, nil
}

// Spec implements [agent.Tool].
func (t *tool) Spec() *agent.ToolSpec { return &t.spec }

// Plan implements [agent.Tool]. A call is judged as a command: the program's, with the name of the tool, so that an "always" is for the
// tool. What the tool declares is judged too. The program runs outside the boundary, so that nothing keeps it to that.
func (t *tool) Plan(_ context.Context, call *agent.Call) (*agent.CallPlan, error) {
	plan := &agent.CallPlan{Title: t.spec.Name + " " + text.Truncate(text.OneLine(string(call.Input)), 80)}
	input, err := t.check(call.Input)
	if err != nil {
		return plan, err
	}
	declared, err := t.effects.Of(t.spec.Name, call.Workspace.Cwd, input)
	if err != nil {
		return plan, err
	}
	line := t.of.def.line() + " " + text.ShellWord(t.spec.Name)
	plan.Content = []agent.Content{agent.TextContent{
		Text: "A tool of the extension " + t.of.def.name + " (" + t.of.def.path + "):\n\n```json\n" + text.TruncateBytes(string(call.Input), 4<<10) + "\n```",
	}}
	plan.Effects = []approval.Effect{{Action: approval.ActionCommand, Command: "exec " + line, Dir: call.Workspace.Cwd, Title: t.spec.Name + ": a tool of the extension " + t.of.def.name}}
	plan.Effects = append(plan.Effects, declared.Judged(t.spec.Name)...)
	return plan, nil
}

// check checks the input against the schema. Its error contains the schema, so that the model can repeat the call.
func (t *tool) check(raw jsonx.Raw) (map[string]any, error) {
	var input map[string]any
	err := jsonx.Unmarshal(object(raw), &input)
	if err == nil {
		err = t.input.Validate(input)
	}
	if err != nil {
		return nil, fmt.Errorf("%w for %s: %s; its schema is %s", agent.ErrBadInput, t.spec.Name, text.OneLine(err.Error()), text.TruncateBytes(string(t.spec.Schema), 2000))
	}
	return input, nil
}

func object(raw jsonx.Raw) jsonx.Raw {
	if len(raw) == 0 {
		return jsonx.Raw("{}")
	}
	return raw
}

// Run implements [agent.Tool].
func (t *tool) Run(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	if _, err := t.check(call.Input); err != nil {
		return nil, err
	}
	p := t.of.running()
	if p == nil {
		return nil, fmt.Errorf("%w: %s; gjc starts an extension that has ended again a few times, so try again later or go on without it", errNotRunning, t.of.def.name)
	}
	defer call.Values.FilesChanged() // whatever the program did to files
	if call.Update != nil {
		p.mu.Lock()
		p.progress[call.ID] = call.Update
		p.mu.Unlock()
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.progress, call.ID)
		}()
	}
	limited, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("the extension %s did not answer within %v", t.of.def.name, callTimeout))
	defer cancel()
	var reply toolkit.ToolReply
	if err := p.call(limited, "tool/call", toolCallParams{call.ID, t.spec.Name, object(call.Input)}, &reply); err != nil {
		return nil, fmt.Errorf("the tool %s of the extension %s failed: %w", t.spec.Name, t.of.def.name, err)
	}
	return reply.Result(ctx, call, t.spec.Name), nil
}
