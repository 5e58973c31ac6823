package toolkit

import (
	"strings"

	"github.com/gajae-code/gjc/agent"
)

// ServerEffect is what a server does at our request, and nobody knows before what that is: it is judged as a command. The
// line begins with exec, so that an "always" is for this very request: the policy takes a line that may run anything as
// a whole.
func ServerEffect(title string, words ...string) agent.Effect {
	var line strings.Builder
	line.WriteString("exec")
	for _, w := range words {
		line.WriteString(" '" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
	return agent.Effect{Action: agent.ActionCommand, Command: line.String(), Title: title}
}
