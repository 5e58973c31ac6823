package approval

import (
	"strings"

	"github.com/gajae-code/gjc/agent/approval/shell"
)

// commandScope is what an "always" answer to a command covers: a program, with its subcommand where it has such,
// or, for a line that cannot be read that way, the line itself.
type commandScope struct {
	text  string
	whole bool
}

// commandScopes parses line as shell and returns the scope of each simple command in it. A line that is not plain
// (substitutions, redirections into files, assignments, functions), or that has a program or an option that is not
// known to neither run nor write anything else, is one scope of its own: a program's name does not tell what it would do.
func commandScopes(line string) []commandScope {
	names, ok := shell.Scopes(line)
	if !ok {
		return wholeLine(line)
	}
	scopes := make([]commandScope, len(names))
	for i, name := range names {
		scopes[i].text = name
	}
	return scopes
}

func wholeLine(line string) []commandScope {
	return []commandScope{{text: strings.TrimSpace(line), whole: true}}
}
