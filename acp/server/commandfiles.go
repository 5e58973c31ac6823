package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/providers"
)

// added are the commands of one session that are not gjc's own: files, skills, and prompts of MCP servers.
type added struct {
	mu    sync.Mutex // guards the fields below; held while files are read, so that they are read once
	files *commands.Set
	told  map[string]bool // the problems that the user has been told of
	sent  []string        // the names that were advertised last
}

// loadFiles reads the command files and skills of roots and of the user.
func (s *Server) loadFiles(ctx context.Context, roots []string) *commands.Set {
	set, _ := commands.Load(ctx, s.commandOptions(roots))
	return set
}

// commandOptions says where the command files of a session with these roots are.
func (s *Server) commandOptions(roots []string) commands.Options {
	return commands.Options{UserDir: s.opts.UserDir, ProjectDirs: roots, Foreign: true, Home: s.opts.Home}
}

// commandFiles returns the session's files as they are now.
func (s *Server) commandFiles(ctx context.Context, e *entry, ws agent.Workspace) *commands.Set {
	a := &e.added
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.files != nil && !a.files.Stale(ctx) {
		return a.files
	}
	set, problems := commands.Load(ctx, s.commandOptions(append([]string{ws.Cwd}, ws.Additional...)))
	a.files = set
	for _, p := range problems {
		text := p.String()
		if a.told[text] {
			continue
		}
		if a.told == nil {
			a.told = make(map[string]bool)
		}
		a.told[text] = true
		e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: "A command file has a mistake.", Detail: text})
	}
	return set
}

// Bounds of what is advertised of commands that are not gjc's own: many clients cannot take a line of more than 64 KiB.
// What is left out of the list can be typed all the same.
const (
	maxAdvertised  = 40 << 10 // bytes in all
	maxDescription = 200      // characters
	maxCommandName = 100
)

