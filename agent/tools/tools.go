// Package tools lists the tools that a model can be offered. The packages below it implement the tools. Each tool has a Go file, a
// text for the model (.md), and a schema of its input in schemas.
package tools

import (
	"runtime"
	"slices"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/code"
	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/search"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/agent/tools/talk"
	"github.com/gajae-code/gjc/agent/tools/web"
	"github.com/gajae-code/gjc/internal/webclient"
)

// All returns the tools that the settings enable, in the order in which requests list them.
func All(s *Settings) []agent.Tool {
	pages := webclient.New(s.Web)
	all := append([]agent.Tool{files.Read(&s.Edit, pages), files.Write(&s.Edit)}, files.EditTools(&s.Edit)...)
	all = append(all, files.Undo(), files.Notebook(&s.Edit), shell.Bash(&s.Bash), shell.Job(), shell.Eval(&s.Bash), search.Search(s.GlobalIgnore), search.Find(s.GlobalIgnore), search.AstGrep(s.GlobalIgnore), search.AstEdit(s.GlobalIgnore), search.Resolve(), code.Tool(shell.RunCheck), debug.Tool(), talk.TodoWrite(), talk.Goal(), talk.Ask(), talk.PresentPlan(), talk.Task(shell.StartJob), files.MergeChanges(), talk.SearchTools(), web.Fetch(pages))
	if searchers := pages.Searchers(&s.WebSearch); len(searchers) > 0 {
		all = append(all, web.Search(searchers))
	}
	if len(s.SSH) > 0 {
		all = append(all, shell.SSH(s.SSH, &s.Bash))
	}
	return slices.DeleteFunc(all, func(t agent.Tool) bool {
		return runtime.GOOS == "windows" && t.Spec().Name == "eval" // on Windows a cell cannot be interrupted
	})
}

// Names returns the names that permission rules may contain: those of all tools, including the optional ones, but not the tools of
// MCP servers.
func Names() []string {
	return []string{
		"read", "write", "edit", "apply_patch", "undo", "notebook", "bash", "job", "eval", "search", "find", "ast_grep", "ast_edit", "resolve",
		"lsp", "debug", "todo_write", "goal", "ask", "present_plan", "task", "merge_changes", "search_tools", "web_fetch", "web_search", "ssh", "mcp_resources",
	}
}
