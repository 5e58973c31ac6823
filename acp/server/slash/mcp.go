package slash

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/tools/mcptools"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/mcp/oauth"
)

const noMCPServers = "This session has no MCP servers."

// mcpVerbs are the verbs of "gjc mcp" that /mcp has too. Those that change a definition are followed by a reload.
var mcpVerbs = [...]struct {
	name    string
	changes bool
}{
	{"get", false},
	{"test", false},
	{"add", true},
	{"add-json", true},
	{"enable", true},
	{"disable", true},
	{"remove", true},
	{"import", true},
}

// mcpServers runs /mcp.
func mcpServers(c *call) error {
	config := c.opts().MCP
	verb, name, _ := strings.Cut(c.args, " ")
	name = strings.TrimSpace(name)
	config.Reload(c, verb == "reload")
	set := config.Built(c)
	for _, v := range mcpVerbs {
		if v.name != verb {
			continue
		}
		out, err := config.Run(c, commands.Split(c.args))
		if err == nil && v.changes {
			config.Reload(c, false)
		}
		return c.say(out, err)
	}
	switch {
	case verb == "" || verb == "list" || verb == "reload":
		return c.say(mcpStatus(set, config.Definitions(c)), nil)
	case set == nil:
		return c.say(noMCPServers, nil)
	case verb == "select":
		return selectMCPTools(c, name)
	case verb == "complete":
		return completeArgument(c, set, commands.Split(name))
	case verb == "tools":
		return c.say(mcpTools(set, name), nil)
	case verb == "login" && name != "":
		return c.say("You are signed in to "+name+".", signIn(c, set, name))
	case verb == "logout" && name != "":
		was, err := set.SignOut(c, name)
		if err == nil && !was {
			err = fmt.Errorf("you are not signed in to %s", name)
		}
		return c.say("You are signed out of "+name+".", err)
	case verb == "reconnect" && name != "":
		return c.say("Connected to "+name+".", set.Reconnect(c, name))
	default:
		return c.say("Use /mcp, /mcp tools [server], /mcp select <all | none | tool…>, /mcp reconnect <server>, /mcp complete, /mcp reload, or a verb of gjc mcp: "+
			"add, add-json, get, test, enable, disable, remove, import, login, logout.", nil)
	}
}

// signIn leads the user through signing in to a server: by a question of the editor, or if it has none for addresses, by a message.
func signIn(c *call, set *mcp.Set, name string) error {
	id := rand.Text()
	asker := c.session.Elicitor()
	err := set.SignIn(c, name, func(ctx context.Context, address string) error {
		if asker == nil || !asker.URLs() {
			c.turn.Say("Open this address in a browser to sign in to " + name + ":\n\n<" + address + ">\n\n")
			return nil
		}
		action, err := asker.URL(ctx, agent.URLRequest{ID: id, Message: "Sign in to the MCP server " + name + ".", URL: address})
		if err == nil && action != agent.ElicitAccept {
			err = oauth.ErrDeclined
		}
		return err
	})
	if asker != nil && asker.URLs() {
		_ = asker.Completed(context.WithoutCancel(c), id) // it fails only if the client is gone
	}
	return err
}

// mcpStatus describes the servers of the session, and the definitions that do not count.
func mcpStatus(set *mcp.Set, definitions []mcp.Definition) string {
	var s strings.Builder
	if set != nil {
		for _, st := range set.Status() {
			serverStatus(&s, &st, definitions)
		}
		for _, cut := range set.Cuts() {
			fmt.Fprintf(&s, "- %s offers more prompts than the limit allows: %d are omitted\n", cut.Server, cut.Prompts)
		}
	}
	for _, d := range definitions {
		if d.State == "used" {
			continue
		}
		fmt.Fprintf(&s, "- %s: %s", orNone(d.Name), d.State)
		if d.Detail != "" {
			s.WriteString(" (" + d.Detail + ")")
		}
		s.WriteString("\n  " + d.File + "\n")
	}
	if s.Len() == 0 {
		return noMCPServers
	}
	return s.String()
}

func serverStatus(s *strings.Builder, st *mcp.ServerStatus, definitions []mcp.Definition) {
	fmt.Fprintf(s, "- %s (%s): %s", orNone(st.Name), orNone(st.Transport), st.State)
	if st.State == mcp.StateConnected {
		fmt.Fprintf(s, ", %d tools, %d prompts, %d resources", st.Tools, st.Prompts, st.Resources+st.Templates)
	}
	if st.LastError != "" && st.State != mcp.StateConnected {
		s.WriteString("\n  " + strings.ReplaceAll(st.LastError, "\n", "\n  "))
	}
	if i := slices.IndexFunc(definitions, func(d mcp.Definition) bool { return d.Name == st.Name && d.State == "used" }); i >= 0 {
		s.WriteString("\n  " + definitions[i].File)
	}
	s.WriteString("\n")
}

// mcpTools lists the tools of a server, or of all servers if its name is empty.
func mcpTools(set *mcp.Set, server string) string {
	var s strings.Builder
	for _, t := range set.Tools() {
		if server == "" || t.Server == server {
			line, _, _ := strings.Cut(t.Description, "\n")
			fmt.Fprintf(&s, "- `%s`: %s\n", t.Name, line)
		}
	}
	if s.Len() == 0 {
		return "There are no tools."
	}
	return s.String()
}

// AllTools stands for all MCP tools in a selection.
const AllTools = "*"

// selectMCPTools runs /mcp select: it selects the MCP tools that the model is offered. The selection is stored with the session.
func selectMCPTools(c *call, args string) error {
	set := c.opts().MCP.Built(c)
	if set == nil {
		return c.say(noMCPServers, nil)
	}
	var known []string
	for _, t := range mcptools.MCP(set) {
		known = append(known, t.Spec().Name)
	}
	names := strings.Fields(strings.ReplaceAll(args, ",", " "))
	switch {
	case len(names) == 1 && names[0] == "all":
		names = []string{AllTools}
	case len(names) == 1 && names[0] == "none":
		names = []string{}
	case len(names) == 0:
		return c.say("Use /mcp select all, none, or tool names: "+strings.Join(known, ", "), nil)
	default:
		for _, name := range names {
			if !slices.Contains(known, name) {
				return c.fail(fmt.Errorf("unknown MCP tool %s; the MCP tools are %s", name, strings.Join(known, ", ")))
			}
		}
	}
	if err := c.turn.SelectTools(names); err != nil {
		return c.fail(err)
	}
	c.opts().MCP.Select(names)
	switch {
	case len(names) == 0:
		return c.say("The model receives no MCP tools.", nil)
	case names[0] == AllTools:
		return c.say("The model receives all MCP tools.", nil)
	default:
		return c.say("The model receives these MCP tools: "+strings.Join(names, ", ")+".", nil)
	}
}