// clip puts a text on one line and cuts it.
func clip(text string, most int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// addedCommands lists what is known by now beside gjc's own commands. One of the same name is left out.
func (s *Server) addedCommands(e *entry) []acp.AvailableCommand {
	taken := make(map[string]bool)
	for _, c := range ownCommands() {
		taken[c.name] = true
	}
	var all []acp.AvailableCommand
	room := maxAdvertised
	add := func(name, description, hint string) {
		c := availableCommand(clip(name, maxCommandName), clip(description, maxDescription), clip(hint, maxDescription))
		room -= len(c.Name) + len(c.Description) + len(hint) + 64
		if !taken[name] && room >= 0 {
			taken[name] = true
			all = append(all, c)
		}
	}
	e.added.mu.Lock()
	files := e.added.files
	e.added.mu.Unlock()
	if files != nil {
		for _, c := range files.Commands() {
			if !s.enabled(c.Name) {
				continue
			}
			add(c.Name, c.Description, c.Hint)
		}
	}
	if box := e.toolbox(); box != nil {
		if set := box.current(); set != nil {
			for _, p := range set.Prompts() {
				add(promptName(&p), promptDescription(&p), promptHint(&p))
			}
		}
	}
	return all
}

// commandsUpdate tells which slash commands there are. The list is complete each time.
func (s *Server) commandsUpdate(e *entry) acp.SessionUpdate {
	u := &acp.AvailableCommandsUpdate{}
	for _, c := range ownCommands() {
		u.AvailableCommands = append(u.AvailableCommands, availableCommand(c.name, c.description, c.hint))
	}
	u.AvailableCommands = append(u.AvailableCommands, s.addedCommands(e)...)
	e.added.mu.Lock()
	defer e.added.mu.Unlock()
	e.added.sent = commandKeys(u.AvailableCommands)
	return u
}

// advertise tells the commands again if they have changed.
func (s *Server) advertise(e *entry) {
	e.advertising.Lock()
	defer e.advertising.Unlock()
	e.added.mu.Lock()
	before := e.added.sent
	e.added.mu.Unlock()
	u := s.commandsUpdate(e)
	if list, ok := u.(*acp.AvailableCommandsUpdate); ok && !slices.Equal(before, commandKeys(list.AvailableCommands)) {
		e.out.send(u)
	}
}

func commandKeys(list []acp.AvailableCommand) []string {
	var keys []string
	for _, c := range list {
		keys = append(keys, c.Name+"\x00"+c.Description)
	}
	return keys
}

// refresh looks for changed command files in the background and tells of them.
func (s *Server) refresh(e *entry, session *agent.Session) {
	s.background(func() { // ends when the files are read, or with the session
		s.flush(e) // a response that waits is more urgent
		s.commandFiles(e.out.ctx, e, session.Workspace())
		s.advertise(e)
	})
}

// expand makes the prompt of a command that is not gjc's own. What is none is a prompt as it stands.
func (s *Server) expand(c *commandCall, name string) (agent.Prepared, error) {
	if text, ok := s.commandFiles(c, c.entry, c.session.Workspace()).Expand(name, c.args); ok && s.enabled(name) {
		return agent.Prepared{Parts: c.parts(text), Shown: c.typed}, nil
	}
	if !strings.HasPrefix(name, promptPrefix) {
		return agent.Prepared{Parts: c.parts(c.typed)}, nil
	}
	ctx, cancel := context.WithTimeout(c, promptWait)
	defer cancel()
	c.entry.box.Settle(ctx) // the server of a prompt may be on its way
	if set := c.entry.box.current(); set != nil {
		for _, p := range set.Prompts() {
			if promptName(&p) == name {
				return c.mcpPrompt(set, &p)
			}
		}
	}
	return agent.Prepared{Parts: c.parts(c.typed)}, nil
}

// promptPrefix begins the names of commands that are prompts of MCP servers; promptWait is how long one of them waits
// for a server that has yet to come.
const (
	promptPrefix = "mcp:"
	promptWait   = 2 * time.Second
)

// promptName is the command for a prompt of an MCP server.
func promptName(p *mcp.Prompt) string {
	clean := func(s string) string { return strings.Join(strings.FieldsFunc(s, notInName), "-") }
	return promptPrefix + clean(p.Server) + ":" + clean(p.Name)
}

func notInName(r rune) bool { return r <= ' ' || r == '/' || r == ':' || r == 0x7f }

func promptDescription(p *mcp.Prompt) string {
	for _, text := range []string{p.Description, p.Title} {
		if line, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); line != "" {
			return line
		}
	}
	return "A prompt of the MCP server " + p.Server
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

// mcpPrompt has a server fill its prompt.
func (c *commandCall) mcpPrompt(set *mcp.Set, p *mcp.Prompt) (agent.Prepared, error) {
	args, err := promptArguments(p, c.args)
	if err != nil {
		return agent.Prepared{}, c.say("", err)
	}
	filled, err := set.GetPrompt(c, p.Server, p.Name, args)
	if err != nil {
		return agent.Prepared{}, c.say("", err)
	}
	out := agent.Prepared{Shown: c.typed}
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
				out.Parts = append(out.Parts, providers.Text{Text: "[sound was here; it cannot be heard]"})
			}
		}
	}
	if len(out.Parts) == 0 {
		return agent.Prepared{}, c.say("", errors.New("the server's prompt is empty"))
	}
	out.Parts = append(out.Parts, c.rest...)
	return out, nil
}

// promptArguments gives the words behind a command to the prompt's arguments: name=value by name, the others in their
// order; the last argument takes all that is left.
func promptArguments(p *mcp.Prompt, typed string) (map[string]string, error) {
	args := make(map[string]string)
	words := commands.Split(typed)
	var plain []string
	for _, w := range words {
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
			if a.Required {
				return nil, fmt.Errorf("the argument %s is missing; use /%s %s", a.Name, promptName(p), promptHint(p))
			}
		case i == len(open)-1:
			args[a.Name] = strings.Join(plain[i:], " ")
		default:
			args[a.Name] = plain[i]
		}
	}
	if len(open) == 0 && len(plain) > 0 {
		return nil, fmt.Errorf("there is no argument for %q; use /%s %s", plain[0], promptName(p), promptHint(p))
	}
	return args, nil
}

func mcpStatus(set *mcp.Set) string {
	var s strings.Builder
	for _, st := range set.Status() {
		fmt.Fprintf(&s, "- %s (%s): %s", orNone(st.Name), orNone(st.Transport), st.State)
		if st.State == mcp.StateConnected {
			fmt.Fprintf(&s, ", %d tools, %d prompts, %d resources", st.Tools, st.Prompts, st.Resources+st.Templates)
		}
		if st.LastError != "" && st.State != mcp.StateConnected {
			s.WriteString("\n  " + strings.ReplaceAll(st.LastError, "\n", "\n  "))
		}
		s.WriteString("\n")
	}
	for _, cut := range set.Cuts() {
		fmt.Fprintf(&s, "- %s has more than a model or an editor can be shown: %d tools and %d prompts are left out\n", cut.Server, cut.Tools, cut.Prompts)
	}
	return s.String()
}

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
