package slash

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/providers"
)

// promptPrefix is the prefix of commands for prompts of MCP servers. promptWait bounds how long such a command waits for its server
// to connect.
const (
	promptPrefix = "mcp:"
	promptWait   = 2 * time.Second
)

// promptName returns the command for a prompt of an MCP server.
func promptName(p *mcp.Prompt) string {
	return promptPrefix + cleanName(p.Server) + ":" + cleanName(p.Name)
}

// cleanName returns a name of a server in the form in which users type it.
func cleanName(s string) string { return strings.Join(strings.FieldsFunc(s, notInName), "-") }

func notInName(r rune) bool { return r <= ' ' || r == '/' || r == ':' || r == 0x7f }

func promptDescription(p *mcp.Prompt) string {
	for _, text := range []string{p.Description, p.Title} {
		if line, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); line != "" {
			return line
		}
	}
	return "A prompt from the MCP server " + p.Server
}

func promptHint(p *mcp.Prompt) string {
	var all []string
	for _, a := range p.Arguments {
		if a.Required {
			all = append(all, "<"+a.Hint+">")
		} else {
			all = append(all, "["+a.Hint+"]")
		}
	}
	return strings.Join(all, " ")
}

// mcpPrompt returns the prompt of an MCP server that the command names, or nil.
func (c *call) mcpPrompt() (*mcp.Set, *mcp.Prompt) {
	if !strings.HasPrefix(c.name, promptPrefix) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(c, promptWait)
	defer cancel()
	set := c.opts().MCP.Built(ctx)
	if set == nil {
		return nil, nil
	}
	_ = set.Ready(ctx) // a server that is not ready in time has no prompts yet
	prompts := set.Prompts()
	for i := range prompts {
		if promptName(&prompts[i]) == c.name {
			return set, &prompts[i]
		}
	}
	return nil, nil
}

// fillPrompt requests a prompt from its server, with the arguments of the command.
func (c *call) fillPrompt(set *mcp.Set, p *mcp.Prompt) (agent.Prepared, error) {
	args, err := promptArguments(p, c.args)
	if missing, ok := errors.AsType[*missingError](err); ok {
		err = c.askArguments(set, args, missing)
	}
	if err != nil {
		return agent.Prepared{}, c.fail(err)
	}
	filled, err := set.GetPrompt(c, p.Server, p.Name, args)
	if err != nil {
		return agent.Prepared{}, c.fail(c.refused(set, p, args, err))
	}
	out := agent.Prepared{Shown: c.text}
	for _, m := range filled.Messages {
		for _, part := range m.Parts {
			switch part := part.(type) {
			case mcp.Text:
				text := part.Text
				if m.Role == "assistant" {
					text = "[You answered:]\n" + text
				}
				out.Parts = append(out.Parts, providers.Text{Text: text})
			case mcp.Image:
				out.Parts = append(out.Parts, providers.Image{MIMEType: part.MIMEType, Data: part.Data})
			case mcp.Embedded:
				out.Parts = append(out.Parts, providers.Text{Text: content.EmbeddedText(part.URI, part.Text)})
			case mcp.Link:
				out.Parts = append(out.Parts, providers.Text{Text: cmp.Or(part.Title, part.Name) + " (" + part.URI + ")"})
			default:
				out.Parts = append(out.Parts, providers.Text{Text: "[audio omitted: audio is not sent to models]"})
			}
		}
	}
	if len(out.Parts) == 0 {
		return agent.Prepared{}, c.fail(errors.New("the server's prompt is empty"))
	}
	out.Parts = append(out.Parts, c.rest...)
	return out, nil
}
