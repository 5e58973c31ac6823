package tools

import (
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/webclient"
)

// Settings configures the tools. The zero value selects the defaults. It must not change once tools use it.
type Settings struct {
	Edit files.EditSettings
	Bash shell.BashSettings
	// Web configures how web pages are fetched.
	Web webclient.Options
	// GlobalIgnore is the absolute path of the file of patterns that the user's git ignores in every repository
	// (core.excludesFile); "" for none.
	GlobalIgnore string
	// SSH lists the machines that models may access; without one the ssh tool is not offered.
	SSH []shell.SSHHost
	// WebSearch configures the web search; without a key its tool is not offered.
	WebSearch webclient.SearchOptions
}
