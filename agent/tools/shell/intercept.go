package shell

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
)

// InterceptRule refuses commands that a tool does better. It applies only if the model has that tool.
type InterceptRule struct {
	Pattern *regexp.Regexp
	Tool    string
	// Message describes the alternative to the model.
	Message string
}

// intercept returns an error for a command that one of the model's tools does better.
func (s *BashSettings) intercept(call *agent.Call, line string) error {
	if !s.Intercept {
		return nil
	}
	for _, r := range s.Rules {
		if slices.Contains(call.Tools, r.Tool) && r.Pattern.MatchString(line) {
			return intercepted(r.Message, line)
		}
	}
	tool, message := betterTool(line)
	if tool == "" || !slices.Contains(call.Tools, tool) {
		return nil
	}
	return intercepted(message, line)
}

func intercepted(message, line string) error {
	return fmt.Errorf("blocked: %s\n\nThe command was: %s", message, toolkit.CutLine(line, toolkit.MaxColumns))
}

// betterTool returns the tool that replaces line, which must be a single simple command, and the message for the model. It returns
// "" if there is none, for example for a pipeline, which needs the shell.
func betterTool(line string) (tool, message string) {
	file, err := parse(line)
	if err != nil || len(file.Stmts) != 1 {
		return "", ""
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || stmt.Background {
		return "", ""
	}
	c := simpleCommand{name: call.Args[0].Lit(), args: call.Args[1:], redirects: stmt.Redirs}
	for _, r := range betterTools {
		if slices.Contains(strings.Fields(r.commands), c.name) && r.does(&c) {
			return r.tool, r.message
		}
	}
	return "", ""
}

// A simpleCommand is a command with its arguments and redirections.
type simpleCommand struct {
	name      string
	args      []*syntax.Word
	redirects []*syntax.Redirect
}

// writes reports whether the output goes to a file.
func (c *simpleCommand) writes() bool {
	return slices.ContainsFunc(c.redirects, func(r *syntax.Redirect) bool {
		return (r.Op == syntax.RdrOut || r.Op == syntax.AppOut) && !strings.HasPrefix(r.Word.Lit(), "/dev/")
	})
}

// reads reports whether the command has arguments and no redirections.
func (c *simpleCommand) reads() bool { return len(c.args) > 0 && len(c.redirects) == 0 }

// option reports whether an argument begins with one of names.
func (c *simpleCommand) option(names ...string) bool {
	return slices.ContainsFunc(c.args, func(w *syntax.Word) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(w.Lit(), n) })
	})
}

const editMessage = "use the edit tool to change files; the user sees the change as a diff."

// betterTools lists the commands that tools replace. The first entry that applies wins.
var betterTools = []struct {
	commands, tool, message string
	does                    func(c *simpleCommand) bool
}{
	{
		"echo printf cat tee", "write", "use the write tool to write a file; the user sees it as a diff, and the editor knows of it.",
		(*simpleCommand).writes,
	},
	{"cat", "read", "use the read tool to view files; it sees unsaved changes and takes line ranges.", (*simpleCommand).reads},
	{
		"head tail less more", "read", "use the read tool with a line range (path:10-40) instead.",
		func(c *simpleCommand) bool { return c.reads() && !c.option("-f", "-F", "--follow") },
	},
	{
		"grep rg egrep fgrep ag ack", "search", "use the search tool instead; it respects .gitignore, and its results can be opened in the editor.",
		func(c *simpleCommand) bool { return !c.writes() && len(c.args) > 0 },
	},
	{
		"find fd fdfind", "find", "use the find tool instead; it respects .gitignore, and sorts by time.",
		func(c *simpleCommand) bool {
			return !c.writes() && !c.option("-exec", "-ok", "-delete", "-x", "-X", "-printf", "-newer", "-mtime", "-size", "-perm", "-user")
		},
	},
	{"sed", "edit", editMessage, func(c *simpleCommand) bool { return c.option("-i", "--in-place") }},
	{"perl ruby", "edit", editMessage, func(c *simpleCommand) bool { return c.option("-i", "-pi", "-ni") }},
	{
		"awk gawk", "edit", editMessage, func(c *simpleCommand) bool {
			return c.option("-i") && slices.ContainsFunc(c.args, func(w *syntax.Word) bool { return w.Lit() == "inplace" })
		},
	},
}
