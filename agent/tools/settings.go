package tools

import (
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/webclient"
)

// Settings says how the tools work. The zero value is what holds where nothing is said. It must not change once tools have it.
type Settings struct {
	Edit files.EditSettings
	Bash shell.BashSettings
	// Web says how pages of the web are fetched.
	Web webclient.Options
	// GlobalIgnore is the file of patterns that the user's git ignores in every repository (core.excludesFile), absolute; "" for
	// none.
	GlobalIgnore string
	// SSH are the machines that models may reach; without one there is no tool for it.
	SSH []shell.SSHHost
	// WebSearch says where the web is searched; without a key there is no tool for it.
	WebSearch webclient.SearchOptions
}
