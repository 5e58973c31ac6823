package server

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

func help(c *commandCall) error {
	var s strings.Builder
	s.WriteString("Commands:\n")
	for _, k := range ownCommands() {
		fmt.Fprintf(&s, "- `/%s`: %s\n", strings.TrimSpace(k.name+" "+k.hint), k.description)
	}
	if more := c.server.addedCommands(c.entry); len(more) > 0 {
		s.WriteString("\nFrom files, skills and MCP servers:\n")
		for _, k := range more {
			fmt.Fprintf(&s, "- `/%s`: %s\n", k.Name, k.Description)
		}
	}
	s.WriteString("\nModes:\n" + modeList())
	return c.say(s.String(), nil)
}

func describeSession(c *commandCall) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	ws := c.session.Workspace()
	var s strings.Builder
	fmt.Fprintf(&s, "- Session: %s\n- Title: %s\n- Directory: %s\n", c.session.ID(), orNone(snap.Title), ws.Cwd)
	for _, dir := range ws.Additional {
		fmt.Fprintf(&s, "- Further directory: %s\n", dir)
	}
	fmt.Fprintf(&s, "- Model: %s, thinking %s\n- Mode: %s\n- Messages: %d\n", snap.Model.Ref(), snap.Thinking, snap.Mode, snap.Messages)
	if used := snap.Usage.Context(); used > 0 {
		fmt.Fprintf(&s, "- Context: %d of %d tokens\n", used, snap.Model.ContextWindow)
	}
	if spending, err := c.session.Spending(); err == nil && len(spending.Models) > 0 {
		s.WriteString("- Cost: " + costText(spending.Models) + "\n")
	}
	return c.say(s.String(), nil)
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

func describeContext(c *commandCall) error {
	use, err := c.session.ContextUse(c)
	if err != nil {
		return err
	}
	var s strings.Builder
	switch {
	case use.Used > 0 && use.Size > 0:
		fmt.Fprintf(&s, "The last request filled %d of %d tokens (%d%%).\n", use.Used, use.Size, 100*use.Used/use.Size)
	case use.Size > 0:
		fmt.Fprintf(&s, "The model's window has %d tokens; none are known to be used yet.\n", use.Size)
	default:
		s.WriteString("How large the model's window is, is not known.\n")
	}
	fmt.Fprintf(&s, "\nThe next request will have about:\n- System prompt: %d tokens\n- Tools: %d tokens (%d tools)\n- Conversation: %d tokens (%d messages)\n",
		use.System, use.Tools, use.ToolCount, use.Conversation, use.Messages)
	if spending, err := c.session.Spending(); err == nil && len(spending.Models) > 0 {
		s.WriteString("\nCost so far: " + costText(spending.Models) + ". /usage has more.\n")
	}
	return c.say(s.String(), nil)
}

func describePlan(c *commandCall) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	if len(snap.Plan) == 0 {
		return c.say("There is no plan.", nil)
	}
	marks := map[agent.PlanStatus]string{agent.PlanPending: "[ ]", agent.PlanInProgress: "[>]", agent.PlanCompleted: "[x]"}
	var s strings.Builder
	for _, e := range snap.Plan {
		fmt.Fprintf(&s, "- %s %s\n", marks[e.Status], e.Content)
	}
	return c.say(s.String(), nil)
}

