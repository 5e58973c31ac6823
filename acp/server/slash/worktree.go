package slash

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/acp/server/worktrees"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/worktree"
)

// worktreeUsage explains /worktree.
const worktreeUsage = "Use /worktree to list the changes, and /worktree branch [name] to store them in a branch."

// maxWorktreeFiles bounds the files that a list shows.
const maxWorktreeFiles = 50

// worktreeOf runs /worktree.
func worktreeOf(c *call) error {
	tree, ok := agent.LookupValue[*worktrees.Session](c.session.Values())
	if !ok {
		return c.say("This session works in "+c.session.Workspace().Cwd+", and not in a worktree. docs/worktrees.md says how to begin one in a worktree.", nil)
	}
	fields := strings.Fields(c.args)
	switch {
	case len(fields) == 0:
		changes, err := tree.Changes(c)
		if err != nil {
			return c.fail(err)
		}
		return c.say(listWorktree(tree, changes), nil)
	case fields[0] == "branch" && len(fields) <= 2:
		return c.branch(tree, strings.Join(fields[1:], ""))
	default:
		return c.say(worktreeUsage, nil)
	}
}

// listWorktree describes a worktree and its changes.
func listWorktree(tree *worktrees.Session, changes []worktree.Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "This session works in %s, a worktree of %s. ", tree.Top(), tree.Source())
	if len(changes) == 0 {
		b.WriteString("Nothing was changed in it.")
		return b.String()
	}
	fmt.Fprintf(&b, "Changed since it was made:\n")
	for i := range changes {
		if i == maxWorktreeFiles {
			fmt.Fprintf(&b, "- and %d more\n", len(changes)-i)
			break
		}
		fmt.Fprintf(&b, "- %s %s\n", changes[i].Kind, text.VisibleLine(changes[i].Path))
	}
	b.WriteString("\n" + worktreeUsage)
	return b.String()
}

// branch stores the changes in a branch.
func (c *call) branch(tree *worktrees.Session, name string) error {
	snap, err := c.session.Snapshot()
	if err != nil {
		return err
	}
	message := snap.Title
	if message == "" {
		message = "Changes of a session"
	}
	branches, err := tree.Branch(c, name, message)
	if err != nil {
		return c.fail(err)
	}
	if len(branches) == 0 {
		return c.say("Nothing was changed in the worktree, so there is no branch.", nil)
	}
	var lines []string
	for i := range branches {
		b := &branches[i]
		lines = append(lines, fmt.Sprintf("The branch %s of %s has %s. To have the changes in the working tree:\n\n    %s",
			b.Name, filepath.Base(b.Repository), text.Count(len(b.Files), "changed file"), b.Command()))
	}
	return c.say(strings.Join(lines, "\n\n"), nil)
}
