package hooks

import "github.com/gajae-code/gjc/internal/configfile"

// FileSchema returns the schema of hooks.yml.
func FileSchema() configfile.JSONSchema {
	text := func() configfile.JSONSchema { return configfile.OfKind(configfile.Text) }
	some := func(item configfile.JSONSchema) configfile.JSONSchema {
		return configfile.AnyOf(item, configfile.ListOf(item))
	}
	event := configfile.OneOf(Events())
	hook := configfile.Fields(map[string]configfile.JSONSchema{
		"name":     configfile.JSONSchema{"type": "string", "minLength": 1, "maxLength": 100}.About("the name in messages; by default the file's name and a number"),
		"event":    some(event).About("when the hook runs"),
		"events":   some(event).About("the same as event"),
		"tool":     some(text()).About("the same as tools"),
		"tools":    some(text()).About("for events of tools: names or globs, such as mcp__*; by default all"),
		"command":  some(text()).About("the program and its arguments; no shell splits it, and a path with a slash is relative to the root"),
		"timeout":  configfile.JSONSchema{"type": "number", "exclusiveMinimum": 0, "maximum": maxTimeout.Seconds()}.About("seconds; by default 60"),
		"blocking": configfile.OfKind(configfile.Boolean).About("for tool_call: if the hook fails, the call does not run"),
	}, "command")
	return configfile.Fields(map[string]configfile.JSONSchema{"hooks": configfile.ListOf(hook)}, "hooks")
}