func jobsCommand(c *commandCall) error {
	verb, names, _ := strings.Cut(c.args, " ")
	ids := strings.FieldsFunc(names, func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
	switch {
	case verb == "":
		return c.say(c.session.Hide(shell.DescribeJobs(c.session.Kept())), nil)
	case verb == "stop" && len(ids) > 0:
		text, err := shell.CancelJobs(c, c.session.Kept(), ids)
		return c.say(c.session.Hide(text), err)
	default:
		return c.say("Use /jobs or /jobs stop <job>….", nil)
	}
}

// undoCommand takes back the last change of the tools. The call shows what comes of it.
func undoCommand(c *commandCall) error {
	text, err := c.turn.RunTool("undo", jsonx.Raw("{}"))
	first, _, _ := strings.Cut(text, "\n")
	return c.say(first, err)
}

func rename(c *commandCall) error {
	title, pending := c.session.SetTitle(c.args)
	if err := pending(); err != nil {
		return c.say("", fmt.Errorf("%w; use /rename <title>", err))
	}
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	c.entry.out.send(infoUpdate(snap.Title, snap.UpdatedAt))
	return c.say("Session renamed to "+title+".", nil)
}

func compact(c *commandCall) error {
	done, err := c.turn.Compact(c, c.args)
	if errors.Is(err, agent.ErrNothingToCompact) {
		return c.say("There is nothing to compact yet.", nil)
	}
	if err != nil {
		return c.say("", fmt.Errorf("%w; the conversation is as it was", err))
	}
	text := "Compaction complete."
	if done.Before > 0 {
		text += fmt.Sprintf(" The conversation had %d tokens and has about %d now.", done.Before, done.After)
	}
	if !c.entry.out.compaction {
		text += "\n\n" + done.Summary
	}
	return c.say(text, nil)
}

func clearContext(c *commandCall) error {
	return c.say("The conversation begins anew. The session and its settings stay.", c.turn.Clear())
}

func forkHere(c *commandCall) error {
	ws := c.session.Workspace()
	log, err := c.server.opts.Store.Fork(c, c.session.ID(), sessions.ForkOptions{Cwd: ws.Cwd, AdditionalDirectories: ws.Additional})
	if err != nil {
		if errors.Is(err, sessions.ErrNothingToFork) {
			err = errors.New("there is nothing to fork yet")
		}
		return c.say("", err)
	}
	id := log.ID()
	return c.say("Forked into session "+id+". Open it from the list of sessions.", log.Close())
}

func dump(c *commandCall) error {
	text, err := c.transcript(transcript.Markdown)
	return c.say(text, err)
}

// transcript is the conversation in a format.
func (c *commandCall) transcript(format transcript.Format) (string, error) {
	branch, err := c.session.Branch()
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(branch, func(e sessions.Entry) bool { return e.Kind() == sessions.KindMessage }) {
		return "", errors.New("no messages yet")
	}
	snap, err := c.session.Snapshot()
	if err != nil {
		return "", err
	}
	ws := c.session.Workspace()
	var text strings.Builder
	err = transcript.Write(&text, &transcript.Session{
		ID: c.session.ID(), Title: snap.Title, Cwd: ws.Cwd, Directories: ws.Additional, Model: snap.Model.Ref(),
		Branch: branch, Tools: c.server.opts.Tools(), Models: c.server.knownModel(snap.Model),
	}, format)
	return text.String(), err
}

// knownModel tells what is known of the models that can be used, and of the present one.
func (s *Server) knownModel(present providers.ModelInfo) func(ref string) (providers.ModelInfo, bool) {
	known := map[string]providers.ModelInfo{present.Ref(): present}
	for _, m := range s.opts.Models.ModelsIn("") {
		known[m.Ref()] = m
	}
	return func(ref string) (providers.ModelInfo, bool) { m, ok := known[ref]; return m, ok }
}

func export(c *commandCall) error {
	ws := c.session.Workspace()
	path := unquotedPath(c.args)
	if path == "" {
		path = "gjc-session-" + c.session.ID() + "." + string(transcript.HTML)
	}
	path = ws.Resolve(path)
	if real := c.entry.files.RealPath(path); !ws.Contains(path) || !within(c.entry.files, &ws, real) {
		return c.say("", fmt.Errorf("%s is not in the session's directories; name a file that is", path))
	}
	if _, err := c.entry.files.Stat(c, path); err == nil {
		return c.say("", fmt.Errorf("%s is there already; name another file", path))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return c.say("", err)
	}
	text, err := c.transcript(transcript.FormatOf(path, transcript.Markdown))
	if err == nil {
		err = c.entry.files.WriteFile(c, path, []byte(text))
	}
	if err != nil {
		return c.say("", fmt.Errorf("exporting the session failed: %w", err))
	}
	return c.say("Session exported to: "+path, nil)
}

// unquotedPath is a path without the quotes that some people put around one with blanks.
func unquotedPath(s string) string {
	for _, quote := range []string{`"`, "'", "`"} {
		if len(s) >= 2 && strings.HasPrefix(s, quote) && strings.HasSuffix(s, quote) {
			return s[1 : len(s)-1]
		}
	}
	return s
}

// within reports whether a path behind all links lies in the roots behind theirs.
func within(files agent.FS, ws *agent.Workspace, real string) bool {
	roots := agent.Workspace{Cwd: files.RealPath(ws.Cwd)}
	for _, dir := range ws.Additional {
		roots.Additional = append(roots.Additional, files.RealPath(dir))
	}
	return roots.Contains(real)
}

func mcpCommand(c *commandCall) error {
	set := c.entry.box.built(c)
	verb, name, _ := strings.Cut(c.args, " ")
	name = strings.TrimSpace(name)
	switch {
	case set == nil:
		return c.say("This session has no MCP servers.", nil)
	case verb == "":
		return c.say(mcpStatus(set), nil)
	case verb == "select":
		return c.selectMCP(name)
	case verb == "tools":
		return c.say(mcpTools(set, name), nil)
	case verb == "reconnect" && name != "":
		return c.say("Connected to "+name+".", set.Reconnect(c, name))
	default:
		return c.say("Use /mcp, /mcp tools [server], /mcp select <all | none | tool…> or /mcp reconnect <server>.", nil)
	}
}

// availableCommand is a command as it is advertised.
func availableCommand(name, description, hint string) acp.AvailableCommand {
	c := acp.AvailableCommand{Name: name, Description: description}
	if hint != "" {
		c.Input = &acp.UnstructuredCommandInput{Hint: hint}
	}
	return c
}
