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

// InterceptRule sends commands to a tool that does them better. It counts only where the model has that tool.
type InterceptRule struct {
	Pattern *regexp.Regexp
	Tool    string
	// Message says what to do instead.
	Message string
}

// intercept refuses a command that a tool of the model's does better.
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
	return fmt.Errorf("Blocked: %s\n\nThe command was: %s", message, toolkit.CutLine(line, toolkit.MaxColumns))
}

// betterTool names the tool that does what a line of one simple command does; empty for none. A command that is a part of a
// pipeline is one for the shell.
func betterTool(line string) (tool, message string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 {
		return "", ""
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || stmt.Background {
		return "", ""
	}
	name := call.Args[0].Lit()
	writes := slices.ContainsFunc(stmt.Redirs, func(r *syntax.Redirect) bool {
		return (r.Op == syntax.RdrOut || r.Op == syntax.AppOut) && !strings.HasPrefix(r.Word.Lit(), "/dev/")
	})
	option := func(names ...string) bool {
		return slices.ContainsFunc(call.Args[1:], func(w *syntax.Word) bool {
			return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(w.Lit(), n) })
		})
	}
	switch name {
	case "echo", "printf", "cat", "tee":
		if writes {
			return "write", "use the tool write to write a file; the user sees it as a diff, and the editor knows of it."
		}
		if name == "cat" && len(call.Args) > 1 && len(stmt.Redirs) == 0 {
			return "read", "use the tool read to look at files; it sees what is not saved yet, and takes line ranges."
		}
	case "head", "tail", "less", "more":
		if len(stmt.Redirs) == 0 && len(call.Args) > 1 && !option("-f", "-F", "--follow") {
			return "read", "use the tool read with a line range (path:10-40) instead."
		}
	case "grep", "rg", "egrep", "fgrep", "ag", "ack":
		if !writes && len(call.Args) > 1 {
			return "search", "use the tool search instead; it knows .gitignore, and its results can be opened in the editor."
		}
	case "find", "fd", "fdfind":
		if !writes && !option("-exec", "-ok", "-delete", "-x", "-X", "-printf", "-newer", "-mtime", "-size", "-perm", "-user") {
			return "find", "use the tool find instead; it knows .gitignore, and sorts by time."
		}
	case "sed":
		if option("-i", "--in-place") {
			return "edit", "use the tool edit to change files; the user sees the change as a diff."
		}
	case "perl", "ruby":
		if option("-i", "-pi", "-ni") {
			return "edit", "use the tool edit to change files; the user sees the change as a diff."
		}
	case "awk", "gawk":
		if option("-i") && slices.ContainsFunc(call.Args[1:], func(w *syntax.Word) bool { return w.Lit() == "inplace" }) {
			return "edit", "use the tool edit to change files; the user sees the change as a diff."
		}
	}
	return "", ""
}
