// Package tools holds the tools that a model gets: read, write, edit, undo, notebook, bash, job, eval, search, find, ast_grep, ast_edit, resolve, lsp, debug, todo_write, ask, task, web_fetch, web_search and ssh. Each is a
// pair of files, the code and the text for the model (.md). They touch the world only through what a call brings
// (files, terminal, programs); only search's own engine and the ignore files read the disk directly, see [disk].
package tools

import (
	"runtime"
	"slices"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/webclient"
)

// All returns the tools in the order in which a model is told of them, as they are set.
func All(s *Settings) []agent.Tool {
	pages := webclient.New(s.Web)
	all := append([]agent.Tool{read(&s.Edit, pages), write(&s.Edit)}, editTools(&s.Edit)...)
	all = append(all, undo(), notebook(&s.Edit), bash(&s.Bash), jobTool(), eval(&s.Bash), search(s.GlobalIgnore), find(s.GlobalIgnore), astGrep(s.GlobalIgnore), astEdit(s.GlobalIgnore), resolve(), lspTool(runCheck), debugTool(), todoWrite(), ask(), task(), webFetch(pages))
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
