package slash

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// tree runs /tree.
func tree(c *call) error {
	verb, rest, _ := strings.Cut(c.args, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case verb == "go" && rest != "":
		id, more, _ := strings.Cut(rest, " ")
		return c.goTo(id, strings.TrimSpace(more))
	case verb == "label" && rest != "":
		id, label, _ := strings.Cut(rest, " ")
		return c.label(id, strings.TrimSpace(label))
	case verb == "find" && rest != "":
		return c.drawTree(treeFilters()["default"], strings.Fields(strings.ToLower(rest)))
	case rest == "" && treeFilters()[cmp.Or(verb, "default")] != nil:
		return c.drawTree(treeFilters()[cmp.Or(verb, "default")], nil)
	default:
		return c.say("Use /tree [no-tools|user|labels|all], /tree find WORDS, /tree go ID [summary [what to keep]], or /tree label ID [NAME].", nil)
	}
}

// goTo runs /tree go: the conversation continues from an entry.
func (c *call) goTo(id, how string) error {
	verb, instructions, _ := strings.Cut(how, " ")
	if how != "" && verb != "summary" {
		return c.say("Use /tree go ID, or /tree go ID summary [what to keep].", nil)
	}
	done, err := c.turn.Navigate(c, id, agent.NavigateOptions{
		Summarize: how != "" || c.opts().SummarizesBranches(), Instructions: strings.TrimSpace(instructions),
	})
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		err = fmt.Errorf("there is no entry %q; /tree all lists them", id)
		fallthrough
	case err != nil:
		return c.fail(err)
	case !done.Moved:
		return c.say("The conversation is already there.", nil)
	}
	var s strings.Builder
	if done.Leaf == "" {
		s.WriteString("The conversation starts over.")
	} else {
		fmt.Fprintf(&s, "The conversation continues after %s.", done.Leaf)
	}
	if done.Left > 0 {
		fmt.Fprintf(&s, " The branch that you left (%d entries) stays in the session; /tree shows it.", done.Left)
	}
	if done.Summary != "" {
		s.WriteString("\n\nThe model receives this summary of it:\n\n" + done.Summary)
	}
	if words := textOf(done.Words); words != "" {
		s.WriteString("\n\nYour prompt there, to edit and send again:\n\n" + quoted(words))
	}
	return c.say(s.String(), nil)
}

func textOf(parts []providers.Part) string {
	m := providers.Message{Parts: parts}
	return m.Text()
}

func quoted(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }

func (c *call) label(id, name string) error {
	err := c.turn.Label(id, name)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return c.fail(fmt.Errorf("there is no entry %q; /tree all lists them", id))
	case err != nil:
		return c.fail(err)
	case name == "":
		return c.say("Entry "+id+" no longer has a name.", nil)
	default:
		return c.say("Entry "+id+" is now called "+name+".", nil)
	}
}

// maxTreeLines is the maximum number of entries that /tree shows. It omits the oldest.
const maxTreeLines = 300

func (c *call) drawTree(shows func(*treeView, *sessions.TreeNode) bool, words []string) error {
	log, err := c.opts().Store.View(c, c.session.ID())
	if err != nil {
		return c.fail(err)
	}
	roots, err := log.Tree()
	if err != nil {
		return c.fail(err)
	}
	v := &treeView{leaf: log.Leaf(), shows: shows, words: words}
	v.draw(v.visible(roots), "")
	if len(v.lines) == 0 {
		return c.say("No entries match.", nil)
	}
	text := ""
	if left := len(v.lines) - maxTreeLines; left > 0 {
		text = fmt.Sprintf("The first %d entries are not shown.\n\n", left)
		v.lines = v.lines[left:]
	}
	return c.say(text+"```\n"+strings.Join(v.lines, "\n")+"\n```", nil)
}

// treeView draws a tree. The active branch is not indented; the others are.
type treeView struct {
	leaf  string
	shows func(*treeView, *sessions.TreeNode) bool
	// words are lower-case search words. Only entries whose line contains all of them are shown.
	words []string
	lines []string
}

// shownNode is an entry that is shown, with its shown descendants.
type shownNode struct {
	*sessions.TreeNode
	follows []shownNode
	// active reports whether the entry is on the active branch.
	active bool
}

// visible returns the nodes that are shown. A hidden node is replaced by its children.
func (v *treeView) visible(nodes []*sessions.TreeNode) []shownNode {
	var all []shownNode
	for _, n := range nodes {
		follows := v.visible(n.Children)
		if !v.shows(v, n) || !v.has(n) {
			all = append(all, follows...)
			continue
		}
		all = append(all, shownNode{n, follows, n.Active})
	}
	return all
}

