package toolkit

import (
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
)

// ServerEffect is what a server does at our request, and nobody knows before what that is: it is judged as a command. The
// line begins with exec, so that an "always" is for this very request: the policy takes a line that may run anything as
// a whole.
func ServerEffect(title string, words ...string) approval.Effect {
	var line strings.Builder
	line.WriteString("exec")
	for _, w := range words {
		line.WriteString(" '" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
	return approval.Effect{Action: approval.ActionCommand, Command: line.String(), Title: title}
}
