package slash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/mcp"
)

const (
	// completeWait bounds the wait for the values of a prompt's arguments: they only help.
	completeWait = 5 * time.Second
	// maxSuggested bounds the values in a text.
	maxSuggested = 20
	// otherSuffix ends the name of the field for a value that the server does not suggest.
	otherSuffix = "_other"
)

// missingError is the error for a required argument that has no value.
type missingError struct {
	prompt *mcp.Prompt
	name   string
	// values describes what the server suggests; empty for nothing.
	values string
}

func (e *missingError) Error() string {
	return fmt.Sprintf("the argument %s is missing; use /%s %s%s", e.name, promptName(e.prompt), promptHint(e.prompt), e.values)
}

// complete returns the values that the server suggests for an argument of a prompt; nil if it suggests none.
func complete(ctx context.Context, set *mcp.Set, p *mcp.Prompt, argument, value string, given map[string]string) *mcp.Completion {
	found, err := set.Complete(ctx, &mcp.CompleteRequest{Server: p.Server, Prompt: p.Name, Argument: argument, Value: value, Given: given})
	if err != nil || len(found.Values) == 0 {
		return nil
	}
	return found
}

// suggestions lists values in a text.
func suggestions(name string, found *mcp.Completion) string {
	if found == nil {
		return ""
	}
	values := found.Values[:min(len(found.Values), maxSuggested)]
	more := ""
	if found.More || len(values) < len(found.Values) {
		more = ", …"
	}
	return "\nfor " + name + " the server suggests: " + strings.Join(values, ", ") + more
}

// askArguments asks the user for the arguments of a prompt that have no value, with the values that the server suggests. If the editor
// has no forms, the error lists them.
func (c *call) askArguments(set *mcp.Set, args map[string]string, missing *missingError) error {
	ctx, cancel := context.WithTimeout(c, completeWait)
	defer cancel()
	properties := make(map[string]any)
	var open []string
	for _, a := range missing.prompt.Arguments {
		if _, given := args[a.Name]; given {
			continue
		}
		found := complete(ctx, set, missing.prompt, a.Name, "", args)
		missing.values += suggestions(a.Name, found)
		field := map[string]any{"type": "string", "title": a.Hint}
		if a.Title != "" {
			field["title"] = a.Title
		}
		if a.Description != "" {
			field["description"] = a.Description
		}
		open = append(open, a.Name)
		properties[a.Name] = field
		if found != nil {
			field["enum"] = found.Values
			properties[a.Name+otherSuffix] = map[string]any{"type": "string", "title": "Another value", "description": "For " + a.Hint + ", if none of the values is right"}
		}
	}
	asker := c.session.Elicitor()
	if asker == nil || !asker.Forms() {
		return missing
	}
	schema, err := jsonx.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		return err
	}
	answer, err := asker.Form(c, agent.Form{Message: missing.prompt.Server + ": the arguments of the prompt " + missing.prompt.Name, Schema: schema})
	switch {
	case c.Err() != nil:
		return context.Cause(c)
	case err != nil || answer.Action != agent.ElicitAccept:
		return missing // a form that asks for a secret is refused
	}
	var values map[string]any
	if err := jsonx.Unmarshal(answer.Content, &values); err != nil {
		return err
	}
	for _, name := range open {
		for _, field := range []string{name, name + otherSuffix} { // the other value wins
			if value, ok := values[field].(string); ok && value != "" {
				args[name] = value
			}
		}
	}
	return missingOf(missing.prompt, args, missing.values)
}

// missingOf returns the error for the first required argument without a value; nil if each has one.
func missingOf(p *mcp.Prompt, args map[string]string, values string) error {
	for _, a := range p.Arguments {
		if _, given := args[a.Name]; a.Required && !given {
			return &missingError{p, a.Name, values}
		}
	}
	return nil
}

// refused adds to the error of a prompt the values that its server suggests instead of the given ones.
func (c *call) refused(set *mcp.Set, p *mcp.Prompt, args map[string]string, err error) error {
	if _, ok := errors.AsType[*mcp.ServerError](err); !ok {
		return err
	}
	ctx, cancel := context.WithTimeout(c, completeWait)
	defer cancel()
	var values strings.Builder
	for _, a := range p.Arguments {
		value, given := args[a.Name]
		if !given {
			continue
		}
		others := maps.Clone(args)
		delete(others, a.Name)
		found := complete(ctx, set, p, a.Name, value, others)
		if found == nil {
			found = complete(ctx, set, p, a.Name, "", others)
		}
		if found != nil && !slices.Contains(found.Values, value) {
			values.WriteString(suggestions(a.Name, found))
		}
	}
	if values.Len() == 0 {
		return err
	}
	return fmt.Errorf("%w%s", err, values.String())
}

const completeUsage = "use /mcp complete <server> <prompt or URI template> <argument> [value]"

// completeArgument runs /mcp complete.
func completeArgument(c *call, set *mcp.Set, words []string) error {
	if len(words) < 3 || len(words) > 4 {
		return c.fail(errors.New(completeUsage))
	}
	_ = set.Ready(c)
	req := &mcp.CompleteRequest{Server: words[0], Argument: words[2]}
	if len(words) == 4 {
		req.Value = words[3]
	}
	if strings.Contains(words[1], "{") {
		req.Template = words[1]
	} else {
		req.Prompt = words[1]
	}
	found, err := set.Complete(c, req)
	switch {
	case err != nil:
		return c.fail(err)
	case len(found.Values) == 0:
		return c.say("The server suggests no values.", nil)
	}
	var s strings.Builder
	for _, v := range found.Values {
		s.WriteString("- `" + text.OneLine(v) + "`\n")
	}
	if found.More {
		s.WriteString("There are more; give the beginning of the value.\n")
	}
	return c.say(s.String(), nil)
}

// promptArguments assigns the words that follow a command to the prompt's arguments: name=value by name, the others in order. The
// last argument receives all remaining words. If a required argument has no word, it returns a [*missingError] and the others.
func promptArguments(p *mcp.Prompt, typed string) (map[string]string, error) {
	args := make(map[string]string)
	var plain []string
	for _, w := range commands.Split(typed) {
		if name, value, ok := strings.Cut(w, "="); ok && slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool { return a.Name == name }) {
			args[name] = value
			continue
		}
		plain = append(plain, w)
	}
	var open []mcp.PromptArgument
	for _, a := range p.Arguments {
		if _, given := args[a.Name]; !given {
			open = append(open, a)
		}
	}
	for i, a := range open {
		switch {
		case i >= len(plain):
		case i == len(open)-1:
			args[a.Name] = strings.Join(plain[i:], " ")
		default:
			args[a.Name] = plain[i]
		}
	}
	if len(open) == 0 && len(plain) > 0 {
		return nil, fmt.Errorf("unexpected argument %q; use /%s %s", plain[0], promptName(p), promptHint(p))
	}
	return args, missingOf(p, args, "")
}
