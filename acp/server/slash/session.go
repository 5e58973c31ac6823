package slash

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/sessions"
)

// help runs /help.
func help(c *call) error {
	var s strings.Builder
	s.WriteString("Commands:\n")
	for _, b := range builtins() {
		fmt.Fprintf(&s, "- `/%s`: %s\n", strings.TrimSpace(b.name+" "+b.hint), b.description)
	}
	if more := c.commands.added(); len(more) > 0 {
		s.WriteString("\nFrom files, skills and MCP servers:\n")
		for _, a := range more {
			fmt.Fprintf(&s, "- `/%s`: %s\n", a.Name, a.Description)
		}
	}
	s.WriteString("\nModes:\n" + modeList())
	return c.say(s.String(), nil)
}

// describeSession runs /session.
func describeSession(c *call) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	ws := c.session.Workspace()
	var s strings.Builder
	fmt.Fprintf(&s, "- Session: %s\n- Title: %s\n- Directory: %s\n", c.session.ID(), orNone(snap.Title), ws.Cwd)
	for _, dir := range ws.Additional {
		fmt.Fprintf(&s, "- Additional directory: %s\n", dir)
	}
	fmt.Fprintf(&s, "- Model: %s, thinking %s\n- Mode: %s\n- Messages: %d\n", snap.Model.Ref(), snap.Thinking, snap.Mode, snap.Messages)
	if g := snap.Goal; g != nil {
		fmt.Fprintf(&s, "- Goal: %s (%s)\n", text.OneLine(g.Objective), g.Status)
	}
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

// describeContext runs /context.
func describeContext(c *call) error {
	use, err := c.session.ContextUse(c)
	if err != nil {
		return err
	}
	var s strings.Builder
	switch {
	case use.Used > 0 && use.Size > 0:
		fmt.Fprintf(&s, "The last request filled %d of %d tokens (%d%%).\n", use.Used, use.Size, 100*use.Used/use.Size)
	case use.Size > 0:
		fmt.Fprintf(&s, "The model's window has %d tokens; its use is not known yet.\n", use.Size)
	default:
		s.WriteString("The size of the model's window is unknown.\n")
	}
	fmt.Fprintf(&s, "\nThe next request will have about:\n- System prompt: %d tokens\n- Tools: %d tokens (%d tools)\n- Conversation: %d tokens (%d messages)\n",
		use.System, use.Tools, use.ToolCount, use.Conversation, use.Messages)
	if spending, err := c.session.Spending(); err == nil && len(spending.Models) > 0 {
		s.WriteString("\nCost so far: " + costText(spending.Models) + ". /usage shows details.\n")
	}
	return c.say(s.String(), nil)
}

// jobs runs /jobs.
func jobs(c *call) error {
	verb, names, _ := strings.Cut(c.args, " ")
	ids := strings.FieldsFunc(names, func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
	switch {
	case verb == "":
		return c.say(c.session.Hide(shell.DescribeJobs(c.session.Values())), nil)
	case verb == "stop" && len(ids) > 0:
		text, err := shell.CancelJobs(c, c.session.Values(), ids)
		return c.say(c.session.Hide(text), err)
	default:
		return c.say("Use /jobs or /jobs stop <job>….", nil)
	}
}

// undo runs /undo. The client sees the undo as a tool call; the answer repeats its first line.
func undo(c *call) error {
	text, err := c.turn.RunTool("undo", jsonx.Raw("{}"))
	first, _, _ := strings.Cut(text, "\n")
	return c.say(first, err)
}

// rename runs /rename.
func rename(c *call) error {
	title, pending := c.session.SetTitle(c.args)
	if err := pending(); err != nil {
		return c.fail(fmt.Errorf("%w; use /rename <title>", err))
	}
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	c.opts().Session.TitleChanged(&snap)
	return c.say("Session renamed to "+title+".", nil)
}

// compact runs /compact.
func compact(c *call) error {
	done, err := c.turn.Compact(c, c.args)
	if errors.Is(err, contextwindow.ErrNothingToCompact) {
		return c.say("There is nothing to compact yet.", nil)
	}
	if err != nil {
		return c.fail(fmt.Errorf("%w; the conversation is unchanged", err))
	}
	text := "Compaction complete."
	if done.Before > 0 {
		text += fmt.Sprintf(" The conversation had %d tokens and now has about %d.", done.Before, done.After)
	}
	if !c.opts().Session.ShowsCompaction() {
		text += "\n\n" + done.Summary
	}
	return c.say(text, nil)
}

// clearContext runs /clear.
func clearContext(c *call) error {
	return c.say("The conversation starts over. The session keeps its settings.", c.turn.Clear())
}

// fork runs /fork. The client must open the new session itself, because an agent cannot change the session that a client shows.
func fork(c *call) error {
	ws := c.session.Workspace()
	var id string
	err := agent.Fork(c, c.session, func() (string, error) {
		log, err := c.opts().Store.Fork(c, c.session.ID(), sessions.ForkOptions{Cwd: ws.Cwd, AdditionalDirectories: ws.Additional})
		if err != nil {
			return "", err
		}
		id = log.ID()
		return id, log.Close()
	})
	if errors.Is(err, sessions.ErrNothingToFork) {
		err = errors.New("there is nothing to fork yet")
	}
	if err != nil {
		return c.fail(err)
	}
	return c.say("Forked into session "+id+". Open it from the session list.", nil)
}
