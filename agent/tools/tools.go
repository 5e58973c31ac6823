// Package tools holds the tools that a model gets: read, write, edit, undo, notebook, bash, job, eval, search, find, ast_grep, ast_edit, resolve, lsp, debug, todo_write, ask, task, web_fetch, web_search and ssh. Each is a
// pair of files, the code and the text for the model (.md). They touch the world only through what a call brings
// (files, terminal, programs); only search's own engine and the ignore files read the disk directly, see [disk].
package tools

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/web"
)

// All returns the tools in the order in which a model is told of them, as they are set.
func All(s *Settings) []agent.Tool {
	pages := web.New(s.Web)
	all := append([]agent.Tool{read(&s.Edit, pages), write(&s.Edit)}, editTools(&s.Edit)...)
	all = append(all, undo(), notebook(&s.Edit), bash(&s.Bash), jobTool(), eval(&s.Bash), search(s.GlobalIgnore), find(s.GlobalIgnore), astGrep(s.GlobalIgnore), astEdit(s.GlobalIgnore), resolve(), lspTool(), debugTool(), todoWrite(), ask(), task(), webFetch(pages))
	if searchers := pages.Searchers(&s.WebSearch); len(searchers) > 0 {
		all = append(all, webSearch(searchers))
	}
	if len(s.SSH) > 0 {
		all = append(all, sshTool(s.SSH, &s.Bash))
	}
	return slices.DeleteFunc(all, func(t agent.Tool) bool {
		return runtime.GOOS == "windows" && t.Spec().Name == "eval" // nothing there interrupts a cell
	})
}

// Names returns the names of all tools that there can be, but those of MCP servers: what permission rules may be for.
func Names() []string {
	return []string{
		"read", "write", "edit", "apply_patch", "undo", "notebook", "bash", "job", "eval", "search", "find", "ast_grep", "ast_edit", "resolve",
		"lsp", "debug", "todo_write", "ask", "task", "web_fetch", "web_search", "ssh", "mcp_resources",
	}
}

// Limits that several tools share.
const (
	// maxText bounds in bytes what a tool gives the model.
	maxText = 50 << 10
	// maxLines bounds it in lines.
	maxLines = 3000
	// maxColumns bounds one line, in characters.
	maxColumns = 768
)

// markdown prepares an embedded description.
func markdown(text string) string { return strings.TrimSpace(text) }

// display is a path as people and the model should see it: relative to the working directory where it lies inside,
// with forward slashes.
func display(ws *agent.Workspace, path string) string {
	return filepath.ToSlash(ws.Display(path))
}

// cutLine shortens a line to most characters and says how many are missing.
func cutLine(line string, most int) string {
	if len(line) <= most {
		return line
	}
	runes := 0
	for i := range line {
		if runes == most {
			return line[:i] + "… [" + count(utf8.RuneCountInString(line[i:]), "more character") + "]"
		}
		runes++
	}
	return line
}

// cutBytes shortens s to at most most bytes, at a character's boundary.
func cutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}