func (v *treeView) has(n *sessions.TreeNode) bool {
	line := strings.ToLower(v.line(n))
	return !slices.ContainsFunc(v.words, func(w string) bool { return !strings.Contains(line, w) })
}

func (v *treeView) draw(nodes []shownNode, indent string) {
	for len(nodes) > 0 {
		straight := len(nodes) - 1
		if at := slices.IndexFunc(nodes, func(n shownNode) bool { return n.active }); at >= 0 {
			straight = at
		}
		for i, n := range nodes {
			if i != straight {
				v.lines = append(v.lines, indent+"├─ "+v.line(n.TreeNode))
				v.draw(n.follows, indent+"│  ")
			}
		}
		n := nodes[straight]
		v.lines = append(v.lines, indent+v.line(n.TreeNode))
		nodes = n.follows
	}
}

// line returns an entry on one line.
func (v *treeView) line(n *sessions.TreeNode) string {
	line := n.Entry.Ref().ID + " " + entryText(n.Entry)
	if n.Label != "" {
		line += " <" + n.Label + ">"
	}
	if n.Entry.Ref().ID == v.leaf {
		line += "  ← here"
	}
	return line
}

// maxEntryText is the maximum length of an entry's text in /tree, in characters.
const maxEntryText = 90

func entryText(e sessions.Entry) string {
	shown := string(e.Kind())
	switch e := e.(type) {
	case sessions.MessageEntry:
		shown = messageText(&e)
	case sessions.CustomMessage:
		shown = e.CustomType + ": " + textOf(e.Parts)
	case sessions.Compaction:
		shown = "compaction: " + cmp.Or(e.ShortSummary, e.Summary)
	case sessions.BranchSummary:
		shown = "summary of a branch: " + e.Summary
	case sessions.ModelChange:
		shown = "model: " + e.Model
	case sessions.ThinkingChange:
		shown = "thinking: " + string(e.Level)
	case sessions.ModeChange:
		shown = "mode: " + e.Mode
	case sessions.Label:
		shown = "label of " + e.TargetID + ": " + e.Label
	case sessions.Custom:
		shown = e.CustomType
	}
	shown = text.OneLine(shown)
	shown = strings.ReplaceAll(shown, "`", "'") // the tree is shown in a code block
	return text.Truncate(shown, maxEntryText)
}

func messageText(e *sessions.MessageEntry) string {
	m := &e.Message
	switch m.Role {
	case providers.RoleTool:
		text := "result of " + m.ToolName
		if m.IsError {
			text += " (failed)"
		}
		return text + ": " + m.Text()
	case providers.RoleAssistant:
		var text strings.Builder
		text.WriteString("agent: " + m.Text())
		for _, call := range m.ToolCalls() {
			text.WriteString(" [" + call.Name + "]")
		}
		if m.Error != "" {
			text.WriteString(" (" + m.Error + ")")
		}
		return text.String()
	default:
		return "user: " + m.Text()
	}
}

// treeFilters returns the filters of /tree by name.
func treeFilters() map[string]func(*treeView, *sessions.TreeNode) bool {
	usual := func(v *treeView, n *sessions.TreeNode) bool {
		switch e := n.Entry.(type) {
		case sessions.Label, sessions.Custom, sessions.ModelChange, sessions.ThinkingChange:
			return e.Ref().ID == v.leaf
		case sessions.MessageEntry:
			m := &e.Message
			bare := m.Role == providers.RoleAssistant && strings.TrimSpace(m.Text()) == "" && len(m.ToolCalls()) > 0
			return !bare || m.Error != "" || e.Ref().ID == v.leaf
		default:
			return true
		}
	}
	isMessage := func(n *sessions.TreeNode, role providers.Role) bool {
		m, ok := n.Entry.(sessions.MessageEntry)
		return ok && m.Message.Role == role
	}
	return map[string]func(*treeView, *sessions.TreeNode) bool{
		"default":  usual,
		"no-tools": func(v *treeView, n *sessions.TreeNode) bool { return usual(v, n) && !isMessage(n, providers.RoleTool) },
		"user":     func(_ *treeView, n *sessions.TreeNode) bool { return isMessage(n, providers.RoleUser) },
		"labels":   func(_ *treeView, n *sessions.TreeNode) bool { return n.Label != "" },
		"all":      func(*treeView, *sessions.TreeNode) bool { return true },
	}
}
